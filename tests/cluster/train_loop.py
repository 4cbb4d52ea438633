# train_loop — a training loop as estimators write it: input queue, evaluation, best model kept
import tempfile

from client import TARGET, np, show, tf

folder = tempfile.mkdtemp()


def model(training):
    data = np.sin(np.arange(120)).reshape(30, 4).astype(np.float32)
    features, labels = tf.constant(data), tf.constant((data.sum(1) > 0).astype(np.int32))
    with tf.variable_scope("net"):
        h = tf.tanh(tf.matmul(features, tf.get_variable("w1", initializer=np.cos(np.arange(32)).reshape(4, 8).astype(np.float32))))
        logits = tf.matmul(h, tf.get_variable("w2", initializer=np.sin(np.arange(16)).reshape(8, 2).astype(np.float32)))
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if training:
        return loss, tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_or_create_global_step())
    return loss, tf.metrics.accuracy(labels, tf.argmax(logits, 1))


for round_ in range(3):
    with tf.Graph().as_default():
        loss, train = model(True)
        step = tf.train.get_global_step()
        with tf.train.MonitoredTrainingSession(TARGET, checkpoint_dir=folder, save_checkpoint_steps=10,
                                               hooks=[tf.train.StopAtStepHook(num_steps=10)],
                                               log_step_count_steps=None) as session:
            while not session.should_stop():
                last = session.run([loss, train])[0]
        show("loss", last)
    with tf.Graph().as_default():
        loss, (accuracy, update) = model(False)
        with tf.Session(TARGET) as session:
            session.run(tf.local_variables_initializer())
            tf.train.Saver().restore(session, tf.train.latest_checkpoint(folder))
            session.run(update)
            show("evaluated", session.run([loss, accuracy]))
