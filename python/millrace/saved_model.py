"""saved_model — tf.saved_model: graphs with their variables and signatures in a folder, written and read."""
import os
import shutil
import types

from . import dtypes, messages, text_format
from .control_flow import group
from .graph import GraphKeys, Operation, Tensor, get_default_graph
from .indexed import SparseTensor
from .lookup_ops import tables_initializer
from .train import meta_graph
from .train.saver import Saver
from . import variables

SERVING, TRAINING, GPU, TPU = "serve", "train", "gpu", "tpu"
PREDICT_INPUTS, PREDICT_OUTPUTS = "inputs", "outputs"
CLASSIFY_INPUTS, CLASSIFY_OUTPUT_CLASSES, CLASSIFY_OUTPUT_SCORES = "inputs", "classes", "scores"
REGRESS_INPUTS, REGRESS_OUTPUTS = "inputs", "outputs"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
ASSETS_DIRECTORY, ASSETS_KEY, VARIABLES_DIRECTORY, VARIABLES_FILENAME = "assets", "saved_model_assets", "variables", \
    "variables"
SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT, SAVED_MODEL_SCHEMA_VERSION = "saved_model.pb", \
    "saved_model.pbtxt", 1
LEGACY_INIT_OP_KEY, MAIN_OP_KEY, TRAIN_OP_KEY = "legacy_init_op", "saved_model_main_op", "saved_model_train_op"


# ---------------------------------------- signatures

def build_tensor_info(tensor):
    """A TensorInfo of a tensor or a SparseTensor."""
    info = messages.TensorInfo()
    info.dtype = dtypes.as_dtype(tensor.dtype).base_dtype.as_datatype_enum
    info.tensor_shape.CopyFrom(tensor.get_shape().as_proto())
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
    graph = graph or get_default_graph()
    find = lambda name: graph.get_tensor_by_name(import_scope + "/" + name if import_scope else name)
    if tensor_info.WhichOneof("encoding") == "coo_sparse":
        sparse = tensor_info.coo_sparse
        return SparseTensor(find(sparse.indices_tensor_name), find(sparse.values_tensor_name),
                            find(sparse.dense_shape_tensor_name))
    return find(tensor_info.name)


def build_signature_def(inputs=None, outputs=None, method_name=None):
    """A SignatureDef of {name: TensorInfo}."""
    found = messages.SignatureDef()
    for key, info in (inputs or {}).items():
        found.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        found.outputs[key].CopyFrom(info)
    if method_name is not None:
        found.method_name = method_name
    return found


def predict_signature_def(inputs, outputs):
    """A signature of tensors by names."""
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    infos = lambda tensors: {k: build_tensor_info(t) for k, t in tensors.items()}
    return build_signature_def(infos(inputs), infos(outputs), PREDICT_METHOD_NAME)


def classification_signature_def(examples, classes, scores):
    if examples is None:
        raise ValueError("Classification `examples` cannot be None.")
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs[CLASSIFY_OUTPUT_CLASSES] = build_tensor_info(classes)
    if scores is not None:
        outputs[CLASSIFY_OUTPUT_SCORES] = build_tensor_info(scores)
    return build_signature_def({CLASSIFY_INPUTS: build_tensor_info(examples)}, outputs, CLASSIFY_METHOD_NAME)


def regression_signature_def(examples, predictions):
    if examples is None:
        raise ValueError("Regression `examples` cannot be None.")
    return build_signature_def({REGRESS_INPUTS: build_tensor_info(examples)},
                               {REGRESS_OUTPUTS: build_tensor_info(predictions)}, REGRESS_METHOD_NAME)


def is_valid_signature(signature_def):
    return bool(signature_def is not None and signature_def.method_name in (
        PREDICT_METHOD_NAME, CLASSIFY_METHOD_NAME, REGRESS_METHOD_NAME) and signature_def.inputs and signature_def.outputs)


# ---------------------------------------- writing

