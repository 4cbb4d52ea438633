"""lookup_ops — tables: from strings to numbers and back, from files, lists and by insertion."""
import collections

from . import dtypes
from .array_ops import reshape, shape as shape_of, size
from .constant import constant
from .control_flow import group, no_op
from .convert import convert_to_tensor
from .graph import GraphKeys, add_to_collection, get_collection, get_default_graph, name_scope
from .indexed import SparseTensor
from .math_ops import cast, range as range_
from .ops_apply import apply, apply_op


def tables_initializer(name="init_all_tables"):
    """The operation that initializes all tables."""
    found = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*found, name=name) if found else no_op(name=name)


def initialize_all_tables(name="init_all_tables"):
    return tables_initializer(name)


class LookupInterface:
    """A table of keys and values."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype, self._value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: self._value_dtype)
    resource_handle = property(lambda self: self._table)
    table_ref = resource_handle
    name = property(lambda self: self._name)

    def size(self, name=None):
        return apply("LookupTableSizeV2", name, {"table_handle": self._table})

    def _find(self, keys, default, name):
        sparse = keys if isinstance(keys, SparseTensor) else None
        if sparse is not None:
            keys = sparse.values
        keys = convert_to_tensor(keys, self._key_dtype, name="keys")
        default = convert_to_tensor(default, self._value_dtype)
        values = apply("LookupTableFindV2", name, {"table_handle": self._table, "keys": keys, "default_value": default})
        if default.shape.ndims == 0:
            values.set_shape(keys.shape)
        return SparseTensor(sparse.indices, values, sparse.dense_shape) if sparse is not None else values

    def export(self, name=None):
        return apply("LookupTableExportV2", name, {"table_handle": self._table, "Tkeys": self._key_dtype,
                                                   "Tvalues": self._value_dtype})


InitializableLookupTableBase = LookupInterface


class StaticHashTable(LookupInterface):
    """A table filled once, by an initializer; what isn't in it has the default value."""

    def __init__(self, initializer, default_value, shared_name=None, name=None):
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        with name_scope(name, "hash_table", []) as scope:
            self._table = apply("HashTableV2", scope, {
                "key_dtype": self._key_dtype, "value_dtype": self._value_dtype,
                "shared_name": shared_name or getattr(initializer, "_shared_name", "") or ""})
            self._name = self._table.op.name.split("/")[-1]
            self._default_value = convert_to_tensor(default_value, self._value_dtype)
            self._init_op = initializer.initialize(self)

    initializer = init = property(lambda self: self._init_op)
    default_value = property(lambda self: self._default_value)

    def lookup(self, keys, name=None):
        """The values of keys, a tensor or a SparseTensor."""
        found = keys.values.dtype if isinstance(keys, SparseTensor) else convert_to_tensor(keys).dtype
        if found.base_dtype != self._key_dtype:
            raise TypeError("Signature mismatch. Keys must be dtype %s, got %s." % (self._key_dtype, found))
        return self._find(keys, self._default_value, name)


HashTable = StaticHashTable


class TableInitializerBase:
    """What fills a table."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype, self._value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: self._value_dtype)


class KeyValueTensorInitializer(TableInitializerBase):
    """From two tensors."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        with name_scope(name, "key_value_init", []):
            self._keys = convert_to_tensor(keys, key_dtype, name="keys")
            self._values = convert_to_tensor(values, value_dtype, name="values")
        super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

    def initialize(self, table):
        op = apply_op("InitializeTableV2", None, {"table_handle": table.resource_handle, "keys": self._keys,
                                                  "values": self._values})
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        return op


class TextFileIndex:
    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer(TableInitializerBase):
    """From the lines of a file: whole, by number, or by column."""

    def __init__(self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None, delimiter="\t",
                 name=None):
        for what, index, wanted in (("key", key_index, key_dtype), ("value", value_index, value_dtype)):
            if index == TextFileIndex.LINE_NUMBER and dtypes.as_dtype(wanted) != dtypes.int64:
                raise ValueError("Signature mismatch. %s must be dtype %s, got %s." % (what, dtypes.int64, wanted))
            if index < -2:
                raise ValueError("Invalid %s index %s." % (what, index))
        if key_index == value_index:
            raise ValueError("Using the same index %s for key and value." % key_index)
        self._filename, self._key_index, self._value_index = filename, key_index, value_index
        self._vocab_size, self._delimiter = -1 if vocab_size is None else vocab_size, delimiter
        super().__init__(key_dtype, value_dtype)

    def initialize(self, table):
        filename = convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
        op = apply_op("InitializeTableFromTextFileV2", None, {
            "table_handle": table.resource_handle, "filename": filename, "key_index": self._key_index,
            "value_index": self._value_index, "vocab_size": self._vocab_size, "delimiter": self._delimiter})
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        if filename.op.type == "Const":
            add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return op


