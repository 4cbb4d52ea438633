# cli_test — the command `millrace`, from outside: answers, files, exit codes, messages, a short training.
import fcntl
import gzip
import json
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from xml.etree import ElementTree

import numpy as np
import pytest

BUILD = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
COMMAND = os.path.join(BUILD, "bin", "millrace")
COMMANDS = ["eval", "ops", "inspect", "run", "plan", "profile", "train", "convert", "devices", "server", "cluster"]
os.environ.pop("COLUMNS", None)   # what is printed goes by it
os.unsetenv("COLUMNS")            # readline, which pytest loads on Debian 13, has set it behind os.environ


def millrace(*arguments, code=0, stdin=None):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, input=stdin)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    if code:
        assert done.stderr.startswith("millrace"), done.stderr
    else:
        assert not done.stderr
    return done.stdout if code == 0 else done.stderr


# ---- a small data set in the manner of MNIST: where a square is tells the class

def idx(array):
    return struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(">%dI" % array.ndim, *array.shape) + array.tobytes()


def squares(n, seed):
    random = np.random.RandomState(seed)
    labels = random.randint(0, 4, n).astype(np.uint8)
    images = random.randint(0, 40, (n, 12, 12)).astype(np.uint8)
    for i, label in enumerate(labels):
        images[i, 6 * (label // 2) + 1:6 * (label // 2) + 5, 6 * (label % 2) + 1:6 * (label % 2) + 5] = 230
    return images, labels


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for part, n, seed in ("train", 512, 1), ("t10k", 100, 2):
        images, labels = squares(n, seed)
        (folder / (part + "-images-idx3-ubyte.gz")).write_bytes(gzip.compress(idx(images)))
        (folder / (part + "-labels-idx1-ubyte")).write_bytes(idx(labels))
    return folder


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "squares.pb"
    out = millrace("train", "--data", data, "--output", path, "--epochs", 8, "--batch", 16, "--rate", 0.003,
                   "--classes", "a,b,c,d", "--threads", 1)
    last = [line for line in out.splitlines() if "test accuracy" in line][-1]
    assert float(last.split("accuracy")[1].split()[0]) > 95, out
    return path


# ---- eval

@pytest.mark.parametrize("call, answer", [
    ("Softmax([[0 0]])", "[[0.5 0.5]]"),
    ("Sum([[1 2] [3 4]], 0; keep_dims=true)", "[[4 6]]"),
    ("Relu(MatMul([[1 -2]], [[3] [1]]))", "[[1]]"),
    ("ConcatV2({[1 2], [3]}, 0)", "[1 2 3]"),
    ("ArgMax([1 5 2], 0)", "int64 1"),
    ("ResourceApplyGradientDescent([1 2], 0.5, [1 1])", "[0.5 1.5]"),
])
def test_eval(call, answer):
    assert millrace("eval", call).strip() == answer


def test_eval_json():
    assert json.loads(millrace("eval", "--json", "IdentityN({[1 3], true})")) == [[1, 3], True]


@pytest.mark.parametrize("call, words", [
    ("Softmax(", "column"),
    ("Nothing(1)", "Nothing"),
    ("Softmax(3)", "rank"),
    ("Add([1 2], [1 2 3])", "[2]"),
    ("Softmax([1 2]) x", "behind"),
    ("Softmax([1 2]; foo=3)", "foo"),
])
def test_eval_errors(call, words):
    assert words in millrace("eval", call, code=1)


# ---- profile

def test_profile(model, data, tmp_path):
    picture = tmp_path / "time.svg"
    images = "images=@%s[0:4]" % (data / "t10k-images-idx3-ubyte.gz")
    call = ("profile", model, "--input", images, "--repeat", 3, "--threads", 1)
    text = millrace(*call, "--svg", picture)
    assert "GFLOP/s" in text and "Conv2D" in text and text.splitlines()[0].startswith("3 runs of")
    assert picture.read_text().startswith("<svg") and picture.read_text().rstrip().endswith("</svg>")
    told = json.loads(millrace(*call, "--json", "--depth", 1))
    assert told["runs"] == 3 and told["flops"] > 1e8 and told["bytes_per_second"] > 1e8
    for table in ("ops", "layers"):
        assert abs(sum(row["share"] for row in told[table]) - 100) < 0.1
        assert all(a["ms"] >= b["ms"] for a, b in zip(told[table], told[table][1:]))
    assert all("/" not in row["name"] for row in told["layers"])
    assert "lacks" in millrace("profile", model, code=1) or "feed" in millrace("profile", model, code=1)


# ---- how it is used

@pytest.mark.parametrize("name", COMMANDS)
def test_help(name):
    text = millrace(name, "--help")
    assert text.startswith("usage: millrace " + name) and "Examples:" in text
    assert text == millrace("help", name)
    assert name in millrace("--help")
    millrace(name, "--no-such-option", code=2)


def test_usage():
    assert "no command" in millrace("nothing", code=2)
    millrace("eval", code=2)
    millrace("run", code=2)
    millrace("train", "--epochs", "many", code=2)
    assert "millrace" in millrace("--version")


def test_ops():
    text = millrace("ops", "Conv2D")
    assert text.startswith("Conv2D(input: T, filter: T) -> output: T") and "gradient: yes" in text
    listed = json.loads(millrace("ops", "--json"))
    assert len(listed) > 100 and all(op["runs"] for op in listed)
    everything = json.loads(millrace("ops", "--all", "--json"))
    assert len(everything) > 1000 and any(not op["runs"] for op in everything)
    names = [op["name"] for op in everything]
    assert len(set(names)) == len(names)
    assert "no operation" in millrace("ops", "Conv2E", code=1)


def in_terminal(width, *arguments, code=0):
    """what the command prints in a terminal of that width"""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stdout=slave, stderr=slave, env=dict(os.environ, TERM="xterm"))
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(master)
    assert process.wait(timeout=60) == code, out
    return out.decode().replace("\r\n", "\n")


def is_broken_at(width, text):
    """No line is wider, but for a word that is."""
    return all(len(line) <= width or " " not in line.strip() for line in text.splitlines())


WIDTHS = [40, 80, 200]


@pytest.mark.parametrize("width", WIDTHS)
def test_help_is_broken_at_the_width_of_the_terminal(width):
    for words in ("--help",), ("ops", "Conv2D"), *((name, "--help") for name in COMMANDS):
        text = in_terminal(width, *words).split("Examples:")[0]
        assert is_broken_at(width, text) and (width > 40 or not is_broken_at(width - 10, text)), text
        assert text.split() == millrace(*words).split("Examples:")[0].split()
        if width == 80:   # what is no terminal is taken for one of 80 columns
            assert text == millrace(*words).split("Examples:")[0]


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_are_broken_at_the_width_of_the_terminal(width, model, checkpoint, tmp_path):
    """In a pipe a row is a line. Names and paths stay whole."""
    long = "a_scope/with_a_long_name/" * 3
    graph = tmp_path / "graph.pbtxt"
    graph.write_text(FUNCTIONS.replace("MORE", "").replace("'x'", "'%sx'" % long))
    for words in ("inspect", "--nodes", model), ("inspect", "--nodes", graph), ("inspect", checkpoint), ("plan", model), ("ops", "Re*"):
        text, piped = in_terminal(width, *words), millrace(*words)
        assert is_broken_at(width, text), text
        assert text.split() == piped.split()
        assert max(map(len, piped.splitlines())) <= width or len(text.splitlines()) > len(piped.splitlines())
    assert long + "x" in in_terminal(width, "inspect", graph)


@pytest.mark.parametrize("width", WIDTHS)
def test_messages_are_broken_at_the_width_of_the_terminal(width, model, tmp_path):
    for code, words in (1, ("inspect", tmp_path / "no_such_file.pb")), (1, ("run", model, "--input", "xyzzy=1")), \
            (2, ("plan", "--zzzzzz")), (1, ("eval", "Softmax(3)")), (1, ("train", "--data", tmp_path)):
        text, piped = in_terminal(width, *words, code=code), millrace(*words, code=code)
        assert is_broken_at(width, text) and text.split() == piped.split()
        assert len(piped.splitlines()) == (2 if code == 2 else 1)


def test_columns_speaks_for_the_terminal(model):
    def width_of(columns):
        done = subprocess.run([COMMAND, "inspect", "--nodes", model], capture_output=True, text=True, env=dict(os.environ, COLUMNS=columns))
        return max(map(len, done.stdout.splitlines()))
    unbroken = width_of("0")
    assert width_of("50") <= 50 < unbroken and width_of("1000") == unbroken
    assert width_of("wide") == width_of("-3") == width_of("") == unbroken


@pytest.mark.parametrize("words, meant", [
    (("opps",), "'ops'"), (("run", "--inptu", "x"), "'--input'"), (("help", "inspct"), "'inspect'"),
    (("train", "--thread", "x"), None), (("train", "--bacht", "x"), "'--batch'"), (("plan", "--zzzzzz"), "--fetch, --target"),
    (("run", "--input"), "lacks its value"), (("run", "--repeat", "0", "x"), "takes a whole number"),
])
def test_what_was_meant(words, meant):
    message = millrace(*words, code=2)
    assert (meant or "") in message and ("--help" in message), message


FEW = "'%s' is one too many"
MESSAGES = [   # the command line, the exit code, what is said of it
    ("--verison", 2, "millrace: '--verison' is no option; did you mean '--version'?"),
    ("hlep", 2, "millrace: 'hlep' is no command; did you mean 'help'?"),
    ("xyzzy", 2, "millrace: 'xyzzy' is no command"),
    ("help xyzzy", 2, "millrace: 'xyzzy' is no command"),
    ("help --completion", 2, "millrace: help --completion takes one shell: bash, zsh or fish"),
    ("help --completion tcsh", 2, "millrace: 'tcsh' is none of bash, zsh and fish"),
    ("eval", 2, "millrace eval: a call is missing"),
    ("eval ''", 2, "millrace eval: a call is empty"),
    ("eval --lnes x", 2, "millrace eval: unknown option --lnes; did you mean '--lines'?"),
    ("eval 'Sofmax([1])'", 1, "millrace: Sofmax([1]): there is no operation 'Sofmax'; did you mean 'Softmax'?"),
    ("eval 'Neg(xyzzyxyzzy(1))'", 1, "millrace: Neg(xyzzyxyzzy(1)): there is no operation 'xyzzyxyzzy'; `millrace ops --all` lists all"),
    ("eval 'Softmax([1 2'", 1, "millrace: Softmax([1 2: in the literal at column 9: column 5: the list does not end"),
    ("ops Sofmax", 1, "millrace: there is no operation 'Sofmax'; did you mean 'Softmax'?"),
    ("ops xyzzyxyzzy", 1, "millrace: there is no operation 'xyzzyxyzzy'; `millrace ops --all` lists all"),
    ("ops 'Xyzzy*'", 1, "millrace: there is no operation like 'Xyzzy*'; `millrace ops --all` lists all"),
    ("ops a b", 2, "millrace ops: one name at most; " + FEW % "b"),
    ("ops --jason", 2, "millrace ops: unknown option --jason; did you mean '--json'?"),
    ("inspect", 2, "millrace inspect: a model is missing"),
    ("inspect a b", 2, "millrace inspect: one model is expected; " + FEW % "b"),
    ("inspect none.pb", 1, "millrace: none.pb: No such file or directory"),
    ("inspect ''", 1, "millrace: the name of a file is empty"),
    ("inspect {text}", 1, "millrace: {text}: is no GraphDef: a file in binary form is expected, or text in one whose name ends in .pbtxt"),
    ("inspect --nods {model}", 2, "millrace inspect: unknown option --nods; did you mean '--nodes'?"),
    ("run", 2, "millrace run: a model is missing"),
    ("run a b", 2, "millrace run: one model is expected; " + FEW % "b"),
    ("run none.pb", 1, "millrace: none.pb: No such file or directory"),
    ("run {text}", 1, "millrace: {text}: is no GraphDef: a file in binary form is expected, or text in one whose name ends in .pbtxt"),
    ("run {model}", 1, "millrace: {model}: the input 'images' lacks its value, dtype uint8 and shape [?,12,12]: --input images=TENSOR gives it"),
    ("run {model} --input x", 1, "millrace: 'x' is no input: NAME=TENSOR or NAME=@FILE is expected"),
    ("run {model} --input imges=1", 1, "millrace: {model} has no node 'imges'; did you mean 'images'?"),
    ("run {model} --input 'images=[1 2]'", 1, "millrace: {model}: the input 'images' is of shape [? 12 12], but the tensor of shape [2]"),
    ("run {model} --input 'images=[1 2'", 1, "millrace: images: column 5: the list does not end"),
    ("run {model} --input images=@none.npy", 1, "millrace: none.npy: No such file or directory"),
    ("run {model} --input images=@{text}", 1, "millrace: {text}: is neither .npy nor an IDX file of bytes"),
    ("run {model} --output lable", 1, "millrace: {model} has no node 'lable'; did you mean 'label'?"),
    ("run {model} --output label:3", 1, "millrace: {model}: node 'label' has 1 output, so there is no 'label:3'"),
    ("run {model} --output label:x", 1, "millrace: {model} has no node 'label:x'; did you mean 'label'?"),
    ("run {model} --target xyzzyxyzzy", 1, "millrace: {model} has no node 'xyzzyxyzzy'; there are label, probabilities, class, images: "
                                     "`millrace inspect --nodes` lists all"),
    ("run {model} --checkpoint none", 1, "millrace: none: is no checkpoint: there is no none.index"),
    ("run {model} --profile none/x", 1, "millrace: none/x: can't be written: No such file or directory"),
    ("run {model} --repeat", 2, "millrace run: --repeat lacks its value"),
    ("run {model} --repeat x", 2, "millrace run: --repeat takes a whole number from 1 to 100000000, not 'x'"),
    ("run {model} --threads=0", 2, "millrace run: --threads takes a whole number from 1 to 127, not '0'"),
    ("run {model} --draw=3", 2, "millrace run: --draw takes no value"),
    ("run {model} --t x", 2, "millrace run: --t is short for several: --target, --threads"),
    ("run {model} --inptu=3", 2, "millrace run: unknown option --inptu; did you mean '--input'?"),
    ("plan", 2, "millrace plan: a model is missing"),
    ("plan a b", 2, "millrace plan: one model is expected; " + FEW % "b"),
    ("plan none.pb", 1, "millrace: none.pb: No such file or directory"),
    ("plan {model} --fetch lable", 1, "millrace: {model} has no node 'lable'; did you mean 'label'?"),
    ("plan {model} --zzzzzz", 2, "millrace plan: unknown option --zzzzzz; there are --input, --fetch, --target, --dot, --json, --help"),
    ("train x", 1, "millrace: x: No such file or directory"),
    ("train --data none", 1, "millrace: none/train-images-idx3-ubyte.gz: No such file or directory (install dataset-fashion-mnist, or name a "
                             "folder of IDX files with --data)"),
    ("train --epochs 0", 2, "millrace train: --epochs takes a number above 0, not '0'"),
    ("train --rate nan", 2, "millrace train: --rate takes a number from 0, not 'nan'"),
    ("train --batch 0.5", 2, "millrace train: --batch takes a whole number from 1, not '0.5'"),
    ("train --seed=-1", 2, "millrace train: --seed takes a whole number from 0, not '-1'"),
    ("train --threads 200", 2, "millrace train: --threads takes a whole number from 1 to 127, not '200'"),
    ("train --optimizer adm", 2, "millrace train: --optimizer takes adam, gradient-descent, momentum, adagrad or rmsprop, not 'adm'"),
    ("train --output .", 1, "millrace: .: can't be written: Is a directory"),
    ("train --svg none/x", 1, "millrace: none/x: can't be written: No such file or directory"),
    ("train --graph none/x", 1, "millrace: none/x: can't be written: No such file or directory"),
    ("train --outptu x", 2, "millrace train: unknown option --outptu; did you mean '--output'?"),
]


@pytest.mark.parametrize("line, code, message", MESSAGES)
def test_messages(line, code, message, model, tmp_path):
    """One line, and for what is used wrongly where there is help."""
    (tmp_path / "text").write_text("hello")
    def fill(text):
        return text.format(model=model, text=tmp_path / "text")
    done = subprocess.run([COMMAND, *map(fill, shlex.split(line))], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    first, _, rest = done.stderr.partition("\n")
    assert (first, done.returncode, done.stdout) == (fill(message), code, "")
    help_of = re.match("millrace (\\w+):", message)
    assert code == 1 and not rest or code == 2 and (rest == "Try: millrace %s --help\n" % help_of[1] if help_of else
                                                    rest.startswith("usage: millrace COMMAND") or "completion" in line)


def test_no_command_at_all():
    done = subprocess.run([COMMAND], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", millrace("help"))


def test_what_was_meant_in_a_model(model):
    assert "did you mean 'images'" in millrace("run", model, "--input", "imges=1", code=1)
    message = millrace("run", model, "--input", "xyzzy=1", code=1)
    assert str(model) in message and "images" in message and "probabilities" in message and "inspect" in message
    assert "did you mean 'Conv2D'" in millrace("ops", "Conv2E", code=1)


def test_a_run_that_is_ended(model):
    for number, code in (signal.SIGINT, 130), (signal.SIGTERM, 143):
        process = subprocess.Popen([COMMAND, "run", model, "--input", "images=uint8 zeros[9 12 12]", "--repeat", "99999999"],
                                   stdout=subprocess.PIPE)
        time.sleep(0.5)
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == code


# ---- models

def test_inspect(model):
    about = json.loads(millrace("inspect", "--json", "--nodes", model))
    assert [end["name"] for end in about["outputs"]] == ["label", "probabilities", "class"]
    assert about["inputs"] == [{"name": "images", "dtype": "uint8", "shape": "[? 12 12]"}]
    assert about["missing"] == [] and about["ops"]["Conv2D"] == 2
    assert len(about["nodes"]) == about["num_nodes"]
    assert not any("Var" in node["op"] for node in about["nodes"])
    assert "Conv2D" in millrace("inspect", model)


FUNCTIONS = """
node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: -1 } } } } }
node { name: 'w' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } }
       attr { key: 'shape' value { shape { dim { size: 3 } dim { size: 5 } } } } }
node { name: 'call' op: 'PartitionedCall' input: 'x' attr { key: 'Tin' value { list { type: DT_FLOAT } } }
       attr { key: 'Tout' value { list { type: DT_FLOAT } } } attr { key: 'f' value { func { name: 'outer' } } } }
library {
  function { signature { name: 'outer' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } }
    node_def { name: 'n' op: 'inner' input: 'a' } ret { key: 'b' value: 'n:b:0' } }
  function { signature { name: 'inner' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } }
    node_def { name: 'm' op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } } MORE ret { key: 'b' value: 'm:y:0' } }
  function { signature { name: 'unused' } node_def { name: 'u' op: 'TPUCompile' } }
}
versions { producer: 1000 }
"""


def test_inspect_looks_into_functions(tmp_path):
    graph = tmp_path / "graph.pbtxt"
    graph.write_text(FUNCTIONS.replace("MORE", ""))
    about = strict_json(millrace("inspect", "--json", graph))
    assert about["ops"] == {"Neg": 1, "PartitionedCall": 1, "Placeholder": 1, "VarHandleOp": 1} and about["missing"] == []
    assert (about["functions"], about["function_nodes"], about["num_nodes"]) == (2, 2, 3)
    assert (about["variables"], about["parameters"], about["variable_bytes"]) == (1, 15, 60)
    assert "15 parameters in 1 variables, 60 B" in millrace("inspect", graph)


def test_inspect_tells_all_that_is_missing_at_once(tmp_path):
    more = "node_def { name: 'o%d' op: '%s' }"
    graph = tmp_path / "graph.pbtxt"
    graph.write_text(FUNCTIONS.replace("MORE", more % (1, "TPUCompile") + more % (2, "MyOwnOp") + more % (3, "MyOtherOp")))
    assert sorted(strict_json(millrace("inspect", "--json", graph))["missing"]) == ["MyOtherOp", "MyOwnOp", "TPUCompile"]
    text = millrace("inspect", graph)
    assert "can't run here: 3 kinds" in text and "first inner/o2; no operation of TensorFlow's" in text
    assert "first inner/o1\n" in text


def test_inspect_tells_each_signature_and_runs_nothing(tmp_path):
    def ends(name, edge):
        return "{ key: '%s' value { name: '%s' dtype: DT_FLOAT tensor_shape { dim { size: -1 } dim { size: 4 } } } }" % (name, edge)
    (tmp_path / "saved_model.pbtxt").write_text("""meta_graphs { meta_info_def { tags: 'serve' } graph_def {
        node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
        node { name: 'y' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
        node { name: 'name' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
               attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape {} string_val: '@FILE' } } } }
        node { name: 'init' op: 'WriteFile' input: 'name' input: 'name' } versions { producer: 1000 } }
        collection_def { key: 'saved_model_main_op' value { node_list { value: 'init' } } }
        signature_def { key: 'serving_default' value { inputs @IN outputs @OUT method_name: 'predict' } }
        signature_def { key: 'other' value { inputs @IN outputs @OUT } } }"""
        .replace("@IN", ends("a", "x:0")).replace("@OUT", ends("b", "y:0")).replace("@FILE", str(tmp_path / "written")))
    about = strict_json(millrace("inspect", "--json", tmp_path))
    end = {"dtype": "float", "shape": "[? 4]"}
    same = {"inputs": {"a": {"edge": "x:0", **end}}, "outputs": {"b": {"edge": "y:0", **end}}}
    assert about["signatures"] == {"serving_default": same, "other": same}
    text = millrace("inspect", tmp_path)
    assert "signature serving_default  predict" in text and "signature other" in text
    assert not (tmp_path / "written").exists()


def test_inspect_reads_checkpoints(checkpoint):
    folder = checkpoint.parent
    said = {"w": ("float", [2], 8), "other": ("int64", [3], 24)}
    for path in checkpoint, str(checkpoint) + ".index", str(checkpoint) + ".data-00000-of-00001", folder:
        about = strict_json(millrace("inspect", "--json", path))
        assert {t["name"]: (t["dtype"], t["shape"], t["bytes"]) for t in about["tensors"]} == said
        assert (about["elements"], about["bytes"]) == (5, 32)
    text = millrace("inspect", checkpoint)
    assert "2 tensors" in text and "5 elements, 32 B" in text
    assert millrace("inspect", folder / "none", code=1).count(str(folder / "none"))
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub/readme").touch()
    assert "there is readme" in millrace("inspect", folder / "sub", code=1)


@pytest.mark.parametrize("name, data, words", [
    ("a.keras", b"PK\3\4 and so on", ".export("), ("a.h5", b"\x89HDF\r\n\x1a\n and", ".export("),
    ("a.onnx", b"\x08\x07 and", "onnx2tf"), ("a.tflite", b"\x1c\0\0\0TFL3 and", "SavedModel that it was made of"),
    ("a.pt", b"PK\3\4 and", "onnx"),
])
def test_files_of_others(name, data, words, tmp_path):
    (tmp_path / name).write_bytes(data)
    for command in "inspect", "run", "plan":
        message = millrace(command, tmp_path / name, code=1)
        assert words in message and str(tmp_path / name) in message and message.count("\n") == 1


def test_run_classifies(model, data, tmp_path):
    images, labels = squares(100, 2)
    given = "images=@%s/t10k-images-idx3-ubyte.gz[0:20]" % data
    answer = json.loads(millrace("run", model, "--input", given, "--json"))
    assert answer["label"]["value"] == ["abcd"[i] for i in answer["class"]["value"]]
    assert np.mean(np.array(answer["class"]["value"]) == labels[:20]) > 0.9
    assert answer["probabilities"]["shape"] == [20, 4]

    np.save(tmp_path / "in.npy", images[:3])
    millrace("run", model, "--input", "images=@%s" % (tmp_path / "in.npy"),
             "--output", "probabilities=@%s" % (tmp_path / "out.npy"))
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.float32 and out.shape == (3, 4)
    assert np.allclose(out, answer["probabilities"]["value"][:3], atol=1e-5)


def test_run_draws(model, data):
    out = millrace("run", model, "--input", "images=@%s/t10k-images-idx3-ubyte.gz[0:2]" % data, "--output", "label", "--draw")
    lines = out.splitlines()
    assert sum(line.startswith("label = ") for line in lines) == 2 and any("@" in line or "%" in line for line in lines)


def test_run_errors(model, tmp_path):
    assert "nothing" in millrace("run", model, "--input", "nothing=3", code=1)
    assert "column" in millrace("run", model, "--input", "images=[[[", code=1)
    assert "no such" in millrace("run", tmp_path / "no such.pb", code=1)
    (tmp_path / "bad.pb").write_bytes(b"\x0a\xffrubbish")
    assert "GraphDef" in millrace("run", tmp_path / "bad.pb", code=1)
    assert "images" in millrace("run", model, code=1)
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff{")
    assert "npy" in millrace("run", model, "--input", "images=@%s" % (tmp_path / "bad.npy"), code=1)


def field(number, value):
    """A field of a message: bytes, or a number."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def test_saved_model(model, tmp_path):
    """A folder that holds the graph with a signature: its inputs and outputs go by the signature's names too."""
    def ends(number, name, edge):
        return field(number, field(1, name) + field(2, field(1, edge)))
    signature = ends(1, b"pictures", b"images:0") + ends(2, b"what", b"label:0")
    meta = field(1, field(4, b"serve")) + field(2, model.read_bytes()) + \
        field(5, field(1, b"serving_default") + field(2, signature))
    (tmp_path / "saved_model.pb").write_bytes(field(1, 1) + field(2, meta))
    about = json.loads(millrace("inspect", "--json", tmp_path))
    assert about["signature"] == {"pictures": {"output": False, "edge": "images:0"},
                                  "what": {"output": True, "edge": "label:0"}}
    out = json.loads(millrace("run", tmp_path, "--input", "pictures=uint8 zeros[2 12 12]", "--json"))
    assert list(out) == ["label"] and len(out["label"]["value"]) == 2
    assert "nothing" in millrace("run", tmp_path, "--output", "nothing", code=1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "bool", "complex64"])
def test_npy_round_trip(dtype, tmp_path, model):
    """Through a feed of bytes: whatever .npy holds is read and converted."""
    array = np.zeros((1, 12, 12), dtype)
    array[0, 1:5, 1:5] = 1
    np.save(tmp_path / "a.npy", array)
    millrace("run", model, "--input", "images=@%s" % (tmp_path / "a.npy"), "--output", "class")


def test_run_profiles(model, tmp_path):
    trace = tmp_path / "trace.json"
    millrace("run", model, "--input", "images=uint8 zeros[2 12 12]", "--repeat", 3, "--profile", trace)
    events = json.loads(trace.read_text())["traceEvents"]
    assert events[0]["args"]["name"].endswith("device:CPU:0")
    calls = [event for event in events if event["ph"] == "X"]
    assert {"ts", "dur", "tid", "name"} <= calls[0].keys() and min(call["ts"] for call in calls) == 0
    assert all(call["args"]["call"].startswith(call["args"]["node"] + " = " + call["name"] + "(") for call in calls)
    assert sum(call["args"]["bytes"] for call in calls) > 0
    given = ("run", model, "--input", "images=uint8 zeros[1 12 12]")
    lost = tmp_path / "nowhere" / "trace.json"
    assert str(lost) in millrace(*given, "--profile", lost, code=1)


def test_run_repeats_and_takes_threads(model):
    given = ("--input", "images=uint8 zeros[1 12 12]", "--output", "class")
    plain = millrace("run", model, *given)
    out = millrace("run", model, *given, "--repeat", 5, "--threads", 1)
    assert out.startswith(plain) and "5 runs" in out and "median" in out
    times = strict_json(millrace("run", model, *given, "--repeat", 3, "--json"))["@times"]
    assert times["runs"] == 3 and 0 < times["least_ms"] <= times["median_ms"] <= times["most_ms"]


VARIABLE = """
node { name: 'w' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: 2 } } } } }
node { name: 'read' op: 'ReadVariableOp' input: 'w' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
       attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 } } } }
node { name: 'step' op: 'AssignAddVariableOp' input: 'w' input: 'one' attr { key: 'dtype' value { type: DT_FLOAT } } }
versions { producer: 1000 }
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("checkpoint") / "model.ckpt"
    millrace("eval", 'SaveV2("%s", ["w" "other"], ["" ""], {[3 4], int64 [1 2 3]})' % prefix)
    return prefix


def test_run_restores_and_runs_targets(checkpoint, tmp_path):
    graph = tmp_path / "graph.pbtxt"
    graph.write_text(VARIABLE)
    assert "read = [3 4]" in millrace("run", graph, "--checkpoint", checkpoint, "--output", "read")
    out = millrace("run", graph, "--checkpoint", checkpoint, "--target", "step", "--repeat", 3, "--output", "read")
    assert "3 runs" in out
    assert millrace("run", graph, "--checkpoint", checkpoint, "--target", "step") == ""
    graph.write_text(VARIABLE.replace("'w'", "'ww'"))
    assert "did you mean 'w'" in millrace("run", graph, "--checkpoint", checkpoint, "--output", "read", code=1)
    assert str(tmp_path / "none") in millrace("run", graph, "--checkpoint", tmp_path / "none", "--output", "read", code=1)
    assert "'step'" in millrace("run", graph, "--target", "stp", code=1)


def test_plan_draws(model):
    out = millrace("plan", model, "--input", "images=uint8 zeros[8 12 12]", "--fetch", "label", "--dot")
    plan = json.loads(millrace("plan", model, "--input", "images=uint8 zeros[8 12 12]", "--fetch", "label", "--json"))
    assert out.startswith("digraph plan {") and out.rstrip().endswith("}")
    for node in plan["nodes"]:
        assert '  "%s" [' % node["name"] in out
    assert out.count(" -> ") >= len(plan["nodes"]) - 10 and '"images" -> ' in out


def test_plan(model):
    plan = json.loads(millrace("plan", model, "--input", "images=uint8 zeros[8 12 12]", "--fetch", "label", "--json"))
    assert plan["specialised"] and plan["arena_bytes"] >= plan["lower_bound"] > 0
    modes = {node["op"]: node["mode"] for node in plan["nodes"]}
    assert modes["_FusedConv2D"] == "specialised" and modes["Const"] == "known"
    assert all("implementation" in node for node in plan["nodes"] if node["op"] in ("_FusedConv2D", "_FusedMatMul"))
    assert plan["num_run"] < plan["num_nodes"] == len(plan["nodes"])
    assert plan["num_reorders"] == plan["reordered_bytes"] == 0  # constant weights are laid out once
    assert "dynamic" in millrace("plan", model)


def test_plan_of_a_training_step(data, tmp_path):
    """What `train` says of its step is what `plan` says of the graph that it writes; packed within a tenth of the bound."""
    out = millrace("train", "--data", data, "--output", tmp_path / "m.pb", "--graph", tmp_path / "t.pb", "--epochs", 0.1,
                   "--json", "--batch", 64)
    said = json.loads(out.splitlines()[0])
    choice = ["--input", "images=uint8 zeros[64 12 12]", "--input", "labels=uint8 zeros[64]", "--input", "rate=0.001",
              "--fetch", "loss/Mean", "--fetch", "accuracy/Mean", "--target", "train_step"]
    plan = json.loads(millrace("plan", tmp_path / "t.pb", *choice, "--json"))
    same = ["arena_bytes", "lower_bound", "own_bytes", "num_dynamic"]
    assert {name: plan[name] for name in same} == {name: said[name] for name in same}
    assert plan["num_run"] == said["nodes_per_step"] and plan["num_dynamic"] == 0
    assert 1 <= said["arena_ratio"] <= 1.10 and said["own_bytes"] > 0
    applied = [node["op"] for node in plan["nodes"]]
    assert applied.count("ResourceApplyAdam") + applied.count("_ResourceApplyAdamMatMul") == 8
    reordered = [node["reordered_bytes"] for node in plan["nodes"] if node["reordered_bytes"]]
    assert sum(reordered) == plan["reordered_bytes"] and len(reordered) == plan["num_reorders"]
    text = millrace("plan", tmp_path / "t.pb", *choice[:6], "--target", "train_step")
    assert "times its lower bound" in text and "outside of it" in text
    assert "nothing" in millrace("plan", tmp_path / "t.pb", "--target", "nothing", code=1)


# ---- pages and completions

def test_pages_have_no_fault(tmp_path):
    for name in ["", *COMMANDS]:
        page = millrace("help", "--man", *name.split())
        assert page.startswith(".TH MILLRACE")
        (tmp_path / "page.1").write_text(page)
        for checker in (["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "page.1"], ["mandoc", "-Tlint", "-Wwarning", "page.1"]):
            if shutil.which(checker[0]):
                done = subprocess.run(checker, capture_output=True, text=True, cwd=tmp_path, env=dict(os.environ, LC_ALL="C.UTF-8"))
                said = done.stderr + (done.stdout if checker[0] == "mandoc" else "")
                assert done.returncode == 0 and not said, said


def test_completion_by_bash(tmp_path):
    def complete(*words):
        script = '. "$0"; COMP_WORDS=(millrace "$@"); COMP_CWORD=$#; _millrace; printf "%s\\n" "${COMPREPLY[@]}"'
        return subprocess.run(["bash", "-c", script, tmp_path / "c", *words], capture_output=True, text=True, check=True).stdout.split()
    (tmp_path / "c").write_text(millrace("help", "--completion", "bash"))
    assert complete("ins") == ["inspect"] and complete("run", "--ch") == ["--checkpoint"]
    assert set(complete("plan", "--")) == {"--input", "--fetch", "--target", "--dot", "--json", "--help"}


@pytest.mark.parametrize("shell, check", [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_completions_are_valid(shell, check, tmp_path):
    text = millrace("help", "--completion", shell)
    assert all(name in text for name in COMMANDS) and "checkpoint" in text
    (tmp_path / "c").write_text(text)
    if shutil.which(shell):
        done = subprocess.run([shell, check, tmp_path / "c"], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done
    assert "none of bash" in millrace("help", "--completion", "tcsh", code=2)


def test_log_tells_what_is_planned(model):
    told = subprocess.run([COMMAND, "run", model, "--input", "images=uint8 zeros[1 12 12]"], capture_output=True,
                          text=True, env=dict(os.environ, MILLRACE_LOG="info")).stderr
    assert "millrace: planned" in told and "specialised for shapes" in told


def test_every_variable_of_the_environment_is_told():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    read = set()
    for place in "src", "cli":
        for folder, _, files in os.walk(os.path.join(root, place)):
            for name in files:
                if name.endswith(".c") and not name.endswith("_test.c"):
                    with open(os.path.join(folder, name), errors="replace") as file:
                        read |= set(re.findall(r'getenv\("(\w+)"\)|"(MILLRACE_\w+)"', file.read()))
    with open(os.path.join(root, "docs", "environment.md")) as file:
        told = set(re.findall(r"^\| `(.*?)` \|", file.read().replace("`, `", " ").replace("` ` ", " "), re.M))
    told = {name for row in told for name in row.split()}
    read = {name for pair in read for name in pair if name}
    assert {"MILLRACE_LOG", "MILLRACE_CPU", "MILLRACE_PASSES", "MILLRACE_STRESS"} < read
    assert read <= told and {name for name in told if name.startswith("MILLRACE_")} <= read, (read, told)


# ---- training

def test_train_json(data, tmp_path):
    out = millrace("train", "--data", data, "--output", tmp_path / "m.pb", "--epochs", 1, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert {"epoch", "test_accuracy", "test_loss"} <= set(lines[-3]) and lines[-1]["model"].endswith("m.pb")
    assert {"classes", "confusion", "mistakes"} == set(lines[-2])


# ---- what a training tells at its end

NAMES = ["left top", "b", "ccc", "d"]


def some_wrong_labels():
    """Of the pictures that are tested with; a network that learns them right makes mistakes."""
    labels = squares(100, 2)[1]
    labels[::5] = (labels[::5] + 1) % 4
    labels[::15] = 3
    return labels


@pytest.fixture(scope="module")
def taught(data, tmp_path_factory):
    """The files that a training leaves, how it was called, what it said, as JSON too, and the probabilities of its answers."""
    folder = tmp_path_factory.mktemp("taught")
    data = shutil.copytree(data, folder / "data")
    (data / "t10k-labels-idx1-ubyte").write_bytes(idx(some_wrong_labels()))
    words = ("train", "--data", data, "--epochs", 0.4, "--batch", 16, "--classes", ",".join(NAMES), "--threads", 1)
    said = millrace(*words, "--output", folder / "m.pb", "--svg", folder / "curve.svg")
    told = [json.loads(line) for line in millrace(*words, "--output", folder / "n.pb", "--json").splitlines()][-2]
    answers = json.loads(millrace("run", folder / "m.pb", "--input", "images=@%s/t10k-images-idx3-ubyte.gz" % data, "--json"))
    return folder, words, said, told, np.array(answers["probabilities"]["value"])


def confusion(probabilities):
    matrix = np.zeros((4, 4), int)
    for label, guess in zip(some_wrong_labels(), probabilities.argmax(1)):
        matrix[label, guess] += 1
    return matrix


def test_train_tells_which_classes_are_confused(taught):
    _, words, said, told, probabilities = taught
    matrix = confusion(probabilities)
    assert told["confusion"] == matrix.tolist() and told["classes"] == NAMES
    width = len(str(matrix.max()))
    lines = ["Confusion matrix of 100 pictures: a row for each label, a column for each prediction",
             " " * 10 + "".join(" %*d" % (width, i) for i in range(4)) + "  right"]
    for i, name in enumerate(told["classes"]):
        right = 100 * matrix[i, i] / matrix[i].sum()
        lines.append("%d %-8s" % (i, name) + "".join(" %*s" % (width, n or ".") for n in matrix[i]) +
                     "  %4s %%" % ("100" if right == 100 else "%.1f" % right))
    assert "\n".join(lines) + "\n" in said
    assert len(re.findall(r"taken for", said)) == 0


def test_train_tells_confusions_where_a_matrix_has_no_room(taught, tmp_path):
    _, words, _, _, probabilities = taught
    matrix = confusion(probabilities)
    out = subprocess.run([COMMAND, *map(str, words), "--output", str(tmp_path / "m.pb")], capture_output=True, text=True, env=dict(os.environ, COLUMNS="25")).stdout
    assert is_broken_at(25, out) and "Confusion matrix" not in out
    pairs = sorted(((-matrix[i, j], i, j) for i in range(4) for j in range(4) if i != j and matrix[i, j]))
    wanted = " ".join("%d %s taken for %s" % (-n, NAMES[i], NAMES[j]) for n, i, j in pairs)
    assert len(pairs) > 3 and wanted in " ".join(out.split())


def shades(image):
    """As pictures are drawn where there is no terminal: two rows of pixels in one of letters."""
    return ["".join(" .:-=+*#%@"[(int(a) + int(b)) * 9 // 510] for a, b in zip(image[y], image[y + 1])) for y in range(0, len(image), 2)]


def test_train_draws_its_worst_mistakes(taught):
    _, _, said, told, probabilities = taught
    images, labels = squares(100, 2)[0], some_wrong_labels()
    guesses = probabilities.argmax(1)
    wrong = sorted((i for i in range(100) if guesses[i] != labels[i]), key=lambda i: -probabilities[i, guesses[i]])[:6]
    assert [(m["picture"], m["label"], m["predicted"]) for m in told["mistakes"]] == [(i, NAMES[labels[i]], NAMES[guesses[i]]) for i in wrong]
    assert all(abs(m["probability"] - probabilities[m["picture"]].max()) < 1e-4 for m in told["mistakes"])
    captions = [["picture %d" % i, "label " + NAMES[labels[i]], "predicted %s %.1f %%" % (NAMES[guesses[i]], 100 * probabilities[i].max())]
                for i in wrong]
    cell = max(12, *(len(line) for caption in captions for line in caption)) + 2
    fit = (80 + 2) // cell
    blocks = []
    for first in range(0, min(6, 2 * fit), fit):
        drawn = [shades(images[i]) + captions[wrong.index(i)] for i in wrong[first:min(first + fit, 2 * fit)]]
        blocks.append("\n".join("".join(line.ljust(cell) for line in lines[:-1]) + lines[-1] for lines in zip(*drawn)))
    assert "The worst mistakes: wrong, and surest of it\n\n" + "\n\n".join(blocks) + "\n" in said


def test_train_draws_its_curve(taught):
    folder, _, said, _, _ = taught
    root = ElementTree.parse(folder / "curve.svg").getroot()
    kinds = [child.tag.split("}")[1] for child in root]
    assert kinds.count("polyline") == 2 and kinds.count("circle") == 2 and kinds.count("path") == 2
    texts = [child.text for child in root if child.tag.endswith("text")]
    assert texts[0] == "loss" and "accuracy in %" in texts
    points = [[tuple(map(float, pair.split(","))) for pair in child.get("points").split()] for child in root if child.tag.endswith("polyline")]
    assert all(len(line) == 13 and line[-1][0] == 580 for line in points)     # each of the 13 steps
    assert all(40 <= y <= 220 for _, y in points[0]) and all(300 <= y <= 480 for _, y in points[1])
    assert points[0][-1][1] > points[0][0][1]                                   # the loss has fallen, to the bottom
    lines = said.splitlines()
    for title in "loss", "accuracy in %":
        at = lines.index(" " * 8 + title) + 1
        panel = lines[at:at + 8]
        most, least = texts[texts.index(title) + 1:][:2]   # stand on the axis
        assert (panel[0][:6].strip(), panel[7][:6].strip()) == (most, least) and not any(line[:6].strip() for line in panel[1:7])
        assert all(line[7] == "|" and len(line) <= 72 and set(line[8:]) <= set(" *o") for line in panel)
        assert sum(line.count("o") for line in panel) == 1 and any(len(line) == 72 and line[-1] == "o" for line in panel)
        assert lines[at + 8] == " " * 7 + "+" + "-" * 64 and lines[at + 9].endswith("epoch 0.406")


def test_a_pipe_gets_no_control_codes(taught):
    assert all(letter in "\n" or letter.isprintable() for letter in taught[2])
    assert taught[2].isascii()


@pytest.mark.parametrize("width", WIDTHS)
def test_training_in_a_terminal(width, taught, tmp_path):
    _, words, said, _, _ = taught
    text = in_terminal(width, *words, "--output", tmp_path / "m.pb")
    assert "\033[0m" in text and "▀" in text and any("\u2800" < letter <= "\u28ff" for letter in text)
    plain = re.sub("\033\\[[0-9;]*[mK]", "", text)
    assert is_broken_at(width, plain.replace("\r", "\n")), plain
    assert "epoch 1/1" in plain and "test accuracy" in plain and ("Confusion matrix" in plain) == ("Confusion matrix" in said)


def test_a_curve_that_cannot_be_written(data, tmp_path):
    message = millrace("train", "--data", data, "--output", tmp_path / "m.pb", "--svg", tmp_path / "no" / "c.svg", code=1)
    assert "no/c.svg: can't be written: No such file" in message and not (tmp_path / "m.pb").exists()


def test_same_seed_same_model(data, tmp_path):
    for name in "a", "b":
        millrace("train", "--data", data, "--output", tmp_path / name, "--epochs", 1, "--seed", 5, "--threads", 1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("optimizer", ["gradient-descent", "momentum", "adagrad", "rmsprop"])
def test_optimizers(optimizer, data, tmp_path):
    millrace("train", "--data", data, "--output", tmp_path / "m.pb", "--epochs", 0.5, "--optimizer", optimizer)


def break_data(data, folder, name, change):
    for file in os.listdir(data):
        os.symlink(data / file, folder / file)
    path = folder / name
    bytes_ = path.read_bytes()
    path.unlink()
    if change is not None:
        path.write_bytes(change(bytes_))


@pytest.mark.parametrize("name, change, words", [
    ("train-images-idx3-ubyte.gz", None, "No such file"),
    ("train-images-idx3-ubyte.gz", lambda b: b[:len(b) // 2], "truncated"),
    ("t10k-labels-idx1-ubyte", lambda b: b[:50], "truncated"),
    ("t10k-labels-idx1-ubyte", lambda b: b"", "IDX"),
    ("t10k-labels-idx1-ubyte", lambda b: b"hello, this is no such file", "IDX"),
    ("train-labels-idx1-ubyte", lambda b: idx(np.zeros(3, np.uint8)), "belong"),
    ("train-labels-idx1-ubyte", lambda b: b"\0\0\x08\x03" + b"\xff" * 12, "large"),
])
def test_bad_data(name, change, words, data, tmp_path):
    break_data(data, tmp_path, name, change)
    message = millrace("train", "--data", tmp_path, "--output", tmp_path / "m.pb", code=1)
    assert words in message and message.count("\n") == 1, message
    assert not (tmp_path / "m.pb").exists()


def test_output_is_asked_first(data, tmp_path):
    assert "No such file" in millrace("train", "--data", data, "--output", tmp_path / "no" / "m.pb", code=1)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(number, code, data, tmp_path):
    path = tmp_path / "m.pb"
    process = subprocess.Popen([COMMAND, "train", "--data", data, "--output", path, "--epochs", "100000", "--json"],
                               stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code, out
    assert "probabilities" in millrace("inspect", path)


def test_progress_bar(data, tmp_path):
    """In a terminal there is a bar, drawn over itself."""
    master, slave = pty.openpty()
    process = subprocess.Popen([COMMAND, "train", "--data", data, "--output", tmp_path / "m.pb", "--epochs", "1"],
                               stdout=slave, env=dict(os.environ, TERM="xterm"))
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(master)
    assert process.wait(timeout=60) == 0
    text = out.decode()
    assert "\r" in text and "━" in text and "ETA" in text and "images/s" in text


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))


# ---- nothing fails in silence

def failing_output(*arguments, path="/dev/full"):
    with open(path, "w") as full:
        return subprocess.run([COMMAND, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)


@pytest.mark.parametrize("words", [("eval", "Softmax([1 2])"), ("ops",), ("ops", "--json"), ("ops", "--help"), ("--version",), ("--help",),
                                   ("help", "run")])
def test_output_that_cannot_be_written(words):
    done = failing_output(*words)
    assert done.returncode == 1 and "can't be written" in done.stderr, done


def test_model_output_that_cannot_be_written(model):
    for words in ("inspect", model), ("inspect", "--json", model), ("plan", model):
        assert failing_output(*words).returncode == 1
    images = "images=uint8 zeros[1 12 12]"
    assert failing_output("run", model, "--input", images).returncode == 1
    millrace("run", model, "--input", images, "--output", "label=@/dev/full", code=1)
    millrace("run", model, "--input", images, "--output", "label=@/nonexistent/label.npy", code=1)


@pytest.mark.parametrize("command", ["inspect", "run", "plan"])
def test_models_that_are_none(command, tmp_path):
    empty, folder = tmp_path / "empty.pb", tmp_path / "folder"
    empty.write_bytes(b"")
    folder.mkdir()
    assert "is empty" in millrace(command, empty, code=1)
    assert "No such file" in millrace(command, tmp_path / "none.pb", code=1)
    assert "SavedModel" in millrace(command, folder, code=1)
    (folder / "saved_model.pb").write_bytes(b"")
    millrace(command, folder, code=1)
    empty.write_bytes(b"not a graph at all")
    millrace(command, empty, code=1)


def test_data_that_is_not_there(tmp_path):
    for folder in tmp_path, tmp_path / "none", "":
        assert "images-idx3" in millrace("train", "--data", folder, "--output", tmp_path / "x.pb", code=1)
    millrace("train", "--output", tmp_path / "none" / "x.pb", code=1)
    program = os.path.join(BUILD, "examples", "mnist")
    if os.path.exists(program):
        done = subprocess.run([program, "--steps", "1", "--data", str(tmp_path)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and str(tmp_path) in done.stderr, done


def strict_json(text):
    def refuse(word):
        raise ValueError(word)
    return json.loads(text, parse_constant=refuse)


def test_json_knows_no_nan(tmp_path):
    assert strict_json(millrace("eval", "--json", "Div([0 1 -1], 0)")) == [["NaN", "Infinity", "-Infinity"]]
    assert strict_json(millrace("eval", "--json", "Complex(Div(0.0, 0.0), 1)")) == [["NaN", 1]]
    assert strict_json(millrace("eval", "--json", "Cast(Div(1, 0); DstT=half)")) == ["Infinity"]


PASSES = ("-fold, -cse, -expand, -identity, -control, -fuse, -simplify, -patterns, -loops, -rematerialise, -power, "
          "-reduce-nothing, -multiply-by-ones, -add-two, -reshape-to-itself, -reshape-before-binary, -repeats-nothing, "
          "-scale-filter, -broadcast-by-itself, -epilogue-apart, -epilogue-before-reshape, -sum-of-products, "
          "-sum-of-padded, -scaled-updates, -batch-norm-relu, -product-as-gradient, -epilogue, -scale-cross-entropy, "
          "-recompute-max-pool and -recompute-batch-norm")


@pytest.mark.parametrize("name, value, word, allowed, good", [
    ("MILLRACE_CPU", "avx2", "avx2", "v1, v3 and v4", "v1"),
    ("MILLRACE_PASSES", "-fold,fuse", "fuse", PASSES + ", with commas between", "-fold,-fuse"),
    ("MILLRACE_STRESS", "order,sideways", "sideways", "order, yield, dynamic and alloc:N, with commas between", "order,dynamic"),
    ("MILLRACE_STRESS", "alloc:many", "alloc:many", "order, yield, dynamic and alloc:N, with commas between", "alloc:0"),
    ("MILLRACE_LOG", "loud", "loud", "info, warning and error", "error"),
])
def test_variables_that_hold_something_else_are_refused(name, value, word, allowed, good):
    def call(value, *words):
        return subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=60, env=dict(os.environ, **{name: value}))
    message = "millrace: the environment says %s=%s: '%s' means nothing, allowed are %s\n" % (name, value, word, allowed)
    for words in ("eval", "Softmax([1 2])"), ("ops",), ("inspect", "none.pb"), ("run", "none.pb"), ("plan", "none.pb"), ("train",):
        done = call(value, *words)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    for fine in good, "":
        done = call(fine, "eval", "Softmax([1 2])")
        assert done.returncode == 0 and not done.stderr, done
    assert call(value, "--help").returncode == 0


def test_drawing_without_pictures(model, tmp_path):
    millrace("run", model, "--draw", "--input", "images=uint8 zeros[1 12 12]", "--output", "label")
    (tmp_path / "saved_model.pbtxt").write_text("""meta_graphs { meta_info_def { tags: 'serve' } graph_def {
        node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
        node { name: 'y' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } versions { producer: 1000 } } }""")
    assert millrace("run", tmp_path, "--input", "x=[1 2]", "--output", "y").strip() == "y = [-1 -2]"
    assert "no input holds pictures" in millrace("run", tmp_path, "--draw", "--input", "x=[1 2]", "--output", "y", code=1)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_server_listens_until_it_is_told_to_end(number, code):
    env = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    server = subprocess.Popen([COMMAND, "server"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    line = server.stdout.readline()
    match = re.fullmatch(r"listening at grpc://localhost:(\d+)\n", line)
    assert match
    with socket.create_connection(("localhost", int(match[1])), timeout=10):
        server.send_signal(number)
        assert server.wait(10) == code
    assert server.stdout.read() == server.stderr.read() == ""


def test_servers_of_no_cluster(tmp_path):
    for cluster, words in (("worker", "is no job"), ("ps=a:1;worker=b:2", "which of the cluster's jobs"),
                           ("{", "JSON, byte"), ("@" + str(tmp_path / "none"), "No such file")):
        assert words in millrace("server", "--cluster", cluster, code=1)
    assert "Task 7 is not defined" in millrace("server", "--cluster", "worker=localhost:0", "--task", 7, code=1)
    assert "--port is x, expected 0 to 65535" in millrace("server", "--port", "x", code=2)
    assert "is not defined in the cluster" in millrace("server", "--job", "ps", code=1)