class Builder:
    """Writes a SavedModel: one meta graph with variables, others for other tags; `save` writes the file."""

    def __init__(self, export_dir):
        self._export_dir = os.fspath(export_dir) if not isinstance(export_dir, bytes) else export_dir.decode()
        if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
            raise AssertionError("Export directory already exists, and isn't empty. Please choose a different export "
                                 "directory, or delete all the contents of the specified directory: %s" % export_dir)
        os.makedirs(self._export_dir, exist_ok=True)
        self._saved_model = messages.SavedModel(saved_model_schema_version=SAVED_MODEL_SCHEMA_VERSION)
        self._has_saved_variables = False

    def add_meta_graph_and_variables(self, sess, tags, signature_def_map=None, assets_collection=None,
                                     legacy_init_op=None, clear_devices=False, init_op=None, train_op=None,
                                     strip_default_attrs=False, saver=None, main_op=None, assets_list=None):
        """The first: the session's graph and the values of its variables."""
        if self._has_saved_variables:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke "
                                 "`add_meta_graph()` instead.")
        with sess.graph.as_default():
            saver = self._prepare(signature_def_map, assets_collection or assets_list, init_op or main_op or
                                  legacy_init_op, train_op, saver, legacy_init_op is not None)
            folder = os.path.join(self._export_dir, VARIABLES_DIRECTORY)
            os.makedirs(folder, exist_ok=True)
            saver.save(sess, os.path.join(folder, VARIABLES_FILENAME), write_meta_graph=False, write_state=False)
            self._add(saver, tags, signature_def_map, clear_devices)
        self._has_saved_variables = True

    def add_meta_graph(self, tags, signature_def_map=None, assets_collection=None, legacy_init_op=None,
                       clear_devices=False, init_op=None, train_op=None, saver=None, strip_default_attrs=False,
                       main_op=None, assets_list=None):
        """A further one, of the default graph, over the same variables."""
        if not self._has_saved_variables:
            raise AssertionError("Graph state including variables and assets has not been saved yet. Please invoke "
                                 "`add_meta_graph_and_variables()` first.")
        saver = self._prepare(signature_def_map, assets_collection or assets_list, init_op or main_op or legacy_init_op,
                              train_op, saver, legacy_init_op is not None)
        self._add(saver, tags, signature_def_map, clear_devices)

    def _prepare(self, signatures, assets, init_op, train_op, saver, legacy):
        for key, signature in (signatures or {}).items():
            if not isinstance(signature, messages.Message) and not hasattr(signature, "method_name"):
                raise ValueError("signature %r is no SignatureDef" % key)
        graph = get_default_graph()
        self._save_assets(assets)
        if init_op is not None:
            if not isinstance(init_op, (Operation, Tensor)):
                raise TypeError("init_op needs to be an Operation: %s" % (init_op,))
            graph.add_to_collection(LEGACY_INIT_OP_KEY if legacy else MAIN_OP_KEY, init_op)
        if train_op is not None:
            graph.add_to_collection(TRAIN_OP_KEY, train_op)
        return saver or Saver(variables._all_saveable_objects(), sharded=True, write_version=2, allow_empty=True)

    def _save_assets(self, assets):
        graph = get_default_graph()
        for tensor in assets or ():
            from .constant import constant_value
            value = constant_value(tensor)
            path = value.item() if hasattr(value, "item") else value
            path = path.decode() if isinstance(path, bytes) else path
            if not path:
                raise ValueError("Invalid asset filepath tensor %s" % tensor)
            name = os.path.basename(path)
            folder = os.path.join(self._export_dir, ASSETS_DIRECTORY)
            os.makedirs(folder, exist_ok=True)
            shutil.copyfile(path, os.path.join(folder, name))
            asset = messages.AssetFileDef(filename=name)
            asset.tensor_info.name = tensor.name
            from .graph import add_to_collection
            add_to_collection(ASSETS_KEY, _AssetProto(asset))
            graph._kept.append(asset)

    def _add(self, saver, tags, signatures, clear_devices):
        graph = get_default_graph()
        meta, _ = meta_graph.export_meta_graph(graph=graph, clear_devices=clear_devices,
                                               saver_def=saver.saver_def if saver.saver_def is not None else None)
        del meta.meta_info_def.tags[:]
        meta.meta_info_def.tags.extend(list(tags))
        for key, signature in (signatures or {}).items():
            meta.signature_def[key].CopyFrom(signature)
        for asset in graph.get_collection(ASSETS_KEY):
            meta.asset_file_def.add().CopyFrom(asset.proto)
        self._saved_model.meta_graphs.add().CopyFrom(meta)

    def save(self, as_text=False):
        """Writes saved_model.pb and gives its path."""
        path = os.path.join(self._export_dir, SAVED_MODEL_FILENAME_PBTXT if as_text else SAVED_MODEL_FILENAME_PB)
        with open(path + ".tmp", "w" if as_text else "wb") as f:
            f.write(text_format.MessageToString(self._saved_model) if as_text else self._saved_model.SerializeToString())
        os.replace(path + ".tmp", path)
        return path.encode()


SavedModelBuilder = Builder


class _AssetProto:
    """An asset in its collection."""

    def __init__(self, proto):
        self.proto = proto

    def to_proto(self, export_scope=None):
        any_proto = messages.Any(type_url="type.googleapis.com/tensorflow.AssetFileDef",
                                 value=self.proto.SerializeToString())
        return any_proto


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """A SavedModel for serving, with one signature."""
    builder = Builder(export_dir)
    builder.add_meta_graph_and_variables(
        session, [SERVING], {DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)},
        assets_collection=get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS), main_op=legacy_init_op,
        clear_devices=True)
    builder.save()


# ---------------------------------------- reading

