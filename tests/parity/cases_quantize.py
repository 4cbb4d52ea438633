# Quantised values: floats to small integers and back, as they are computed with and as training pretends.
import numpy as np
from cases import *

FAKE = [(-6, 6), (0, 15), (-3, 3), (-1, 99.5), (2, 7), (-9, -2), (-0.1, 0.1)]
for bits in (2, 4, 8, 16):
    for narrow in (False, True):
        attrs = {"num_bits": bits, "narrow_range": narrow}
        x = np.concatenate([np.linspace(-10, 10, 41), np.linspace(-0.2, 0.2, 17), [99, -99, 0]]).astype(f32)
        dy = values(f32, x.shape, key=1)
        for low, high in FAKE:
            case("FakeQuantWithMinMaxArgs", x, attrs=dict(attrs, min=float(low), max=float(high)), grad=True)
            case("FakeQuantWithMinMaxArgsGradient", dy, x, attrs=dict(attrs, min=float(low), max=float(high)))
            case("FakeQuantWithMinMaxVars", x, np.array(low, f32), np.array(high, f32), attrs=attrs, grad=True)
            case("FakeQuantWithMinMaxVarsGradient", dy, x, np.array(low, f32), np.array(high, f32), attrs=attrs, tol=1e-4)
        low, high = np.array([-6, 0, -1], f32), np.array([6, 3, 9], f32)
        for shape in [(3,), (5, 3), (2, 4, 2, 3), (0, 3)]:
            case("FakeQuantWithMinMaxVarsPerChannel", values(f32, shape, -10, 10), low, high, attrs=attrs, grad=True)
            case("FakeQuantWithMinMaxVarsPerChannelGradient", values(f32, shape), values(f32, shape, -10, 10), low, high, attrs=attrs)
case("FakeQuantWithMinMaxVars", values(f32, (4,)), np.array(0, f32), np.array(0, f32), grad=True)
case("FakeQuantWithMinMaxArgs", values(f32, (4,)), attrs={"num_bits": 17}, error=True)
case("FakeQuantWithMinMaxArgs", values(f32, (4,)), attrs={"min": 3.0, "max": 1.0}, error=True)

for dtype in present([f32, f64, f16, bfloat16]):
    tol = {f32: 1e-5, f64: 1e-12}.get(dtype, 2e-2)
    wide = dtype in (f32, f64)
    for signed in (False, True):
        for narrow in (False, True):
            for bits in (4, 8) if wide else (4,):
                x = values(dtype, (3, 4), -2, 2)
                attrs = {"signed_input": signed, "narrow_range": narrow}
                numbers = dict(attrs, num_bits=bits)
                for mode in ("HALF_TO_EVEN", "HALF_UP"):
                    for given in (False, True):
                        ends = np.array(-1.5, dtype), np.array(1.25, dtype)
                        case("QuantizeAndDequantizeV2", x, *ends, attrs=dict(numbers, round_mode=mode, range_given=given), tol=tol, grad=wide)
                        case("QuantizeAndDequantizeV4", x, *ends, attrs=dict(numbers, round_mode=mode, range_given=given), tol=tol)
                    for axis, n in ((0, 3), (1, 4)):
                        ends = np.linspace(-2, -1, n).astype(dtype), np.linspace(1, 2, n).astype(dtype)
                        case("QuantizeAndDequantizeV2", x, *ends, attrs=dict(numbers, round_mode=mode, axis=axis), tol=tol)
                for given in (False, True):
                    case("QuantizeAndDequantizeV3", x, np.array(-1.5, dtype), np.array(1.25, dtype), np.array(bits, i32),
                         attrs=dict(attrs, range_given=given), const=(3,), tol=tol, grad=wide)
    x = values(dtype, (3, 4), -2, 2)
    case("QuantizeAndDequantizeV4Grad", values(dtype, (3, 4), key=1), x, np.array(-1, dtype), np.array(1, dtype), outs=1)
    case("QuantizeAndDequantizeV4Grad", values(dtype, (3, 4), key=1), x, np.full(4, -1, dtype), np.full(4, 1, dtype), attrs={"axis": 1}, outs=1)
    case("QuantizeAndDequantizeV2", np.zeros(3, dtype), np.array(0, dtype), np.array(0, dtype), tol=tol)
case("QuantizeAndDequantizeV2", values(f32, (3,)), np.array(2, f32), np.array(1, f32), attrs={"range_given": True}, error=True)

QUANTIZED = {"qint8": np.int8, "quint8": np.uint8, "qint16": np.int16, "quint16": np.uint16, "qint32": np.int32}
RANGES = [(-1, 1), (0, 6), (-3, 0.5), (0, 255), (1, 2), (-2, -1)]


def there_and_back(name, low, high, attrs, back):
    """Through float, since arrays have no quantised types."""
    label = "%s [%g, %g] %s" % (name, low, high, sorted(attrs.items()))

    @script("Dequantize" if back else "QuantizeV2", label=label, tol=1e-6)
    def run(tf):
        x = tf.placeholder(tf.float32, (None,))
        kind = getattr(tf, name)
        feed = np.linspace(-4, 7, 45).astype(f32)
        q = tf.raw_ops.QuantizeV2(input=x, min_range=low, max_range=high, T=kind, **attrs)
        if not back:
            return [([tf.cast(tf.bitcast(q.output, QUANTIZED[name]), tf.float64), q.output_min, q.output_max], {x: feed}, [])]
        other = {k: v for k, v in attrs.items() if k in ("mode", "narrow_range")}
        whole = tf.placeholder(QUANTIZED[name], (None,))
        limits = np.iinfo(QUANTIZED[name])
        part = 2 if name == "qint32" else 1  # TensorFlow answers the greatest of these with its negative
        numbers = np.linspace(limits.min // part, limits.max // part, 33).astype(QUANTIZED[name])
        y = tf.raw_ops.Dequantize(input=tf.bitcast(whole, kind), min_range=low, max_range=high, **other)
        return [([y], {whole: numbers}, [])]


for name in QUANTIZED:
    for low, high in RANGES:
        for attrs in [{}, {"mode": "MIN_FIRST"}, {"mode": "SCALED"}, {"mode": "SCALED", "narrow_range": True},
                      {"mode": "SCALED", "round_mode": "HALF_TO_EVEN"}]:
            if name == "qint32" and attrs.get("mode") != "SCALED":
                continue
            if name != "qint32" and not (attrs.get("narrow_range") and high < 0):  # where TensorFlow overflows, or flushes
                there_and_back(name, low, high, attrs, False)
            if low < 0 < high or low == 0:
                there_and_back(name, low, high, attrs, True)
