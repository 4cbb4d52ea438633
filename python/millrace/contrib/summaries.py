"""summaries — contrib.layers: summaries of tensors and of whole collections."""
import re

import millrace.summary as summary
from ..graph import GraphKeys, get_collection
import millrace.nn as nn


def _name_of(tensor, tag):
    return tag or "%s_summary" % tensor.op.name


def summarize_tensor(tensor, tag=None):
    """A number as such, all else as a histogram."""
    if tensor.shape.ndims == 0:
        return summary.scalar(_name_of(tensor, tag), tensor)
    return summary.histogram(_name_of(tensor, tag), tensor)


def summarize_activation(op):
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        from ..math_ops import cast, reduce_mean
        from ..ops_apply import apply
        from ..dtypes import float32
        summary.scalar("%s_zeros" % op.op.name, nn.zero_fraction(op))
        if op.op.type == "Relu6":
            over = apply("Greater", None, {"x": op, "y": 6.0})
            summary.scalar("%s_sixes" % op.op.name, reduce_mean(cast(over, float32)))
    return summary.histogram("%s_activation" % op.op.name, op)


def summarize_tensors(tensors, summarizer=summarize_tensor):
    return [summarizer(t) for t in tensors]


def summarize_collection(collection, name_filter=None, summarizer=summarize_tensor):
    found = get_collection(collection)
    if name_filter is not None:
        found = [t for t in found if re.search(name_filter, t.op.name)]
    return summarize_tensors(found, summarizer)


def summarize_variables(name_filter=None, summarizer=summarize_tensor):
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


def summarize_weights(name_filter=None, summarizer=summarize_tensor):
    return summarize_collection(GraphKeys.WEIGHTS, name_filter, summarizer)


def summarize_biases(name_filter=None, summarizer=summarize_tensor):
    return summarize_collection(GraphKeys.BIASES, name_filter, summarizer)


def summarize_activations(name_filter=None, summarizer=summarize_activation):
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
