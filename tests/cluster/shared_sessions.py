# shared_sessions — several sessions on one server share variables by name
from client import TARGET, show, tf


def graph(value, resource):
    g = tf.Graph()
    with g.as_default():
        v = tf.Variable(value, name="v", use_resource=resource)
        return g, v.initializer, v.read_value() if resource else tf.identity(v), v.assign_add([1.0])


for resource in (False, True):
    tf.Session.reset(TARGET)
    g1, init1, read1, add1 = graph([1.0], resource)
    g2, init2, read2, add2 = graph([50.0], resource)
    with tf.Session(TARGET, graph=g1) as one, tf.Session(TARGET, graph=g2) as two:
        one.run(init1)
        show("two sees", two.run(read2))
        two.run(add2)
        show("one sees", one.run(read1))
    with tf.Session(TARGET, graph=g2) as three:
        show("still there", three.run(read2))
