# cluster_deaths_test — tasks that are frozen, killed and started again: every step ends in time and says whom it missed.
import os
import signal
import subprocess
import sys
import threading
import time

import millrace.compat.v1 as tf
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "cluster"))
from processes import free_ports

BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(__file__), "..", "build"))
COMMAND = os.path.join(BUILD, "bin", "millrace")
LEASE = 5    # seconds until a task counts as lost
PATIENCE = 60  # of these tests, on a machine with other work
TASKS = ("worker/0", "worker/1", "ps/0", "ps/1")


class Cluster:
    def __init__(self):
        self.ports = dict(zip(TASKS, free_ports(len(TASKS))))
        self.processes = {}
        for task in TASKS:
            self.start(task)

    def start(self, task, *options):
        job, number = task.split("/")
        text = ";".join("%s=%s" % (name, ",".join("localhost:%d" % self.ports["%s/%d" % (name, i)] for i in range(2)))
                        for name in ("worker", "ps"))
        process = subprocess.Popen([COMMAND, "server", "--cluster", text, "--job", job, "--task", number, *options],
                                   stdout=subprocess.PIPE, text=True)
        assert "listening" in process.stdout.readline()
        self.processes[task] = process

    def signal(self, task, number):
        self.processes[task].send_signal(number)

    def freeze(self, task):
        """when it returns all threads stand still"""
        folder = "/proc/%d/task" % self.processes[task].pid
        self.signal(task, signal.SIGSTOP)
        while any(open("%s/%s/stat" % (folder, thread)).read().rsplit(")", 1)[1].split()[0] != "T" for thread in os.listdir(folder)):
            time.sleep(0.01)

    def kill(self, task):
        self.signal(task, signal.SIGKILL)
        self.processes[task].wait()

    def target(self, task="worker/0"):
        return "grpc://localhost:%d" % self.ports[task]

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.fixture
def cluster():
    made = Cluster()
    yield made
    made.end()


def on(task):
    job, number = task.split("/")
    return tf.device("/job:%s/task:%s" % (job, number))


class Model:
    """a variable on each parameter task, a sum of both, a queue on the second"""
    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            with on("ps/0"):
                self.near = tf.Variable(1.0, name="near", use_resource=True)
            with on("ps/1"):
                self.far = tf.Variable(2.0, name="far", use_resource=True)
                self.queue = tf.FIFOQueue(10, [tf.float32], [[]], shared_name="queue")
                self.taken = self.queue.dequeue(name="taken")
                self.put = self.queue.enqueue(7.0)
            with on("worker/0"):
                self.sum = tf.add(self.near, self.far, name="sum")
                self.after = self.taken + 1.0
            self.grow = self.near.assign_add(1.0, read_value=False)
            self.init = [self.near.initializer, self.far.initializer]

    def session(self, target, milliseconds=0):
        return tf.Session(target, graph=self.graph, config=tf.ConfigProto(operation_timeout_in_ms=milliseconds))


def ends(run, *words, within=LEASE + PATIENCE):
    """Its error, which is one that tells a program to try again, has the words, and comes in time."""
    begun = time.monotonic()
    with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)) as error:
        run()
    assert time.monotonic() < begun + within
    for word in words:
        assert word in str(error.value), error.value


