# partial_runs — partial runs, in any order, and their errors
from client import TARGET, refused, show, tf

a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
ab, abc = a + b, (a + b) * c
with tf.Session(TARGET) as session:
    handle = session.partial_run_setup([ab, abc], [a, b, c])
    show("first", session.partial_run(handle, ab, {a: 1, b: 2}))
    show("second", session.partial_run(handle, abc, {c: 17 * 3.0}))
    one, two = (session.partial_run_setup([ab, abc], [a, b, c]) for _ in range(2))
    show("one", session.partial_run(one, ab, {a: 1, b: 2}))
    show("two", session.partial_run(two, ab, {a: 10, b: 20}))
    show("two", session.partial_run(two, abc, {c: 2}))
    show("one", session.partial_run(one, abc, {c: 3}))
    handle = session.partial_run_setup([abc], [a, b, c])
    show("many", session.partial_run(handle, [abc], {a: 1, b: 2, c: 4}))
    refused(lambda: session.partial_run("unknown", ab, {a: 1, b: 2}))
