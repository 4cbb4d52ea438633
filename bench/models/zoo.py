# zoo — the models' names, and how one is made: built by Keras from a fixed seed, frozen, or saved whole, with its inputs
# and TensorFlow's answers, in a folder of its own.
#
# A model is a function here and in the files beside: model(tiny) -> (network, inputs). The network is a Keras model or a
# function of tensors; the inputs are {name: array} in the order of its arguments.
import json
import os
import shutil
import zlib

import numpy as np

MODELS = {}  # name: (function, form); form is "frozen", "loop" (While as it is, not lowered) or "saved"


def model(form="frozen"):
    def keep(function):
        MODELS[function.__name__] = (function, form)
        return function
    return keep


def random_of(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def normal(*shape):
    return random_of("normal%s" % (shape,)).standard_normal(shape, np.float32)


def uniform(*shape):
    return random_of("uniform%s" % (shape,)).random(shape, np.float32)


def below(n, *shape, kind=np.int32):
    return random_of("below%d%s" % (n, shape)).integers(0, n, shape).astype(kind)


def pixels(*shape):
    """Smooth pictures of 0 to 255, as cameras make them: of noise alone little would be left after resizing."""
    coarse = random_of("pixels%s" % (shape,)).random((shape[0], 8, 8, shape[-1]), np.float32)
    rows, columns = (np.minimum(np.arange(n) * 8 // n, 7) for n in shape[1:3])
    return np.floor(200 * coarse[:, rows][:, :, columns] + 55 * uniform(*shape)).astype(np.float32)


def sound(batch, samples):
    """Two tones in noise."""
    t = np.arange(samples, dtype=np.float32)
    tones = [np.sin(t * (0.02 + 0.01 * n)) + 0.5 * np.sin(t * 0.3) for n in range(batch)]
    return (np.stack(tones) + 0.1 * normal(batch, samples)).astype(np.float32)


def stir(network):
    """What Keras leaves at 0 and 1, statistics and scales, gets values that a mistake would show in."""
    for i, weight in enumerate(network.weights):
        name = weight.path.rsplit("/", 1)[-1]
        draw = random_of("%d%s" % (i, name))
        shape = tuple(weight.shape)
        if name in ("moving_variance", "gamma"):
            weight.assign(draw.uniform(0.7, 1.3, shape).astype(np.float32))
        elif name in ("moving_mean", "beta", "bias"):
            weight.assign(draw.uniform(-0.2, 0.2, shape).astype(np.float32))


def concrete(tf, network, inputs):
    """The network as a TensorFlow function of fixed shapes that gives its results by name."""
    specs = [tf.TensorSpec(value.shape, tf.as_dtype(value.dtype if value.dtype != object else "string"), name=name)
             for name, value in inputs.items()]
    is_keras = isinstance(network, tf.keras.Model)

    def call(*values):
        if is_keras:
            result = network(list(values) if len(values) > 1 else values[0], training=False)
        else:
            result = network(*values)
        return {"result_%d" % i: tf.identity(part, "result_%d" % i) for i, part in enumerate(tf.nest.flatten(result))}

    return tf.function(call, input_signature=specs, autograph=True)


def freeze(tf, function, form, folder):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    frozen = convert_variables_to_constants_v2(function.get_concrete_function(), lower_control_flow=form == "frozen")
    with open(os.path.join(folder, "graph.pb"), "wb") as file:
        file.write(frozen.graph.as_graph_def().SerializeToString())
    order = sorted(range(len(frozen.outputs)), key=lambda i: function.get_concrete_function().outputs[i].name)
    return [t.name for t in frozen.inputs], [frozen.outputs[i].name for i in order], frozen


def save(tf, network, function, folder):
    archive = tf.keras.export.ExportArchive()
    archive.track(getattr(network, "body", network))
    archive.add_endpoint("serve", function)
    archive.write_out(os.path.join(folder, "saved"), verbose=False)
    from tensorflow.core.protobuf import saved_model_pb2
    with open(os.path.join(folder, "saved", "saved_model.pb"), "rb") as file:
        signature = saved_model_pb2.SavedModel.FromString(file.read()).meta_graphs[0].signature_def["serving_default"]
    return {k: v.name for k, v in signature.inputs.items()}, [v.name for _, v in sorted(signature.outputs.items())]


def make(name, tiny, folder):
    """Makes the model in the folder, which is there whole or not at all."""
    import tensorflow as tf
    build, form = MODELS[name]
    part = folder + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    tf.keras.backend.clear_session()
    tf.keras.utils.set_random_seed(1)
    network, inputs = build(tiny)
    if isinstance(network, tf.keras.Model):
        stir(network)
    function = concrete(tf, network, inputs)
    if form == "saved":
        names, results = save(tf, network, function, part)
        feeds = {names[k]: v for k, v in inputs.items()}
    else:
        names, results, _ = freeze(tf, function, form, part)
        feeds = dict(zip(names, inputs.values()))
    answers = function(*[tf.constant(v) for v in inputs.values()])
    answers = [answers[k].numpy() for k in sorted(answers)]
    arrays = {"in_%d" % i: v for i, v in enumerate(feeds.values())}
    arrays.update({"out_%d" % i: v for i, v in enumerate(answers)})
    np.savez(os.path.join(part, "values.npz"), **arrays)
    with open(os.path.join(part, "model.json"), "w") as file:
        json.dump({"form": form, "feeds": list(feeds), "fetches": results}, file)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(part, folder)
