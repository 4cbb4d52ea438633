"""string_ops — tf.strings: splitting, joining, numbers, hashes, regular expressions."""
from . import dtypes
from .convert import convert_to_tensor
from .graph import name_scope
from .indexed import SparseTensor
from .ops_apply import apply


def regex_replace(source=None, pattern=None, rewrite=None, replace_global=True, name=None, input=None):
    source = input if source is None else source
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return apply("StaticRegexReplace", name, {"input": source, "pattern": pattern, "rewrite": rewrite,
                                                  "replace_global": replace_global})
    return apply("RegexReplace", name, {"input": source, "pattern": pattern, "rewrite": rewrite,
                                        "replace_global": replace_global})


def regex_full_match(input, pattern, name=None):
    if isinstance(pattern, (str, bytes)):
        return apply("StaticRegexFullMatch", name, {"input": input, "pattern": pattern})
    return apply("RegexFullMatch", name, {"input": input, "pattern": pattern})


def string_split(source=None, sep=None, skip_empty=True, delimiter=None, result_type="SparseTensor", input=None,
                 name=None):
    """The pieces of each string, a SparseTensor."""
    source = input if source is None else source
    delimiter = " " if sep is None and delimiter is None else (sep if delimiter is None else delimiter)
    source = convert_to_tensor(source, dtypes.string)
    found = apply("StringSplit", name, {"input": source, "delimiter": delimiter, "skip_empty": skip_empty})
    return SparseTensor(*_parts(found))


def string_split_v2(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None, name=None):
    """The pieces of each string, as Python's str.split gives them."""
    input = source if input is None else input
    with name_scope(name, "StringSplit", [input]):
        input = convert_to_tensor(input, dtypes.string)
        if input.shape.ndims == 0:
            from .array_ops import expand_dims
            input = expand_dims(input, 0)
        found = apply("StringSplitV2", None, {"input": input, "sep": "" if sep is None else sep, "maxsplit": maxsplit})
        sparse = SparseTensor(*_parts(found))
        if result_type == "RaggedTensor":
            from .ragged import RaggedTensor
            return RaggedTensor.from_sparse(sparse)
        return sparse


def _parts(found):
    indices, values, shape = found
    indices.set_shape([None, 2])
    values.set_shape([None])
    shape.set_shape([2])
    return indices, values, shape


def string_join(inputs, separator="", name=None):
    return apply("StringJoin", name, {"inputs": list(inputs), "separator": separator})


def reduce_join(inputs, axis=None, keep_dims=None, separator="", name=None, reduction_indices=None, keepdims=None):
    from .array_ops import rank
    from .math_ops import range as range_
    axis = reduction_indices if axis is None else axis
    keep = keepdims if keepdims is not None else bool(keep_dims)
    inputs = convert_to_tensor(inputs, dtypes.string)
    if axis is None:
        axis = list(range(inputs.shape.ndims)) if inputs.shape.ndims is not None else range_(rank(inputs))
    return apply("ReduceJoin", name, {"inputs": inputs, "reduction_indices": convert_to_tensor(axis, dtypes.int32),
                                      "keep_dims": keep, "separator": separator})


def string_length(input, name=None, unit="BYTE"):
    return apply("StringLength", name, {"input": input, "unit": unit})


def substr(input, pos, len, name=None, unit="BYTE"):
    return apply("Substr", name, {"input": input, "pos": pos, "len": len, "unit": unit})


def string_strip(input, name=None):
    return apply("StringStrip", name, {"input": input})


def string_lower(input, encoding="", name=None):
    return apply("StringLower", name, {"input": input, "encoding": encoding})


def string_upper(input, encoding="", name=None):
    return apply("StringUpper", name, {"input": input, "encoding": encoding})


def string_format(template, inputs, placeholder="{}", summarize=3, name=None):
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    return apply("StringFormat", name, {"inputs": [convert_to_tensor(i) for i in inputs], "template": template,
                                        "placeholder": placeholder, "summarize": summarize})


def as_string(input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None):
    return apply("AsString", name, {"input": input, "precision": precision, "scientific": scientific,
                                    "shortest": shortest, "width": width, "fill": fill})


def string_to_number(string_tensor=None, out_type=dtypes.float32, name=None, input=None):
    return apply("StringToNumber", name, {"string_tensor": input if string_tensor is None else string_tensor,
                                          "out_type": dtypes.as_dtype(out_type)})


def string_to_hash_bucket(string_tensor=None, num_buckets=None, name=None, input=None):
    return apply("StringToHashBucket", name, {"string_tensor": input if string_tensor is None else string_tensor,
                                              "num_buckets": num_buckets})


def string_to_hash_bucket_fast(input, num_buckets, name=None):
    return apply("StringToHashBucketFast", name, {"input": input, "num_buckets": num_buckets})


def string_to_hash_bucket_strong(input, num_buckets, key, name=None):
    return apply("StringToHashBucketStrong", name, {"input": input, "num_buckets": num_buckets, "key": list(key)})


def decode_base64(input, name=None):
    return apply("DecodeBase64", name, {"input": input})


def encode_base64(input, pad=False, name=None):
    return apply("EncodeBase64", name, {"input": input, "pad": pad})


def unicode_transcode(input, input_encoding, output_encoding, errors="replace", replacement_char=65533,
                      replace_control_characters=False, name=None):
    return apply("UnicodeTranscode", name, {
        "input": input, "input_encoding": input_encoding, "output_encoding": output_encoding, "errors": errors,
        "replacement_char": replacement_char, "replace_control_characters": replace_control_characters})


def unicode_split(input, input_encoding, errors="replace", replacement_char=65533, name=None):
    """The characters of each string, a RaggedTensor; of one string, a vector."""
    from .array_ops import expand_dims, reshape, shape
    from .ragged import RaggedTensor
    with name_scope(name, "UnicodeSplit", [input]):
        input = convert_to_tensor(input, dtypes.string)
        scalar = input.shape.ndims == 0
        flat = expand_dims(input, 0) if scalar else input
        splits, chars = apply("UnicodeDecode", None, {
            "input": flat, "input_encoding": input_encoding, "errors": errors, "replacement_char": replacement_char,
            "replace_control_characters": False, "Tsplits": dtypes.int64})
        from .math_ops import range as range_, cast
        each = apply("UnicodeEncode", None, {
            "input_values": chars, "input_splits": range_(cast(shape(chars)[0], dtypes.int64) + 1),
            "output_encoding": "UTF-8", "errors": errors, "replacement_char": replacement_char})
        return reshape(each, [-1]) if scalar else RaggedTensor.from_row_splits(each, splits)
