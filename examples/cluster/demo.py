# demo — two parameter tasks and three workers learn Fashion-MNIST on this machine; one worker is killed and one frozen on the way.
import argparse
import sys
import time

from processes import Cluster


LEASE = 5  # seconds


def human(size):
    for unit in "B", "KiB", "MiB", "GiB":
        if size < 1024 or unit == "GiB":
            return "%.*f %s" % (unit != "B", size, unit)
        size /= 1024


class Table:
    """Drawn over itself in a terminal; else a row of it now and then."""

    def __init__(self):
        self.lines, self.live = 0, sys.stdout.isatty()

    def draw(self, cluster, title, whole=False):
        sent = cluster.bytes_sent()
        rows = ["%-10s %-8s %8s %10s %12s" % ("task", "state", "steps/s", "own steps", "sent by TCP")]
        for task in cluster.tasks:
            learns = task.job == "worker"
            state = task.state if learns or task.state not in ("starts", "learns") else "serves"
            rows.append("%-10s %-8s %8s %10s %12s" % (task.name, state, "%.1f" % task.rate if learns else "", task.own if learns else "",
                                                     human(sent.get(task.name, 0))))
        rows.append(title)
        if self.live and self.lines:
            sys.stdout.write("\x1b[%dA" % self.lines)
        for row in rows if self.live or whole else [title + "   " + ", ".join(
                "%s %s" % (task.name, task.state or "serves") for task in cluster.workers)]:
            print(row + ("\x1b[K" if self.live else ""))
        sys.stdout.flush()
        self.lines = len(rows)


class Story:
    """What happens to the cluster, by the step at which it does."""

    def __init__(self, cluster, steps, frozen):
        self.cluster, self.frozen = cluster, frozen
        self.events, self.until, self.heard, self.silent = [], {}, {}, set()
        self.plan = [(steps * 0.25, self.kill), (steps * 0.5, self.freeze)]

    def note(self, text):
        self.events.append((time.monotonic() - self.cluster.begin, text))

    def kill(self):
        self.note("worker 1 is killed")
        self.cluster.workers[1].kill()
        self.until[time.monotonic() + 3] = self.restart

    def restart(self):
        self.note("worker 1 is started again")
        self.cluster.workers[1].start()

    def freeze(self):
        self.note("worker 2 is frozen")
        self.cluster.workers[2].freeze()
        self.until[time.monotonic() + self.frozen] = self.thaw

    def thaw(self):
        self.note("worker 2 goes on")
        self.cluster.workers[2].thaw()

    def listen(self):
        """Notes who has said nothing for as long as the cluster's tasks wait for each other, and who is heard again."""
        for task in self.cluster.workers:
            at, when = self.heard.get(task.name, (None, 0))
            if at != task.own:
                self.heard[task.name] = task.own, time.monotonic()
                if task.name in self.silent:
                    self.silent.remove(task.name)
                    self.note("%s is heard again" % task.name)
            elif task.own and task.name not in self.silent and time.monotonic() - when > LEASE:
                self.silent.add(task.name)
                self.note("%s has been silent for %d seconds" % (task.name, LEASE))

    def go_on(self):
        self.listen()
        while self.plan and self.cluster.step() >= self.plan[0][0]:
            self.plan.pop(0)[1]()
        for when in [when for when in self.until if when <= time.monotonic()]:
            self.until.pop(when)()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500, help="of all workers together")
    parser.add_argument("--mode", default="asynchronous", help="asynchronous, synchronous (the first two of three) or bounded")
    parser.add_argument("--frozen", type=float, default=8, help="seconds that a worker is frozen")
    parser.add_argument("--data", help="a folder of IDX files, or none; Fashion-MNIST")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which it has failed")
    args = parser.parse_args()
    options = ["--mode", args.mode, "--steps", args.steps, "--report", 0.5, "--timeout", 10, "--batch", 32]
    options += ["--needed", 2] if args.mode == "synchronous" else []
    options += ["--data", args.data] if args.data else []
    with Cluster(2, 3, options) as cluster:
        table, story = Table(), Story(cluster, args.steps, args.frozen)
        while cluster.workers[0].runs() and time.monotonic() < cluster.begin + args.limit:
            story.go_on()
            loss = cluster.workers[0].loss
            table.draw(cluster, "%5.1f s   step %d of %d   loss %s" % (time.monotonic() - cluster.begin, cluster.step(), args.steps,
                                                                       "-" if loss is None else "%.4f" % loss))
            time.sleep(0.5 if table.live else 2)
        table.draw(cluster, "%5.1f s   step %d of %d" % (time.monotonic() - cluster.begin, cluster.step(), args.steps), True)
        for when in list(story.until):
            story.until.pop(when)()
        chief = cluster.workers[0]
        chief.reader.join(10)
        lines = [(when, "%s: %s" % (task.name, line.split(" ", 1)[1])) for task in cluster.workers for when, line in task.said
                 if "noticed" in line or "goes on" in line or "restored" in line]
        print("\nwhat happened, and who noticed:")
        for when, text in sorted(story.events + lines):
            print("%6.1f s  %s" % (when, text[:200]))
        if chief.accuracy is None:
            for task in cluster.tasks:
                print(task.name, task.state, *task.said[-3:], sep="\n    ")
            sys.exit("demo: the training did not come to its end")
        print("\naccuracy on unseen pictures: %.1f %%" % (100 * chief.accuracy))


if __name__ == "__main__":
    main()
