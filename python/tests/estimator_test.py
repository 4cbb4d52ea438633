"""estimator_test — an Estimator trains, goes on from its checkpoint, evaluates, predicts, exports."""
import numpy as np

import millrace.compat.v1 as tf

X = np.arange(40, dtype=np.float32).reshape(20, 2) / 40
Y = (X[:, :1] * 2 + X[:, 1:] - 0.5).astype(np.float32)


def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features["x"], 1, kernel_initializer=tf.constant_initializer(0.1), name="d")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    metrics = {"mae": tf.metrics.mean_absolute_error(labels, y)}
    step = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step, eval_metric_ops=metrics)


def batches(times=None):
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat(times).batch(5)


def numpy_steps(steps):
    w, b = np.full([2, 1], 0.1, np.float32), np.zeros([1], np.float32)
    for i in range(steps):
        x, y = X[i % 4 * 5:][:5], Y[i % 4 * 5:][:5]
        d = 2 * (x @ w + b - y) / 5
        w, b = w - 0.3 * x.T @ d, b - 0.3 * d.sum(0)
    return w, b


def test_train_evaluate_predict_export(tmp_path):
    config = tf.estimator.RunConfig(save_checkpoints_steps=5)
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), config, {"rate": 0.3})
    estimator.train(batches(), steps=3)
    estimator.train(batches(), max_steps=3)
    w, b = numpy_steps(3)
    np.testing.assert_allclose(estimator.get_variable_value("d/kernel"), w, rtol=1e-5)
    found = estimator.evaluate(batches(1))
    np.testing.assert_allclose(found["mae"], np.abs(X @ w + b - Y).mean(), rtol=1e-5)
    assert found["global_step"] == 3
    given = [p["y"] for p in estimator.predict(batches(1))]
    np.testing.assert_allclose(given, X @ w + b, rtol=1e-4)

    def receiver():
        x = tf.placeholder(tf.float32, [None, 2])
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
    folder = estimator.export_saved_model(str(tmp_path / "export"), receiver)
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.loader.load(session, ["serve"], folder.decode()).signature_def["serving_default"]
        served = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: X})
    np.testing.assert_allclose(served, X @ w + b, rtol=1e-4)


def test_train_and_evaluate(tmp_path):
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), tf.estimator.RunConfig(save_checkpoints_steps=4),
                                       {"rate": 0.3})
    result, _ = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(batches(), max_steps=8), tf.estimator.EvalSpec(batches(1), steps=2))
    assert result["global_step"] == 8


def test_canned(tmp_path):
    columns = [tf.feature_column.numeric_column("x", shape=(2,))]
    labels = (X[:, 0] > 0.5).astype(np.int64)
    source = tf.estimator.inputs.numpy_input_fn({"x": X}, labels, 5, None, shuffle=True)
    whole = tf.estimator.inputs.numpy_input_fn({"x": X}, labels, 20, 1, shuffle=False)
    np.random.seed(0)
    model = tf.estimator.DNNClassifier([16], columns, str(tmp_path), optimizer=tf.train.AdamOptimizer(0.05),
                                       config=tf.estimator.RunConfig(tf_random_seed=1))
    model.train(source, steps=150)
    assert model.evaluate(whole)["accuracy"] > 0.8
