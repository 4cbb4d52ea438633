#!/usr/bin/env python3
# cluster_parity — TensorFlow's Python client against a server of TensorFlow's and one of ours: both print the same.
#
# usage: cluster_parity.py [--only REGEX] [--library PATH] [--command PATH] [--mixed] [--verbose]
# Every script of tests/cluster runs twice, each time with fresh servers in processes of their own: one, or, where its name begins
# with tasks_, two parameter tasks and two workers; with --mixed also with TensorFlow's workers and our parameter tasks, and the
# reverse. Numbers that are printed
# may be 1e-4 apart, relatively; all else is equal. TensorFlow is loaded once; clients and its servers are forks.
import argparse
import glob
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"    # with it, ops have other names in step stats
for proxy in ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy"):
    os.environ.pop(proxy, None)
    os.environ.pop(proxy.upper(), None)

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
scripts = os.path.join(root, "tests", "cluster")
sys.path.insert(0, os.path.join(root, "examples", "cluster"))
from processes import free_ports

BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(root, "build"))
HELPERS = ("client", "serve")
LIMIT = int(os.environ.get("MILLRACE_LIMIT", "120"))  # seconds for a script
TOLERANCE = 1e-4
SMALL = 1e-5
NUMBER = re.compile(r"(?<![A-Za-z_0-9])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def child(work, out):
    """Forks: the child does the work with its output at the file descriptor and ends. What libraries log goes nowhere."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.dup2(out, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        work()
        sys.stdout.flush()
        code = 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 1
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        code = 1
    try:
        sys.stdout.flush()
    finally:
        os._exit(code)


PLAN = (("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1))


def new_cluster():
    """{job: addresses}, of ports that are free."""
    addresses = ["localhost:%d" % port for port in free_ports(len(PLAN))]
    return {"ps": addresses[:2], "worker": addresses[2:]}


class TheirServer:
    def __init__(self, cluster=None, job=None, task=0):
        self.cluster, self.job, self.task = cluster, job, task
        read, write = os.pipe()
        self.pid = child(self.serve, write)
        os.close(write)
        with os.fdopen(read) as lines:
            self.target = next((line.split()[1] for line in lines if line.startswith("target ")), None)

    def serve(self):
        import tensorflow.compat.v1 as tf
        server = (tf.distribute.Server(self.cluster, job_name=self.job, task_index=self.task) if self.cluster else
                  tf.distribute.Server.create_local_server())
        print("target", server.target, flush=True)
        os.dup2(2, 1)
        server.join()

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return ""


class OurServer:
    def __init__(self, options, cluster=None, job=None, task=0):
        self.log = tempfile.TemporaryFile("w+")
        text = ";".join("%s=%s" % (name, ",".join(addresses)) for name, addresses in (cluster or {}).items())
        if options.command:
            more = ["--cluster", text, "--job", job, "--task", str(task)] if cluster else []
            run = [options.command, "server"] + more
        else:
            run = [sys.executable, os.path.join(scripts, "serve.py"), options.library] + ([text, job, str(task)] if cluster else [])
        self.signals = bool(options.command)
        self.process = subprocess.Popen(run, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.target = self.process.stdout.readline().split()[-1]

    def end(self):
        """What was wrong with the way it ended."""
        alive = self.process.poll() is None
        wrong = ""
        if self.signals:
            self.process.terminate()
        try:
            self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            wrong = "the server did not stop\n"
        if not alive or self.process.returncode and not wrong:
            self.log.seek(0)
            wrong = "the server %s with status %d: %s\n" % ("ended" if alive else "died", self.process.returncode, self.log.read())
        return wrong


class Servers:
    """What a script needs. `ours` says of a job whether its tasks are ours."""
    def __init__(self, path, options, ours):
        if not os.path.basename(path).startswith("tasks_"):
            self.servers = [OurServer(options) if ours("worker") else TheirServer()]
            self.targets = [self.servers[0].target]
            return
        cluster = new_cluster()
        # Forks first: they would hold the standard inputs by which ours are ended.
        made = {(job, task): TheirServer(cluster, job, task) for job, task in PLAN if not ours(job)}
        made.update({(job, task): OurServer(options, cluster, job, task) for job, task in PLAN if ours(job)})
        self.servers = [made[place] for place in PLAN]
        self.targets = [server.target for server in self.servers[2:]]

    def end(self):
        return "".join([server.end() for server in self.servers])


def run_script(path, targets):
    """What the script prints, and how it ended."""
    def work():
        sys.argv = [path] + targets
        sys.path.insert(0, scripts)
        os.chdir(tempfile.gettempdir())
        import runpy
        runpy.run_path(path, run_name="__main__")

    read, write = os.pipe()
    pid = child(work, write)
    os.close(write)
    parts, end = [], time.monotonic() + LIMIT
    while True:
        ready = select.select([read], [], [], max(0, end - time.monotonic()))[0]
        data = os.read(read, 65536) if ready else b""
        if not data:
            break
        parts.append(data)
    os.close(read)
    if not ready:
        parts.append(b"\nno end within %d s\n" % LIMIT)
    try:
        os.killpg(pid, signal.SIGKILL) if not ready else None
    except ProcessLookupError:
        pass
    status = os.waitpid(pid, 0)[1]
    return b"".join(parts).decode(errors="replace"), os.waitstatus_to_exitcode(status)


def near(a, b):
    try:
        x, y = float(a), float(b)
    except ValueError:
        return a == b
    return abs(x - y) <= SMALL + TOLERANCE * max(abs(x), abs(y))


def same_line(a, b):
    return (NUMBER.sub("#", a).split() == NUMBER.sub("#", b).split() and
            all(map(near, NUMBER.findall(a), NUMBER.findall(b))))


def differences(theirs, ours):
    theirs, ours = theirs.splitlines(), ours.splitlines()
    for i in range(max(len(theirs), len(ours))):
        a, b = (lines[i] if i < len(lines) else "(nothing)" for lines in (theirs, ours))
        if not same_line(a, b):
            yield "  TensorFlow: %s\n  here:       %s" % (a[:600], b[:600])


def against(path, options, theirs, ours):
    servers = Servers(path, options, ours)
    printed, code = run_script(path, servers.targets)
    wrong = servers.end()
    if code:
        return wrong + "the script ends with %d here:\n%s" % (code, printed[-1200:])
    return wrong + "\n".join(differences(theirs, printed))


def compare(path, options):
    """What is wrong with one script; empty if nothing is."""
    servers = Servers(path, options, lambda job: False)
    theirs, code = run_script(path, servers.targets)
    servers.end()
    if code:
        return "the script fails on TensorFlow's own server:\n" + theirs[-1200:]
    if options.verbose:
        print(theirs)
    wrong = against(path, options, theirs, lambda job: True)
    if options.mixed and not wrong and os.path.basename(path).startswith("tasks_"):
        for mine in ("ps", "worker"):
            found = against(path, options, theirs, lambda job: job == mine)
            wrong += "with our %s tasks among TensorFlow's:\n%s\n" % (mine, found) if found else ""
    return wrong


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="", help="scripts whose name matches")
    p.add_argument("--library", default=os.path.join(BUILD, "lib", "libmillrace.so"))
    p.add_argument("--command", help="our servers are processes of this `millrace` instead, such as one built with sanitizers")
    p.add_argument("--mixed", action="store_true", help="clusters of both kinds of servers, too")
    p.add_argument("--verbose", action="store_true", help="show what TensorFlow's server makes the scripts print")
    options = p.parse_known_args()[0]
    import tensorflow.compat.v1  # noqa: F401, once for all forks
    names = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(scripts, "*.py")))
    failed, ran = [], 0
    for name in names:
        if name in HELPERS or not re.search(options.only, name):
            continue
        start = time.monotonic()
        wrong = compare(os.path.join(scripts, name + ".py"), options)
        ran += 1
        print("%-28s %s, %.1f s" % (name, "disagrees" if wrong else "agrees", time.monotonic() - start), flush=True)
        if wrong:
            failed.append(name)
            print(wrong, flush=True)
    print("%d cases, %d disagree (%s), %d agree" % (ran, len(failed), " ".join(failed), ran - len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
