"""training — Monitored sessions and hooks, a supervisor, queues, averages, clusters."""

import numpy as np, tempfile, os


def main(tf):
    out = {}

    def model():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer(0.5))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
        step = tf.train.get_or_create_global_step()
        op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        tf.summary.scalar("loss", loss)
        return (x, loss, step, op)

    data = np.array([[1.0, 2.0], [0.5, 1.0]], np.float32)
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        x, loss, step, op = model()
        seen = []

        class H(tf.train.SessionRunHook):

            def begin(self):
                seen.append("begin")

            def after_create_session(self, session, coord):
                seen.append("created")

            def before_run(self, c):
                return tf.train.SessionRunArgs([step, loss])

            def after_run(self, c, v):
                seen.append(round(float(v.results[1]), 5))

            def end(self, s):
                seen.append("end")

        class F(tf.train.SessionRunHook):
            pass

        hooks = [
            H(),
            tf.train.StopAtStepHook(5),
            tf.train.NanTensorHook(loss),
            tf.train.LoggingTensorHook({"l": loss}, every_n_iter=2),
            tf.train.FeedFnHook(lambda: {x: data}),
        ]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=2, save_summaries_steps=2, log_step_count_steps=2
        ) as s:
            n = 0
            while not s.should_stop():
                s.run(op)
                n += 1
        out["seen"], out["n"] = (seen, n)
        out["files"] = sorted((f for f in os.listdir(folder) if not f.startswith("events")))
        out["ckpt"] = os.path.basename(tf.train.latest_checkpoint(folder))
        tags = []
        for f in sorted(os.listdir(folder)):
            if f.startswith("events"):
                for e in tf.train.summary_iterator(os.path.join(folder, f)):
                    for v in e.summary.value:
                        tags.append((v.tag, e.step) if v.tag == "loss" else v.tag)
        out["tags"] = [list(t) if isinstance(t, tuple) else t for t in tags]
    with tf.Graph().as_default():
        x, loss, step, op = model()
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=[tf.train.StopAtStepHook(last_step=7), tf.train.FeedFnHook(lambda: {x: data})]
        ) as s:
            out["resumed"] = s.run(step)
            while not s.should_stop():
                s.run(op)
        with tf.train.SingularMonitoredSession(checkpoint_dir=folder) as s:
            out["singular"] = s.run(step)
            out["w"] = s.run("w:0")
            out["raw"] = s.raw_session().run(step)

        def fn(step_context):
            return step_context.run_with_hooks(step)

        with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(checkpoint_dir=folder)) as s:
            out["fn"] = s.run_step_fn(fn)
    with tf.Graph().as_default():
        x, loss, step, op = model()
        d2 = tempfile.mkdtemp()
        sv = tf.train.Supervisor(logdir=d2, save_model_secs=600, save_summaries_secs=0, summary_op=None)
        with sv.managed_session() as s:
            for _ in range(3):
                if sv.should_stop():
                    break
                s.run(op, {x: data})
            out["sv"] = s.run(step)
        out["svfiles"] = any((f.startswith("model") for f in os.listdir(d2)))
    with tf.Graph().as_default():
        q = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
        v = q.dequeue()
        b = tf.train.batch([v, tf.strings.length(v)], 4, allow_smaller_final_batch=True)
        got = []
        with tf.Session() as s:
            s.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coord = tf.train.Coordinator()
            th = tf.train.start_queue_runners(s, coord)
            try:
                while not coord.should_stop():
                    got.append(s.run(b))
            except tf.errors.OutOfRangeError:
                pass
            finally:
                coord.request_stop()
                coord.join(th)
        out["batches"] = got
        e = tf.train.ExponentialMovingAverage(0.9)
    with tf.Graph().as_default():
        a = tf.Variable(1.0)
        m = tf.train.ExponentialMovingAverage(0.9)
        ap = m.apply([a])
        with tf.Session() as s:
            s.run(tf.global_variables_initializer())
            s.run(a.assign(2.0))
            s.run(ap)
            out["ema"] = s.run(m.average(a))
            out["emaname"] = m.average_name(a)
    c = tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": {1: "c:1"}})
    out["cluster"] = [c.jobs, c.num_tasks("ps"), c.task_address("worker", 1), str(c.as_dict()), str(c)]
    with tf.Graph().as_default():
        with tf.device(
            tf.train.replica_device_setter(cluster=tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": ["c:1"]}))
        ):
            vs = [tf.Variable(0.0, name="v%d" % i) for i in range(3)]
            y = vs[0] + 1
        out["devices"] = [v.device for v in vs] + [y.device]
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        with tf.Session(server.target) as s:
            out["server"] = s.run(tf.constant(3) + 1)
    return out
