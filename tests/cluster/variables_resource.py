# variables_resource — resource variables: the same, and reads in order
from client import TARGET, refused, show, tf

v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], use_resource=True, name="weights")
i = tf.get_variable("i", initializer=[1, 2, 3], use_resource=True)
with tf.Session(TARGET) as session:
    refused(lambda: session.run(v.read_value()), "weights")
    show("uninitialized", session.run(tf.report_uninitialized_variables()))
    session.run(tf.global_variables_initializer())
    show("add", session.run(v.assign_add(tf.ones([3, 2]))))
    show("scatter", session.run(tf.scatter_update(v, [0, 2], [[9.0, 9.0], [8.0, 8.0]])))
    show("scatter_add", session.run(tf.scatter_add(i, [0, 0, 2], [10, 20, 30])))
    show("gather", session.run(tf.gather(v, [2, 0])))
    show("slice", session.run(v[1:, 0].assign([0.5, 0.25])))
    show("grad", session.run(tf.gradients(tf.reduce_sum(v * v), v)[0]))
    show("is", session.run(tf.is_variable_initialized(v)))
    refused(lambda: session.run(tf.assign(v, tf.placeholder_with_default([1.0], None, name="fed"), validate_shape=False)), "shape")
