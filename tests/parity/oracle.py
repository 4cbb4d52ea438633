# oracle — TensorFlow's answers to a table of cases, as a list of items that need no TensorFlow any more.
#
# An item is a dict: op, label, variant, graph (GraphDef bytes), steps [(fetches, feeds, targets, options)], expect (per step a
# list of arrays, or the code of TensorFlow's refusal), tol, gradient (None, or (ys, xs, dys): names; the fetches are then
# what TF_AddGradients returns for each x). Variants of a case:
#   fixed      placeholders of known shapes, host inputs as Consts     late   placeholders of unknown shape, one graph
#   folded     every input a Const                                            and session for many shapes
#   grad       gradients added by the library under test to the late graph; grad_fixed: to the fixed graph
#   theirs     TensorFlow's own gradient graph, imported
#   grad_grad  second gradients, of the first case of each operation: of our first gradients; grad_theirs: of TensorFlow's
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_library, op_def_registry

from cases import HOST, Case, Script, values

tf.disable_eager_execution()
tf.disable_resource_variables()
CONFIG = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True
NO_KERNEL = ("No OpKernel was registered", "not supported", "Unsupported", "no kernel", "Could not find device")


def dtype_of(array):
    return tf.string if array.dtype == object else tf.as_dtype(array.dtype)


def signature(array):
    return str(array.dtype)