class TextFileStringTableInitializer(TextFileInitializer):
    def __init__(self, filename, key_column_index=TextFileIndex.LINE_NUMBER,
                 value_column_index=TextFileIndex.WHOLE_LINE, vocab_size=None, delimiter="\t",
                 name="text_file_string_table_init"):
        super().__init__(filename, dtypes.int64, key_column_index, dtypes.string, value_column_index, vocab_size,
                         delimiter, name)


class TextFileIdTableInitializer(TextFileInitializer):
    def __init__(self, filename, key_column_index=TextFileIndex.WHOLE_LINE,
                 value_column_index=TextFileIndex.LINE_NUMBER, vocab_size=None, delimiter="\t",
                 name="text_file_id_table_init", key_dtype=dtypes.string):
        super().__init__(filename, key_dtype, key_column_index, dtypes.int64, value_column_index, vocab_size, delimiter,
                         name)


class HasherSpec(collections.namedtuple("HasherSpec", ["hasher", "key"])):
    """How out-of-vocabulary words are hashed."""


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    def __new__(cls, key):
        return super().__new__(cls, "stronghash", list(key))


class StaticVocabularyTable(LookupInterface):
    """Ids of a table, and more of `num_oov_buckets` for what isn't in it."""

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None, hasher_spec=FastHashSpec):
        table = initializer if isinstance(initializer, LookupInterface) or initializer is None else \
            StaticHashTable(initializer, -1)
        self._inner, self._buckets, self._hasher = table, num_oov_buckets, hasher_spec
        super().__init__(lookup_key_dtype or (table.key_dtype if table is not None else dtypes.string), dtypes.int64)
        self._name = name or (table.name if table is not None else "hash_bucket")

    resource_handle = property(lambda self: self._inner.resource_handle if self._inner is not None else None)
    init = initializer = property(lambda self: self._inner.init if self._inner is not None else no_op())

    def size(self, name=None):
        known = self._inner.size() if self._inner is not None else constant(0, dtypes.int64)
        return known + self._buckets

    def lookup(self, keys, name=None):
        sparse = keys if isinstance(keys, SparseTensor) else None
        values = convert_to_tensor(keys if sparse is None else sparse.values, self._key_dtype)
        known = cast(values, dtypes.int64) if self._key_dtype == dtypes.int32 else values
        if self._buckets == 0:
            ids = self._inner.lookup(known)
        else:
            from .string_ops import as_string
            text = values if self._key_dtype == dtypes.string else as_string(values)
            if self._hasher.hasher == "fasthash":
                buckets = apply("StringToHashBucketFast", None, {"input": text, "num_buckets": self._buckets})
            else:
                buckets = apply("StringToHashBucketStrong", None, {"input": text, "num_buckets": self._buckets,
                                                                   "key": self._hasher.key})
            if self._inner is None:
                ids = buckets
            else:
                from .array_ops import where
                found = self._inner.lookup(known)
                ids = where(apply("Equal", None, {"x": found, "y": self._inner.default_value}),
                            buckets + self._inner.size(), found)
        return SparseTensor(sparse.indices, ids, sparse.dense_shape) if sparse is not None else ids


IdTableWithHashBuckets = StaticVocabularyTable


class MutableHashTable(LookupInterface):
    """A table that grows while the graph runs."""

    def __init__(self, key_dtype, value_dtype, default_value, shared_name=None, name="MutableHashTable",
                 checkpoint=True):
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, value_dtype)
        known = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype, "shared_name": shared_name or ""}
        if self._default_value.shape.ndims == 0:
            self._table = apply("MutableHashTableV2", name, known)
        else:
            self._table = apply("MutableHashTableOfTensorsV2", name, dict(known, value_shape=self._default_value.shape))
        self._name = self._table.op.name.split("/")[-1]
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _table_saveable(self))

    def lookup(self, keys, name=None, dynamic_default_values=None):
        return self._find(keys, self._default_value if dynamic_default_values is None else dynamic_default_values, name)

    def insert(self, keys, values, name=None):
        return apply_op("LookupTableInsertV2", name, {
            "table_handle": self._table, "keys": convert_to_tensor(keys, self._key_dtype),
            "values": convert_to_tensor(values, self._value_dtype)})

    def remove(self, keys, name=None):
        return apply_op("LookupTableRemoveV2", name, {"table_handle": self._table,
                                                      "keys": convert_to_tensor(keys, self._key_dtype)})


