"""files — graphs and events as files."""
import os

from .. import messages, text_format


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a graph to logdir/name and gives the path."""
    graph_def = graph_or_graph_def.as_graph_def() if hasattr(graph_or_graph_def, "as_graph_def") else graph_or_graph_def
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    with open(path, "w" if as_text else "wb") as f:
        f.write(text_format.MessageToString(graph_def) if as_text else graph_def.SerializeToString())
    return path


def summary_iterator(path):
    """The events of a file."""
    from ..file_io import tf_record_iterator
    for record in tf_record_iterator(path):
        yield messages.Event.FromString(record)
