# cluster_command_test — `millrace cluster` and `millrace server --jobs` from outside: who is started, told what, and how all of it ends.
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
COMMAND = os.path.join(os.environ.get("MILLRACE_BUILD", os.path.join(ROOT, "build")), "bin", "millrace")
SCHEDULERS = ("SLURM_", "OMPI_", "PMI_", "MPI_", "JOB_COMPLETION_INDEX", "TF_CONFIG", "MILLRACE_TARGET")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(SCHEDULERS)}


def run(*arguments, code=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout, done.stderr


def lines_of(text, name):
    return [line.split(" | ", 1)[1] for line in text.splitlines() if line.startswith(name + " | ")]


def is_there(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_until(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened in 30 seconds")


def test_each_worker_is_told_who_it_is():
    out, err = run("cluster", "--ps", 2, "--workers", 3, "--", "sh", "-c", 'echo "$TF_CONFIG"; echo to stderr >&2')
    addresses = set()
    for task in range(3):
        config = json.loads(lines_of(out, "worker %d" % task)[0])
        assert config["task"] == {"type": "worker", "index": task}
        assert {job: len(tasks) for job, tasks in config["cluster"].items()} == {"ps": 2, "worker": 3}
        addresses |= {address for tasks in config["cluster"].values() for address in tasks}
        assert lines_of(err, "worker %d" % task) == ["to stderr"]
    assert len(addresses) == 5


def test_servers_for_clients():
    script = 'until nc=$(exec 3<>/dev/tcp/localhost/${MILLRACE_TARGET##*:}); do sleep 0.1; done 2>/dev/null; echo $MILLRACE_TARGET'
    out, _ = run("cluster", "--ps", 1, "--workers", 2, "--serve", "--", "bash", "-c", script)
    for task in range(2):
        assert lines_of(out, "worker %d" % task) == lines_of(out, "worker %d server" % task)[0].split()[2:]
    assert len(lines_of(out, "ps 0")) == 1


def test_the_first_failure_is_the_exit_code():
    _, err = run("cluster", "--workers", 2, "--", "sh", "-c", 'case $TF_CONFIG in *\'"index": 1\'*) exit 7; esac', code=7)
    assert err == "millrace: worker 1 ended with code 7\n"
    _, err = run("cluster", "--", "sh", "-c", "kill -9 $$", code=137)
    assert "worker 0 was ended by signal 9" in err
    assert "no such program: No such file" in run("cluster", "--", "no such program", code=127)[1]


def test_long_and_unfinished_lines():
    out, _ = run("cluster", "--ps", 0, "--", "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x; echo; printf end")
    pieces = lines_of(out, "worker 0")
    assert "".join(pieces[:-1]) == "x" * 200000 and pieces[-1] == "end"


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_all_ends_with_it(number, code):
    cluster = subprocess.Popen([COMMAND, "cluster", "--ps", "1", "--workers", "1", "--", "sh", "-c", "echo $$; sleep 1000 & wait"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    line = next(line for line in cluster.stdout if line.startswith("worker"))
    program = int(line.split(" | ")[1])
    with open("/proc/%d/task/%d/children" % (cluster.pid, cluster.pid)) as file:
        children = [int(pid) for pid in file.read().split()]
    assert len(children) == 2 and program in children
    cluster.send_signal(number)
    assert cluster.wait(30) == code
    wait_until(lambda: not any(map(is_there, children)))
    cluster.stdout.close(), cluster.stderr.close()


def test_a_killed_task_stays_away_and_the_others_go_on():
    script = 'echo $PPID; read line < "$0"; echo done'
    fifo = os.path.join(os.environ.get("TMPDIR", "/tmp"), "millrace-cluster-%d" % os.getpid())
    os.mkfifo(fifo)
    try:
        cluster = subprocess.Popen([COMMAND, "cluster", "--", "sh", "-c", script, fifo], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        with open("/proc/%d/task/%d/children" % (cluster.pid, cluster.pid)) as file:
            wait_until(lambda: len(file.seek(0) or file.read().split()) == 2 or file.seek(0))
            file.seek(0)
            server = int(file.read().split()[0])
        os.kill(server, signal.SIGKILL)
        assert "ps 0 was ended by signal 9" in cluster.stderr.readline()
        with open(fifo, "w") as file:
            file.write("go on\n")
        out, err = cluster.communicate(timeout=30)
        assert cluster.returncode == 0 and lines_of(out, "worker 0")[-1] == "done" and not err
    finally:
        os.unlink(fifo)


def test_a_server_that_fails_ends_all():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert "is not to be had" in run("cluster", "--port", port, "--", "true", code=1)[1]


def test_wrong_use():
    for arguments, words in ((["--workers", "0"], "--workers takes a whole number from 1"), (["--ps", "x"], "--ps takes"),
                             (["--port", "70000"], "--port takes")):
        assert words in run("cluster", *arguments, code=2)[1]
    for arguments, words in ((["--hosts", "a"], "--hosts goes with --jobs"), (["x"], "programs stand behind --"),
                             (["--", "x"], "a program goes with --jobs"), (["--jobs", "ps", "--cluster", "a=b:1"], "both say")):
        assert words in run("server", *arguments, code=2)[1]
    assert "no scheduler has started this process" in run("server", "--jobs", "ps=1,worker", code=1)[1]


# ---- the files in examples/deploy, with what the schedulers set

def start_tasks(command, variables, n):
    tasks = []
    for i in range(n):
        env = dict(ENVIRONMENT, PATH=os.path.dirname(COMMAND) + ":" + ENVIRONMENT["PATH"], **variables(i))
        tasks.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env))
    return tasks


def check_tasks(tasks):
    configs = [json.loads(task.communicate(timeout=30)[0]) for task in tasks[2:]]
    assert [config["task"] for config in configs] == [{"type": "worker", "index": i} for i in range(3)]
    for i, task in enumerate(tasks[:2]):
        assert task.stdout.readline() == "listening at grpc://%s\n" % configs[0]["cluster"]["ps"][i]
        task.send_signal(signal.SIGTERM)
        assert task.communicate(timeout=30) == ("", "") and task.returncode == 143
    assert all(task.returncode == 0 for task in tasks[2:])
    return configs[0]["cluster"]


def free_ports(n):
    """The first of so many ports in a row that nobody has."""
    for first in range(20000 + os.getpid() % 10000, 60000, n):
        sockets = [socket.socket() for _ in range(n)]
        try:
            for i, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + i))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no ports are free")


PRINT = ["sh", "-c", 'echo "$TF_CONFIG"']


def test_slurm_script():
    path = os.path.join(ROOT, "examples", "deploy", "slurm.sh")
    subprocess.run(["bash", "-n", path], check=True)
    with open(path) as file:
        text = file.read()
    assert "#SBATCH --ntasks=5\n" in text
    words = shlex.split(re.search(r"\nsrun .*", text.replace("\\\n", ""), re.S).group(0))
    port = free_ports(5)
    command = words[words.index("millrace"):]
    assert command[-2:] == ["--", "$@"]
    command = [str(port) if word == "$PORT" else word for word in command[:-1]] + PRINT
    tasks = start_tasks(command, lambda i: {"SLURM_PROCID": str(i), "SLURM_NTASKS": "5", "SLURM_JOB_NODELIST": "localhost",
                                            "SLURM_TASKS_PER_NODE": "5"}, 5)
    cluster = check_tasks(tasks)
    assert cluster["worker"] == ["localhost:%d" % (port + i) for i in (2, 3, 4)]


def test_kubernetes_file():
    with open(os.path.join(ROOT, "examples", "deploy", "kubernetes.yaml")) as file:
        text = file.read()
    command = json.loads(re.search(r"command: (\[.*?\])\n\s+ports", text, re.S).group(1))
    assert re.findall(r"completions: (\d+)", text) == re.findall(r"parallelism: (\d+)", text) == ["5"]
    hosts = command[command.index("--hosts") + 1]
    names = ["%s-%d.%s" % (name, i, service) for name, service in re.findall(r"name: (\w+)\nspec:.*?subdomain: (\w+)", text, re.S)[:1]
             for i in range(5)]
    try:
        import yaml
        service, job = yaml.safe_load_all(text)
        pod = job["spec"]["template"]["spec"]
        assert service["spec"]["clusterIP"] == "None" and service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
        names = ["%s-%d.%s" % (job["metadata"]["name"], i, pod["subdomain"]) for i in range(5)]
        assert pod["subdomain"] == service["metadata"]["name"] and pod["containers"][0]["command"] == command
        assert job["spec"]["completionMode"] == "Indexed" and job["spec"]["successPolicy"]["rules"][0]["succeededIndexes"] == "2-4"
    except ImportError:
        pass
    program = command.index("--") + 1
    told = []
    for i in 2, 3, 4:
        done = subprocess.run([COMMAND, *command[1:program], *PRINT], capture_output=True, text=True,
                              env=dict(ENVIRONMENT, JOB_COMPLETION_INDEX=str(i)), timeout=30)
        told.append(json.loads(done.stdout))
    assert told[0]["cluster"] == {"ps": [name + ":2222" for name in names[:2]], "worker": [name + ":2222" for name in names[2:]]}
    # The same on this machine: one host, five ports.
    port = free_ports(5)
    here = [word if word != hosts else "localhost" for word in command[:program]] + PRINT
    here[here.index("2222")] = str(port)
    tasks = start_tasks(here, lambda i: {"PMI_RANK": str(i), "PMI_SIZE": "5"}, 5)
    check_tasks(tasks)
