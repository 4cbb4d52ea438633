# variables_ref — reference variables: assignment, scatter, slices, races
from client import TARGET, refused, show, tf

v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], use_resource=False)
i = tf.Variable([1, 2, 3], use_resource=False)
s = tf.Variable(["a", "b"], use_resource=False)
with tf.Session(TARGET) as session:
    refused(lambda: session.run(v), "uninitialized value", "Variable")
    show("uninitialized", session.run(tf.report_uninitialized_variables()))
    session.run(tf.global_variables_initializer())
    show("add", session.run(tf.assign_add(v, tf.ones([3, 2]))))
    show("scatter", session.run(tf.scatter_update(v, [0, 2], [[9.0, 9.0], [8.0, 8.0]])))
    show("scatter_add", session.run(tf.scatter_add(i, [0, 0, 2], [10, 20, 30])))
    show("nd", session.run(tf.scatter_nd_update(v, [[1, 1]], [7.5])))
    show("slice", session.run(v[1:, 0].assign([0.5, 0.25])))
    show("count", session.run(i.count_up_to(100) if i.shape.ndims == 0 else tf.identity(i)))
    show("string", session.run(s.assign(["x", "y"])))
    refused(lambda: session.run(tf.scatter_add(i, [5], [1], name="outside")), "outside", "5")
    with tf.control_dependencies([tf.assign(i, [0, 0, 0])]):
        after = tf.identity(i)
    show("after", session.run(after))
