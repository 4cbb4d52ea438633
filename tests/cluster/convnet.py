# convnet — a convolutional network with batch normalisation, trained
from client import TARGET, np, show, tf

x = tf.placeholder(tf.float32, [None, 8, 8, 2])
labels = tf.placeholder(tf.int32, [None])
training = tf.placeholder(tf.bool, [])
h = x
for i, channels in enumerate((4, 6)):
    start = np.cos(np.arange(9 * int(h.shape[3]) * channels)).reshape(3, 3, int(h.shape[3]), channels) * 0.2
    h = tf.nn.conv2d(h, tf.Variable(start.astype(np.float32)), strides=1, padding="SAME")
    mean, variance = tf.nn.moments(h, [0, 1, 2])
    h = tf.cond(training, lambda: tf.nn.batch_normalization(h, mean, variance, None, None, 1e-3), lambda: h)
    h = tf.nn.max_pool2d(tf.nn.relu(h), 2, 2, "VALID")
h = tf.reshape(h, [-1, 24])
w = tf.Variable(np.sin(np.arange(72)).reshape(24, 3).astype(np.float32))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(h, w)))
train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
data = np.sin(np.arange(512)).reshape(4, 8, 8, 2)
with tf.Session(TARGET) as session:
    session.run(tf.global_variables_initializer())
    for i in range(6):
        show("loss", session.run([loss, train], {x: data, labels: [0, 1, 2, 1], training: i % 3 != 2})[0])
