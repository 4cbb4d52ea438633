# optimizers — all optimizers, on reference and resource variables, dense and sparse
from client import TARGET, np, show, tf

step = tf.Variable(0, dtype=tf.int64, trainable=False)
kinds = [tf.train.GradientDescentOptimizer(0.1), tf.train.MomentumOptimizer(0.1, 0.9),
         tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), tf.train.AdagradOptimizer(0.1),
         tf.train.AdadeltaOptimizer(0.5), tf.train.AdamOptimizer(0.1), tf.train.RMSPropOptimizer(0.1, momentum=0.5),
         tf.train.RMSPropOptimizer(0.1, centered=True), tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
         tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01), tf.train.ProximalAdagradOptimizer(0.1),
         tf.train.AdagradDAOptimizer(0.1, step)]
for resource in (False, True):
    for optimizer in kinds:
        with tf.variable_scope(None, "scope", use_resource=resource):
            v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0])
            e = tf.get_variable("e", initializer=np.arange(8, dtype=np.float32).reshape(4, 2))
            loss = tf.reduce_sum(v ** 3) + tf.reduce_sum(tf.gather(e, [1, 3, 1]) ** 2)
            train = type(optimizer).minimize(optimizer, loss, var_list=[v, e])
        with tf.Session(TARGET) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(train)
            show(type(optimizer).__name__, session.run(v))
            show("e", session.run(e))
