"""tf.test.TestCase, by itself."""
import numpy as np

import millrace.compat.v1 as tf


class CaseTest(tf.test.TestCase):
    def test_values(self):
        x = tf.constant([1.0, 2.0])
        with self.cached_session() as s:
            self.assertAllClose(s.run(x), [1.0, 2.0])
            self.assertAllEqual(x, [1, 2])
            self.assertAllClose({"a": x, "b": [x]}, {"a": [1, 2], "b": [np.array([1, 2])]})
        with self.test_session():
            self.assertEqual(x.eval().shape, (2,))
        with self.assertRaises(AssertionError):
            self.assertAllClose([1.0], [1.1])
        with self.assertRaisesOpError("You must feed"):
            self.evaluate(tf.placeholder(tf.float32, name="p") + 1)
