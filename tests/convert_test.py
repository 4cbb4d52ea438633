# convert_test — `millrace convert` from outside: the same graph, model or arrays in every form.
import json

import numpy as np
import pytest

from cli_test import data, millrace  # noqa: F401 a fixture


@pytest.fixture(scope="module")
def learned(data, tmp_path_factory):
    """A frozen graph, the graph of the training, its checkpoints and a SavedModel."""
    folder = tmp_path_factory.mktemp("learned")
    millrace("train", "--data", data, "--output", folder / "m.pb", "--graph", folder / "t.pb", "--checkpoints", folder / "kept", "--saved-model",
             folder / "saved", "--epochs", 1, "--batch", 16, "--threads", 1)
    np.save(folder / "in.npy", np.arange(288, dtype=np.uint8).reshape(2, 12, 12))
    return folder


def answer(model, folder):
    millrace("run", model, "--input", "images=@%s" % (folder / "in.npy"), "--output", "probabilities=@%s" % (folder / "out.npy"))
    return np.load(folder / "out.npy")


def test_graphs_in_text_and_back(learned, tmp_path):
    millrace("convert", learned / "m.pb", tmp_path / "m.pbtxt")
    assert (tmp_path / "m.pbtxt").read_text().startswith("node {")
    millrace("convert", tmp_path / "m.pbtxt", tmp_path / "m.pb")
    assert (tmp_path / "m.pb").read_bytes() == (learned / "m.pb").read_bytes()


def test_models_frozen_and_saved(learned, tmp_path):
    wanted = answer(learned / "m.pb", learned)
    millrace("convert", learned / "saved", tmp_path / "frozen.pb")
    millrace("convert", learned / "saved", tmp_path / "again")
    millrace("convert", learned / "t.pb", tmp_path / "new", "--checkpoint", learned / "kept", "--output", "label", "--output", "probabilities")
    millrace("convert", learned / "t.pb", tmp_path / "new.pb", "--checkpoint", learned / "kept", "--output", "probabilities")
    for name in "frozen.pb", "again", "new", "new.pb":
        assert np.abs(answer(tmp_path / name, learned) - wanted).max() < 1e-6, name
    assert "label" not in json.loads(millrace("inspect", "--json", tmp_path / "new.pb")).get("outputs", [])


def test_arrays_of_a_checkpoint(learned, tmp_path):
    millrace("convert", learned / "kept", tmp_path / "a.npz")
    arrays = np.load(tmp_path / "a.npz")
    assert arrays["conv1/kernel"].shape == (3, 3, 1, 32) and not any(name.startswith("_") for name in arrays)
    millrace("convert", learned / "kept", tmp_path / "a.safetensors")
    content = (tmp_path / "a.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8:8 + size])
    assert set(head) == set(arrays) and size % 8 == 0
    for name, row in head.items():
        first, last = row["data_offsets"]
        there = np.frombuffer(content[8 + size + first:8 + size + last], "<f4").reshape(row["shape"])
        assert row["dtype"] == "F32" and (there == arrays[name]).all(), name
    millrace("convert", tmp_path / "a.npz", tmp_path / "back")
    rows = json.loads(millrace("inspect", "--json", tmp_path / "back"))["tensors"]
    assert {row["name"] for row in rows} == set(arrays)
    millrace("convert", learned / "t.pb", tmp_path / "new.pb", "--checkpoint", tmp_path / "back", "--output", "probabilities")
    assert np.abs(answer(tmp_path / "new.pb", learned) - answer(learned / "m.pb", learned)).max() < 1e-6


@pytest.mark.parametrize("words, message", [
    (("none.pb", "x.pbtxt"), "No such file"), (("{m}", "x.npz"), "no npz is made"), (("{kept}", "x.pb"), "of a checkpoint no pb is made"),
    (("{kept}", "/dev/null/x.npz"), "can't be written"), (("{m}", "x", "--to", "onnx"), "no onnx is made"),
])
def test_what_is_not_made(words, message, learned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in millrace("convert", *(word.format(m=learned / "m.pb", kept=learned / "kept") for word in words), code=1)


def test_wrong_use():
    assert "IN and OUT are expected" in millrace("convert", "x", code=2)
