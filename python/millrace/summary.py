"""summary — tf.summary: what TensorBoard shows, as operations; writers of event files."""
import os
import re
import socket
import threading
import time
import warnings

import numpy as np

from . import dtypes, messages
from .convert import convert_to_tensor
from .graph import GraphKeys, add_to_collection, get_collection, get_default_graph, name_scope
from .ops_apply import apply


def _clean(name):
    return re.sub(r"[^-/\w.]", "_", name).lstrip("/")


class _Scope:
    """The tag and scope of a summary: the name scopes around count, and the family where one is given."""

    def __init__(self, name, family, values):
        self._name, self._family = _clean(name), _clean(family) if family else None
        base = self._name if self._family is None else "%s/%s" % (self._family, self._name)
        self._context = name_scope(base, values=values)

    def __enter__(self):
        scope = self._context.__enter__()
        tag = scope.rstrip("/")
        if self._family is not None:
            tag = "%s/%s" % (self._family, tag)
        return tag, scope

    def __exit__(self, *exc):
        self._context.__exit__(*exc)


def _collected(value, collections):
    for key in [GraphKeys.SUMMARIES] if collections is None else collections:
        add_to_collection(key, value)
    return value


def scalar(name, tensor, collections=None, family=None):
    """A number under a tag."""
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(apply("ScalarSummary", scope, {"tags": tag, "values": tensor}), collections)


def histogram(name, values, collections=None, family=None):
    with _Scope(name, family, [values]) as (tag, scope):
        return _collected(apply("HistogramSummary", scope, {"tag": tag, "values": values}), collections)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(apply("ImageSummary", scope, {"tag": tag, "tensor": tensor, "max_images": max_outputs}),
                          collections)


def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(apply("AudioSummaryV2", scope, {
            "tag": tag, "tensor": tensor, "max_outputs": max_outputs,
            "sample_rate": convert_to_tensor(sample_rate, dtypes.float32)}), collections)


def tensor_summary(name, tensor, summary_description=None, collections=None, summary_metadata=None, family=None,
                   display_name=None):
    metadata = summary_metadata or messages.SummaryMetadata()
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(apply("TensorSummaryV2", scope, {
            "tensor": tensor, "tag": tag, "serialized_summary_metadata": metadata.SerializeToString()}), collections)


def text(name, tensor, collections=None):
    metadata = messages.SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def merge(inputs, collections=None, name=None):
    """All summaries as one."""
    inputs = list(inputs)
    with name_scope(name, "Merge", inputs):
        value = apply("MergeSummary", None, {"inputs": inputs})
        for key in collections or ():
            add_to_collection(key, value)
        return value


def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """All summaries of a collection as one; None where there are none."""
    found = get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def):
    return messages.SummaryMetadata()


def initialize(graph=None, session=None):
    """There is nothing to begin."""


def all_v2_summary_ops():
    return []


# ---------------------------------------- writers

class EventFileWriter:
    """Events into a file `events.out.tfevents...` of a folder."""
    _numbers = iter(range(1 << 62))

    def __init__(self, logdir, max_queue=10, flush_secs=120, filename_suffix=None):
        from .file_io import TFRecordWriter
        self._logdir = os.fspath(logdir)
        os.makedirs(self._logdir, exist_ok=True)
        self._path = os.path.join(self._logdir, "events.out.tfevents.%010d.%s%s" % (
            time.time(), socket.gethostname(), filename_suffix or ""))
        if os.path.exists(self._path):
            self._path += ".%d.%d" % (os.getpid(), next(EventFileWriter._numbers))
        self._lock, self._flush_secs, self._last = threading.Lock(), flush_secs, time.time()
        self._writer = TFRecordWriter(self._path)
        self.add_event(messages.Event(wall_time=time.time(), file_version="brain.Event:2"))
        self.flush()

    def get_logdir(self):
        return self._logdir

    def add_event(self, event):
        with self._lock:
            if self._writer is None:
                self.reopen_locked()
            self._writer.write(event.SerializeToString())
            if time.time() - self._last > self._flush_secs:
                self._writer.flush()
                self._last = time.time()

    def reopen_locked(self):
        from .file_io import TFRecordWriter
        self._path += ".%d" % next(EventFileWriter._numbers)
        self._writer = TFRecordWriter(self._path)
        self._writer.write(messages.Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())

    def reopen(self):
        with self._lock:
            if self._writer is None:
                self.reopen_locked()

    def flush(self):
        with self._lock:
            if self._writer is not None:
                self._writer.flush()

    def close(self):
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None


class FileWriter:
    """Summaries, graphs and runs' metadata into event files, for TensorBoard."""

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None,
                 session=None):
        self.event_writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._seen_tags = set()
        self._closed = False
        if graph is not None or graph_def is not None:
            self.add_graph(graph if graph is not None else graph_def)

    def get_logdir(self):
        return self.event_writer.get_logdir()

    def _add(self, event, step):
        if self._closed:
            warnings.warn("Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                          "explicitly reopened.")
            return
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None):
        """`summary`: what a summary operation gave, or a Summary."""
        if isinstance(summary, (bytes, np.bytes_)):
            summary = messages.Summary.FromString(bytes(summary))
        event = messages.Event()
        event.summary.CopyFrom(summary)
        self._add(event, global_step)

    def add_event(self, event):
        self.event_writer.add_event(event)

    def add_graph(self, graph, global_step=None, graph_def=None):
        graph_def = graph.as_graph_def(add_shapes=True) if hasattr(graph, "as_graph_def") else graph or graph_def
        self._add(messages.Event(graph_def=graph_def.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def, global_step=None):
        self._add(messages.Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        event = messages.Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = run_metadata.SerializeToString()
        self._add(event, global_step)

    def add_session_log(self, session_log, global_step=None):
        event = messages.Event()
        event.session_log.CopyFrom(session_log)
        self._add(event, global_step)

    def flush(self):
        self.event_writer.flush()

    def close(self):
        self.event_writer.close()
        self._closed = True

    def reopen(self):
        self.event_writer.reopen()
        self._closed = False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


SummaryWriter = FileWriter
scalar_summary, histogram_summary, image_summary = scalar, histogram, image
merge_summary, merge_all_summaries = merge, merge_all


class FileWriterCache:
    """One writer a folder."""
    _cache, _lock = {}, threading.RLock()

    @staticmethod
    def get(logdir):
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
            return FileWriterCache._cache[logdir]

    @staticmethod
    def clear():
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()
