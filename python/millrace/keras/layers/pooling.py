"""pooling — the largest or the mean of windows, and of everything."""
from ... import array_ops, math_ops
from ...ops_apply import apply
from ..layer import Layer

__all__ = ["MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D",
           "MaxPool1D", "MaxPool2D", "MaxPool3D", "AvgPool1D", "AvgPool2D", "AvgPool3D", "GlobalAveragePooling1D",
           "GlobalAveragePooling2D", "GlobalAveragePooling3D", "GlobalMaxPooling1D", "GlobalMaxPooling2D",
           "GlobalMaxPooling3D", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalMaxPool1D", "GlobalMaxPool2D"]


class _Pool(Layer):
    _rank, _op = 2, "MaxPool"

    def __init__(self, pool_size=2, strides=None, padding="valid", data_format=None, **kwargs):
        super().__init__(**kwargs)
        each = lambda v: (v,) * self._rank if isinstance(v, int) else tuple(v)
        self.pool_size = each(pool_size)
        self.strides = self.pool_size if strides is None else each(strides)
        self.padding, self.data_format = padding, data_format or "channels_last"

    def call(self, inputs):
        n, first = self._rank, self.data_format == "channels_first"
        if first:
            inputs = array_ops.transpose(inputs, [0] + list(range(2, n + 2)) + [1])
        size, strides = list(self.pool_size), list(self.strides)
        if n == 1:
            inputs, size, strides = array_ops.expand_dims(inputs, 1), [1] + size, [1] + strides
        op = self._op + ("3D" if n == 3 else "")
        key = "input" if n == 3 or self._op == "MaxPool" else "value"
        x = apply(op, None, {key: inputs, "ksize": [1] + size + [1], "strides": [1] + strides + [1],
                             "padding": self.padding.upper()})
        x = array_ops.squeeze(x, 1) if n == 1 else x
        return array_ops.transpose(x, [0, n + 1] + list(range(1, n + 1))) if first else x


def _pool(name, rank, op):
    return type(name, (_Pool,), {"_rank": rank, "_op": op, "__module__": __name__})


MaxPooling1D, MaxPooling2D, MaxPooling3D = [_pool("MaxPooling%dD" % n, n, "MaxPool") for n in (1, 2, 3)]
AveragePooling1D, AveragePooling2D, AveragePooling3D = [_pool("AveragePooling%dD" % n, n, "AvgPool") for n in (1, 2, 3)]
MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D


class _Global(Layer):
    _rank, _largest = 2, False

    def __init__(self, data_format=None, keepdims=False, **kwargs):
        super().__init__(**kwargs)
        self.data_format, self.keepdims = data_format or "channels_last", keepdims
        self.supports_masking = self._rank == 1 and not self._largest

    def call(self, inputs, mask=None):
        first = self.data_format == "channels_first"
        axes = list(range(2, self._rank + 2)) if first else list(range(1, self._rank + 1))
        if mask is not None and self._rank == 1 and not self._largest:
            weight = array_ops.expand_dims(math_ops.cast(mask, inputs.dtype), 1 if first else 2)
            return math_ops.reduce_sum(inputs * weight, axes, self.keepdims) / math_ops.reduce_sum(weight, axes, self.keepdims)
        return (math_ops.reduce_max if self._largest else math_ops.reduce_mean)(inputs, axes, self.keepdims)

    def compute_mask(self, inputs, mask=None):
        return None


def _global(name, rank, largest):
    return type(name, (_Global,), {"_rank": rank, "_largest": largest, "__module__": __name__})


GlobalAveragePooling1D, GlobalAveragePooling2D, GlobalAveragePooling3D = [
    _global("GlobalAveragePooling%dD" % n, n, False) for n in (1, 2, 3)]
GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D = [_global("GlobalMaxPooling%dD" % n, n, True) for n in (1, 2, 3)]
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalMaxPool1D, GlobalMaxPool2D = GlobalMaxPooling1D, GlobalMaxPooling2D
