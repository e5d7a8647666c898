"""What worker.py touches and compares. Run by the interpreter of the environment: python -m unittest discover lance."""

import unittest

import numpy as np
import pyarrow as pa
import worker


class Touch(unittest.TestCase):
    def test_every_line_counts(self):
        for line in range(16):
            values = np.zeros(128, np.int64)
            values[line * 8] = 7
            self.assertEqual(worker.touch_array(pa.array(values)), 7)
        values = np.zeros(128, np.int64)
        values[8] = 7
        self.assertEqual(worker.touch_array(pa.array(values).slice(9, 20)), 0)
        self.assertEqual(worker.touch_array(pa.array(values).slice(8, 20)), 7)

    def test_strings_of_a_slice(self):
        strings = pa.array(["a", "bc", "d"])
        # Offsets 3..=4, then the value twice: it is first and last.
        self.assertEqual(worker.touch_array(strings.slice(2, 1)), 3 + 2 * ord("d"))
        wide = pa.array(["x" * 100], pa.large_string())
        self.assertEqual(worker.touch_array(wide), 3 * ord("x"))
        self.assertEqual(worker.touch_array(pa.array(["", ""])), 0)
        self.assertEqual(worker.touch_array(pa.array([True] * 8)), 2 * 255)


class Same(unittest.TestCase):
    def check(self, written, found):
        worker.same(pa.table({"a": written}), pa.table({"a": found}), "scan")

    def test_floats_are_compared_by_their_bits(self):
        nan = pa.array([float("nan"), 0.0])
        self.check(nan, nan)
        with self.assertRaisesRegex(ValueError, "scan: a has other values"):
            self.check(nan, pa.array([float("nan"), -0.0]))

    def test_types_count(self):
        with self.assertRaisesRegex(ValueError, "scan: a is int32, not int64"):
            self.check(pa.array([1], pa.int64()), pa.array([1], pa.int32()))


if __name__ == "__main__":
    unittest.main()
