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

    def test_lists_count_offsets_and_the_items_they_refer_to(self):
        # Offsets 2, 2, 3: the first byte of the line and the last byte, which is zero; the item twice, as first and last.
        for make in (pa.list_, pa.large_list):
            lists = pa.array([[1, 2], [], [3]], make(pa.uint8()))
            self.assertEqual(worker.touch_array(lists.slice(1, 2)), 2 + 2 * 3)
            self.assertEqual(worker.touch_array(lists.slice(1, 1)), 2)
        lists = pa.array([[[1, 2]], [[7], []]], pa.list_(pa.list_(pa.uint8())))
        # Offsets 1, 3; below them 2, 3, 3; the item.
        self.assertEqual(worker.touch_array(lists.slice(1, 1)), 1 + 2 + 2 * 7)

    def test_fixed_size_lists_are_their_items(self):
        lists = pa.array([[1, 2], None, [5, 6]], pa.list_(pa.uint8(), 2))
        # Bits of the rows and of the items, which are null there too; the first item and the last.
        self.assertEqual(worker.touch_array(lists), 2 * 0b101 + 2 * 0b110011 + 1 + 6)
        self.assertEqual(worker.touch_array(lists.slice(2, 1)), 2 * 0b101 + 2 * 0b110011 + 5 + 6)
        values = np.zeros(1024, np.float32)
        values.view(np.uint8)[64 * 20] = 9
        self.assertEqual(worker.touch_array(pa.FixedSizeListArray.from_arrays(values, 512)), 9)

    def test_structs_are_their_fields(self):
        fields = [pa.array([1, 2, 3], pa.uint8()), pa.array(["a", "b", "c"])]
        structs = pa.StructArray.from_arrays(fields, ["number", "text"])
        self.assertEqual(worker.touch_array(structs.slice(1, 1)), 2 * 2 + 1 + 2 * ord("b"))
        # Lists of structs, as which maps are stored.
        maps = pa.array([[(1, 2)], [(3, 4)]], pa.map_(pa.uint8(), pa.uint8()))
        self.assertEqual(worker.touch_array(maps.slice(1, 1)), 1 + 2 * 3 + 2 * 4)

    def test_strings_of_lists(self):
        lists = pa.array([["x" * 100], None, ["y" * 64, None]], pa.list_(pa.string()))
        # Bits of the row; offsets 1, 3; bits of the items, of which the first is valid; offsets 100, 164, 164; a line.
        expected = 2 * 0b101 + 1 + 2 * 0b011 + 100 + 2 * ord("y")
        self.assertEqual(worker.touch_array(lists.slice(2, 1)), expected)


class Same(unittest.TestCase):
    def check(self, written, found):
        worker.same(pa.table({"a": written}), pa.table({"a": found}), "scan")

    def test_floats_are_compared_by_their_bits(self):
        nan = pa.array([float("nan"), 0.0])
        self.check(nan, nan)
        with self.assertRaisesRegex(ValueError, "scan: a has other values"):
            self.check(nan, pa.array([float("nan"), -0.0]))

    def test_floats_below_lists_and_structs_too(self):
        for data_type, values in (
            (pa.list_(pa.float32()), lambda zero: [[float("nan"), 1.0], [], None, [zero]]),
            (pa.large_list(pa.float32()), lambda zero: [[1.0], [zero]]),
            (pa.list_(pa.float32(), 2), lambda zero: [[1.0, 2.0], None, [zero, 3.0]]),
            (pa.list_(pa.list_(pa.float64(), 1)), lambda zero: [[[zero]], None, [[1.0], [2.0]]]),
            (pa.struct({"a": pa.float64()}), lambda zero: [{"a": zero}, None]),
            (pa.map_(pa.int8(), pa.float64()), lambda zero: [[(1, zero)], None]),
        ):
            written, other = (pa.array(values(zero), data_type) for zero in (0.0, -0.0))
            self.check(written, written)
            with self.assertRaisesRegex(ValueError, "other values"):
                self.check(written, other)

    def test_shapes_count(self):
        lists = pa.list_(pa.int64())
        written = pa.array([[1, 2], [], None, [3]], lists)
        self.check(pa.array([[9], [1, 2], [], None, [3]], lists).slice(1), written)
        for other in ([[1], [2], None, [3]], [[1, 2], None, None, [3]], [[1, 2], [], None, [None]], [[1, 2], [], None]):
            with self.assertRaisesRegex(ValueError, "other values"):
                self.check(written, pa.array(other, lists))
        # What is under a null is nobody's value.
        hidden = pa.FixedSizeListArray.from_arrays(pa.array([1, 2, 3, 4]), 2, mask=pa.array([False, True]))
        self.check(pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), hidden)

    def test_types_count(self):
        with self.assertRaisesRegex(ValueError, "scan: a is int32, not int64"):
            self.check(pa.array([1], pa.int64()), pa.array([1], pa.int32()))


if __name__ == "__main__":
    unittest.main()
