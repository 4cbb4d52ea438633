# bench.py — runs the bench program with the TensorFlow and the PyTorch of this Python, then the demo's network in PyTorch.
import importlib.util
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
build = os.environ.get("MILLRACE_BUILD", os.path.join(os.path.dirname(here), "build"))


def tensorflow_library():
    found = importlib.util.find_spec("tensorflow")
    return os.path.join(list(found.submodule_search_locations)[0], "libtensorflow_cc.so.2") if found else None


def write_graphs(folder):
    """The graphs that TensorFlow's Python writes, once."""
    os.makedirs(folder, exist_ok=True)
    for name, command in (("mlp.pb", ["mlp_graph.py"]), ("demo.pb", ["tensorflow_demo.py", "--graph"])):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            subprocess.call([sys.executable, os.path.join(here, "demo", command[0])] + command[1:] + [path], stderr=subprocess.DEVNULL)
    if not os.path.exists(os.path.join(folder, "rnn_keras_both_train.pb")):    # its last
        subprocess.call([sys.executable, os.path.join(here, "demo", "rnn_graphs.py"), folder], stderr=subprocess.DEVNULL)
    subprocess.call([sys.executable, os.path.join(here, "..", "tests", "parity", "nets_parity.py"), "--twins", folder],
                    stderr=subprocess.DEVNULL)
    os.environ["BENCH_GRAPHS"] = folder


LM = ["--words", "40000", "--units", "512", "--unroll", "20", "--batch", "16"]
GRAPHS = [(name + ".pb", name, "--graph", []) for name in ("mnist", "alexnet", "overfeat", "vgg", "googlenet", "resnet50", "inception3")]
GRAPHS += [("%s_%s.pb" % (name, kind), name, "--" + kind, []) for name in ("resnet50", "inception3") for kind in ("answers", "frozen")]
GRAPHS += [("lm_full.pb", "lstm", "--graph", LM), ("lm_sampled.pb", "lstm", "--graph", LM + ["--samples", "512"]),
           ("word2vec.pb", "word2vec", "--graph", []), ("mlp_big.pb", "mlp", "--graph", [])]


def write_workloads(folder):
    """The graphs that the examples write with Millrace's own layers: each time, as they change with the layers."""
    os.makedirs(folder, exist_ok=True)
    for file, name, option, more in GRAPHS:
        program = os.path.join(build, "examples", name)
        if os.path.exists(program):
            subprocess.call([program, option, os.path.join(folder, file)] + more)
    os.environ["BENCH_GRAPHS"] = folder
    os.environ["BENCH_PEER"] = os.path.join(here, "peer.py")
    if importlib.util.find_spec("torch"):
        os.environ.setdefault("TORCH_PYTHON", sys.executable)


def models(arguments):
    """Benches of whole models as TensorFlow's Python writes them: bench/models."""
    names = arguments[1:] if arguments[0] == "models" else arguments
    return subprocess.call([sys.executable, os.path.join(here, "models", "models.py")] + names)


def main():
    if sys.argv[1:2] in (["models"], ["conv3d"]):
        return models(sys.argv[1:])
    if sys.argv[1:2] == ["cluster"]:
        return subprocess.call([sys.executable, os.path.join(here, "rpc", "cluster.py")] + sys.argv[2:])
    if sys.argv[1:2] == ["rpc"]:
        return subprocess.call([sys.executable, os.path.join(here, "rpc", "rpc.py")] + sys.argv[2:])
    if sys.argv[1:2] == ["input"]:
        return subprocess.call([sys.executable, os.path.join(here, "input", "input.py")] + sys.argv[2:])
    program = os.path.join(build, "bench", "bench")
    if not os.path.exists(program):
        sys.exit("bench: %s is not built: ninja benches" % program)
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")    # some processors don't get it unasked
    library = tensorflow_library()
    if library:
        os.environ.setdefault("TENSORFLOW_LIBRARY", library)
        write_graphs(os.path.join(build, "bench", "graphs"))
    write_workloads(os.path.join(build, "bench", "graphs"))
    arguments = sys.argv[1:]
    code = subprocess.call([program] + arguments)
    names = [a for a in arguments if not a.startswith("--") and not a.isdigit() and "/" not in a]
    if not names or any("demo".startswith(name) for name in names):
        threads = ["1", "2"]
        if "--threads" in arguments:
            threads = [arguments[arguments.index("--threads") + 1]]
        for count in threads:
            subprocess.call([os.environ.get("TORCH_PYTHON", sys.executable), os.path.join(here, "demo", "pytorch_demo.py"),
                             "--threads", count])
    return code


if __name__ == "__main__":
    sys.exit(main())
