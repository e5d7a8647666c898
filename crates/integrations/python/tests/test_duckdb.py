"""Files as tables of DuckDB."""

from __future__ import annotations

import datetime as dt
import decimal
import multiprocessing
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pd
import pyarrow.parquet as pq
import pytest
from bits import assert_same
from test_filters import DAYS, FLOATS, MOMENTS, NUMBERS, ROWS, WORDS, Draw, table  # noqa: F401

import tarsia
import tarsia.duckdb

NUMBER = decimal.Decimal
DECIMALS = [NUMBER("-1.50"), NUMBER("0.00"), NUMBER("2.25"), NUMBER("99999999.99")]


@pytest.fixture(scope="module")
def wide(table: pa.Table) -> pa.Table:
    """More types: those of :mod:`test_filters`, and what DuckDB has beside them."""
    draw = random.Random(5)

    def column(of: pa.DataType, values: list[Any]) -> pa.Array:
        return pa.array([draw.choice([None, *values]) for _ in range(ROWS)], of)

    zoned = [moment.replace(tzinfo=dt.UTC) for moment in MOMENTS]
    more = {
        "price": column(pa.decimal128(10, 2), DECIMALS),
        "milli": column(pa.timestamp("ms"), [moment.replace(microsecond=0) for moment in MOMENTS]),
        "berlin": column(pa.timestamp("ms", "Europe/Berlin"), [moment.replace(microsecond=0) for moment in zoned]),
        "clock": column(pa.time64("us"), [dt.time(0), dt.time(12, 30, 1)]),
        "list": column(pa.list_(pa.int32()), [[], [1, None], [2, 3]]),
        "fixed": column(pa.binary(2), [b"ab", b"\x00\xff"]),
    }
    for name, values in more.items():
        table = table.append_column(name, values)
    return table


