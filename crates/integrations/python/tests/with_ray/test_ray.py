"""Files as datasets of Ray Data, and the other way round."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import ray
from bits import assert_same
from ray.data._internal.arrow_block import _BATCH_SIZE_PRESERVING_STUB_COL_NAME
from ray.data._internal.logical.operators import Filter, Read
from ray.data._internal.logical.optimizers import LogicalOptimizer
from ray.data.datatype import DataType
from ray.data.expressions import col, lit, udf

import tarsia
import tarsia.ray

ROWS = 60_000


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context.execution_options.preserve_order = True
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    draw = random.Random(7)
    numbers = [draw.choice([None, 0.0, -0.0, 1.5, float("nan"), 7.25]) for _ in range(ROWS)]
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "text": pa.array([draw.choice([None, "", "a", "b%"]) for _ in range(ROWS)]),
            "number": pa.array(numbers, pa.float64()),
            "place": [{"city": f"c{row % 5}", "street": row} for row in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ray")
    for number, (start, end) in enumerate([(0, 40_000), (40_000, 40_001), (40_001, ROWS)]):
        tarsia.write(table.slice(start, end - start), folder / f"part-{number}.tarsia", page_bytes=1 << 14)
    return folder


@udf(return_dtype=DataType.bool())
def is_small(numbers: pa.Array) -> pa.Array:
    return pc.less(numbers, 5)


def rows_of(dataset: Any) -> pa.Table:
    tables = [block for block in ray.get(dataset.to_arrow_refs()) if block.num_rows]
    return pa.concat_tables(tables).combine_chunks() if tables else pa.table({})


def sorted_by_id(table: pa.Table) -> pa.Table:
    return table.sort_by("id").combine_chunks()


def is_pushed(dataset: Any) -> bool:
    """Whether no filter of Ray is left above what the source reads."""
    node = LogicalOptimizer().optimize(dataset._logical_plan).dag
    while not isinstance(node, Read):
        if isinstance(node, Filter):
            return False
        (node,) = node.input_dependencies
    return node.datasource.get_current_predicate() is not None


def test_all_rows(folder: Path, table: pa.Table) -> None:
    dataset = tarsia.ray.read(folder)
    assert dataset.schema().names == table.column_names
    assert dataset.count() == ROWS
    assert_same(sorted_by_id(rows_of(dataset)), table)
    assert [row["id"] for row in dataset.take(3)] == [0, 1, 2]
    assert dataset.limit(7).count() == 7


@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 1000])
def test_tasks_read_ranges_of_rows(folder: Path, wanted: int) -> None:
    source = tarsia.ray.TarsiaDatasource(folder)
    tasks = source.get_read_tasks(wanted)
    read = [sum(block.num_rows for block in task()) for task in tasks]
    assert sum(read) == ROWS and read == [task.metadata.num_rows for task in tasks]
    assert len(tasks) <= max(wanted + 2, 6)
    if wanted == 7:
        assert max(read) < ROWS / 2, "large files are split"
    assert 0.5 < source.estimate_inmemory_data_size() / rows_of(tarsia.ray.read(folder)).nbytes < 2


@pytest.mark.want(15)
def test_columns_and_filters_are_pushed_down(folder: Path, table: pa.Table) -> None:
    dataset = tarsia.ray.read(folder).filter(expr=(col("id") < 10) | (col("text") == "b%")).select_columns(["id"])
    expected = table.filter((pc.field("id") < 10) | (pc.field("text") == "b%")).select(["id"])
    assert is_pushed(dataset)
    assert_same(sorted_by_id(rows_of(dataset)), expected)
    assert dataset.count() == expected.num_rows
    # pyarrow evaluates one part behind the scan.
    dataset = tarsia.ray.read(folder).filter(expr=(col("id") < 50_000) & (col("id") * 2 > 90_000))
    assert is_pushed(dataset)
    assert dataset.count() == 4999
    assert rows_of(dataset.select_columns(["text", "id"])).column_names == ["text", "id"]


@pytest.mark.want(15)
@pytest.mark.want(6)
def test_filters_that_the_scan_has_no_part_of_are_left_to_ray(folder: Path, table: pa.Table) -> None:
    expected = table.filter(pc.field("id") * 2 < 10)
    neither = (col("id") + 1 < 6) | (col("text").str.upper() == "X")
    for expression in (col("id") * 2 < 10, is_small(col("id")), neither):
        dataset = tarsia.ray.read(folder).filter(expr=expression)
        assert not is_pushed(dataset)
        assert dataset.count() == expected.num_rows == 5
    # A part of it can be pushed, of which Ray takes away no more than that.
    dataset = tarsia.ray.read(folder).filter(expr=(col("id") > 2) & is_small(col("id")))
    assert sorted(row["id"] for row in dataset.take_all()) == [3, 4]
    assert tarsia.ray.read(folder).filter(fn=lambda row: row["id"] < 5).count() == 5
    # A column that was not read is not there for Ray, whatever the file has.
    dataset = tarsia.ray.read(folder, columns=["id"]).filter(expr=col("text") == "a")
    with pytest.raises(Exception, match="text"):
        dataset.count()


@pytest.mark.want(15)
@pytest.mark.want(6)
def test_random_filters_are_those_of_pyarrow(folder: Path, table: pa.Table) -> None:
    draw = random.Random(11)
    choose = draw.choice

    def tree(depth: int = 0) -> Any:
        kind = draw.random()
        if depth < 3 and kind < 0.2:
            return ~tree(depth + 1)
        if depth < 3 and kind < 0.6:
            left, right = tree(depth + 1), tree(depth + 1)
            return left & right if kind < 0.4 else left | right
        name, values = choose(
            [("id", [0, 5, 41_000, 10**9]), ("text", ["", "a", "z"]), ("number", [0.0, 1.5, float("inf")])]
        )
        if kind < 0.7:
            return choose([col(name).is_null, col(name).is_not_null])()
        if kind < 0.8 and name != "number":
            return col(name).is_in(values[:2])
        column, value = col(name), lit(choose(values))
        return choose([column == value, column != value, column < value, column <= value, column > value])

    n_pushed = 0
    for _ in range(15):
        expression = tree()
        dataset = tarsia.ray.read(folder).filter(expr=expression)
        expected = table.filter(expression.to_pyarrow())
        found = rows_of(dataset.select_columns(["id"]))
        assert found.num_rows == expected.num_rows, expression
        assert not found.num_rows or sorted_by_id(found)["id"] == expected["id"], expression
        n_pushed += is_pushed(dataset)
    assert n_pushed > 5


def test_arguments_of_a_read(folder: Path, table: pa.Table) -> None:
    first = str(folder / "part-0.tarsia")
    for filter in ("id < 10", pc.field("id") < 10, col("id") < 10):
        dataset = tarsia.ray.read(first, columns=["text", "place.city"], filter=filter)
        assert dataset.schema().names == ["text", "place"]
        assert dataset.count() == 10
        assert dataset.take(1) == [{"text": table["text"][0].as_py(), "place": {"city": "c0"}}]
        assert dataset.select_columns(["place"]).take(1) == [{"place": {"city": "c0"}}]
    both = tarsia.ray.read(first, filter="id < 10").filter(expr=col("id") > 5)
    assert is_pushed(both) and sorted(row["id"] for row in both.take_all()) == [6, 7, 8, 9]
    blocks = tarsia.ray.TarsiaDatasource(first, batch_size=100, filter="id < 1000").get_read_tasks(1)[0]()
    assert [block.num_rows for block in blocks] == [100] * 10
    nothing = tarsia.ray.read(first, filter="id < 0")
    assert nothing.schema().names == table.column_names
    assert nothing.count() == 0 and nothing.take_all() == []


def test_rows_without_columns_are_counted() -> None:
    """The name is one of Ray's own, which it does not promise to keep."""
    assert tarsia.ray._NO_COLUMN == _BATCH_SIZE_PRESERVING_STUB_COL_NAME


