"""test — tf.test: TestCase with sessions and comparisons of arrays; main."""
import contextlib
import os
import random
import re
import sys
import tempfile
import unittest
from unittest import mock  # noqa: F401

import numpy as np

from . import errors
from .graph import get_default_graph, reset_default_graph
from .session import Session


def get_temp_dir():
    """A folder for this process' tests."""
    if not hasattr(get_temp_dir, "path"):
        get_temp_dir.path = tempfile.mkdtemp()
    return get_temp_dir.path


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    return False


def is_built_with_cuda():
    return False


def gpu_device_name():
    return ""


def test_src_dir_path(relative_path):
    return os.path.join(os.getcwd(), relative_path)


test_src_dir_path.__test__ = False


class _Cached:
    """The session of cached_session: kept for all of a test."""

    def __init__(self, test, graph, config):
        self.graph, self.session = graph, Session(graph=graph, config=config)


class TestCase(unittest.TestCase):
    """unittest's, with a fresh graph and seeds for each test."""

    def __init__(self, methodName="runTest"):
        super().__init__(methodName)
        self._cached = self._folder = None

    def setUp(self):
        self._cached = None
        random.seed(87654321)
        np.random.seed(87654321)
        from . import graph
        if not graph._default_graphs.stack:
            reset_default_graph()
        get_default_graph().seed = 87654321

    def tearDown(self):
        if self._cached is not None:
            self._cached.session.close()
            self._cached = None

    def get_temp_dir(self):
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
        return self._folder

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        with Session(graph=graph, config=config) as sess:
            yield sess

    @contextlib.contextmanager
    def cached_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        if self._cached is None:
            self._cached = _Cached(self, graph or get_default_graph(), config)
        with self._cached.graph.as_default(), self._cached.session.as_default():
            yield self._cached.session

    def test_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        return self.session(graph, config) if graph is not None else self.cached_session(graph, config)

    test_session.__test__ = False

    def evaluate(self, tensors):
        from .session import get_default_session
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as session:
            return session.run(tensors)

    def _array(self, value):
        if hasattr(value, "op") and hasattr(value, "dtype"):
            value = self.evaluate(value)
        return np.asarray(value)

    def assertAllEqual(self, a, b, msg=None):
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, msg or "Shape mismatch: expected %s, got %s." % (a.shape, b.shape))
        np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        if isinstance(a, dict) or isinstance(b, dict):
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
            return
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and any(not np.isscalar(v) for v in a):
            self.assertEqual(len(a), len(b), msg)
            for x, y in zip(a, b):
                self.assertAllClose(x, y, rtol, atol, msg)
            return
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, msg or "Shape mismatch: expected %s, got %s." % (a.shape, b.shape))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6, float_atol=1e-6,
                                      half_rtol=1e-3, half_atol=1e-3, **unused):
        half = np.float16 in (self._array(a).dtype, self._array(b).dtype)
        self.assertAllClose(a, b, half_rtol if half else max(rtol, float_rtol), half_atol if half else max(atol, float_atol))

    def assertNotAllClose(self, a, b, **kwargs):
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        self.fail("the two values are close at all elements")

    def assertAllInRange(self, target, lower_bound, upper_bound, **unused):
        value = self._array(target)
        self.assertTrue(((value >= lower_bound) & (value <= upper_bound)).all())

    def assertAllGreater(self, a, comparison_target):
        self.assertTrue((self._array(a) > comparison_target).all())

    def assertAllLess(self, a, comparison_target):
        self.assertTrue((self._array(a) < comparison_target).all())

    def assertNear(self, f1, f2, err, msg=None):
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, msg or "%r != %r +/- %r" % (f1, f2, err))

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        self.assertEqual(len(farray1), len(farray2), msg)
        for a, b in zip(farray1, farray2):
            self.assertNear(float(a), float(b), err, msg)

    def assertShapeEqual(self, np_array, tf_tensor, msg=None):
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg)

    def assertDTypeEqual(self, target, expected_dtype):
        self.assertEqual(self._array(target).dtype, expected_dtype)

    def assertDeviceEqual(self, device1, device2, msg=None):
        from .device import DeviceSpec
        plain = lambda d: DeviceSpec.from_string(d.to_string() if hasattr(d, "to_string") else d or "").to_string()
        self.assertEqual(plain(device1), plain(device2), msg)

    def assertAllLessEqual(self, a, comparison_target):
        self.assertTrue((self._array(a) <= comparison_target).all())

    def assertAllGreaterEqual(self, a, comparison_target):
        self.assertTrue((self._array(a) >= comparison_target).all())

    def assertNotAllEqual(self, a, b, msg=None):
        a, b = self._array(a), self._array(b)
        self.assertFalse(a.shape == b.shape and (a == b).all(), msg or "the two values are equal at all elements")

    def assertNotEmpty(self, container, msg=None):
        self.assertTrue(len(container), msg)

    def assertProtoEquals(self, expected_message_maybe_ascii, message, msg=None):
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            from . import text_format
            expected = text_format.Parse(expected, type(message)())
        self.assertEqual(str(expected), str(message), msg)

    def assertStartsWith(self, actual, expected_start, msg=None):
        self.assertTrue(actual.startswith(expected_start), msg or "%r does not start with %r" % (actual, expected_start))

    def assertEmpty(self, container, msg=None):
        self.assertEqual(len(container), 0, msg)

    def assertLen(self, container, expected_len, msg=None):
        self.assertEqual(len(container), expected_len, msg)

    def assertItemsEqual(self, expected_seq, actual_seq, msg=None):
        self.assertCountEqual(expected_seq, actual_seq, msg)

    assertRaisesRegexp = unittest.TestCase.assertRaisesRegex

    def assertRaisesWithLiteralMatch(self, expected_exception, expected_exception_message, callable_obj=None, *args, **kwargs):
        """As assertRaises, and the message is that text."""
        raised = self.assertRaisesRegex(expected_exception, "^%s$" % re.escape(expected_exception_message))
        if callable_obj is None:
            return raised
        with raised:
            callable_obj(*args, **kwargs)

    def assertBetween(self, value, minv, maxv, msg=None):
        self.assertTrue(minv <= value <= maxv, msg or "%r unexpectedly not between %r and %r" % (value, minv, maxv))

    def assertSameElements(self, expected_seq, actual_seq, msg=None):
        """The same values, however often each."""
        self.assertEqual(sorted(set(expected_seq), key=repr), sorted(set(actual_seq), key=repr), msg)

    def assertSequenceStartsWith(self, prefix, whole, msg=None):
        self.assertEqual(list(prefix), list(whole)[:len(prefix)], msg)

    def assertContainsSubset(self, expected_subset, actual_set, msg=None):
        missing = set(expected_subset) - set(actual_set)
        self.assertFalse(missing, msg or "Missing elements %s" % (missing,))

    def assertSequenceAlmostEqual(self, expected_seq, actual_seq, places=None, msg=None, delta=None):
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for one, other in zip(expected_seq, actual_seq):
            self.assertAlmostEqual(one, other, places=places, msg=msg, delta=delta)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        import re
        try:
            yield
        except exception_type as error:
            if callable(expected_err_re_or_predicate):
                matches = expected_err_re_or_predicate(error)
            else:
                text = error.message if isinstance(error, errors.OpError) else str(error)
                matches = re.search(expected_err_re_or_predicate, text)
            self.assertTrue(matches, "the error does not match: %s" % error)
        else:
            self.fail("%s not raised" % exception_type.__name__)

    def assertRaisesOpError(self, expected_err_re_or_predicate):
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


def main(argv=None):
    """Runs the tests of the program."""
    from . import flags
    unittest.main(argv=flags.FLAGS(argv or sys.argv, known_only=True))