@pytest.fixture(scope="module")
def path(wide: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("duckdb") / "t.tarsia"
    tarsia.write(wide, path, page_bytes=1 << 14)
    pq.write_table(wide, path.with_suffix(".parquet"))
    return path


@pytest.fixture
def database() -> Any:
    with duckdb.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        yield connection


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What scans are asked for while a test runs, and what they say of it."""
    asked: list[dict[str, Any]] = []
    original = tarsia.File.scan

    def scan(self: tarsia.File, columns: Any = None, filter: Any = None, *rest: Any, **more: Any) -> tarsia.Scan:
        made = original(self, columns, filter, *rest, **more)
        asked.append(made.explain() | {"read": columns})
        return made

    monkeypatch.setattr(tarsia.File, "scan", scan)
    return asked


VALUES: dict[str, list[Any]] = {
    **{name: values for name, (_, values) in NUMBERS.items()},
    "f32": FLOATS,
    "f64": FLOATS,
    "word": WORDS,
    "large": WORDS,
    "code": WORDS[:4],
    "bytes": [word.encode() for word in WORDS],
    "day": DAYS,
    "moment": MOMENTS,
    "milli": MOMENTS,
    "zoned": MOMENTS,
    "berlin": MOMENTS,
    "price": [*DECIMALS, NUMBER("1.555"), 2],
    "clock": [dt.time(0), dt.time(12, 30, 1)],
}


def leaf_of(draw: Draw) -> tuple[Any, ...]:
    """A condition that DuckDB has: of more columns than other languages."""
    choose = draw.random.choice
    kind = draw.random.random()
    if kind < 0.1:
        return ("null", choose([*VALUES, "list", "nested", "flag", "fixed"]))
    if kind < 0.15:
        return ("flag", "flag")
    name = choose(list(VALUES))
    if kind < 0.2:
        return ("compare", "nested.n", draw.operator(), choose([0, 1, 2]))
    if name in ("word", "large", "code") and kind < 0.3:
        return ("starts", name, choose(WORDS))
    if kind < 0.45:
        return ("in", name, draw.random.sample(VALUES[name], 2))
    if kind < 0.5:
        return ("between", name, *draw.random.sample(VALUES[name], 2))
    return ("compare", name, draw.operator(), choose(VALUES[name]))


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"'{value}'::DOUBLE"
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02x}" for byte in value) + "'::BLOB"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value}'"
    if isinstance(value, dt.date):
        return f"DATE '{value}'"
    if isinstance(value, dt.time):
        return f"TIME '{value}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def in_duckdb(tree: tuple[Any, ...]) -> str:
    kind, *rest = tree
    if kind == "not":
        return f"NOT ({in_duckdb(rest[0])})"
    if kind in ("and", "or"):
        return f"({in_duckdb(rest[0])} {kind.upper()} {in_duckdb(rest[1])})"
    name = rest[0]
    if kind == "null":
        return f"{name} IS NULL"
    if kind == "flag":
        return name
    if kind == "starts":
        return f"starts_with({name}, {literal(rest[1])})"
    if kind == "in":
        return f"{name} IN ({', '.join(map(literal, rest[1]))})"
    if kind == "between":
        return f"{name} BETWEEN {literal(rest[1])} AND {literal(rest[2])}"
    return f"{name} {rest[1]} {literal(rest[2])}"


@pytest.mark.want(5)
@pytest.mark.want(6)
def test_random_queries_are_those_of_parquet(
    path: Path, wide: pa.Table, database: Any, scans: list[Any], pytestconfig: pytest.Config
) -> None:
    draw = Draw(pytestconfig.getoption("seed") + 20)
    database.register("ours", tarsia.duckdb.scan(path))
    # DuckDB evaluates every filter on it itself.
    database.register("arrow", wide)
    others = ["arrow", f"'{path.with_suffix('.parquet')}'"]
    n_pushed = 0
    for _ in range(pytestconfig.getoption("filters")):
        condition = in_duckdb(draw.tree(lambda: leaf_of(draw)))
        columns = ", ".join(draw.random.sample(wide.column_names, 3))
        asked = draw.random.choice(
            [
                f"SELECT rising, {columns} FROM {{}} WHERE {condition} ORDER BY rising",
                f"SELECT count(*), count(word), min(i64), max(f64) FROM {{}} WHERE {condition}",
                f"SELECT rising, ({condition}) IS NULL, {condition} FROM {{}} ORDER BY rising",
                f"SELECT i8, count(*), max(day) FROM {{}} WHERE {condition} GROUP BY i8 ORDER BY i8 NULLS FIRST",
                f"SELECT rising FROM {{}} WHERE {condition} ORDER BY rising DESC LIMIT 5",
            ]
        )
        try:
            expected = [database.sql(asked.format(other)).to_arrow_table() for other in others]
        except duckdb.Error:
            continue
        del scans[:]
        found = database.sql(asked.format("ours")).to_arrow_table()
        assert_same(found, expected[0], asked)
        assert [str(row) for row in found.to_pylist()] == [str(row) for row in expected[1].to_pylist()], asked
        # Of a condition that is never true, nothing is read.
        n_pushed += bool(scans) and scans[-1]["pushed"] is not None
    assert n_pushed > pytestconfig.getoption("filters") / 5


@pytest.mark.want(4)
@pytest.mark.parametrize(
    ("condition", "pushed"),
    [
        ("rising < 10", "rising < 10"),
        ("rising = 3 AND starts_with(word, 'a')", "rising = 3"),
        ("rising % 2 = 1", None),
        ("f64 > 1.5", "f64 > 1.5 OR f64 < -inf"),
        ("f32 BETWEEN 0.5 AND 2", "(f32 >= 0.5 OR f32 < -inf) AND (f32 <= 2.0 AND f32 >= -inf)"),
        ("word IN ('a', 'zz')", "word IN ('a', 'zz')"),
        ("NOT (word IN ('a', 'zz'))", "word NOT IN ('a', 'zz')"),
        ("code = 'a'", "code = 'a'"),
        ("i8 IS NOT NULL", "i8 IS NOT NULL"),
        ("price >= 2.25", "price >= 2.25"),
        ("nested.n = 1", None),
        ("word LIKE '%b'", None),
    ],
)
def test_what_duckdb_pushes(
    condition: str, pushed: str | None, path: Path, wide: pa.Table, database: Any, scans: list[Any]
) -> None:
    database.register("ours", tarsia.duckdb.scan(path))
    database.register("arrow", wide)
    del scans[:]
    (found,) = database.sql(f"SELECT count(i64), sum(rising) FROM ours WHERE {condition}").fetchall()
    (asked,) = scans
    assert asked["pushed"] == pushed and asked["behind"] is None
    assert {"i64", "rising"} <= set(asked["read"]) and len(asked["read"]) <= 4
    (expected,) = database.sql(f"SELECT count(i64), sum(rising) FROM arrow WHERE {condition}").fetchall()
    assert found == expected


def test_moments_and_days_are_pushed(path: Path, wide: pa.Table, database: Any, scans: list[Any]) -> None:
    database.register("ours", tarsia.duckdb.scan(path))
    database.register("arrow", wide)
    for name in ("day", "moment", "milli", "zoned", "berlin"):
        kind = {"day": "DATE", "milli": "TIMESTAMP_MS", "zoned": "TIMESTAMPTZ", "berlin": "TIMESTAMPTZ"}
        first, second = (f"'2024-02-29 01:02:0{at}'::{kind.get(name, 'TIMESTAMP')}" for at in (3, 4))
        asked = f"SELECT count(*) FROM {{}} WHERE {name} < {first} OR {name} IN ({first}, {second})"
        del scans[:]
        assert database.sql(asked.format("ours")).fetchall() == database.sql(asked.format("arrow")).fetchall()
        assert scans[0]["pushed"] is not None, name


def test_statistics_rule_rows_out(path: Path, database: Any, scans: list[Any]) -> None:
    ours = tarsia.duckdb.scan(path)
    del scans[:]
    assert database.sql("SELECT count(*) FROM ours WHERE rising < 10").fetchall() == [(10,)]
    assert scans[0]["rows_looked_at"] < ROWS == scans[0]["rows"]
    plan = database.sql("EXPLAIN SELECT word FROM ours WHERE rising < 10").fetchall()[0][1]
    assert '"rising" < 10' in plan and "5,000 rows" not in plan.split("Filters")[0]


def test_all_types_are_those_of_arrow(path: Path, wide: pa.Table, database: Any) -> None:
    ours = tarsia.duckdb.scan(path)
    assert isinstance(ours, pd.Dataset)
    assert_same(database.sql("FROM ours").to_arrow_table(), database.sql("FROM wide").to_arrow_table())


def test_several_files_are_one_table(path: Path, wide: pa.Table, tmp_path: Path, database: Any) -> None:
    for part in range(3):
        tarsia.write(wide.slice(part * 1000, 1000), tmp_path / f"part-{part}.tarsia")
    database.register("ours", tarsia.duckdb.scan(tmp_path / "part-*.tarsia"))
    found = database.sql("SELECT count(*), min(rising), max(rising) FROM ours WHERE rising >= 990").fetchall()
    assert found == [(2010, 990, 2999)]
    assert database.sql("SELECT count(*) FROM ours").fetchall() == [(3000,)]
    tarsia.erase(tmp_path / "part-1.tarsia", where="rising < 1500", level=1)
    assert database.sql("SELECT count(*) FROM ours").fetchall() == [(2500,)]
    assert database.sql("SELECT rising FROM ours LIMIT 1 OFFSET 1000").fetchall() == [(1500,)]
    tarsia.write(pa.table({"rising": ["a"]}), tmp_path / "part-2.tarsia")
    with pytest.raises(Exception, match="columns are not those of"):
        database.sql("SELECT count(rising) FROM ours").fetchall()


def _count(dataset: tarsia.duckdb.Dataset) -> int:
    return duckdb.sql("SELECT count(*) FROM dataset WHERE rising < 10").fetchall()[0][0]


@pytest.mark.want(2)
def test_tables_go_to_other_processes(path: Path) -> None:
    ours = tarsia.duckdb.scan(path)
    assert _count(pickle.loads(pickle.dumps(ours))) == 10
    assert pickle.loads(pickle.dumps(ours.filter(pc.field("rising") < 5))).count_rows() == 5
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_count, [ours]) == [10]


def test_a_dataset_of_pyarrow(path: Path, wide: pa.Table) -> None:
    ours = tarsia.duckdb.scan(path)
    reference = pd.dataset(wide)
    expression = (pc.field("rising") < 100) & (pc.field("word") == "a")
    assert ours.schema == wide.schema and ours.scanner(columns=["day"]).projected_schema.names == ["day"]
    assert_same(ours.to_table(), wide)
    assert ours.to_table(columns=["day"], filter=expression) == reference.to_table(columns=["day"], filter=expression)
    assert ours.head(7, columns=["day"]) == reference.head(7, columns=["day"])
    assert ours.head(0).schema == wide.schema and ours.head(10**9).num_rows == ROWS
    assert ours.take([3, 1]).column("rising").to_pylist() == [3, 1]
    assert ours.count_rows() == ROWS and ours.count_rows(filter=expression) == reference.count_rows(filter=expression)
    assert sum(batch.num_rows for batch in ours.to_batches(batch_size=100)) == ROWS
    assert max(batch.num_rows for batch in ours.to_batches(batch_size=100)) == 100
    assert pa.table(ours).num_rows == ROWS
    small = ours.filter(pc.field("rising") < 5).filter(pc.field("rising") > 1)
    assert small.count_rows() == 3 and small.count_rows(filter=pc.field("rising") == 2) == 1
    assert small.rows() is None and ours.rows() == ROWS
    assert duckdb.sql("SELECT sum(rising) FROM small WHERE rising <> 3").fetchall() == [(6,)]
    assert small.sort_by([("rising", "descending")]).to_table().column("rising").to_pylist() == [4, 3, 2]
    right = pd.dataset(pa.table({"rising": pa.array([2, 9], pa.int32()), "more": ["a", "b"]}))
    with pytest.raises(pa.ArrowInvalid, match="not supported in join"):
        small.join(right, "rising")
    scanner = ours.scanner(columns=["word"], filter=expression)
    assert duckdb.sql("SELECT count(*) FROM scanner").fetchall() == [(ours.count_rows(filter=expression),)]
    assert ours.scanner(["word"], filter=expression).to_table().column_names == ["word"]
    assert ours.files == [str(path)] and ours.format is None


def test_every_method_of_pyarrow_is_replaced() -> None:
    ours, theirs = vars(tarsia.duckdb.Dataset), {**vars(pd.Dataset), **vars(pd.FileSystemDataset)}
    names = {name for name in theirs if not name.startswith("__") and name != "from_paths"}
    assert names <= set(ours), names - set(ours)


def test_code_of_pyarrow_that_looks_behind_the_methods_finds_an_error(path: Path, tmp_path: Path) -> None:
    ours = tarsia.duckdb.scan(path)
    for looks in (
        lambda: pd.Scanner.from_dataset(ours).to_table(),
        lambda: pd.UnionDataset(ours.schema, [ours]).to_table(),
        lambda: pd.dataset(pa.table({"rising": [1]}).cast(pa.schema([("rising", pa.int32())]))).join(ours, "rising"),
    ):
        with pytest.raises((OSError, pa.ArrowInvalid)):
            looks()
    with pytest.raises(OSError, match="is read by its own methods"):
        pd.Scanner.from_dataset(ours).head(1)
    # What asks the object itself, works.
    pd.write_dataset(ours, tmp_path / "new", format="parquet")
    assert pq.read_table(tmp_path / "new").num_rows == ROWS


def test_what_is_refused(path: Path) -> None:
    ours = tarsia.duckdb.scan(path)
    for refused in (ours.get_fragments, lambda: ours.replace_schema(ours.schema)):
        with pytest.raises(tarsia.UnsupportedError):
            refused()
    with pytest.raises(tarsia.UnsupportedError, match="columns are names"):
        ours.to_table(columns={"a": pc.field("i8")})
    with pytest.raises(tarsia.NoSuchColumn):
        ours.to_table(columns=["nothing"])
    with pytest.raises(TypeError):
        ours.filter("i8 < 1")
    with pytest.raises(TypeError):
        ours.filter(pc.field("i8") < 1).to_table(filter="i8 < 1")
    with pytest.raises(tarsia.InvalidInput):
        ours.head(-1)
    with pytest.raises(FileNotFoundError):
        tarsia.duckdb.scan(path.parent / "nothing.tarsia")
    with pytest.raises(tarsia.InvalidInput):
        tarsia.duckdb.scan(path, batch_size=0)


def test_a_duckdb_that_asks_nothing_gives_expressions_of_pyarrow(path: Path) -> None:
    """A DuckDB without that class, for which this is a dataset of pyarrow and nothing else."""
    code = f"""
import duckdb, pickle, sys
kept = sys.modules["duckdb._sources.arrow"]
sys.modules["duckdb._sources.arrow"] = None
import tarsia, tarsia.duckdb
sys.modules["duckdb._sources.arrow"] = kept
from duckdb._sources import Source
ours = tarsia.duckdb.scan({str(path)!r})
assert not isinstance(ours, Source)
asked = []
original = tarsia.File.scan
def scan(self, *given, **named):
    made = original(self, *given, **named)
    asked.append(made.explain()["pushed"])
    return made
tarsia.File.scan = scan
print(duckdb.sql("SELECT count(*) FROM ours WHERE rising < 10").fetchall(), asked[-1])
print(duckdb.sql("SELECT count(*) > 9 FROM ours WHERE word IN ('a', 'zz')").fetchall(), asked[-1])
print(duckdb.sql("SELECT count(*) FROM ours WHERE f64 > 'nan'::DOUBLE").fetchall(), asked[-1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[(10,)] rising < 10", "[(True,)] word IN ('a', 'zz')", "[(0,)] None"], done
