"""file_io — tf.gfile and tf.python_io: files, folders, and records (TFRecord) over them."""
import collections
import enum
import glob as _glob
import gzip
import os
import shutil
import struct
import zlib

from . import errors
from .ops_apply import apply


def _path(path):
    path = os.fspath(path)
    return path.decode() if isinstance(path, bytes) else path


def _raised(error, path):
    kind = {FileNotFoundError: errors.NotFoundError, PermissionError: errors.PermissionDeniedError,
            FileExistsError: errors.AlreadyExistsError, IsADirectoryError: errors.FailedPreconditionError,
            NotADirectoryError: errors.FailedPreconditionError}.get(type(error), errors.UnknownError)
    return kind(None, None, "%s; %s" % (path, error.strerror or error))


class GFile:
    """A file; opened by its first use. Text unless the mode has a "b"."""

    def __init__(self, name, mode="r", *unused):
        self._name, self._mode, self._file = name, mode, None

    name = property(lambda self: self._name)
    mode = property(lambda self: self._mode)

    def _open(self):
        if self._file is None:
            mode = self._mode if "b" in self._mode else self._mode
            try:
                self._file = open(_path(self._name), mode, **({} if "b" in mode else {"encoding": "utf-8"}))
            except OSError as error:
                raise _raised(error, _path(self._name)) from None
        return self._file

    def read(self, n=-1):
        return self._open().read(n)

    def write(self, file_content):
        f = self._open()
        if "b" in self._mode and isinstance(file_content, str):
            file_content = file_content.encode()
        elif "b" not in self._mode and isinstance(file_content, bytes):
            file_content = file_content.decode()
        f.write(file_content)

    def size(self):
        return Stat(self._name).length

    def seek(self, offset=None, whence=0, position=None):
        self._open().seek(position if offset is None else offset, whence)

    def tell(self):
        return self._open().tell()

    def readline(self):
        return self._open().readline()

    def readlines(self):
        return self._open().readlines()

    def flush(self):
        if self._file is not None:
            self._file.flush()

    def seekable(self):
        return True

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None
        elif "w" in self._mode or "a" in self._mode:
            self._open().close()
            self._file = None

    def __iter__(self):
        return self

    def __next__(self):
        line = self._open().readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


FastGFile = Open = FileIO = GFile


def Exists(filename):
    return os.path.exists(_path(filename))


def Remove(filename):
    try:
        os.remove(_path(filename))
    except OSError as error:
        raise _raised(error, filename) from None


def Glob(filename):
    if isinstance(filename, (list, tuple)):
        return [f for one in filename for f in Glob(one)]
    return sorted(_glob.glob(_path(filename)))


def IsDirectory(dirname):
    return os.path.isdir(_path(dirname))


def ListDirectory(dirname):
    try:
        return os.listdir(_path(dirname))
    except OSError as error:
        raise _raised(error, dirname) from None


def MkDir(dirname):
    try:
        os.mkdir(_path(dirname))
    except OSError as error:
        raise _raised(error, dirname) from None


def MakeDirs(dirname):
    try:
        os.makedirs(_path(dirname), exist_ok=True)
    except OSError as error:
        raise _raised(error, dirname) from None


def DeleteRecursively(dirname):
    try:
        path = _path(dirname)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    except OSError as error:
        raise _raised(error, dirname) from None


def _target(oldname, newname, overwrite):
    if not overwrite and os.path.exists(_path(newname)):
        raise errors.AlreadyExistsError(None, None, "file already exists: %s" % newname)
    return _path(oldname), _path(newname)


def Rename(oldname, newname, overwrite=False):
    try:
        os.replace(*_target(oldname, newname, overwrite))
    except OSError as error:
        raise _raised(error, oldname) from None


def Copy(oldpath, newpath, overwrite=False):
    try:
        shutil.copyfile(*_target(oldpath, newpath, overwrite))
    except OSError as error:
        raise _raised(error, oldpath) from None


FileStatistics = collections.namedtuple("FileStatistics", ["length", "mtime_nsec", "is_directory"])


