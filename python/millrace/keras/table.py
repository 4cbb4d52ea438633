"""table — what model.summary() writes."""
import numpy as np


def _count(weights):
    return sum(int(np.prod(tuple(w.shape))) for w in weights)


def _bytes(weights):
    n = sum(int(np.prod(tuple(w.shape))) * w.dtype.size for w in weights)
    for unit in ("B", "KB", "MB", "GB"):
        if n < 1024 or unit == "GB":
            return "%.2f %s" % (n, unit)
        n /= 1024.0


def _shape(layer):
    from .. import nest
    if layer._nodes:
        shapes = [t.shape for t in nest.flatten(layer._nodes[-1].outputs)]
    elif hasattr(layer, "batch_shape"):
        shapes = [tuple(layer.batch_shape)]
    else:
        return "?"
    return str(shapes[0]) if len(shapes) == 1 else "[%s]" % ", ".join(map(str, shapes))


def summary(model, line_length=None):
    """The table as a text."""
    rows = [("Layer (type)", "Output Shape", "Param #")]
    for layer in model.layers:
        rows.append(("%s (%s)" % (layer.name, type(layer).__name__), _shape(layer),
                     "{:,}".format(_count(layer.weights)) if layer.built else "0 (unbuilt)"))
    widths = [max(len(r[i]) for r in rows) for i in range(3)]
    if line_length:
        widths[0] = max(widths[0], line_length - widths[1] - widths[2] - 10)
    line = lambda l, m, r: l + m.join("\u2500" * (w + 2) for w in widths) + r
    text = ["Model: \"%s\"" % model.name, line("\u250c", "\u252c", "\u2510")]
    for i, row in enumerate(rows):
        cells = [" %s " % row[0].ljust(widths[0]), " %s " % row[1].ljust(widths[1]), " %s " % row[2].rjust(widths[2])]
        text.append("\u2502" + "\u2502".join(cells) + "\u2502")
        text.append(line("\u251c", "\u253c", "\u2524") if i < len(rows) - 1 else line("\u2514", "\u2534", "\u2518"))
    for name, weights in (("Total", model.weights), ("Trainable", model.trainable_weights),
                          ("Non-trainable", model.non_trainable_weights)):
        text.append(" %s params: %s (%s)" % (name, "{:,}".format(_count(weights)), _bytes(weights)))
    return "\n".join(text)
