"""predictor — contrib.predictor: a saved model as a function of arrays."""
from .. import saved_model
from ..graph import Graph
from ..session import Session


class Predictor:
    """`predictor({"x": array})` gives {"y": array}."""

    def __init__(self, graph, session, feeds, fetches):
        self._graph, self._session, self._feeds, self._fetches = graph, session, feeds, fetches

    graph, session = property(lambda self: self._graph), property(lambda self: self._session)
    feed_tensors, fetch_tensors = property(lambda self: self._feeds), property(lambda self: self._fetches)

    def __call__(self, input_dict):
        unknown = sorted(set(input_dict) - set(self._feeds))
        if unknown:
            raise ValueError("Got unexpected keys in input_dict: %s" % set(unknown))
        return self._session.run(self._fetches, {self._feeds[k]: v for k, v in input_dict.items()})

    def __repr__(self):
        return "Predictor with feed tensors %s and fetch_tensors %s" % (self._feeds, self._fetches)


def from_saved_model(export_dir, signature_def_key=None, signature_def=None, input_names=None, output_names=None, tags=None,
                     graph=None, config=None):
    """The predictor of a signature, or of tensors by names."""
    graph = graph or Graph()
    with graph.as_default():
        session = Session(graph=graph, config=config)
        meta = saved_model.loader_load(session, (tags or saved_model.SERVING).split(","), export_dir)
        if input_names is not None:
            feeds, fetches = input_names, output_names
        else:
            key = signature_def_key or saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
            if signature_def is None and key not in meta.signature_def:
                raise ValueError("Got signature_def_key \"%s\". Available signatures are %s." % (
                    key, sorted(meta.signature_def)))
            signature = signature_def or meta.signature_def[key]
            feeds = {k: v.name for k, v in signature.inputs.items()}
            fetches = {k: v.name for k, v in signature.outputs.items()}
        found = {k: graph.get_tensor_by_name(v) for k, v in feeds.items()}
        return Predictor(graph, session, found, {k: graph.get_tensor_by_name(v) for k, v in fetches.items()})