def Stat(filename):
    try:
        found = os.stat(_path(filename))
    except OSError as error:
        raise _raised(error, filename) from None
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(_path(filename)))


def Walk(top, in_order=True):
    return os.walk(_path(top), topdown=in_order)


def walk_v2(top, topdown=True, onerror=None):
    return os.walk(_path(top), topdown=topdown, onerror=onerror)


file_exists, delete_file, get_matching_files, is_directory = Exists, Remove, Glob, IsDirectory
list_directory, create_dir, recursive_create_dir, rename, copy = ListDirectory, MkDir, MakeDirs, Rename, Copy
delete_recursively, stat, walk = DeleteRecursively, Stat, Walk


def read_file_to_string(filename, binary_mode=False):
    with GFile(filename, "rb" if binary_mode else "r") as f:
        return f.read()


def write_string_to_file(filename, file_content):
    with GFile(filename, "w") as f:
        f.write(file_content)


def atomic_write_string_to_file(filename, contents, overwrite=True):
    temporary = "%s.tmp%d" % (filename, os.getpid())
    write_string_to_file(temporary, contents)
    Rename(temporary, filename, overwrite)


def read_file(filename, name=None):
    return apply("ReadFile", name, {"filename": filename})


def write_file(filename, contents, name=None):
    return apply("WriteFile", name, {"filename": filename, "contents": contents})


def matching_files(pattern, name=None):
    return apply("MatchingFiles", name, {"pattern": pattern})


# ---------------------------------------- records

def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = (i >> 1) ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_TABLE = _crc_table()


def masked_crc(data):
    """The checksum of records: CRC-32C, turned and moved."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


class TFRecordCompressionType(enum.IntEnum):
    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """How a file of records is compressed: "", "ZLIB" or "GZIP"."""

    def __init__(self, compression_type=None, *unused, **kwargs):
        self.compression_type = compression_type

    @classmethod
    def get_compression_type_string(cls, options):
        kind = options.compression_type if isinstance(options, TFRecordOptions) else options
        if not kind:
            return ""
        return kind if isinstance(kind, str) else TFRecordCompressionType(kind).name


class TFRecordWriter:
    """Writes records to a file."""

    def __init__(self, path, options=None):
        kind = TFRecordOptions.get_compression_type_string(options)
        try:
            self._file = gzip.open(_path(path), "wb") if kind == "GZIP" else open(_path(path), "wb")
        except OSError as error:
            raise _raised(error, path) from None
        self._zlib = zlib.compressobj() if kind == "ZLIB" else None

    def write(self, record):
        if isinstance(record, str):
            record = record.encode()
        size = struct.pack("<Q", len(record))
        data = b"".join([size, struct.pack("<I", masked_crc(size)), record, struct.pack("<I", masked_crc(record))])
        self._file.write(self._zlib.compress(data) if self._zlib else data)

    def flush(self):
        self._file.flush()

    def close(self):
        if self._zlib:
            self._file.write(self._zlib.flush())
            self._zlib = None
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def tf_record_iterator(path, options=None):
    """The records of a file, as bytes. DataLossError where it is damaged."""
    kind = TFRecordOptions.get_compression_type_string(options)
    try:
        f = gzip.open(_path(path), "rb") if kind == "GZIP" else open(_path(path), "rb")
    except OSError as error:
        raise _raised(error, path) from None
    with f:
        if kind == "ZLIB":
            import io
            f = io.BytesIO(zlib.decompress(f.read()))
        at = 0
        while True:
            head = f.read(12)
            if not head:
                return
            lost = errors.DataLossError(None, None, "corrupted record at %d" % at)
            if len(head) < 12 or struct.unpack("<I", head[8:])[0] != masked_crc(head[:8]):
                raise lost
            size, = struct.unpack("<Q", head[:8])
            data = f.read(size)
            tail = f.read(4)
            if len(data) < size or len(tail) < 4 or struct.unpack("<I", tail)[0] != masked_crc(data):
                raise lost
            at += 16 + size
            yield data
