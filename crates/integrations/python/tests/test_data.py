"""The tables of the folder TARSIA_DATA, both ways."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bits import assert_same

FOLDER = os.environ.get("TARSIA_DATA")
TABLES = sorted(Path(FOLDER).glob("*.parquet")) if FOLDER else []


@pytest.mark.skipif(not TABLES, reason="TARSIA_DATA names no folder with Parquet tables")
@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
@pytest.mark.want(13)
def test_a_table_comes_back_bit_by_bit(path: Path, written: Any) -> None:
    table = pq.read_table(path)
    file = written(table, preset="fast")
    assert file.num_rows == table.num_rows
    assert_same(file.to_pyarrow(), table, path.stem)
    chosen = random.Random(path.stem)
    rows = [chosen.randrange(table.num_rows) for _ in range(50)]
    taken = pa.Table.from_batches([file.take(rows).to_pyarrow()])
    assert_same(taken, table.take(rows).combine_chunks(), path.stem)
    some = table.column_names[:: max(1, table.num_columns // 3)]
    middle = range(table.num_rows // 3, table.num_rows // 2)
    part = file.scan(some, rows=middle).to_pyarrow()
    assert_same(part, table.select(some).slice(middle.start, len(middle)), path.stem)