def parse_saved_model(export_dir):
    """The SavedModel message of a folder. OSError."""
    path = os.path.join(export_dir, SAVED_MODEL_FILENAME_PB)
    if os.path.exists(path):
        with open(path, "rb") as f:
            try:
                return messages.SavedModel.FromString(f.read())
            except messages.DecodeError as error:
                raise IOError("Cannot parse file %s: %s." % (path, error)) from None
    text = os.path.join(export_dir, SAVED_MODEL_FILENAME_PBTXT)
    if os.path.exists(text):
        with open(text) as f:
            return text_format.Parse(f.read(), messages.SavedModel())
    raise IOError("SavedModel file does not exist at: %s/{%s|%s}" % (export_dir, SAVED_MODEL_FILENAME_PBTXT,
                                                                    SAVED_MODEL_FILENAME_PB))


def maybe_saved_model_directory(export_dir):
    return any(os.path.exists(os.path.join(export_dir, n)) for n in (SAVED_MODEL_FILENAME_PB,
                                                                     SAVED_MODEL_FILENAME_PBTXT))


contains_saved_model = maybe_saved_model_directory


def _meta_graph(export_dir, tags):
    saved = parse_saved_model(export_dir)
    wanted = {t.decode() if isinstance(t, bytes) else t for t in ([tags] if isinstance(tags, str) else tags)}
    there = []
    for meta in saved.meta_graphs:
        there.append(set(meta.meta_info_def.tags))
        if there[-1] == wanted:
            return meta
    raise RuntimeError("MetaGraphDef associated with tags %s could not be found in SavedModel. To inspect available "
                       "tag-sets in the SavedModel, please use the SavedModel CLI: `saved_model_cli`\navailable_tags: %s"
                       % (sorted(wanted), [sorted(t) for t in there]))


def loader_load(sess, tags=None, export_dir=None, import_scope=None, **saver_kwargs):
    """Adds a SavedModel's graph to the session's, restores its variables, and gives the MetaGraphDef."""
    export_dir = export_dir.decode() if isinstance(export_dir, bytes) else os.fspath(export_dir)
    meta = _meta_graph(export_dir, tags)
    with sess.graph.as_default():
        saver = meta_graph.import_meta_graph(meta, import_scope=import_scope, **saver_kwargs)
        prefix = os.path.join(export_dir, VARIABLES_DIRECTORY, VARIABLES_FILENAME)
        if saver is not None and os.path.exists(prefix + ".index"):
            saver.restore(sess, prefix)
        assets = {}
        for asset in meta.asset_file_def:
            name = asset.tensor_info.name
            assets[import_scope + "/" + name if import_scope else name] = os.path.join(
                export_dir, ASSETS_DIRECTORY, asset.filename)
        for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
            if key in meta.collection_def:
                ops = sess.graph.get_collection(key)
                if ops:
                    sess.run(ops[-1], feed_dict=assets)
                    break
    return meta


def load(sess=None, tags=None, export_dir=None, import_scope=None, **saver_kwargs):
    """loader.load."""
    if not hasattr(sess, "run") or not hasattr(sess, "graph"):
        raise NotImplementedError("tf.saved_model.load of TensorFlow 2 is not part of Millrace: use "
                                  "tf.saved_model.loader.load(session, tags, folder)")
    return loader_load(sess, tags, export_dir, import_scope, **saver_kwargs)


def save(*args, **kwargs):
    raise NotImplementedError("tf.saved_model.save of TensorFlow 2 is not part of Millrace: use simple_save or Builder")


def main_op_function():
    return group(variables.global_variables_initializer(), variables.local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name):
    return group(get_default_graph().get_operation_by_name(restore_op_name), tables_initializer())


# ---------------------------------------- the names of its parts

def _part(name, **values):
    module = types.ModuleType("millrace.saved_model." + name)
    module.__dict__.update(values)
    return module


_here = globals()
tag_constants = _part("tag_constants", SERVING=SERVING, TRAINING=TRAINING, GPU=GPU, TPU=TPU)
signature_constants = _part("signature_constants", **{k: v for k, v in list(_here.items()) if k.startswith((
    "PREDICT_", "CLASSIFY_", "REGRESS_", "DEFAULT_SERVING"))})
constants = _part("constants", **{k: v for k, v in list(_here.items()) if k.startswith((
    "ASSETS_", "VARIABLES_", "SAVED_MODEL_", "LEGACY_", "MAIN_OP_KEY", "TRAIN_OP_KEY"))})
signature_def_utils = _part("signature_def_utils", build_signature_def=build_signature_def,
                            predict_signature_def=predict_signature_def, is_valid_signature=is_valid_signature,
                            classification_signature_def=classification_signature_def,
                            regression_signature_def=regression_signature_def)
utils = _part("utils", build_tensor_info=build_tensor_info, get_tensor_from_tensor_info=get_tensor_from_tensor_info)
builder = _part("builder", SavedModelBuilder=Builder)
loader = _part("loader", load=loader_load, maybe_saved_model_directory=maybe_saved_model_directory,
               parse_saved_model=parse_saved_model)
main_op = _part("main_op", main_op=main_op_function, main_op_with_restore=main_op_with_restore)
