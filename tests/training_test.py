# training_test — `millrace train` from outside: killed and gone on.
import subprocess

import numpy as np

from cli_test import COMMAND, data  # noqa: F401 a fixture


def scalars(folder):
    """(tag, step): the four bytes, of all event files of a folder."""
    def fields(message):
        at = 0

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte = message[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value
        while at < len(message):
            tag = varint()
            size = {0: 0, 1: 8, 5: 4}.get(tag & 7)
            if size == 0:
                yield tag >> 3, varint()
                continue
            size = varint() if size is None else size
            yield tag >> 3, message[at:at + size]
            at += size

    found = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        content, at = path.read_bytes(), 0
        while at + 16 <= len(content):
            size = int.from_bytes(content[at:at + 8], "little")
            event = dict(fields(content[at + 12:at + 12 + size]))
            at += 16 + size
            for _, value in fields(event.get(5, b"")):
                value = dict(fields(value))
                found[value[1].decode(), event.get(2, 0)] = value[2]
    return found


def test_killed_and_gone_on(data, tmp_path):
    """Killed at moments of chance and started again, every loss is the one of a training that was left alone."""
    def words(name):
        return [COMMAND, "train", "--data", data, "--output", tmp_path / (name + ".pb"), "--epochs", "12", "--batch", "16", "--json",
                "--threads", "1", "--logdir", tmp_path / name, "--log-steps", "1"]
    subprocess.run(words("whole"), check=True, stdout=subprocess.DEVNULL)
    killed, random = 0, np.random.default_rng(1)
    for run in range(200):
        process = subprocess.Popen(words("parts") + ["--checkpoints", tmp_path / "kept", "--save-steps", "5"], stdout=subprocess.DEVNULL)
        try:
            assert process.wait(timeout=random.uniform(0.05, 0.4) if run < 20 else 60) == 0
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    assert killed > 0
    assert (tmp_path / "whole.pb").read_bytes() == (tmp_path / "parts.pb").read_bytes()
    whole, parts = scalars(tmp_path / "whole"), scalars(tmp_path / "parts")
    assert whole == parts and len(whole) == 2 * 12 * 32
    message = subprocess.run(words("parts") + ["--checkpoints", tmp_path / "kept", "--seed", "9"], capture_output=True, text=True)
    assert message.returncode == 1 and "was made with other" in message.stderr
