# lstm — an LSTM by dynamic_rnn, trained
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl as cells

from client import TARGET, np, show, tf

x = tf.placeholder(tf.float32, [2, None, 3])
lengths = tf.placeholder(tf.int32, [2])
cell = cells.MultiRNNCell([cells.LSTMCell(4, initializer=tf.constant_initializer(0.1 * k)) for k in (1, 2)])
outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
loss = tf.reduce_mean(tf.square(outputs - 0.3)) + tf.reduce_sum(state[1].c) * 0.01
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
data = np.sin(np.arange(30)).reshape(2, 5, 3)
with tf.Session(TARGET) as session:
    session.run(tf.global_variables_initializer())
    for i in range(6):
        feed = {x: data[:, :i % 5 + 1], lengths: [1, i % 5 + 1]}
        show("loss", session.run([loss, train], feed)[0])
    show("outputs", session.run(outputs, feed))
