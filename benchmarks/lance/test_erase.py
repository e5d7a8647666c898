"""What erase.py deletes. Run by the interpreter of the environment: python -m unittest discover lance."""

import tempfile
import unittest

import erase
import pyarrow as pa
import pyarrow.parquet as pq


class Filters(unittest.TestCase):
    def test_ranges_across_fragments(self):
        fragments = [(0, 10), (3, 10)]
        self.assertEqual(erase.filter_of(fragments, [(2, 5)]), "(_rowid >= 2 AND _rowid < 5)")
        second = 3 << 32
        expected = f"(_rowid >= {second} AND _rowid < {second + 2}) OR _rowid IN (9)"
        self.assertEqual(erase.filter_of(fragments, [(9, 12)]), expected)
        self.assertEqual(erase.filter_of(fragments, [(1, 2), (13, 14)]), f"_rowid IN (1, {second + 3})")


class Erase(unittest.TestCase):
    def test_rows_are_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            parquet = f"{folder}/t.parquet"
            pq.write_table(pa.table({"x": list(range(1000))}), parquet)
            request = {
                "parquet": parquet,
                "folder": folder,
                "cases": [[[10, 20]], [[1, 2], [500, 501]]],
                "repetitions": 2,
                "budget_seconds": 60,
            }
            found = erase.answer(request)
            self.assertEqual(len(found["cases"]), 2)
            for case in found["cases"]:
                self.assertGreater(case["seconds"], 0)
                self.assertGreater(case["bytes_written"], 0)
            self.assertGreater(found["file_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
