#!/usr/bin/env python3
# unit_tests — unit tests written for TensorFlow's Python, their sessions on a server of TensorFlow's and one of ours.
#
# usage: unit_tests.py [--only REGEX] [--tests REGEX] [--root DIR] [--library PATH] [--ours] [--verbose] FILE...
# Each file is a module of tests (tf.test.TestCase) in TensorFlow 1's style, anywhere on this machine: what a client library has
# beside its code (tf_slim and tensor2tensor do) or what somebody wrote. Every session without a target opens on the server, with
# state of its own. A test disagrees where it passes on TensorFlow's server and not here; what fails on both says nothing. DIR is put
# on the path for imports (where a package was unpacked).
import argparse
import importlib.util
import os
import re
import select
import signal
import sys
import tempfile
import time
import unittest

from cluster_parity import BUILD, OurServer, TheirServer, child

SILENCE = int(os.environ.get("MILLRACE_LIMIT", "90"))  # seconds that one test may take


class Result(unittest.TestResult):
    """A line for each test begun and for each outcome, as it happens: the reader outlives the tests."""

    def __init__(self, verbose):
        super().__init__()
        self.verbose = verbose

    def startTest(self, test):
        super().startTest(test)
        print("begin\t%s" % test.id(), flush=True)

    def tell(self, test, outcome, error=None):
        text = ""
        if error:
            text = "%s: %s" % (error[0].__name__, getattr(error[1], "message", str(error[1])))
            text = text.replace("\n", " | ").replace("\t", " ")
            text = text if self.verbose or len(text) < 800 else text[:200] + " ... " + text[-600:]
        print("end\t%s\t%s\t%s" % (test.id(), outcome, text), flush=True)

    def addSuccess(self, test):
        self.tell(test, "pass")

    def addError(self, test, error):
        self.tell(test, "error", error)

    def addFailure(self, test, error):
        self.tell(test, "fail", error)

    def addSkip(self, test, reason):
        self.tell(test, "skip")

    def addSubTest(self, test, part, error):
        if error:
            self.tell(test, "fail", error)


def send_sessions(target):
    """Sessions that name no server open on this one, with variables and queues of their own."""
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import session
    from tensorflow.python.eager import context
    plain = session.BaseSession.__init__

    def init(self, where="", graph=None, config=None):
        if not where:
            where = target
            own = config_pb2.ConfigProto()
            own.CopyFrom(config or context.context().config)
            own.isolate_session_state = True
            config = own
        plain(self, where, graph, config)

    def named(self, target="", graph=None, config=None):
        init(self, target, graph, config)

    session.BaseSession.__init__ = named


def old_names():
    """Names by which tests of older releases find what TensorFlow's Python has elsewhere by now."""
    from tensorflow.python.framework import indexed_slices, ops, tensor
    from tensorflow.python.ops import resource_variables_toggle, variable_scope, variable_v1, variables
    moved = {ops: (tensor.Tensor, indexed_slices.IndexedSlices), variables: (variable_v1.VariableV1,),
             variable_scope: (variable_v1.VariableV1, resource_variables_toggle.resource_variables_enabled,
                              resource_variables_toggle.enable_resource_variables,
                              resource_variables_toggle.disable_resource_variables)}
    for module, things in moved.items():
        for thing in things:
            if not hasattr(module, thing.__name__):
                setattr(module, thing.__name__, thing)
    if not hasattr(variable_scope, "variable"):
        variable_scope.variable = variable_v1.VariableV1


