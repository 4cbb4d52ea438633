# metrics — streaming metrics over local variables
from client import TARGET, np, show, tf

labels, predictions = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
found = {"auc": tf.metrics.auc(labels, predictions), "mean": tf.metrics.mean(predictions),
         "rmse": tf.metrics.root_mean_squared_error(labels, predictions),
         "precision": tf.metrics.precision(labels, tf.round(predictions)), "recall": tf.metrics.recall(labels, tf.round(predictions)),
         "iou": tf.metrics.mean_iou(tf.to_int32(labels), tf.to_int32(tf.round(predictions)), 2)}
with tf.Session(TARGET) as session:
    session.run(tf.local_variables_initializer())
    for i in range(3):
        feed = {labels: [0, 1, 1, 0], predictions: np.array([0.1, 0.4 + 0.1 * i, 0.9, 0.3 * i])}
        session.run([update for _, update in found.values()], feed)
        for name in sorted(found):
            show(name, session.run(found[name][0]))
