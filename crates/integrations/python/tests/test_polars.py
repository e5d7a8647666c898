"""Files as lazy frames of polars."""

from __future__ import annotations

import io
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from test_filters import ROWS, Draw, file, in_polars, table  # noqa: F401

import tarsia
import tarsia.polars

ENGINES = ["in-memory", "streaming"]


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What scans are asked for while a test runs, and what they say of it."""
    asked: list[dict[str, Any]] = []
    original = tarsia.File.scan

    def scan(self: tarsia.File, columns: Any = None, filter: Any = None, *rest: Any, **more: Any) -> tarsia.Scan:
        made = original(self, columns, filter, *rest, **more)
        if more.get("limit") != 0:
            asked.append(made.explain() | {"read": columns, "scan": made})
        return made

    monkeypatch.setattr(tarsia.File, "scan", scan)
    return asked


@pytest.mark.want(4)
@pytest.mark.want(6)
@pytest.mark.parametrize("engine", ENGINES)
def test_random_queries_are_those_of_a_frame(
    engine: Any, file: tarsia.File, table: pa.Table, pytestconfig: pytest.Config
) -> None:
    frame = pl.DataFrame(table)
    lazy = tarsia.polars.scan(file)
    draw = Draw(pytestconfig.getoption("seed") + 10 + ENGINES.index(engine))
    n_checked = 0
    for _ in range(pytestconfig.getoption("filters") // 2):
        expression = in_polars(draw.tree(draw.leaf))
        columns = draw.random.sample(frame.columns, 3)
        start, length = draw.random.choice([(0, 7), (3, 5000), (0, 1), (-20, 10)])

        def asked(of: Any, expression: Any = expression, columns: Any = columns, *, kind: float = 0.0) -> Any:
            if kind < 0.4:
                return of.filter(expression).select(columns)
            if kind < 0.7:
                return of.filter(expression).slice(start, length).select(columns)
            return of.slice(start, length).filter(expression).select(columns)

        kind = draw.random.random()
        try:
            expected = asked(frame, kind=kind)
        except pl.exceptions.PolarsError:
            continue
        found = asked(lazy, kind=kind).collect(engine=engine)
        assert_frame_equal(found, expected, check_exact=True)
        n_checked += 1
    assert n_checked > 10


@pytest.mark.want(4)
@pytest.mark.parametrize("engine", ENGINES)
def test_columns_filters_and_rows_are_pushed_down(engine: Any, file: tarsia.File, scans: list[Any]) -> None:
    lazy = tarsia.polars.scan(file)
    del scans[:]
    found = lazy.filter(pl.col("rising") < 10).select("word").collect(engine=engine)
    assert found.shape == (10, 1)
    (asked,) = scans
    assert asked["pushed"] == "rising < 10" and asked["behind"] is None
    assert asked["read"] == ["rising", "word"]
    assert asked["rows_looked_at"] < ROWS

    del scans[:]
    assert lazy.head(7).filter(pl.col("rising") > 4).select("rising").collect(engine=engine).height == 2
    assert scans[0]["rows"] == 7

    del scans[:]
    both = lazy.filter(pl.col("rising") < 100, pl.col("i8") + 1 > 3).select("f64")
    both.collect(engine=engine)
    assert scans[0]["pushed"] == "rising < 100" and scans[0]["behind"] is not None
    assert "PYTHON[tarsia] SCAN" in both.explain() and "SELECTION" in both.explain()


def test_the_schema_needs_no_rows(file: tarsia.File, table: pa.Table, scans: list[Any]) -> None:
    lazy = tarsia.polars.scan(file)
    assert lazy.collect_schema() == pl.DataFrame(table).schema
    assert all(asked["scan"].explain()["rows"] == ROWS for asked in scans)
    assert len(scans) == 1, "one scan is described, and none runs"
    assert lazy.select(pl.len()).collect().item() == ROWS


def test_the_size_of_batches(file: tarsia.File, monkeypatch: pytest.MonkeyPatch) -> None:
    heights: list[int] = []
    original = tarsia.Scan.__iter__

    def iterated(self: tarsia.Scan) -> Any:
        for batch in original(self):
            heights.append(len(batch))
            yield batch

    monkeypatch.setattr(tarsia.Scan, "__iter__", iterated)
    assert tarsia.polars.scan(file, batch_size=700).collect().height == ROWS
    assert max(heights) <= 700 and sum(heights) == ROWS


@pytest.fixture
def parts(tmp_path: Path) -> pa.Table:
    """Three files of one table."""
    whole = pa.table({"id": range(3000), "text": [f"{row % 7}" for row in range(3000)]})
    for part in range(3):
        tarsia.write(whole.slice(part * 1000, 1000), tmp_path / f"part-{part}.tarsia")
    return whole


@pytest.mark.parametrize("engine", ENGINES)
def test_several_files_are_one_table(engine: Any, parts: pa.Table, tmp_path: Path, scans: list[Any]) -> None:
    names = [str(tmp_path / f"part-{part}.tarsia") for part in range(3)]
    expected = pl.DataFrame(parts)
    for source in (names, tmp_path / "part-*.tarsia", tmp_path, [tarsia.open(names[0]), *names[1:]]):
        lazy = tarsia.polars.scan(source)
        assert_frame_equal(lazy.collect(engine=engine), expected)
    assert lazy.filter(pl.col("id") % 1000 == 3).select("id").collect(engine=engine)["id"].to_list() == [3, 1003, 2003]
    assert_frame_equal(lazy.tail(1500).collect(engine=engine), expected.tail(1500))
    del scans[:]
    assert lazy.head(1001).collect(engine=engine).height == 1001
    assert [asked["rows"] for asked in scans] == [1000, 1]
    reversed_names = tarsia.polars.scan(names[::-1]).collect(engine=engine)
    assert reversed_names["id"][0] == 2000


def test_files_of_other_columns_are_refused(parts: pa.Table, tmp_path: Path) -> None:
    tarsia.write(pa.table({"id": [1.0], "text": ["a"]}), tmp_path / "part-9.tarsia")
    lazy = tarsia.polars.scan(tmp_path / "part-*.tarsia")
    with pytest.raises(tarsia.InvalidInput, match=r"part-9.*columns are not those of .*part-0"):
        lazy.collect()
    assert lazy.head(3000).collect().height == 3000


@pytest.mark.parametrize("engine", ENGINES)
def test_deleted_rows_are_left_out(engine: Any, parts: pa.Table, tmp_path: Path) -> None:
    lazy = tarsia.polars.scan(tmp_path / "part-*.tarsia")
    assert lazy.collect(engine=engine).height == 3000
    # A query that is over keeps no file from being changed.
    tarsia.erase(tmp_path / "part-0.tarsia", where="id < 10 OR id = 500", level=1)
    expected = pl.DataFrame(parts).filter(~((pl.col("id") < 10) | (pl.col("id") == 500)))
    assert_frame_equal(lazy.collect(engine=engine), expected)
    for first in (1, 490, 989, 990, 1500):
        found = lazy.head(first).filter(pl.col("id") % 10 == 0).collect(engine=engine)
        assert_frame_equal(found, expected.head(first).filter(pl.col("id") % 10 == 0))


def _height(lazy: pl.LazyFrame) -> int:
    return lazy.filter(pl.col("rising") < 10).collect().height


@pytest.mark.want(2)
def test_queries_go_to_other_processes(file: tarsia.File, tmp_path: Path) -> None:
    by_path = tarsia.polars.scan(file._source)
    for lazy in (by_path, tarsia.polars.scan(file), tarsia.polars.scan(Path(file._source).read_bytes())):
        assert _height(pickle.loads(pickle.dumps(lazy))) == 10
        assert _height(pl.LazyFrame.deserialize(io.BytesIO(lazy.serialize()))) == 10
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_height, [by_path]) == [10]
    with open(file._source, "rb") as object, pytest.raises(Exception, match="file object cannot be pickled"):
        pickle.dumps(tarsia.polars.scan(object))


def test_what_is_no_file(tmp_path: Path, file: tarsia.File) -> None:
    with pytest.raises(FileNotFoundError):
        tarsia.polars.scan(tmp_path / "nothing.tarsia")
    with pytest.raises(FileNotFoundError, match="no file has such a name"):
        tarsia.polars.scan(tmp_path / "nothing-*.tarsia")
    with pytest.raises(FileNotFoundError, match="no file has such a name"):
        tarsia.polars.scan(tmp_path)
    with pytest.raises(tarsia.InvalidInput, match="one at least"):
        tarsia.polars.scan([])
    with pytest.raises(TypeError):
        tarsia.polars.scan(5)
    with pytest.raises(TypeError):
        tarsia.polars.scan([file, None])
    with pytest.raises(tarsia.InvalidInput, match="takes no options"):
        tarsia.polars.scan(file, threads=1)
    with pytest.raises(tarsia.InvalidInput):
        tarsia.polars.scan(file, batch_size=0)
    with pytest.raises(TypeError, match="no option"):
        tarsia.polars.scan(file._source, thread=1)
    (tmp_path / "text.tarsia").write_text("no file of this format")
    with pytest.raises(tarsia.CorruptError):
        tarsia.polars.scan(tmp_path / "text.tarsia")


def test_a_name_with_signs_of_patterns_is_a_name(tmp_path: Path) -> None:
    tarsia.write(pa.table({"a": [1]}), tmp_path / "a[1]*.tarsia")
    tarsia.write(pa.table({"a": [2]}), tmp_path / "a1.tarsia")
    assert tarsia.polars.scan(tmp_path / "a[1]*.tarsia").collect()["a"].to_list() == [1]
    assert tarsia.polars.scan(tmp_path / "a[1].tarsia").collect()["a"].to_list() == [2]


def test_names_that_polars_reads_as_patterns_are_names(written: Any) -> None:
    made = pa.table({"a": [{"b": 1}, {"b": 2}], "a.b": [10, 20], "^x$": [1, 2], "*": [3, 4], "": [5, 6]})
    lazy = tarsia.polars.scan(written(made))
    for number, name in list(enumerate(made.column_names))[1:]:
        last = made[name][1].as_py()
        assert lazy.filter(pl.nth(number) == last).select(pl.nth(number)).collect().rows() == [(last,)]


def test_columns_of_one_name_are_refused(written: Any) -> None:
    file = written(pa.table([[1], [2]], names=["k", "k"]))
    with pytest.raises(tarsia.InvalidInput, match="several columns are named `k`"):
        tarsia.polars.scan(file)
    with pytest.raises(tarsia.InvalidInput, match="several columns are named `k`"):
        file.scan(filter=pl.col("k") + 1 > 1)


@pytest.mark.want(13)
def test_types_are_those_of_polars(written: Any) -> None:
    made = pl.DataFrame(
        {
            "zone": pl.Series([1, None, 3]).cast(pl.Datetime("ns", "Europe/Berlin")),
            "kind": pl.Series(["a", "b", None], dtype=pl.Categorical),
            "list": [[1, None], None, []],
            "struct": [{"a": 1, "b": [b"x"]}, None, {"a": None, "b": None}],
            "array": pl.Series([[1.0, 2.0], None, [3.0, 4.0]], dtype=pl.Array(pl.Float32, 2)),
            "decimal": pl.Series(["1.50", None, "2.25"]).cast(pl.Decimal(10, 2)),
            "duration": pl.Series([1, None, 3]).cast(pl.Duration("ms")),
            "time": pl.Series([1, None, 3]).cast(pl.Time),
        }
    )
    lazy = tarsia.polars.scan(written(made))
    for engine in ENGINES:
        assert_frame_equal(lazy.collect(engine=engine), made)
        assert_frame_equal(lazy.filter(pl.col("kind") == "b").collect(engine=engine), made[1:2])
        assert_frame_equal(lazy.filter(pl.col("decimal") > 2).collect(engine=engine), made[2:3])
        assert_frame_equal(lazy.filter(pl.col("list").list.len() > 1).collect(engine=engine), made[:1])


@pytest.mark.parametrize(
    "expression",
    [
        pl.any_horizontal(pl.all() == 3),
        pl.sum_horizontal(pl.all()) > 4,
        pl.col("a") > pl.last(),
        pl.nth(-1) > 1,
        pl.lit(value=True),
        pl.lit(value=None, dtype=pl.Boolean) | (pl.col("a") + 0 > 2),
    ],
    ids=str,
)
def test_expressions_of_polars_that_name_no_column(written: Any, expression: pl.Expr) -> None:
    table = pa.table({"a": [1, 2, 3, 4], "b": [0, 0, 9, 0]})
    expected = pl.DataFrame(table).filter(expression)
    found = written(table).scan(filter=expression).to_polars()
    assert found.equals(expected)
    assert written(table).count(expression) == expected.height
    # polars refuses it, too.
    with pytest.raises(tarsia.InvalidFilter):
        written(table).count(pl.all() > 0)


def test_an_expression_that_is_no_condition(file: tarsia.File) -> None:
    with pytest.raises(tarsia.InvalidFilter, match="not true or false"):
        file.count(pl.col("i8") * 2)
    with pytest.raises(tarsia.InvalidFilter, match="not true or false"):
        file.scan(filter=pl.col("word").str.to_uppercase()).read_all()
    assert file.count(pl.lit(None)) == 0