def until(run):
    """Tries again until it works: a task that comes back takes a moment."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return run()
        except (tf.errors.UnavailableError, tf.errors.AbortedError):
            assert time.monotonic() < end
            time.sleep(0.1)


def test_a_frozen_task_is_noticed(cluster):
    model = Model()
    with model.session(cluster.target()) as session:
        session.run(model.init)
        assert session.run(model.sum) == 3.0
        cluster.freeze("ps/1")
        ends(lambda: session.run(model.sum), "/job:ps/replica:0/task:1", "{{node")
        assert session.run(model.near) == 1.0    # who doesn't need it goes on
        session.run(model.grow)
        cluster.signal("ps/1", signal.SIGCONT)
        assert until(lambda: session.run(model.sum)) == 4.0


def test_a_task_that_is_frozen_while_a_step_waits_for_it(cluster):
    model = Model()
    with model.session(cluster.target()) as session:
        session.run(model.init)
        timer = threading.Timer(1, lambda: cluster.freeze("ps/1"))
        timer.start()
        ends(lambda: session.run(model.after), "/job:ps/replica:0/task:1", "{{node")
        timer.join()
        cluster.signal("ps/1", signal.SIGCONT)
        # What waited there has gone with its step: it takes no element.
        with model.session(cluster.target(), 30000) as other:
            until(lambda: other.run(model.put))
            assert until(lambda: other.run(model.after)) == 8.0


@pytest.mark.parametrize("waits", [False, True])
def test_a_killed_task_comes_back(cluster, waits):
    model = Model()
    with model.session(cluster.target()) as session:
        session.run(model.init)
        if waits:
            timer = threading.Timer(1, lambda: cluster.kill("ps/1"))
            timer.start()
            ends(lambda: session.run(model.after), "/job:ps/replica:0/task:1")
            timer.join()
        else:
            cluster.kill("ps/1")
        ends(lambda: session.run(model.sum), "/job:ps/replica:0/task:1", "{{node")
        assert session.run(model.near) == 1.0
        cluster.start("ps/1")
        ends(lambda: session.run(model.sum), "/job:ps/replica:0/task:1")   # it is not the one that this session knew

    def again():
        with model.session(cluster.target()) as session:
            session.run(model.far.initializer)
            assert session.run(model.sum) == 3.0
            assert session.run(model.near) == 1.0   # nobody has set it anew
    until(again)


def test_a_worker_that_is_killed_keeps_nobody(cluster):
    """Two masters: the steps of one go on while the other is killed, and its own end."""
    model = Model()
    with model.session(cluster.target("worker/1"), 60000) as other, model.session(cluster.target()) as session:
        session.run(model.init)
        assert other.run(model.near) == 1.0
        threading.Timer(1, lambda: cluster.kill("worker/1")).start()
        with pytest.raises(tf.errors.OpError):
            other.run(model.after)
        session.run(model.put)
        assert session.run(model.after) == 8.0   # the step of the dead master takes nothing
    cluster.start("worker/1")
    with model.session(cluster.target("worker/1"), 60000) as other:
        assert until(lambda: other.run(model.near)) == 1.0   # it is as it was


def test_a_session_waits_no_longer_than_told(cluster):
    cluster.kill("ps/0")
    model = Model()
    begun = time.monotonic()
    with model.session(cluster.target(), 2000) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(model.init)
    assert time.monotonic() < begun + PATIENCE


def test_a_frozen_master_and_closing_beside_a_frozen_task(cluster):
    model = Model()
    with model.session(cluster.target(), 3000) as session:
        session.run(model.init)
        cluster.freeze("ps/1")
    cluster.signal("ps/1", signal.SIGCONT)     # closed in spite of it
    with model.session(cluster.target("worker/1"), 3000) as session:
        assert until(lambda: session.run(model.sum)) == 3.0
        cluster.freeze("worker/1")
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(model.sum)
        cluster.signal("worker/1", signal.SIGCONT)
        assert until(lambda: session.run(model.sum)) == 3.0


class Waiting:
    """a step that begins on ps/0 and waits there for what is enqueued on ps/1"""
    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            with on("ps/1"):
                queue = tf.FIFOQueue(10, [tf.float32], [[]], shared_name="queue")
                self.taken, self.put = queue.dequeue(), queue.enqueue(7.0)
            with on("ps/0"):
                self.begun = tf.Variable(0.0, name="begun", use_resource=True)
                with tf.control_dependencies([self.begun.assign_add(1.0, read_value=False)]):
                    one = tf.constant(1.0)
                self.step = self.taken + one

    def begin(self, cluster, outcomes):
        """in a thread; back when ps/0 is in it"""
        def run():
            try:
                with tf.Session(cluster.target("worker/1"), graph=self.graph) as session:
                    outcomes.append(session.run(self.step))
            except tf.errors.OpError as error:
                outcomes.append(error)
        thread = threading.Thread(target=run)
        with tf.Session(cluster.target(), graph=self.graph) as session:
            session.run(self.begun.initializer)
            thread.start()
            while session.run(self.begun) == 0.0:
                assert thread.is_alive()
                time.sleep(0.01)
        return thread


def test_a_task_that_is_to_end_lets_steps_end(cluster):
    model, outcomes = Waiting(), []
    cluster.kill("ps/0")
    cluster.start("ps/0", "--drain", "60")
    thread = model.begin(cluster, outcomes)
    with tf.Session(cluster.target(), graph=model.graph) as session:
        session.run(model.begun)
        cluster.signal("ps/0", signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        with pytest.raises(tf.errors.UnavailableError, match="about to end"):
            while time.monotonic() < end:
                session.run(model.begun)
        session.run(model.put)
    thread.join(PATIENCE)
    assert outcomes == [8.0]
    assert cluster.processes["ps/0"].wait(PATIENCE) == 0


def test_a_task_that_is_to_end_waits_no_longer_than_told(cluster):
    model, outcomes = Waiting(), []
    cluster.kill("ps/0")
    cluster.start("ps/0", "--drain", "1")
    thread = model.begin(cluster, outcomes)
    cluster.signal("ps/0", signal.SIGTERM)
    assert cluster.processes["ps/0"].wait(PATIENCE) == 0
    thread.join(LEASE + PATIENCE)
    assert isinstance(outcomes[0], (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError))
