# chaos_test — trainings on a cluster whose tasks are killed, frozen, cut off and slowed down at moments that a seed chooses.
#
# Each ends, with what an undisturbed training learns, no later than the faults and what follows from them account for. Here are 20
# schedules of shorter trainings; MILLRACE_CHAOS=200 runs as many (`./run chaos`). Where one fails, its seed and story are in the
# message.
import os
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "cluster"))
from links import Links
from processes import Cluster

SCHEDULES = int(os.environ.get("MILLRACE_CHAOS", "20"))
FIRST = int(os.environ.get("MILLRACE_SEED", "1"))
LENGTH = 1.0 if "MILLRACE_CHAOS" in os.environ else 0.6   # at each commit: 50 processor-seconds in all
STEPS = {"asynchronous": int(300 * LENGTH), "synchronous": int(120 * LENGTH), "bounded": int(300 * LENGTH)}
RATES = {"asynchronous": 0.003, "synchronous": 0.02, "bounded": 0.003}   # momentum and stale gradients add up
MODES = (["asynchronous"], ["synchronous"], ["synchronous", "--needed", "2"], ["bounded", "--staleness", "2"])
OPTIONS = ["--data", "none", "--batch", 16, "--units", 32, "--test", 400, "--report", 0, "--timeout", 4, "--keep-every", 5]
AT_ONCE = 6        # they mostly wait
LESS = {"asynchronous": 0.25, "synchronous": 0.2, "bounded": 0.25}   # by which accuracy may differ: what is lost and who overtakes whom
LEASE = 5          # seconds after which a silent task counts as lost
BEGIN_ANEW = 20    # seconds in which a session is made anew and values are restored, on two busy processors
FAULTS = ("kill", "freeze", "cut", "slow", "restart")
WHO = ("chief", "worker", "ps")


def options_of(mode):
    return OPTIONS + ["--mode", *mode, "--steps", STEPS[mode[0]], "--rate", RATES[mode[0]]]


class Schedule:
    """Two faults of a training, by the step at which they happen."""

    def __init__(self, seed):
        self.random, self.seed = random.Random(seed), seed
        self.mode = MODES[seed % len(MODES)]
        last = STEPS[self.mode[0]] - 20
        self.faults = sorted((self.random.randint(10, last), self.random.choice(FAULTS), self.random.choice(WHO),
                              self.random.uniform(0.2, 7)) for _ in range(2))

    def __str__(self):
        faults = "; ".join("at step %d %s %s for %.1f s" % fault for fault in self.faults)
        return "seed %d, %s: %s" % (self.seed, " ".join(self.mode), faults)

    def seconds(self):
        """What the faults may cost beyond an undisturbed training."""
        return sum(length + LEASE + BEGIN_ANEW for _, _, _, length in self.faults)

    def victim(self, cluster, who):
        return {"chief": cluster.workers[0], "worker": self.random.choice(cluster.workers[1:]), "ps": self.random.choice(cluster.ps)}[who]


def begin_fault(cluster, fault, task, length):
    """Gives what is to be done later: (when, function)."""
    now = time.monotonic()
    link = cluster.links[cluster.tasks.index(task)]
    if fault in ("kill", "restart"):
        task.kill()

        def come_again():   # unless another fault had it come already
            if not task.runs():
                task.start()
        return [(now + (length if fault == "kill" else 0), come_again)]
    if fault == "freeze":
        task.freeze()
        return [(now + length, task.thaw)]
    if fault == "cut":
        link.is_cut = True

        def heal():
            link.is_cut = False
        return [(now + length, heal)]
    turns = []
    for i in range(int(length / 0.2)):   # it runs a fifth of the time
        turns += [(now + 0.2 * i, task.freeze), (now + 0.2 * i + 0.16, task.thaw)]
    return turns


def train(schedule, limit):
    """The accuracy in the end, and the seconds that it took; the accuracy is None where it didn't end."""
    folder, links = tempfile.mkdtemp(prefix="millrace-chaos-"), Links()
    try:
        with Cluster(2, 3, options_of(schedule.mode) + ["--keep", folder], links) as cluster:
            faults, later = list(schedule.faults), []
            chief = cluster.workers[0]
            while time.monotonic() < cluster.begin + limit:
                # Bytes that a cut link holds back don't hold back the driver: it looks at the step, not at the answers.
                if faults and cluster.step() >= faults[0][0]:
                    _, fault, who, length = faults.pop(0)
                    later += begin_fault(cluster, fault, schedule.victim(cluster, who), length)
                due = [what for when, what in later if when <= time.monotonic()]
                later = [(when, what) for when, what in later if when > time.monotonic()]
                for what in due:
                    what()
                if not later and chief.process.poll() is not None and chief.process.returncode >= 0:
                    break
                time.sleep(0.01)
            chief.reader.join(5)
            story = "\n".join("%s (%s): %s" % (task.name, task.state, "; ".join("%.1f %s" % said for said in task.said[-6:]))
                              for task in cluster.tasks)
            return chief.accuracy, time.monotonic() - cluster.begin, story
    finally:
        links.close()
        shutil.rmtree(folder, ignore_errors=True)


class Quiet(Schedule):
    def __init__(self, mode):
        self.seed, self.mode, self.faults = 0, mode, []


@pytest.fixture(scope="module")
def outcomes():
    """By seed: the schedule, what became of it, and what becomes of an undisturbed training."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        usual = dict(zip(map(tuple, MODES), pool.map(lambda mode: train(Quiet(mode), 150), MODES)))
        assert all(outcome[0] is not None for outcome in usual.values()), usual

        def run(seed):
            schedule = Schedule(seed)
            accuracy, seconds, _ = usual[tuple(schedule.mode)]
            limit = 3 * seconds + schedule.seconds()
            return schedule, limit, train(schedule, limit), (accuracy, seconds)
        seeds = range(FIRST, FIRST + SCHEDULES)
        return dict(zip(seeds, pool.map(run, seeds)))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SCHEDULES))
def test_schedule(seed, outcomes):
    schedule, limit, (accuracy, took, story), (usual, seconds) = outcomes[seed]
    assert accuracy is not None, "%s: not over after %.0f s\n%s" % (schedule, limit, story)
    least = usual - LESS[schedule.mode[0]] if LENGTH == 1 else 0.4 * usual   # a tenth is luck; short trainings differ more
    assert accuracy > least, "%s: accuracy %.3f, undisturbed %.3f\n%s" % (schedule, accuracy, usual, story)
    print("%s: %.1f s, accuracy %.3f (undisturbed %.1f s, %.3f)" % (schedule, took, accuracy, seconds, usual))
