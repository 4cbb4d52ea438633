# extends — nodes added between steps, devices, graph versions
from client import TARGET, refused, show, tf

session = tf.Session(TARGET)
x = tf.constant([1.0, 2.0])
total = x
for i in range(30):
    total = total + x
    if i % 3 == 0:
        show("total", session.run(total))
v = tf.Variable(total)
session.run(v.initializer)
for i in range(5):
    with tf.device("/job:localhost/task:0/cpu:0"):
        show("v", session.run(v.assign_add(x * i)))
with tf.device("/job:other/task:3"):
    bad = tf.constant(5, name="elsewhere")
try:
    session.run(bad)
except tf.errors.InvalidArgumentError as error:
    print("elsewhere" in str(error))
session.close()
refused(lambda: session.run(x), "closed")
print(len(tf.Session(TARGET).list_devices()) > 0)
