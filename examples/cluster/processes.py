# processes — a cluster of build/examples/replicas on this machine, whose tasks can be killed, frozen, cut off and started again.
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(ROOT, "build"))
REPORT = re.compile(r"[\d.]+ step (\d+) own (\d+) rate ([\d.]+) loss ([\d.naif+-]+)$")


def free_ports(n):
    """None that the kernel gives to those who connect: while a task is away, one of them could have it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first = int(file.read().split()[0])
    first = first if first > 16384 else 32768
    ports = []
    for port in random.sample(range(first - 12000, first), 12000):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == n:
            return ports
    raise OSError("no %d ports are free" % n)


class Task:
    """One process of the cluster, and what its lines say."""

    def __init__(self, cluster, job, index, command):
        self.cluster, self.job, self.index, self.command = cluster, job, index, command
        self.name, self.process, self.state, self.said = "%s %d" % (job, index), None, "", []
        self.step = self.own = self.rate = 0
        self.loss = self.accuracy = None
        self.start()

    def start(self):
        self.state, self.rate = "starts", 0
        config = dict(self.cluster.spec_for(self), task={"type": self.job, "index": self.index})
        self.process = subprocess.Popen(self.command, env=dict(os.environ, TF_CONFIG=json.dumps(config)), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.reader = threading.Thread(target=self.read, args=[self.process], daemon=True)
        self.reader.start()

    def read(self, process):
        for line in process.stdout:
            line = line.rstrip("\n")
            match = REPORT.match(line)
            if match:
                self.step, self.own, self.rate, self.loss = int(match[1]), int(match[2]), float(match[3]), float(match[4])
                if self.state != "frozen":
                    self.state = "learns"
            elif " accuracy " in line:
                self.accuracy = float(line.split()[-1])
            else:
                self.said.append((time.monotonic() - self.cluster.begin, line))
        process.stdout.close()
        process.wait()
        if process is self.process:
            self.rate = 0
            self.state = "done" if process.returncode == 0 else "killed" if process.returncode == -9 else "ended %d" % process.returncode

    def signal(self, number):
        try:
            if self.process.poll() is None:
                os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass   # it ended meanwhile

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def freeze(self):
        self.signal(signal.SIGSTOP)
        self.state, self.rate = "frozen", 0

    def thaw(self):
        self.signal(signal.SIGCONT)
        self.state = "learns" if self.job == "worker" else "serves"

    def runs(self):
        return self.process.poll() is None


class Cluster:
    """Parameter tasks that serve and workers that learn; `options` are those of the workers' program."""

    def __init__(self, n_ps, n_workers, options, links=None):
        ports = free_ports(n_ps + n_workers)
        self.links = [links.open(port) for port in ports] if links else None
        self.begin = time.monotonic()
        addresses = ["localhost:%d" % port for port in ports]
        self.spec = {"cluster": {"ps": addresses[:n_ps], "worker": addresses[n_ps:]}}
        server = [os.path.join(BUILD, "bin", "millrace"), "server"]
        worker = [os.path.join(BUILD, "examples", "replicas"), *map(str, options)]
        self.ps = [Task(self, "ps", i, server) for i in range(n_ps)]
        self.workers = [Task(self, "worker", i, worker) for i in range(n_workers)]
        self.tasks = self.ps + self.workers
        self.counted = {}

    def spec_for(self, task):
        """Who is where: a task calls the others by way of the links, where there are any."""
        if not self.links:
            return self.spec
        addresses = ["localhost:%d" % link.port for link in self.links]
        n_ps = len(self.spec["cluster"]["ps"])
        cluster = {"ps": addresses[:n_ps], "worker": addresses[n_ps:]}
        cluster[task.job][task.index] = self.spec["cluster"][task.job][task.index]
        return {"cluster": cluster}

    def step(self):
        return max(task.step for task in self.workers)

    def end(self):
        for task in self.tasks:
            task.signal(signal.SIGCONT)
            task.signal(signal.SIGTERM)
        until = time.monotonic() + 3
        for task in self.tasks:
            try:
                task.process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                task.kill()
            task.reader.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def bytes_sent(self):
        """By each task over TCP, so far: what the kernel says of its sockets."""
        owners = {}
        for task in self.tasks:
            try:
                for fd in os.scandir("/proc/%d/fd" % task.process.pid):
                    link = os.readlink(fd.path)
                    if link.startswith("socket:["):
                        owners[int(link[8:-1])] = task.name
            except OSError:
                pass
        for inode, sent in sockets_sent():
            if inode in owners:
                self.counted[inode] = (owners[inode], sent)
        totals = {}
        for name, sent in self.counted.values():
            totals[name] = totals.get(name, 0) + sent
        return totals


def sockets_sent():
    """(inode, bytes that arrived at the other end) of each TCP socket here, from the kernel's sock_diag."""
    found = []
    for family in socket.AF_INET, socket.AF_INET6:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as netlink:
            request = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 2, 0, 0xffffffff) + bytes(48)
            netlink.send(struct.pack("=IHHII", 16 + len(request), 20, 0x301, 1, 0) + request)
            done = False
            while not done:
                data = netlink.recv(1 << 16)
                while len(data) >= 16:
                    size, kind = struct.unpack_from("=IH", data)
                    done |= kind != 20
                    at = 16 + 72
                    while kind == 20 and at + 4 <= size:
                        length, attribute = struct.unpack_from("=HH", data, at)
                        if attribute == 2 and length >= 4 + 128:
                            inode, = struct.unpack_from("=I", data, 16 + 68)
                            found.append((inode, struct.unpack_from("=Q", data, at + 4 + 120)[0]))
                        at += max(4, (length + 3) & ~3)
                    data = data[(size + 3) & ~3:]
    return found
