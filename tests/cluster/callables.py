# callables — make_callable and _make_callable_from_options
from tensorflow.core.protobuf import config_pb2

from client import TARGET, np, refused, show, tf

x = tf.placeholder(tf.float32, [None], name="x")
y = tf.placeholder(tf.float32, [], name="y")
v = tf.Variable(0.0)
z, step = x * y, v.assign_add(y)
with tf.Session(TARGET) as session:
    session.run(v.initializer)
    call = session.make_callable([z, v], [x, y])
    print(call([1, 2], 3))
    options = config_pb2.CallableOptions(feed=["x:0", "y:0"], fetch=[z.name], target=[step.op.name])
    call = session._make_callable_from_options(options)
    for i in range(3):
        show("z", call(np.array([1, 2], np.float32), np.float32(i))[0])
    show("v", session.run(v))
    other = session._make_callable_from_options(config_pb2.CallableOptions(fetch=[v.name]))
    show("v", other()[0])
    del call
    show("v", other()[0])
    bad = config_pb2.CallableOptions(fetch=["nothing:0"])
    refused(lambda: session._make_callable_from_options(bad)(), "nothing")
