"""text — words into numbers: StringLookup, IntegerLookup, TextVectorization. The vocabulary is found in Python, once."""
import collections
import re
import string

import numpy as np

from ...convert import convert_to_tensor
from ..layer import Layer

__all__ = ["StringLookup", "IntegerLookup", "TextVectorization", "CategoryEncoding"]


class StringLookup(Layer):
    """Strings into their places in a vocabulary, or back."""

    def __init__(self, max_tokens=None, num_oov_indices=1, mask_token=None, oov_token="[UNK]", vocabulary=None, invert=False,
                 output_mode="int", **kwargs):
        super().__init__(**kwargs)
        self.max_tokens, self.num_oov_indices, self.mask_token, self.oov_token = max_tokens, num_oov_indices, mask_token, oov_token
        self.invert, self.output_mode = invert, output_mode
        if output_mode not in ("int", "multi_hot", "one_hot", "count"):
            raise ValueError("output_mode is int, multi_hot, one_hot or count; got %r" % (output_mode,))
        self._autocast, self.built = False, True
        self._tokens = self._places = None
        if vocabulary is not None:
            self.set_vocabulary(vocabulary)

    def _head(self):
        return ([self.mask_token] if self.mask_token is not None else []) + [self.oov_token] * self.num_oov_indices

    def set_vocabulary(self, vocabulary):
        if isinstance(vocabulary, str):
            with open(vocabulary, encoding="utf-8") as f:
                vocabulary = f.read().splitlines()
        tokens = [v.decode() if isinstance(v, bytes) else v.item() if isinstance(v, np.generic) else v for v in vocabulary]
        head = self._head()
        if tokens[:len(head)] == head:
            tokens = tokens[len(head):]
        if len(set(tokens)) != len(tokens):
            raise ValueError("The passed vocabulary has at least one repeated term.")
        self._tokens = head + tokens
        self._places = {t: i + len(head) for i, t in enumerate(tokens)}

    def adapt(self, data):
        counts = collections.Counter(_words(data))
        most = None if self.max_tokens is None else self.max_tokens - len(self._head())
        # The most frequent first; of the same count the later in the alphabet, as Keras orders.
        ordered = [t for t, _ in sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True)]
        self.set_vocabulary(ordered[:most])

    def get_vocabulary(self, include_special_tokens=True):
        tokens = list(self._tokens or self._head())
        return tokens if include_special_tokens else tokens[len(self._head()):]

    def vocabulary_size(self):
        return len(self.get_vocabulary())

    def _number(self, token):
        if token == self.mask_token and self.mask_token is not None:
            return 0
        place = self._places.get(token)
        if place is None:
            if not self.num_oov_indices:
                raise ValueError("found a token that is not in the vocabulary: %r" % (token,))
            return int(self.mask_token is not None)
        return place

    def call(self, inputs):
        from ...py_func import numpy_function
        if self._places is None:
            raise RuntimeError("the layer has no vocabulary yet: call adapt() or give `vocabulary`")
        if self.invert:
            return numpy_function(self._back, [inputs], "string")
        made = numpy_function(self._there, [inputs], "int64" if self.output_mode == "int" else "float32")
        if self.output_mode == "int" and hasattr(inputs, "shape"):
            made.set_shape(inputs.shape)
        return made

    def _there(self, values):
        values = np.asarray(values)
        flat = [self._number(v.decode() if isinstance(v, bytes) else v) for v in values.ravel().tolist()]
        numbers = np.array(flat, np.int64).reshape(values.shape)
        return numbers if self.output_mode == "int" else _encoded(numbers, self.vocabulary_size(), self.output_mode)

    def _back(self, numbers):
        tokens = self._tokens
        numbers = np.asarray(numbers)
        flat = [str(tokens[i] if 0 <= i < len(tokens) else self.oov_token).encode() for i in numbers.ravel().tolist()]
        return np.array(flat, object).reshape(numbers.shape)

    def get_config(self):
        config = super().get_config()
        config["vocabulary"] = None if self._tokens is None else self.get_vocabulary(False)
        return config


class IntegerLookup(StringLookup):
    """The same for integers."""

    def __init__(self, max_tokens=None, num_oov_indices=1, mask_token=None, oov_token=-1, **kwargs):
        super().__init__(max_tokens, num_oov_indices, mask_token, oov_token, **kwargs)

    def _back(self, numbers):
        tokens = self._tokens
        numbers = np.asarray(numbers)
        return np.array([tokens[i] for i in numbers.ravel().tolist()], np.int64).reshape(numbers.shape)


