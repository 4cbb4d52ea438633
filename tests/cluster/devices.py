# devices — device names of a server, placement, soft placement
from client import TARGET, show, tf

with tf.Session(TARGET) as session:
    for device in session.list_devices():
        if device.device_type == "CPU":
            print(device.name, device.memory_limit_bytes > 0)
for name, soft in (("/cpu:0", False), ("/job:localhost", False), ("/gpu:0", True), ("/gpu:0", False), ("/job:localhost/task:1", False)):
    with tf.Graph().as_default(), tf.device(name):
        c = tf.constant(2, name="placed")
        d = c + 1
        with tf.Session(TARGET, config=tf.ConfigProto(allow_soft_placement=soft)) as session:
            if "gpu" in name and soft or name in ("/cpu:0", "/job:localhost"):
                show(name, session.run(d))
            else:
                try:
                    session.run(d)
                except tf.errors.InvalidArgumentError as error:
                    print(name, "Cannot assign a device" in str(error))