def add_defaults(op_def, keywords):
    """The attributes that no input tells and that the case leaves out, as the operation's definition sets them."""
    told = {name for arg in op_def.input_arg for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
    for attr in op_def.attr:
        if attr.name in told or attr.name in keywords or not attr.HasField("default_value"):
            continue
        value = attr.default_value
        kind = value.WhichOneof("value")
        if kind == "list":
            field = attr.type[5:-1]
            keywords[attr.name] = list({"int": value.list.i, "float": value.list.f, "bool": value.list.b,
                                        "string": value.list.s, "type": value.list.type, "shape": value.list.shape}[field])
        else:
            keywords[attr.name] = getattr(value, kind)


class Built:
    """A graph with one operation: names of its placeholders by input, its outputs."""

    def __init__(self, case, how):
        self.graph = tf.Graph()
        self.places = {}   # placeholder name -> (input, element) position
        self.session = None
        op_def = op_def_registry.get(case.op)
        if op_def is None:
            raise LookupError("TensorFlow has no operation " + case.op)
        with self.graph.as_default():
            keywords, self.tensors = dict(case.attrs), []
            for i, (arg, value) in enumerate(zip(op_def.input_arg, case.inputs)):
                constant = how == "folded" or how == "fixed" and is_host(case, i, arg.name)
                made = [self._input(i, j, x, constant, how) for j, x in enumerate(value)] if isinstance(value, list) else \
                    self._input(i, None, value, constant, how)
                keywords[arg.name] = made
            add_defaults(op_def, keywords)
            for attr in op_def.attr:   # types of empty lists cannot be inferred
                if attr.name == "T" and any(isinstance(v, list) and not v for v in case.inputs) and "T" not in keywords:
                    keywords["T"] = []
            _, _, self.op, _ = op_def_library._apply_op_helper(case.op, name="op", **keywords)
            self.outputs = [t for t in self.op.outputs if t.dtype.base_dtype not in (tf.resource, tf.variant)][:case.outs]
        self.forward = self.graph.as_graph_def().SerializeToString()

    def _input(self, i, j, value, constant, how):
        name = "in%d" % i if j is None else "in%d_%d" % (i, j)
        if constant:
            return tf.constant(value, dtype_of(value), value.shape, name=name)
        shape = value.shape if how == "fixed" else None
        tensor = tf.placeholder(dtype_of(value), shape, name=name)
        self.places[name] = (i, j)
        self.tensors.append((name, tensor))
        return tensor

    def feeds(self, case):
        return {name: case.inputs[i] if j is None else case.inputs[i][j] for name, (i, j) in self.places.items()}

    def run(self, fetches, feeds):
        if self.session is None:
            self.session = tf.Session(graph=self.graph, config=CONFIG)
        return self.session.run(fetches, {name + ":0": value for name, value in feeds.items()})

    def close(self):
        if self.session is not None:
            self.session.close()


def is_host(case, i, name):
    if case.const is not None:
        return i in case.const
    value = case.inputs[i]
    return name in HOST and not isinstance(value, list) and value.dtype in (np.dtype(np.int32), np.dtype(np.int64))


def brief(error):
    """What a refusal says, without the account of where the operation was made."""
    lines = [line for line in error.message.splitlines() if line and not line.startswith((" ", "Original", "Detected", "Graph exec", "Node:"))]
    return (lines[0] if lines else error.message)[:200]


def arrays(found):
    return [np.asarray(x, dtype=object) if isinstance(x, (bytes, str)) else np.asarray(x) for x in found]


class Gradient:
    """The forward graph with places for the gradients of its outputs, and TensorFlow's gradients after it."""

    def __init__(self, case, how):
        self.built = Built(case, how)
        built = self.built
        with built.graph.as_default():
            ys = [built.op.outputs[i] for i in case.ys]
            xs = [(name, t) for name, t in built.tensors if t.dtype.is_floating or t.dtype.is_complex]
            self.dys = []
            for i, y in enumerate(ys):
                self.dys.append(tf.placeholder(y.dtype, None if how == "late" else y.shape, name="dy%d" % i))
            self.forward = built.graph.as_graph_def().SerializeToString()
            found = tf.gradients(ys, [t for _, t in xs], grad_ys=self.dys)
            pairs = [(name, tf.convert_to_tensor(g)) for (name, _), g in zip(xs, found) if g is not None]
            self.xs = [name for name, _ in pairs]
            self.found = [g for _, g in pairs]
            self.ys = [y.name for y in ys]
        self.full = built.graph.as_graph_def().SerializeToString()

    def again(self):
        """Adds the gradients of the gradients by the inputs and by what they start from; nothing of none."""
        with self.built.graph.as_default():
            real = [g for g in self.found if g.dtype.is_floating]
            if len(real) < len(self.found):
                return False
            self.ddys = [tf.placeholder(g.dtype, g.shape, name="ddy%d" % i) for i, g in enumerate(self.found)]
            xs = [self.built.graph.get_tensor_by_name(name + ":0") for name in self.xs] + self.dys
            self.before = self.built.graph.as_graph_def().SerializeToString()
            pairs = [(x, tf.convert_to_tensor(g)) for x, g in zip(xs, tf.gradients(self.found, xs, grad_ys=self.ddys)) if g is not None]
            self.second_xs = [x.op.name for x, _ in pairs]
            self.second = [g for _, g in pairs]
            return bool(pairs)


class Oracle:
    def __init__(self, log):
        self.log, self.late, self.gradients, self.items = log, {}, {}, []
        self.twice = set()    # operations whose second gradients are among the items
        self.skipped = 0

    def key(self, case):
        kinds = tuple(tuple(map(signature, x)) if isinstance(x, list) else signature(x) for x in case.inputs)
        return case.op, kinds, repr(sorted(case.attrs.items())), case.ys

    def built(self, case):
        key = self.key(case)
        if key not in self.late:
            for old in self.late.values():    # cases of one operation stand together: one session is enough
                if len(self.late) > 64:
                    old.close()
            if len(self.late) > 64:
                self.late.clear()
            self.late[key] = Built(case, "late")
        return self.late[key]

    def item(self, case, variant, graph, steps, expect, gradient=None, first=None):
        self.items.append(dict(op=case.op, label=case.label, variant=variant, graph=graph, steps=steps, expect=expect,
                               tol=case.tol, gradient=gradient, first=first))

    def case(self, case):
        variant = "late"
        try:
            try:
                late = self.built(case)
            except ValueError:    # some shape functions need ranks
                late, variant = Built(case, "fixed"), "fixed"
        except (LookupError, TypeError, ValueError) as error:
            self.log("%s %s: TensorFlow does not build it: %s" % (case.op, case.label, str(error)[:200]))
            self.skipped += 1
            return
        feeds = late.feeds(case)
        fetches = [t.name for t in late.outputs]
        try:
            expect = arrays(late.run(late.outputs, feeds))
            if case.error:
                self.log("%s %s: TensorFlow accepts it" % (case.op, case.label))
        except tf.errors.OpError as error:
            if any(text in error.message for text in NO_KERNEL) or error.error_code == 12:
                self.skipped += 1
                return
            if not case.error:
                self.log("%s %s: TensorFlow refuses: %s" % (case.op, case.label, brief(error)))
            expect = error.error_code
        except (TypeError, ValueError) as error:
            self.log("%s %s: %s" % (case.op, case.label, str(error)[:200]))
            self.skipped += 1
            return
        self.item(case, variant, late.forward, [(fetches, feeds, [], {})], [expect])
        self.static(case, expect, [v for v in ("fixed", "folded") if v != variant])
        if variant == "fixed":
            return late.close()
        if case.grad and not isinstance(expect, int):
            self.gradient(case, late)

    def static(self, case, expect, variants):
        for variant in variants:
            try:
                fixed = Built(case, variant)
            except (ValueError, TypeError):
                if isinstance(expect, int):
                    continue    # the shape function refuses already: no such graph
                self.log("%s %s: no %s graph" % (case.op, case.label, variant))
                continue
            self.item(case, variant, fixed.forward, [([t.name for t in fixed.outputs], fixed.feeds(case), [], {})], [expect])

    def gradient(self, case, late):
        key = self.key(case)
        if key not in self.gradients:
            if len(self.gradients) > 64:
                self.gradients.clear()
            try:
                self.gradients[key] = Gradient(case, "late")
            except (LookupError, NotImplementedError, ValueError, TypeError, IndexError) as error:
                self.log("%s %s: no gradient: %s" % (case.op, case.label, str(error)[:120]))
                self.gradients[key] = None
        made = self.gradients[key]
        if made is None or not made.found:
            return
        feeds = late.feeds(case)
        try:
            ys = late.run([late.op.outputs[i] for i in case.ys], feeds)
            for dy, y in zip(made.dys, arrays(ys)):
                feeds[dy.op.name] = values(y.dtype, y.shape, low=-1, high=1, key="dy")
            expect = arrays(made.built.run(made.found, feeds))
        except tf.errors.OpError as error:
            self.log("%s %s: gradient: %s" % (case.op, case.label, brief(error)))
            return
        dys = [dy.op.name for dy in made.dys]
        asked = (made.ys, made.xs, dys)
        self.item(case, "grad", made.forward, [([], feeds, [], {})], [expect], asked)
        self.item(case, "theirs", made.full, [([t.name for t in made.found], feeds, [], {})], [expect])
        try:
            fixed = Gradient(case, "fixed")
            kept = {name: value for name, value in feeds.items() if name in fixed.built.places or name in dys}
            if fixed.xs == made.xs:
                self.item(case, "grad_fixed", fixed.forward, [([], kept, [], {})], [expect], (fixed.ys, fixed.xs, dys))
                self.second(case, fixed, kept, dys, expect)
        except (LookupError, NotImplementedError, ValueError, TypeError, IndexError):
            pass

    def second(self, case, fixed, feeds, dys, expect):
        """Of one case of each operation, with some elements."""
        kind = str(fixed.found[0].dtype.base_dtype.name)
        if (case.op, case.attrs.get("is_training")) in self.twice or kind not in ("float32", "float64") or not all(0 < x.size <= 4096 for x in expect):
            return
        first, feeds = (fixed.ys, fixed.xs, dys), dict(feeds)
        try:
            if not fixed.again():
                return
            for ddy, g in zip(fixed.ddys, expect):
                feeds[ddy.op.name] = values(g.dtype, g.shape, low=-1, high=1, key="ddy")
            answer = arrays(fixed.built.run(fixed.second, feeds))
        except (LookupError, NotImplementedError, ValueError, TypeError, IndexError, tf.errors.OpError) as error:
            self.log("%s %s: no second gradient: %s" % (case.op, case.label, str(error).splitlines()[0][:120]))
            return
        self.twice.add((case.op, case.attrs.get("is_training")))
        ddys = [ddy.op.name for ddy in fixed.ddys]
        self.item(case, "grad_grad", fixed.before, [([], feeds, [], {})], [answer], (None, fixed.second_xs, ddys), first)
        self.item(case, "grad_theirs", fixed.before, [([], feeds, [], {})], [answer],
                  ([g.name for g in fixed.found], fixed.second_xs, ddys))

    def script(self, case):
        graph = tf.Graph()
        with graph.as_default():
            try:
                steps = case.build(tf)
            except (LookupError, NotImplementedError, ValueError, TypeError, AttributeError) as error:
                self.log("%s %s: TensorFlow does not build it: %s" % (case.op, case.label, str(error)[:300]))
                self.skipped += 1
                return
        steps = [self._step(step) for step in steps]
        expect = []
        with tf.Session(graph=graph, config=CONFIG) as session:
            for fetches, feeds, targets, options in steps:
                named = {name: value for name, value in feeds.items()}
                try:
                    found, _ = session.run(([graph.get_tensor_by_name(n) for n in fetches],
                                            [graph.get_operation_by_name(n) for n in targets]), named)
                    expect.append(arrays(found))
                except tf.errors.OpError as error:
                    if not options.get("error"):
                        if any(text in error.message for text in NO_KERNEL) or error.error_code == 12:
                            self.skipped += 1
                            return
                        self.log("%s %s: %s" % (case.op, case.label, brief(error)))
                    expect.append(error.error_code)
        self.items.append(dict(op=case.op, label=case.label, variant="script", graph=graph.as_graph_def().SerializeToString(),
                               steps=steps, expect=expect, tol=case.tol, gradient=None))

    @staticmethod
    def _step(step):
        fetches, feeds, targets, options = (list(step) + [{}] * 4)[:4] if len(step) < 4 else step
        if not isinstance(fetches, (list, tuple)):
            fetches = [fetches]
        fetches = [t if isinstance(t, str) else t.name for t in tf.nest.flatten(fetches)]
        feeds = {(k if isinstance(k, str) else k.name): np.asarray(v) for k, v in (feeds or {}).items()}
        targets = [t if isinstance(t, str) else t.name for t in (targets or [])]
        return fetches, feeds, targets, options or {}


def answer(table, log):
    """The items of a table of cases, in its order."""
    oracle = Oracle(log)
    for case in table:
        if isinstance(case, Script):
            oracle.script(case)
        elif isinstance(case, Case):
            oracle.case(case)
    return oracle.items, oracle.skipped
