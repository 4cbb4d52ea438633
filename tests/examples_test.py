"""Examples — the programs of examples/c from outside: help, options, what they save and go on from, their end at Ctrl-C."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = pathlib.Path(os.environ.get("MILLRACE_BUILD", ROOT / "build")) / "examples"
NAMES = sorted(source.stem for source in (ROOT / "examples/c").glob("*.c"))
SMALL = {   # of those that learn; all networks for pictures are one program but for the network
    "mlp": ["--data", "none", "--batch", "4", "--test", "20"],
    "lstm": ["--words", "40", "--units", "8", "--length", "4", "--text", str(ROOT / "LICENSE"), "--unroll", "4", "--batch", "4"],
    "word2vec": ["--width", "8", "--samples", "4", "--batch", "16", "--text", str(ROOT / "LICENSE")],
    "learn": [],
}
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the examples are not built")


def run(name, *words, folder=None, code=0):
    done = subprocess.run([FOLDER / name, *map(str, words)], capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_help_and_what_is_no_option(name, tmp_path):
    text = run(name, "--help", folder=tmp_path)
    assert text.startswith("usage: " + name) and all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())
    if name != "hello":
        assert name == "replicas" or ("--save PREFIX" in text and "--from PREFIX" in text)
        message = run(name, "--setps", "3", folder=tmp_path, code=2)
        assert message == "%s: --setps is no option\nTry: %s --help\n" % (name, name)
        assert "--steps lacks its value, N\n" in run(name, "--steps", folder=tmp_path, code=2)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", SMALL)
def test_what_is_learned_is_kept_and_gone_on_from(name, tmp_path):
    out = run(name, *SMALL[name], "--steps", 3, folder=tmp_path)
    kept = name + ".ckpt"
    assert out.endswith("what was learned is in %s: --from %s goes on\n" % (kept, kept))
    assert sorted(os.listdir(tmp_path))[-1] == kept + ".index"  # over an older one of its name the data has one shard more
    out = run(name, *SMALL[name], "--steps", 2, "--from", kept, "--save", "more", folder=tmp_path)
    assert "going on from %s, step 3\n" % kept in out and out.endswith("what was learned is in more: --from more goes on\n")
    steps = re.findall(r"^step +(\d+)", out, re.M)
    assert not steps or steps[-1] == "5"
    assert "going on from more, step 5\n" in run(name, *SMALL[name], "--steps", 1, "--from", "more", "--save", "none", folder=tmp_path)
    assert [name for name in sorted(os.listdir(tmp_path)) if ".data-" not in name] == sorted([kept + ".index", "more.index"])


def test_going_on_is_as_if_it_had_not_stopped(tmp_path):
    run("learn", "--steps", 100, folder=tmp_path)
    parts = run("learn", "--steps", 100, "--from", "learn.ckpt", folder=tmp_path)
    whole = run("learn", "--steps", 200, "--save", "none", folder=tmp_path)
    assert parts[parts.index("loss after"):parts.index("what was")] == whole[whole.index("loss after"):]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_end_by_hand_keeps_what_was_learned(name, number, code, tmp_path):
    report = ["--report", "2000000000"] if name != "learn" else []
    process = subprocess.Popen([FOLDER / name, *SMALL[name], "--steps", "2000000000", *report], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    status = pathlib.Path("/proc/%d/status" % process.pid)
    while int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) & 0x4002 != 0x4002:   # until it takes both signals
        assert process.poll() is None
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code, out
    steps = re.search(r"^ended after step (\d+)$", out, re.M)[1]
    assert "going on from %s.ckpt, step %s\n" % (name, steps) in run(name, *SMALL[name], "--steps", 1, "--from", name + ".ckpt", folder=tmp_path)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    run("mlp", *SMALL["mlp"], "--steps", 1, folder=tmp_path)
    run("lstm", *SMALL["lstm"], "--steps", 1, folder=tmp_path)
    assert "mlp.ckpt: can't be gone on from: " in run("lstm", *SMALL["lstm"], "--from", "mlp.ckpt", folder=tmp_path, code=1)
    assert "none.ckpt" in run("mlp", *SMALL["mlp"], "--from", "none.ckpt", folder=tmp_path, code=1)
    (tmp_path / "other.txt").write_text((ROOT / "LICENSE").read_text().replace("Licensor", "Lessor"))
    other = [str(tmp_path / "other.txt") if word.endswith("LICENSE") else word for word in SMALL["lstm"]]
    assert "was learned from something else" in run("lstm", *other, "--from", "lstm.ckpt", folder=tmp_path, code=1)
    assert "/proc/x: can't be saved" in run("mlp", *SMALL["mlp"], "--steps", 1, "--save", "/proc/x", folder=tmp_path, code=1)