def load(path):
    """The module, by the name that it has under the root, so that its package is found."""
    for root in sys.path:
        if root and path.startswith(os.path.join(root, "")):
            name = os.path.relpath(path, root)[:-3].replace(os.sep, ".")
            break
    else:
        name = os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def flat(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def run_tests(path, target, options, done):
    import tensorflow.compat.v1 as tf
    sys.argv = sys.argv[:1]
    from absl import flags
    flags.FLAGS(sys.argv)
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.FATAL)
    os.chdir(tempfile.mkdtemp())
    old_names()
    module = load(path)
    if target:
        send_sessions(target)
    suite = unittest.TestSuite(test for test in flat(unittest.defaultTestLoader.loadTestsFromModule(module))
                               if test.id() not in done and re.search(options.tests, test.id()) and not test.id().endswith("test_session"))
    suite.run(Result(options.verbose))


def read_lines(pipe, pid):
    """Yields the child's lines; None where it has said nothing for too long, and then it is gone."""
    rest, end = b"", time.monotonic() + SILENCE
    while True:
        if not select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
            os.killpg(pid, signal.SIGKILL)
            yield None
            return
        data = os.read(pipe, 65536)
        if not data:
            return
        end = time.monotonic() + SILENCE
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace")


def outcomes(path, make_server, options):
    """{test: (outcome, text)}; a hang or a death is its test's outcome, and the rest runs in a new process."""
    results, torn = {}, 0
    while True:
        server = make_server()
        read, write = os.pipe()
        pid = child(lambda: run_tests(path, server.target, options, results), write)
        os.close(write)
        running, said = None, []
        for line in read_lines(read, pid):
            words = (line or "").split("\t")
            if line is None:
                results[running or path] = ("hang", "no end within %d s" % SILENCE)
            elif words[0] == "begin":
                running = words[1]
            elif words[0] == "end":
                results[words[1]] = (words[2], words[3])
                running = None
            else:
                said.append(line)
        os.close(read)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        wrong = server.end()
        if wrong:
            results["server of " + path] = ("died", wrong)
        if not running:
            if status:
                results[path] = ("error", " | ".join(said[-4:]))
            return results
        if results.get(running, ("",))[0] != "hang":
            results[running] = ("died", " | ".join(said[-4:]))
        torn += 1
        if torn > 8:
            return results


def main():
    p = argparse.ArgumentParser()
    p.add_argument("files", nargs="+")
    p.add_argument("--only", default="", help="files whose path matches")
    p.add_argument("--tests", default="", help="tests whose name matches")
    p.add_argument("--root", action="append", default=[], help="where packages that tests import were unpacked")
    p.add_argument("--library", default=os.path.join(BUILD, "lib", "libmillrace.so"))
    p.add_argument("--ours", action="store_true", help="only here: TensorFlow's server isn't asked")
    p.add_argument("--verbose", action="store_true", help="whole messages")
    options = p.parse_args()
    sys.path[:0] = [os.path.abspath(root) for root in options.root]
    import tensorflow.compat.v1  # noqa: F401, once for all forks
    totals = [0, 0, 0]
    for path in map(os.path.abspath, options.files):
        if not re.search(options.only, path):
            continue
        start = time.monotonic()
        ours = outcomes(path, lambda: OurServer(options.library), options)
        theirs = {}
        wrong = [test for test, (outcome, _) in ours.items() if outcome not in ("pass", "skip")]
        if wrong and not options.ours:
            theirs = outcomes(path, TheirServer, options)
            wrong = [test for test in wrong if theirs.get(test, ("pass",))[0] in ("pass", "skip")]
        passed = sum(outcome in ("pass", "skip") for outcome, _ in ours.values())
        totals = [totals[0] + len(ours), totals[1] + passed, totals[2] + len(wrong)]
        print("%-40s %d tests, %d pass here, %d only with TensorFlow's server, %.0f s" %
              (os.path.basename(path), len(ours), passed, len(wrong), time.monotonic() - start), flush=True)
        for test in wrong:
            print("  %s %s\n      %s" % (ours[test][0], test, ours[test][1]), flush=True)
    print("%d tests, %d pass here, %d only with TensorFlow's server" % tuple(totals))
    return 1 if totals[2] else 0


if __name__ == "__main__":
    sys.exit(main())
