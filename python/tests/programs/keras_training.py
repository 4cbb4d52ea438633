"""Models that learn: losses, metrics, optimizers, schedules, fit with validation, callbacks, weights and classes of examples."""
import numpy as np

EAGER = True


def start(model, seed=0):
    r = np.random.RandomState(seed)
    model.set_weights([(0.4 * r.randn(*w.shape)).astype(w.dtype) for w in model.get_weights()])
    return model


def main(tf):
    K, out = tf.keras, {}
    r = np.random.RandomState(1)
    x, y = r.randn(60, 5).astype(np.float32), r.randint(0, 3, 60)
    target = r.randn(60, 2).astype(np.float32)

    def small(n=2, activation=None):
        return start(K.Sequential([K.Input((5,)), K.layers.Dense(4, activation="tanh"), K.layers.Dense(n, activation=activation)]))
    optimizers = {
        "sgd": K.optimizers.SGD(0.1), "momentum": K.optimizers.SGD(0.1, momentum=0.9),
        "nesterov": K.optimizers.SGD(0.1, momentum=0.9, nesterov=True), "adam": K.optimizers.Adam(0.05),
        "amsgrad": K.optimizers.Adam(0.05, amsgrad=True), "adamw": K.optimizers.AdamW(0.05, weight_decay=0.1),
        "rmsprop": K.optimizers.RMSprop(0.01), "rmsprop2": K.optimizers.RMSprop(0.01, momentum=0.5, centered=True),
        "adagrad": K.optimizers.Adagrad(0.1), "adadelta": K.optimizers.Adadelta(1.0), "adamax": K.optimizers.Adamax(0.05),
        "nadam": K.optimizers.Nadam(0.05), "ftrl": K.optimizers.Ftrl(0.1, l1_regularization_strength=0.01),
        "lion": K.optimizers.Lion(0.01), "clipnorm": K.optimizers.SGD(0.1, clipnorm=0.1),
        "clipvalue": K.optimizers.SGD(0.1, clipvalue=0.01), "global": K.optimizers.SGD(0.1, global_clipnorm=0.1),
        "exponential": K.optimizers.SGD(K.optimizers.schedules.ExponentialDecay(0.1, 5, 0.5)),
        "cosine": K.optimizers.SGD(K.optimizers.schedules.CosineDecay(0.1, 8, 0.1)),
        "piecewise": K.optimizers.SGD(K.optimizers.schedules.PiecewiseConstantDecay([3, 6], [0.1, 0.05, 0.01])),
        "polynomial": K.optimizers.SGD(K.optimizers.schedules.PolynomialDecay(0.1, 6, 0.01, 2.0)),
    }
    for name, optimizer in optimizers.items():
        model = small()
        model.compile(optimizer, "mse")
        history = model.fit(x, target, batch_size=16, epochs=3, shuffle=False, verbose=0).history
        out[name] = [history["loss"], model.get_weights()]
    losses = ["mse", "mae", "mape", "msle", "huber", "log_cosh", "hinge", "squared_hinge", "poisson", "kl_divergence",
              "cosine_similarity", "binary_crossentropy", "categorical_crossentropy", "categorical_hinge"]
    positive, other = np.abs(target) % 1.0, np.abs(r.randn(60, 2).astype(np.float32)) % 1.0
    out["losses"] = {n: float(tf.reduce_mean(K.losses.get(n)(positive, other))) for n in losses}
    weights = r.rand(60).astype(np.float32)
    labels = np.array([0, 1, 2] * 20)
    out["weighted"] = [float(K.losses.MeanSquaredError()(target, target[::-1], weights)),
                       float(K.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1)(positive.round(), target)),
                       float(K.losses.CategoricalCrossentropy(label_smoothing=0.2)(np.eye(2)[labels % 2], other / other.sum(
                           1, keepdims=True))), K.losses.MeanAbsoluteError(reduction="none")(target, target[::-1]).numpy()]
    probabilities = np.exp(r.randn(60, 3)).astype(np.float32)
    probabilities /= probabilities.sum(1, keepdims=True)
    found = {}
    for metric, (t, p) in {
            K.metrics.SparseCategoricalAccuracy(): (labels, probabilities), K.metrics.Precision(): (labels > 1, weights),
            K.metrics.Recall(thresholds=[0.2, 0.7]): (labels > 0, weights), K.metrics.AUC(): (labels > 0, weights),
            K.metrics.RootMeanSquaredError(): (target, target[::-1]), K.metrics.BinaryAccuracy(): (labels > 0, weights),
            K.metrics.TopKCategoricalAccuracy(2): (np.eye(3)[labels], probabilities),
            K.metrics.MeanIoU(3): (labels, probabilities.argmax(1)), K.metrics.CosineSimilarity(): (target, target[::-1]),
            K.metrics.FalsePositives(): (labels > 1, weights)}.items():
        metric.update_state(t[:30], p[:30])
        metric.update_state(t[30:], p[30:])
        found[type(metric).__name__] = metric.result().numpy()
    out["metrics"] = found
    model = small(3, "softmax")
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy", K.metrics.SparseTopKCategoricalAccuracy(2)])
    stop = K.callbacks.EarlyStopping("val_loss", patience=2, restore_best_weights=True)
    rate = K.callbacks.LearningRateScheduler(lambda epoch, lr: lr * 0.9)
    history = model.fit(x, y, batch_size=16, epochs=5, shuffle=False, verbose=0, validation_split=0.2, callbacks=[stop, rate],
                        class_weight={0: 1.0, 1: 2.0, 2: 0.5})
    out["fit"] = [history.history, history.epoch, model.evaluate(x, y, verbose=0), model.predict(x[:7], verbose=0),
                  model.count_params()]
    a, b = K.Input((5,), name="a"), K.Input((2,), name="b")
    shared = K.layers.Dense(3, activation="relu", kernel_regularizer=K.regularizers.L2(0.1), name="shared")
    joined = K.layers.Concatenate()([shared(a), b])
    one, two = K.layers.Dense(1, name="one")(joined), K.layers.Dense(2, name="two")(joined * 2.0 + 1.0)
    model = start(K.Model([a, b], [one, two]))
    model.compile("adam", loss=["mse", "mae"], loss_weights=[1.0, 0.5])
    history = model.fit([x, target], [target[:, :1], target], batch_size=20, epochs=2, shuffle=False, verbose=0,
                        sample_weight=None).history
    out["functional"] = [history["loss"], model.predict([x, target], verbose=0), [w.shape for w in model.get_weights()]]

    class Own(K.Model):
        def __init__(self):
            super().__init__()
            self.hidden, self.parts = K.layers.Dense(4, activation="relu"), [K.layers.Dense(4), K.layers.Dense(1)]

        def call(self, inputs, training=None):
            x = self.hidden(inputs)
            for part in self.parts:
                x = part(x)
            return x

        def train_step(self, data):
            x, y = data[0], data[1]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
            return {"mean": loss}
    model = Own()
    model(x[:1])
    start(model)
    model.compile(K.optimizers.Adam(0.01))
    out["own"] = [model.fit(x, target[:, :1], batch_size=30, epochs=2, shuffle=False, verbose=0).history["mean"],
                  model(x[:4]).numpy()]
    return out