def test_deleted_rows_are_left_out(table: pa.Table, tmp_path: Path) -> None:
    tarsia.write(table, tmp_path / "t.tarsia", page_bytes=1 << 14)
    tarsia.erase(tmp_path / "t.tarsia", where="id < 30000", level=1)
    dataset = tarsia.ray.read(tmp_path / "t.tarsia")
    assert dataset.count() == 30_000
    assert dataset.min("id") == 30_000
    tarsia.erase(tmp_path / "t.tarsia", where="id >= 30000", level=1)
    assert tarsia.ray.read(tmp_path / "t.tarsia").count() == 0


def test_what_is_no_source(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tarsia.ray.read(tmp_path / "nothing.tarsia")
    with pytest.raises(tarsia.NoSuchColumn):
        tarsia.ray.read(folder, columns=["nothing"])
    with pytest.raises(tarsia.InvalidFilter):
        tarsia.ray.read(folder, filter="id = ")
    with pytest.raises(tarsia.InvalidFilter, match="filter the dataset instead"):
        tarsia.ray.read(folder, filter=is_small(col("id")))
    with open(folder / "part-0.tarsia", "rb") as file, pytest.raises(tarsia.InvalidInput, match="one process"):
        tarsia.ray.read(file)
    tarsia.write(pa.table({"other": [1]}), tmp_path / "other.tarsia")
    with pytest.raises(tarsia.InvalidInput, match="columns are not those of"):
        tarsia.ray.read([folder / "part-0.tarsia", tmp_path / "other.tarsia"])


def test_a_dataset_becomes_files(folder: Path, table: pa.Table, tmp_path: Path) -> None:
    dataset = tarsia.ray.read(folder)
    files = tarsia.ray.write(dataset, tmp_path / "new" / "files", preset="fast")
    assert len(files) > 1 and len(set(files)) == len(files)
    assert sorted(os.listdir(tmp_path / "new" / "files")) == sorted(os.path.basename(file) for file in files)
    assert_same(sorted_by_id(rows_of(tarsia.ray.read(files))), table)
    assert all(tarsia.open(file).verify() for file in files)
    # A second call adds files.
    more = tarsia.ray.write(dataset.limit(10), tmp_path / "new" / "files", min_rows_per_file=10)
    assert len(more) == 1 and not set(more) & set(files)
    assert tarsia.ray.read(tmp_path / "new" / "files").count() == ROWS + 10


def test_what_fails_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.tarsia").write_bytes(b"of another call")

    def fails(batch: Any) -> Any:
        if batch["id"][0] > 40_000:
            raise RuntimeError("on purpose")
        return batch

    with pytest.raises(Exception, match="on purpose"):
        tarsia.ray.write(tarsia.ray.read(folder).map_batches(fails, batch_size=1000), tmp_path)
    assert os.listdir(tmp_path) == ["kept.tarsia"]
    sink = tarsia.ray.TarsiaDatasink(tmp_path)
    sink.on_write_start()
    sink.on_write_failed(RuntimeError())
    assert os.listdir(tmp_path) == ["kept.tarsia"]
    # A task that still runs finds no folder for its file.
    with pytest.raises(OSError, match="No such file"):
        sink.write([pa.table({"a": [1]})], type("Task", (), {"task_idx": 0})())
    assert os.listdir(tmp_path) == ["kept.tarsia"]


def test_what_is_no_sink(tmp_path: Path) -> None:
    with pytest.raises(tarsia.InvalidInput, match="local or shared folder"):
        tarsia.ray.TarsiaDatasink("s3://bucket/folder")
    with pytest.raises(TypeError, match="no option"):
        tarsia.ray.TarsiaDatasink(tmp_path, speed="fast")
    with pytest.raises(tarsia.InvalidInput):
        tarsia.ray.TarsiaDatasink(tmp_path, min_rows_per_file=0)


def test_blocks_of_several_kinds(tmp_path: Path) -> None:
    """Blocks of pandas, tensors, columns that are null in some blocks; and none at all."""
    tensors = ray.data.from_numpy(np.arange(24, dtype=np.float32).reshape(4, 2, 3))
    (file,) = tarsia.ray.write(tensors, tmp_path / "tensors")
    found = tarsia.ray.read(file).take_all()
    assert [row["data"].tolist() for row in found] == np.arange(24.0).reshape(4, 2, 3).tolist()
    mixed = ray.data.from_arrow([pa.table({"a": pa.nulls(2), "b": [1, 2]}), pa.table({"b": [3], "a": ["x"]})])
    files = tarsia.ray.write(mixed.repartition(1), tmp_path / "mixed")
    assert tarsia.ray.read(files).take_all() == [{"a": None, "b": 1}, {"a": None, "b": 2}, {"a": "x", "b": 3}]
    assert tarsia.ray.write(mixed.filter(expr=col("b") > 9), tmp_path / "none") == []
