# tasks_feeds — values of all types cross tasks: fed here, computed there, fetched here
from client import TARGETS, np, show, tf

types = [np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.bool_,
         np.complex64, np.complex128]
feeds, fetches = {}, []
for dtype in types:
    for shape in ((), (3,), (0, 2), (2, 1, 2)):
        x = tf.placeholder(dtype, shape)
        feeds[x] = (np.arange(int(np.prod(shape))) % 3).reshape(shape).astype(dtype)
        with tf.device("/job:ps/task:0"):
            y = tf.identity(x)
        with tf.device("/job:worker/task:1"):
            fetches.append(tf.stack([y, y]))
words = tf.placeholder(tf.string, [None, None])
with tf.device("/job:ps/task:1"):
    joined = tf.string_join([words, words], "|")
with tf.device("/job:worker/task:1"):
    longest = tf.reduce_max(tf.strings.length(joined), 0)
with tf.device("/job:ps/task:0"):
    inner = tf.constant([[1.0, 2.0]]) * 2.0
with tf.device("/job:ps/task:1"):
    outer = inner + 1.0
with tf.Session(TARGETS[0]) as session:
    for value in session.run(fetches, feeds):
        show("value", value)
    for value in session.run([joined, longest], {words: [["a", ""], ["bc\0d", "\xff"]]}):
        show("words", value)
    show("overridden", session.run(outer, {inner: [[7.0, 8.0]]}))
    show("plain", session.run([inner, outer]))
