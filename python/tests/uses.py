"""uses — what of TensorFlow a Python file names: each symbol with the keywords it is called with.

`import tensorflow as tf`, `from tensorflow.x import y` and plain aliases (`slim = tf.contrib.slim`) are followed; `compat.v1` is
stripped. Methods of objects and names made at run time are not seen.
"""
import ast
import os


class _Uses(ast.NodeVisitor):
    def __init__(self):
        self.names = {}     # what a name of the file stands for: a path below tensorflow
        self.found = []     # (symbol, keywords of the call)
        self.given = set()  # what the file itself puts there: tf.GraphKeys.OWN = "own"

    def visit_Import(self, node):
        for one in node.names:
            parts = one.name.split(".")
            if parts[0] == "tensorflow":
                self.names[one.asname or "tensorflow"] = ".".join(parts[1:]) if one.asname else ""

    def visit_ImportFrom(self, node):
        parts = (node.module or "").split(".")
        if parts[0] != "tensorflow" or node.level:
            return
        for one in node.names:
            if one.name != "*":
                self.names[one.asname or one.name] = ".".join(parts[1:] + [one.name])
                self.found.append((self.names[one.asname or one.name], ()))

    def visit_Assign(self, node):
        self.generic_visit(node)
        path = self._path(node.value)
        if path is not None and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.names[node.targets[0].id] = path

    def visit_Call(self, node):
        path = self._path(node.func)
        if path is not None:
            self.found.append((path, tuple(k.arg for k in node.keywords if k.arg)))
        else:
            self.visit(node.func)
        for child in node.args + [k.value for k in node.keywords]:
            self.visit(child)

    def visit_Attribute(self, node):
        path = self._path(node)
        if path is None:
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self.found.append((path, ()))
        else:
            self.given.add(path)

    def _path(self, node):
        rest = []
        while isinstance(node, ast.Attribute):
            rest.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return None
        return ".".join([p for p in [self.names[node.id]] if p] + rest[::-1])


def of_file(path):
    """([(symbol, keywords)], symbols that it defines) of a file; nothing where it can't be read as Python 3."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            tree = ast.parse(f.read())
    except (SyntaxError, ValueError, RecursionError):
        return [], set()
    uses = _Uses()
    uses.visit(tree)
    return [(_plain(s), k) for s, k in uses.found if _plain(s)], {_plain(s) for s in uses.given}


def _plain(symbol):
    while symbol.startswith("compat.v1.") or symbol == "compat.v1":
        symbol = symbol[len("compat.v1."):]
    return symbol


def of_folder(folder):
    """{file: uses} of the Python files below that name TensorFlow, without what they define there themselves."""
    found, given = {}, set()
    for base, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(base, name)
                uses, own = of_file(path)
                given |= own
                if uses:
                    found[path] = uses
    return {path: [u for u in uses if u[0] not in given] for path, uses in found.items()}
