# cluster_demo_test — `./run demo cluster` in short: a worker is killed, another frozen, and the training comes to its end.
import os
import re
import subprocess
import sys

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "cluster", "demo.py")


def test_demo():
    done = subprocess.run([sys.executable, "-B", DEMO, "--steps", "400", "--frozen", "2", "--data", "none", "--mode", "synchronous"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.stdout, done.stderr)
    story = re.findall(r"^ +[\d.]+ s  (worker \d \S+ ?\S* ?\S*)", done.stdout, re.M)
    happened = ["worker 1 is killed", "worker 1 is started again", "worker 2 is frozen", "worker 2 goes on"]
    assert [line for line in story if line in happened[:1] + happened[2:3]] == ["worker 1 is killed", "worker 2 is frozen"], done.stdout
    assert set(happened) <= set(line.strip() for line in story), done.stdout
    assert float(re.search(r"accuracy on unseen pictures: ([\d.]+) %", done.stdout)[1]) > 80
    assert re.search(r"^ps 0 +serves +[\d.]+ [KMG]iB$", done.stdout, re.M), done.stdout
