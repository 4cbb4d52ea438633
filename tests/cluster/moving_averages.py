# moving_averages — moving averages, and variables restored from them
from client import TARGET, show, tf

v, w = tf.Variable([1.0, 2.0]), tf.Variable(5.0, use_resource=True)
step = tf.Variable(0)
averages = tf.train.ExponentialMovingAverage(0.9, step, zero_debias=False)
debiased = tf.train.ExponentialMovingAverage(0.8, zero_debias=True, name="debiased")
change = tf.group(v.assign_add([1.0, -1.0]), w.assign_add(2.0), step.assign_add(1))
update = averages.apply([v, w])
mean = v * 2
update2 = debiased.apply([mean])
with tf.Session(TARGET) as session:
    session.run(tf.global_variables_initializer())
    for _ in range(5):
        session.run(change)
        session.run(update)
        session.run(update2)
        show("v", session.run(averages.average(v)))
        show("w", session.run(averages.average(w)))
        show("mean", session.run(debiased.average(mean)))
print(sorted(averages.variables_to_restore()))
