"""metrics — tf.metrics over three batches, value and update of each."""

import numpy as np


def main(tf):
    out = {}
    rng = np.random.RandomState(0)
    L = [rng.randint(0, 2, 10) for _ in range(3)]
    P = [rng.rand(10).astype(np.float32) for _ in range(3)]
    C = [rng.randint(0, 4, 10) for _ in range(3)]
    D = [rng.randint(0, 4, 10) for _ in range(3)]
    S = [rng.rand(10, 4).astype(np.float32) for _ in range(3)]
    W = [rng.rand(10).astype(np.float32) for _ in range(3)]
    l, p = (tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None]))
    c, d, sc, w = (
        tf.placeholder(tf.int64, [None]),
        tf.placeholder(tf.int64, [None]),
        tf.placeholder(tf.float32, [None, 4]),
        tf.placeholder(tf.float32, [None]),
    )
    m = tf.metrics
    ms = {
        "mean": m.mean(p),
        "meanw": m.mean(p, w),
        "acc": m.accuracy(c, d),
        "accw": m.accuracy(c, d, w),
        "auc": m.auc(l, p),
        "aucpr": m.auc(l, p, curve="PR"),
        "mae": m.mean_absolute_error(p, w),
        "mse": m.mean_squared_error(p, w),
        "rmse": m.root_mean_squared_error(p, w),
        "mre": m.mean_relative_error(p, w, w),
        "prec": m.precision(l, p > 0.5),
        "rec": m.recall(l, p > 0.5, weights=w),
        "tp": m.true_positives(l, p > 0.5),
        "fn": m.false_negatives(l, p > 0.5),
        "iou": m.mean_iou(c, d, 4),
        "mpc": m.mean_per_class_accuracy(c, d, 4),
        "pat": m.precision_at_thresholds(l, p, [0.2, 0.6]),
        "rat": m.recall_at_thresholds(l, p, [0.2, 0.6], w),
        "below": m.percentage_below(p, 0.4),
        "tens": m.mean_tensor(tf.reshape(p, [2, 5])),
        "s@s": m.sensitivity_at_specificity(l, p, 0.5),
        "sp@s": m.specificity_at_sensitivity(l, p, 0.5),
        "r@k": m.recall_at_k(c, sc, 2),
        "p@k": m.precision_at_k(c, sc, 2),
        "rc@k": m.recall_at_k(c, sc, 2, class_id=1),
        "ap": m.average_precision_at_k(c, sc, 3),
        "cos": m.mean_cosine_distance(tf.nn.l2_normalize(sc, 1), tf.nn.l2_normalize(sc[:, ::-1], 1), 1),
    }
    cm = tf.confusion_matrix(c, d, 4)
    upd = {k: v[1] for k, v in ms.items()}
    val = {k: v[0] for k, v in ms.items()}
    with tf.Session() as s:
        s.run(tf.local_variables_initializer())
        out["first"] = s.run(val)
        for i in range(3):
            f = {l: L[i], p: P[i], c: C[i], d: D[i], sc: S[i], w: W[i]}
            out["u%d" % i] = s.run(upd, f)
            out["v%d" % i] = s.run(val)
            out["cm"] = s.run(cm, f)
    out["names"] = sorted(v.name for v in tf.local_variables() if "/max" not in v.name)
    return out
