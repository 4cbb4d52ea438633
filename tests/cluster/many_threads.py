# many_threads — eight threads of one client in one session
import threading

from client import TARGET, np, show, tf

x = tf.placeholder(tf.float32, [None, 8])
w = tf.Variable(np.eye(8, dtype=np.float32))
count = tf.Variable(0, use_resource=True)
y, add = tf.matmul(x, w), count.assign_add(1).op if hasattr(count.assign_add(1), "op") else count.assign_add(1)
wrong = []
with tf.Session(TARGET) as session:
    session.run(tf.global_variables_initializer())

    def work(k):
        for i in range(20):
            value = np.full((k + 1, 8), k * 100 + i, np.float32)
            if not (session.run(y, {x: value}) == value).all():
                wrong.append((k, i))
            session.run(add)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    show("count", session.run(count))
print(wrong)