class CategoryEncoding(Layer):
    """Numbers of categories as rows of zeros and ones, or of counts."""

    def __init__(self, num_tokens, output_mode="multi_hot", **kwargs):
        super().__init__(**kwargs)
        self.num_tokens, self.output_mode = num_tokens, output_mode
        self._autocast = False

    def call(self, inputs):
        from ... import array_ops, math_ops
        hot = array_ops.one_hot(math_ops.cast(convert_to_tensor(inputs), "int32"), self.num_tokens)
        if self.output_mode == "one_hot":
            return hot
        total = math_ops.reduce_sum(hot, axis=-2)
        return total if self.output_mode == "count" else math_ops.minimum(total, 1.0)


def _encoded(numbers, size, mode):
    if mode == "one_hot":
        return np.eye(size, dtype=np.float32)[numbers]
    rows = numbers.reshape(-1, numbers.shape[-1]) if numbers.ndim else numbers.reshape(1, 1)
    out = np.zeros((len(rows), size), np.float32)
    for row, wanted in zip(out, rows):
        np.add.at(row, wanted, 1)
    out = np.minimum(out, 1) if mode == "multi_hot" else out
    return out.reshape(numbers.shape[:-1] + (size,)) if numbers.ndim else out[0]


def _words(data):
    if hasattr(data, "shape") or isinstance(data, (list, tuple)):
        for one in np.asarray(data, dtype=object).ravel().tolist():
            yield one.decode() if isinstance(one, bytes) else one
        return
    for batch in data:
        yield from _words(np.asarray(batch.numpy() if hasattr(batch, "numpy") else batch))


_PUNCTUATION = re.compile("[%s]" % re.escape(string.punctuation))


class TextVectorization(Layer):
    """Texts into rows of word numbers: lower case, without punctuation, cut at white space, by a vocabulary."""

    def __init__(self, max_tokens=None, standardize="lower_and_strip_punctuation", split="whitespace", ngrams=None,
                 output_mode="int", output_sequence_length=None, vocabulary=None, **kwargs):
        super().__init__(**kwargs)
        if ngrams is not None:
            raise ValueError("ngrams are not part of this layer")
        self.max_tokens, self.standardize, self.split, self.output_mode = max_tokens, standardize, split, output_mode
        self.output_sequence_length = output_sequence_length
        self._autocast, self.built = False, True
        self._lookup = StringLookup(max_tokens=max_tokens, mask_token="" if output_mode == "int" else None)
        if vocabulary is not None:
            self.set_vocabulary(vocabulary)

    def _split(self, text):
        text = text.decode() if isinstance(text, bytes) else text
        if callable(self.standardize):
            text = self.standardize(text)
        elif self.standardize:
            text = text.lower() if "lower" in self.standardize else text
            text = _PUNCTUATION.sub("", text) if "strip_punctuation" in self.standardize else text
        if callable(self.split):
            return list(self.split(text))
        return [text] if self.split is None else list(text) if self.split == "character" else text.split()

    def adapt(self, data):
        self._lookup.adapt([w for text in _words(data) for w in self._split(text)])

    def set_vocabulary(self, vocabulary):
        self._lookup.set_vocabulary(vocabulary)

    def get_vocabulary(self, include_special_tokens=True):
        return self._lookup.get_vocabulary(include_special_tokens)

    def vocabulary_size(self):
        return self._lookup.vocabulary_size()

    def call(self, inputs):
        from ...py_func import numpy_function
        made = numpy_function(self._rows, [inputs], "int64" if self.output_mode == "int" else "float32")
        width = self.output_sequence_length if self.output_mode == "int" else self.vocabulary_size()
        if hasattr(inputs, "shape"):
            dims = list(inputs.shape)
            made.set_shape((dims[:-1] if dims and dims[-1] == 1 and len(dims) > 1 else dims) + [width])
        return made

    def _rows(self, texts):
        texts = np.asarray(texts, dtype=object)
        shape = texts.shape[:-1] if texts.ndim > 1 and texts.shape[-1] == 1 else texts.shape
        rows = [[self._lookup._number(w) for w in self._split(t)] for t in texts.ravel().tolist()]
        if self.output_mode != "int":
            n = self.vocabulary_size()
            out = [_encoded(np.array(r, np.int64), n, self.output_mode) if r else np.zeros(n, np.float32) for r in rows]
            return np.stack(out).reshape(shape + (n,))
        width = self.output_sequence_length or max([len(r) for r in rows] or [0])
        out = np.zeros((len(rows), width), np.int64)
        for row, numbers in zip(out, rows):
            row[:min(width, len(numbers))] = numbers[:width]
        return out.reshape(shape + (width,))

    def get_config(self):
        config = super().get_config()
        config["vocabulary"] = None if self._lookup._tokens is None else self._lookup.get_vocabulary(False)
        return config
