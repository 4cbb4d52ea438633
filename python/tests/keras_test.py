"""The Keras-shaped API from outside: what does not show in numbers. Equality with tf.keras is in programs/keras_*.py."""
import io
import json

import numpy as np
import pytest

import millrace as tf
from millrace import graph as graphs

K = tf.keras


@pytest.fixture(autouse=True)
def eager():
    with graphs.eager_mode():
        yield


def small():
    model = K.Sequential([K.Input((4,)), K.layers.Dense(3, activation="relu"), K.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    return model


X, Y = np.random.RandomState(0).randn(40, 4).astype(np.float32), np.random.RandomState(1).randn(40, 1).astype(np.float32)


def test_what_fit_writes_into_a_pipe(capsys):
    small().fit(X, Y, epochs=2, batch_size=8, validation_split=0.2)
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Epoch 1/2" and out[2] == "Epoch 2/2" and len(out) == 4 and "\r" not in "".join(out)
    assert out[1].startswith("4/4 ") and all(name in out[1] for name in ("loss: ", "mae: ", "val_loss: ", "val_mae: "))
    small().fit(X, Y, verbose=0)
    assert capsys.readouterr().out == ""


def test_summary_and_counts():
    lines = []
    model = small()
    model.summary(print_fn=lines.append)
    text = "\n".join(lines)
    assert "Layer (type)" in text and "(None, 3)" in text and "Total params: 19 (76.00 B)" in text
    assert model.count_params() == 19 and [w.name for w in model.weights] == ["kernel", "bias"] * 2
    assert model.weights[0].path.endswith("/kernel") and model.get_layer(index=0).units == 3


def test_callbacks(tmp_path):
    model, log, seen = small(), tmp_path / "log.csv", []
    history = model.fit(X, Y, epochs=4, verbose=0, validation_data=(X, Y), callbacks=[
        K.callbacks.CSVLogger(log), K.callbacks.ModelCheckpoint(tmp_path / "m{epoch}", save_best_only=True),
        K.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch)),
        K.callbacks.TensorBoard(tmp_path / "board"), K.callbacks.ReduceLROnPlateau(patience=1)])
    assert seen == history.epoch == [0, 1, 2, 3] and set(history.history) >= {"loss", "mae", "val_loss", "val_mae"}
    assert log.read_text().splitlines()[0].startswith("epoch,") and len(log.read_text().splitlines()) == 5
    assert (tmp_path / "m1" / "saved_model.pb").exists() and list((tmp_path / "board" / "train").iterdir())
    again = K.models.load_model(tmp_path / "m1")
    assert again.predict(X, verbose=0).shape == (40, 1)

    class Stop(K.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch == 1
    assert len(model.fit(X, Y, epochs=9, batch_size=8, verbose=0, callbacks=[Stop()]).epoch) == 1


def test_saved_and_loaded(tmp_path):
    a = K.Input((4,), name="a")
    b = K.layers.Dense(5, activation="tanh", kernel_regularizer="l2")(a)
    outputs = {"sum": K.layers.Add()([b, b * 2.0]), "row": K.layers.Reshape((5, 1))(b)}
    model = K.Model(a, outputs)
    model.save(tmp_path / "model")
    again = K.models.load_model(tmp_path / "model")
    first, second = model.predict(X, verbose=0), again.predict(X, verbose=0)
    assert set(second) == {"sum", "row"} and all(np.array_equal(first[k], second[k]) for k in first)
    copy = K.models.model_from_json(model.to_json())
    copy.set_weights(model.get_weights())
    assert np.array_equal(copy.predict(X, verbose=0)["sum"], first["sum"]) and json.loads(model.to_json())
    h5py = pytest.importorskip("h5py")
    model.save_weights(tmp_path / "w.weights.h5")
    assert list(h5py.File(tmp_path / "w.weights.h5")["layers/dense/vars"])
    copy.load_weights(tmp_path / "w.weights.h5")


def test_where_data_comes_from():
    model = small()

    def generator():
        for i in range(4):
            yield X[i * 10:i * 10 + 10], Y[i * 10:i * 10 + 10]

    class Own(K.utils.Sequence):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return X[i * 10:i * 10 + 10], Y[i * 10:i * 10 + 10]
    assert len(model.fit(generator(), verbose=0).history["loss"]) == 1
    assert len(model.fit(Own(), epochs=2, verbose=0).history["loss"]) == 2
    whole = model.evaluate(X, Y, verbose=0)
    assert np.allclose(whole, model.evaluate(Own(), verbose=0), rtol=1e-5) and model.predict(Own(), verbose=0).shape == (40, 1)
    assert model.train_on_batch(X, Y, return_dict=True).keys() == {"loss", "mae"}
    with pytest.raises(ValueError, match="cardinality is ambiguous"):
        model.fit(X, Y[:3], verbose=0)
    with pytest.raises(ValueError, match="gave no batch"):
        model.fit(iter([]), verbose=0)


def test_errors():
    with pytest.raises(ValueError, match="compile"):
        K.Sequential([K.layers.Dense(1)]).fit(X, Y)
    with pytest.raises(ValueError, match="incompatible"):
        small()(np.ones((2, 5), np.float32))
    with pytest.raises(ValueError, match="unique names"):
        K.Sequential([K.layers.Dense(1, name="d"), K.layers.Dense(1, name="d")])
    with pytest.raises(ValueError, match="not connected"):
        K.Model(K.Input((2,)), K.layers.Dense(1)(K.Input((2,))))
    with pytest.raises(ValueError, match="loss identifier"):
        K.losses.get("no_such")
    with pytest.raises(ValueError, match="Unrecognized keyword arguments"):
        K.layers.Dense(1, no_such=1)
    with pytest.raises(RuntimeError, match="super"):
        type("Bad", (K.Model,), {"__init__": lambda self: setattr(self, "x", 1)})()


def test_layers_within_layers():
    class Block(K.layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = [K.layers.Dense(2), K.layers.BatchNormalization()]
            self.seen = []

        def call(self, x, training=None):
            self.seen.append(training)
            for part in self.parts:
                x = part(x)
            self.add_loss(tf.reduce_sum(x))
            return x
    block = Block()
    block(X)
    block(X, training=True)
    assert block.seen == [None, True] and len(block.trainable_weights) == 4 and len(block.non_trainable_weights) == 2
    assert len(block.losses) == 1
    block.trainable = False
    assert not block.trainable_weights and len(block.weights) == 6


def test_dropout_only_while_learning():
    drop = K.layers.Dropout(0.5, seed=1)
    x = np.ones((100, 10), np.float32)
    assert np.array_equal(drop(x).numpy(), x)
    kept = drop(x, training=True).numpy()
    assert set(np.unique(kept)) == {0.0, 2.0} and 0.3 < (kept == 0).mean() < 0.7


def test_progress_bar_on_a_terminal():
    from millrace.keras.progress import Progbar

    class Terminal(io.StringIO):
        def isatty(self):
            return True
    stream = Terminal()
    bar = Progbar(3, stream=stream)
    bar._last = 0
    bar.update(1, [("loss", 0.5)])
    bar.update(3, [("loss", 1e-5)])
    text = stream.getvalue()
    assert text.startswith("\r1/3 ") and text.endswith("\n") and "1.0000e-05" in text