class DenseHashTable(MutableHashTable):
    """The same with keys for what is empty and what was removed."""

    def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key=None, initial_num_buckets=None,
                 shared_name=None, name="MutableDenseHashTable", checkpoint=True):
        LookupInterface.__init__(self, key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, value_dtype)
        empty = convert_to_tensor(empty_key, key_dtype)
        self._table = apply("MutableDenseHashTableV2", name, {
            "empty_key": empty, "deleted_key": convert_to_tensor(deleted_key, key_dtype) if deleted_key is not None else
            empty, "value_dtype": self._value_dtype, "value_shape": self._default_value.shape,
            "initial_num_buckets": initial_num_buckets or 131072, "shared_name": shared_name or ""})
        self._name = self._table.op.name.split("/")[-1]
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _table_saveable(self))


MutableDenseHashTable = DenseHashTable


def _table_saveable(table):
    from .train.saver import SaveableObject, SaveSpec

    class TableSaveable(SaveableObject):
        """A table's keys and values."""

        def __init__(self):
            name, parts = table.name, table.export()
            super().__init__(table, [SaveSpec(parts[0], "", name + "-keys"), SaveSpec(parts[1], "", name + "-values")],
                             name)

        device = property(lambda self: "")

        def restore(self, restored_tensors, restored_shapes):
            with get_default_graph().colocate_with(table.resource_handle):
                return apply_op("LookupTableImportV2", None, {"table_handle": table.resource_handle,
                                                              "keys": restored_tensors[0], "values": restored_tensors[1]})
    return TableSaveable()


# ---------------------------------------- tables by functions

def _with_oov(table, num_oov_buckets, key_dtype, hasher_spec):
    if not num_oov_buckets:
        return table
    return StaticVocabularyTable(table, num_oov_buckets, key_dtype, hasher_spec=hasher_spec)


def index_table_from_file(vocabulary_file=None, num_oov_buckets=0, vocab_size=None, default_value=-1,
                          hasher_spec=FastHashSpec, key_dtype=dtypes.string, name=None,
                          key_column_index=TextFileIndex.WHOLE_LINE, value_column_index=TextFileIndex.LINE_NUMBER,
                          delimiter="\t"):
    """The numbers of a file's lines."""
    if vocabulary_file is None or isinstance(vocabulary_file, str) and not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if num_oov_buckets < 0:
        raise ValueError("num_oov_buckets must be greater or equal than 0, got %d." % num_oov_buckets)
    with name_scope(name, "string_to_index", []):
        wide = dtypes.int64 if dtypes.as_dtype(key_dtype).is_integer else key_dtype
        init = TextFileInitializer(vocabulary_file, wide, key_column_index, dtypes.int64, value_column_index, vocab_size,
                                   delimiter)
        return _with_oov(StaticHashTable(init, default_value), num_oov_buckets, key_dtype, hasher_spec)


def index_table_from_tensor(vocabulary_list=None, num_oov_buckets=0, default_value=-1, hasher_spec=FastHashSpec,
                            dtype=dtypes.string, name=None, mapping=None):
    """The positions of a vocabulary's words."""
    vocabulary_list = mapping if vocabulary_list is None else vocabulary_list
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "string_to_index", []):
        dtype = dtypes.as_dtype(dtype)
        keys = convert_to_tensor(vocabulary_list)
        if dtype.is_integer != keys.dtype.is_integer:
            raise ValueError("Invalid dtype: Expected %s, got %s." % ("integer" if dtype.is_integer else "non-integer",
                                                                       keys.dtype))
        keys = reshape(keys, [-1])
        keys = cast(keys, dtypes.int64) if dtype.is_integer else keys
        init = KeyValueTensorInitializer(keys, cast(range_(size(keys)), dtypes.int64))
        return _with_oov(StaticHashTable(init, default_value), num_oov_buckets, dtype, hasher_spec)


def index_to_string_table_from_file(vocabulary_file, vocab_size=None, default_value="UNK", name=None,
                                    key_column_index=TextFileIndex.LINE_NUMBER,
                                    value_column_index=TextFileIndex.WHOLE_LINE, delimiter="\t"):
    """The lines of a file by their numbers."""
    with name_scope(name, "index_to_string", []):
        init = TextFileInitializer(vocabulary_file, dtypes.int64, key_column_index, dtypes.string, value_column_index,
                                   vocab_size, delimiter)
        return StaticHashTable(init, default_value)


def index_to_string_table_from_tensor(vocabulary_list=None, default_value="UNK", name=None, mapping=None):
    vocabulary_list = mapping if vocabulary_list is None else vocabulary_list
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string", []):
        values = convert_to_tensor(vocabulary_list, dtypes.string)
        keys = cast(range_(shape_of(values)[0]), dtypes.int64)
        return StaticHashTable(KeyValueTensorInitializer(keys, values, dtypes.int64, dtypes.string), default_value)


def string_to_index(tensor, mapping, default_value=-1, name=None):
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(tensor, mapping, default_value="UNK", name=None):
    return index_to_string_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


index_table_from_string_list = string_to_index_table_from_tensor = index_table_from_tensor
string_to_index_table_from_file = index_table_from_file
