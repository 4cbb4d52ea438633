"""readers — readers of files named by a queue: records, lines, whole files."""
from .ops_apply import apply, apply_op


class ReaderBase:
    """Reads (key, value) from files whose names a queue gives."""

    def __init__(self, reader_ref, supports_serialize=False):
        self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

    reader_ref = property(lambda self: self._reader_ref)
    supports_serialize = property(lambda self: self._supports_serialize)

    @staticmethod
    def _queue(queue):
        return getattr(queue, "queue_ref", queue)

    def read(self, queue, name=None):
        return apply("ReaderReadV2", name, {"reader_handle": self._reader_ref, "queue_handle": self._queue(queue)})

    def read_up_to(self, queue, num_records, name=None):
        return apply("ReaderReadUpToV2", name, {"reader_handle": self._reader_ref, "queue_handle": self._queue(queue),
                                                "num_records": num_records})

    def num_records_produced(self, name=None):
        return apply("ReaderNumRecordsProducedV2", name, {"reader_handle": self._reader_ref})

    def num_work_units_completed(self, name=None):
        return apply("ReaderNumWorkUnitsCompletedV2", name, {"reader_handle": self._reader_ref})

    def serialize_state(self, name=None):
        return apply("ReaderSerializeStateV2", name, {"reader_handle": self._reader_ref})

    def restore_state(self, state, name=None):
        return apply_op("ReaderRestoreStateV2", name, {"reader_handle": self._reader_ref, "state": state})

    def reset(self, name=None):
        return apply_op("ReaderResetV2", name, {"reader_handle": self._reader_ref})


class WholeFileReader(ReaderBase):
    """The content of each file."""

    def __init__(self, name=None):
        super().__init__(apply("WholeFileReaderV2", name, {}), True)


class TextLineReader(ReaderBase):
    """The lines of text files."""

    def __init__(self, skip_header_lines=None, name=None):
        super().__init__(apply("TextLineReaderV2", name, {"skip_header_lines": skip_header_lines or 0}))


class FixedLengthRecordReader(ReaderBase):
    """Records of so many bytes."""

    def __init__(self, record_bytes, header_bytes=None, footer_bytes=None, hop_bytes=None, name=None, encoding=None):
        super().__init__(apply("FixedLengthRecordReaderV2", name, {
            "record_bytes": record_bytes, "header_bytes": header_bytes or 0, "footer_bytes": footer_bytes or 0,
            "hop_bytes": hop_bytes or 0, "encoding": encoding or ""}))


class TFRecordReader(ReaderBase):
    """The records of TFRecord files."""

    def __init__(self, name=None, options=None):
        from .file_io import TFRecordOptions
        kind = TFRecordOptions.get_compression_type_string(options) if options is not None else ""
        super().__init__(apply("TFRecordReaderV2", name, {"compression_type": kind}))


class IdentityReader(ReaderBase):
    """The names themselves."""

    def __init__(self, name=None):
        super().__init__(apply("IdentityReaderV2", name, {}), True)
