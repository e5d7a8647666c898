"""Filters: random ones in three languages, against what their libraries say."""

from __future__ import annotations

import datetime as dt
import functools
import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bits import assert_same

import tarsia

ROWS = 5000
NAN = float("nan")
FLOATS = [0.0, -0.0, 1.5, -2.25, 1e300, -math.inf, math.inf, NAN, 0.1]
WORDS = ["", "a", "ab", "a%b", "a_b", "a\\b", "Æ", "zz", "x'y"]
DAYS = [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29)]
MOMENTS = [dt.datetime(1969, 1, 1), dt.datetime(2024, 2, 29, 1, 2, 3, 4)]

#: Rows that a function of Python knows.
FIRST = range(7)

IS_UNKNOWN = pa.scalar(None, pa.bool_())

#: Comparisons as pyarrow names them.
FUNCTIONS = {"=": "equal", "<>": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}

#: Whole numbers by column, with the ends of their types.
NUMBERS = {
    "i8": (pa.int8(), [-128, -1, 0, 1, 5, 127]),
    "u8": (pa.uint8(), [0, 1, 5, 255]),
    "i64": (pa.int64(), [-(2**63), -(2**53) - 1, 0, 5, 2**53 + 1, 2**63 - 1]),
    "u64": (pa.uint64(), [0, 5, 2**53 + 1, 2**64 - 1]),
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Columns of many types, with nulls and every value that is easily misunderstood."""
    draw = random.Random(3)

    def column(of: pa.DataType, values: list[Any]) -> pa.Array:
        return pa.array([draw.choice([None, *values]) for _ in range(ROWS)], of)

    columns = {name: column(of, values) for name, (of, values) in NUMBERS.items()}
    columns |= {
        "rising": pa.array(range(ROWS), pa.int32()),
        "f32": column(pa.float32(), FLOATS[:4] + FLOATS[5:]),
        "f64": column(pa.float64(), FLOATS),
        "word": column(pa.string(), WORDS),
        "large": column(pa.large_string(), WORDS),
        "bytes": column(pa.binary(), [word.encode() for word in WORDS]),
        "flag": column(pa.bool_(), [True, False]),
        "day": column(pa.date32(), DAYS),
        "moment": column(pa.timestamp("us"), MOMENTS),
        "zoned": column(pa.timestamp("us", "UTC"), [moment.replace(tzinfo=dt.UTC) for moment in MOMENTS]),
        "code": column(pa.string(), WORDS[:3]).dictionary_encode(),
        "nested": pa.array([draw.choice([None, {"n": None}, {"n": 1}, {"n": 2}]) for _ in range(ROWS)]),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def file(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> tarsia.File:
    path = tmp_path_factory.mktemp("filters") / "t.tarsia"
    # Small pages, so that a filter meets many blocks.
    columns = {name: {"bloom": True} for name in ("i8", "u64", "word", "bytes", "day", "code", "nested")}
    tarsia.write(table, path, page_bytes=1 << 14, columns=columns)
    return tarsia.open(path)


class Draw:
    """Random conditions, as trees that are said in several languages."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def tree(self, leaf: Any, depth: int = 0) -> tuple[Any, ...]:
        kind = self.random.random()
        if depth == 4 or kind < 0.4:
            return leaf()
        if kind < 0.55:
            return ("not", self.tree(leaf, depth + 1))
        operator = "and" if kind < 0.8 else "or"
        return (operator, self.tree(leaf, depth + 1), self.tree(leaf, depth + 1))

    def operator(self) -> str:
        return self.random.choice(["=", "<>", "<", "<=", ">", ">="])

    def leaf(self) -> tuple[Any, ...]:
        """A comparison, or what else libraries know."""
        choose = self.random.choice
        name = choose(["i8", "u8", "i64", "u64", "f32", "f64", "word", "large", "bytes", "flag", "day", "moment"])
        kind = self.random.random()
        if kind < 0.1:
            return ("null", name)
        if name == "flag":
            return ("flag", name)
        values: list[Any] = {
            **{name: values for name, (_, values) in NUMBERS.items()},
            "f32": FLOATS,
            "f64": FLOATS,
            "word": WORDS,
            "large": WORDS,
            "bytes": [word.encode() for word in WORDS],
            "day": DAYS,
            "moment": MOMENTS,
        }[name]
        if name in ("word", "large") and kind < 0.3:
            return ("starts", name, choose(WORDS))
        if name in ("i8", "i64", "word", "bytes") and kind < 0.5:
            return ("in", name, self.random.sample(values, 2))
        if name == "i8" and kind < 0.7:
            # No value of the type, or none of a whole number.
            return ("compare", name, self.operator(), choose([300, -129, 2.5, 5.0, NAN]))
        return ("compare", name, self.operator(), choose(values))


def in_pyarrow(tree: tuple[Any, ...]) -> pc.Expression:
    kind, *rest = tree
    if kind == "not":
        return ~in_pyarrow(rest[0])
    if kind in ("and", "or"):
        left, right = map(in_pyarrow, rest)
        return left & right if kind == "and" else left | right
    field = pc.field(rest[0])
    if kind == "null":
        return field.is_null()
    if kind == "flag":
        return field
    if kind == "starts":
        return pc.starts_with(field, rest[1])
    if kind == "in":
        return field.isin(rest[1])
    _, operator, value = rest
    if rest[0] == "u64" and isinstance(value, int):
        value = pa.scalar(value, pa.uint64())
    return getattr(pc, FUNCTIONS[operator])(field, value)


def in_polars(tree: tuple[Any, ...]) -> Any:
    import polars as pl

    kind, *rest = tree
    if kind == "not":
        return ~in_polars(rest[0])
    if kind in ("and", "or"):
        left, right = map(in_polars, rest)
        return left & right if kind == "and" else left | right
    column = pl.col(rest[0])
    if kind == "null":
        return column.is_null()
    if kind == "flag":
        return column
    if kind == "starts":
        return column.str.starts_with(rest[1])
    if kind == "in":
        return column.is_in(rest[1])
    _, operator, value = rest
    method = {"=": "eq", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[operator]
    return getattr(column, method)(value)


def in_sql(tree: tuple[Any, ...]) -> str:
    kind, *rest = tree
    if kind == "not":
        return f"NOT ({in_sql(rest[0])})"
    if kind in ("and", "or"):
        return f"({in_sql(rest[0])} {kind.upper()} {in_sql(rest[1])})"
    name = rest[0]
    if kind == "null":
        return f"{name} IS NULL"
    if kind == "flag":
        return name
    if kind == "starts":
        pattern = rest[1].replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"{name} LIKE {sql_literal(pattern + '%')} ESCAPE '\\'"
    if kind == "in":
        return f"{name} IN ({', '.join(map(sql_literal, rest[1]))})"
    return f"{name} {rest[1]} {sql_literal(rest[2])}"


def sql_literal(value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, (str, dt.date)):
        return "'" + str(value).replace("'", "''") + "'"
    return repr(value)


def sql_truth(tree: tuple[Any, ...], table: pa.Table) -> pa.Array:
    """What a condition of SQL is for each row, by kernels of pyarrow."""
    kind, *rest = tree
    if kind == "not":
        return pc.invert(sql_truth(rest[0], table))
    if kind in ("and", "or"):
        left, right = (sql_truth(part, table) for part in rest)
        return pc.and_kleene(left, right) if kind == "and" else pc.or_kleene(left, right)
    column = table.column(rest[0]).combine_chunks()
    if kind == "null":
        return column.is_null()
    if kind == "flag":
        return column
    if kind == "starts":
        return pc.starts_with(column, rest[1])
    if kind == "in":
        found = pc.is_in(column, pa.array(rest[1], column.type))
        return pc.if_else(column.is_valid(), found, pa.scalar(None, pa.bool_()))
    value = rest[2]
    if pa.types.is_floating(column.type):
        column, value = total_order(column), total_order(pa.array([value], column.type))[0]
    else:
        value = pa.scalar(value, column.type)
    return getattr(pc, FUNCTIONS[rest[1]])(column, value)


def total_order(floats: pa.Array) -> pa.Array:
    """Integers in the order that IEEE 754 gives floating-point numbers."""
    bits = floats.type.bit_width
    kind = {32: np.int32, 64: np.int64}[bits]
    raw = np.asarray(floats.view(pa.from_numpy_dtype(kind)).fill_null(0))
    keys = raw ^ ((raw >> (bits - 1)) & np.iinfo(kind).max)
    return pa.array(keys, mask=~np.asarray(floats.is_valid()))


def check(file: tarsia.File, filter: Any, expected: pa.Table) -> None:
    found = file.scan(filter=filter).to_pyarrow()
    assert found.column("rising").equals(expected.column("rising")), filter
    assert file.count(filter) == expected.num_rows, filter


@pytest.mark.want(6)
def test_random_expressions_of_pyarrow(file: tarsia.File, table: pa.Table, pytestconfig: pytest.Config) -> None:
    draw = Draw(pytestconfig.getoption("seed"))
    n_pushed = n_behind = 0
    for _ in range(pytestconfig.getoption("filters")):
        expression = in_pyarrow(draw.tree(draw.leaf))
        try:
            expected = table.filter(expression)
        except pa.ArrowInvalid:
            # Numbers that pyarrow cannot cast; the scan may know better.
            continue
        check(file, expression, expected)
        explained = file.explain(expression)
        n_pushed += explained["pushed"] is not None
        n_behind += explained["behind"] is not None
    assert n_pushed > 0 and n_behind > 0


@pytest.mark.want(4)
@pytest.mark.want(6)
def test_random_expressions_of_polars(file: tarsia.File, table: pa.Table, pytestconfig: pytest.Config) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(table.drop_columns(["nested"]))
    draw = Draw(pytestconfig.getoption("seed") + 1)
    n_pushed = n_behind = 0
    for _ in range(pytestconfig.getoption("filters")):
        expression = in_polars(draw.tree(draw.leaf))
        try:
            expected = frame.filter(expression)
        except polars.exceptions.PolarsError:
            continue
        check(file, expression, expected.to_arrow())
        explained = file.explain(expression)
        n_pushed += explained["pushed"] is not None
        n_behind += explained["behind"] is not None
    assert n_pushed > 0 and n_behind > 0


@pytest.mark.want(6)
def test_random_conditions_of_sql(file: tarsia.File, table: pa.Table, pytestconfig: pytest.Config) -> None:
    draw = Draw(pytestconfig.getoption("seed") + 2)

    def leaf() -> tuple[Any, ...]:
        while True:
            found = draw.leaf()
            value = found[-1]
            is_held = found[0] != "compare" or found[1] != "i8" or value in NUMBERS["i8"][1]
            is_number = not isinstance(value, float) or math.isfinite(value)
            # The scan compares with the number as it is written, whether or not the type holds it.
            is_held = is_held and not (found[1] == "f32" and value in (0.1, 1e300))
            if is_held and is_number:
                return found

    for _ in range(pytestconfig.getoption("filters")):
        tree = draw.tree(leaf)
        expected = table.filter(sql_truth(tree, table))
        check(file, in_sql(tree), expected)


@pytest.mark.want(6)
@pytest.mark.parametrize(
    ("expression", "is_pushed", "is_behind"),
    [
        (pc.field("rising") < 10, True, False),
        (pc.scalar(10) > pc.field("rising"), True, False),
        (pc.field("rising") + 1 < 10, False, True),
        ((pc.field("rising") < 10) & (pc.field("i8") > pc.field("u8")), True, True),
        (pc.field("word").isin(["a", None]), True, False),
        (pc.field("word").isin(pa.array([], pa.string())), True, False),
        (pc.field("f64").isin([0.0]), False, True),
        (pc.field("f64") == 0.0, True, False),
        (pc.field("f64").is_nan(), False, True),
        (pc.field("f32") == 0.1, False, True),
        (pc.field("day") == pa.scalar(DAYS[1]), True, False),
        (pc.field("zoned") == pa.scalar(MOMENTS[1].replace(tzinfo=dt.UTC)), True, False),
        (pc.field("code") == "a", False, True),
        (pc.field("nested", "n") == 1, False, True),
        (pc.field("word") == pa.scalar(None, pa.string()), False, True),
        (pc.starts_with(pc.field("word"), "A", ignore_case=True), False, True),
        (pc.match_substring(pc.field("word"), "%"), True, False),
        (pc.ends_with(pc.field("word"), "\\b"), True, False),
        (pc.if_else(pc.field("flag"), True, None), False, True),
        (pc.if_else(pc.field("word").is_valid(), pc.field("word").isin(["a"]), IS_UNKNOWN), True, False),
        (~pc.if_else(pc.field("i8").is_valid(), pc.field("i8").isin([5, 127]), IS_UNKNOWN), True, False),
        (~pc.if_else(pc.field("i8").is_valid(), pc.field("i64").isin([5, 127]), IS_UNKNOWN), False, True),
        (~pc.if_else(pc.field("i8").is_valid(), pc.field("i8").isin([5, None]), IS_UNKNOWN), False, True),
        (~pc.if_else(pc.field("i8").is_valid(), pc.field("i8").isin([5]), False), False, True),
        (pc.scalar(True), False, True),
        (pc.scalar(False), False, True),
    ],
    ids=str,
)
def test_parts_of_expressions(
    expression: pc.Expression, is_pushed: bool, is_behind: bool, file: tarsia.File, table: pa.Table
) -> None:
    check(file, expression, table.filter(expression))
    explained = file.explain(expression)
    assert (explained["pushed"] is not None, explained["behind"] is not None) == (is_pushed, is_behind), explained
    assert explained["language"] == "pyarrow"


@pytest.mark.want(6)
@pytest.mark.parametrize("which", ["mean", "order", "other column", "part", "function"])
def test_expressions_of_polars_that_look_at_several_rows_are_refused(which: str, file: tarsia.File) -> None:
    polars = pytest.importorskip("polars")
    column = polars.col("rising")
    expression = {
        "mean": column > column.mean(),
        "order": column.cum_sum() < 100,
        "other column": column.cast(polars.Int64).is_in(polars.col("i64").implode()),
        "part": (column < 100) & (polars.col("i8") == polars.col("i8").max()),
        "function": column.map_batches(lambda rows: rows == rows.max(), return_dtype=polars.Boolean),
    }[which]
    with pytest.raises(tarsia.InvalidFilter, match="other rows"):
        file.scan(filter=expression)
    assert file.count(polars.lit(value=True)) == ROWS
    is_first = column.map_elements(FIRST.__contains__, return_dtype=polars.Boolean)
    assert file.count(is_first) == len(FIRST)


def test_statistics_rule_rows_out(file: tarsia.File) -> None:
    explained = file.explain("rising < 10")
    assert explained["rows"] == ROWS
    assert explained["rows_looked_at"] < ROWS
    assert explained["pushed"] == "rising < 10"
    assert file.scan().explain()["rows_looked_at"] == ROWS


def test_a_split_filter_with_columns_rows_and_a_limit(file: tarsia.File, table: pa.Table) -> None:
    expression = (pc.field("i8") + 0 > 0) & (pc.field("rising") > 7)
    scan = file.scan(["word", "nested.n"], expression, range(10, 4000), limit=100, row_numbers=True)
    found = scan.to_pyarrow()
    expected = table.slice(10, 3990).filter(expression).slice(0, 100)
    assert found.column("word").equals(expected.column("word"))
    assert found.column(tarsia.ROW_NUMBER).to_pylist() == expected.column("rising").to_pylist()
    assert scan.count() == 100
    assert_same(pa.table(scan), found)
    assert sum(batch.num_rows for batch in scan) == 100
    chosen = file.scan(["word"], expression, [1, 8, 9, 4000]).to_pyarrow()
    assert_same(chosen, table.take([1, 8, 9, 4000]).filter(expression).select(["word"]).combine_chunks())


def test_an_expression_with_windows(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, numbers: pa.Table) -> None:
    monkeypatch.setattr("tarsia._scan._WINDOW_ROWS", 7001)
    tarsia.write(numbers, tmp_path / "t.tarsia")
    file = tarsia.open(tmp_path / "t.tarsia")
    expression = pc.field("id") % 3 == 0 if hasattr(pc.Expression, "__mod__") else pc.field("id") * 1 < 50_000
    expected = numbers.filter(expression)
    assert_same(file.scan(filter=expression).to_pyarrow().combine_chunks(), expected.combine_chunks())
    assert file.count(expression) == expected.num_rows


@pytest.mark.parametrize("operator", ["and", "or"])
@pytest.mark.parametrize("is_right", [False, True])
def test_thousands_of_joined_conditions(operator: str, is_right: bool, file: tarsia.File, table: pa.Table) -> None:
    polars = pytest.importorskip("polars")
    join = {"and": lambda one, other: one & other, "or": lambda one, other: one | other}[operator]

    def joined(column: Any) -> Any:
        parts = [column != number if operator == "and" else column == number for number in range(0, 4000, 2)]
        if is_right:
            return functools.reduce(lambda one, other: join(other, one), reversed(parts))
        return functools.reduce(join, parts)

    expression = joined(pc.field("rising"))
    numbers = range(0, 4000, 2) if operator == "or" else [*range(1, 4000, 2), *range(4000, ROWS)]
    check(file, expression, table.take(list(numbers)))
    assert file.count(joined(polars.col("rising"))) == len(numbers)


def test_hundreds_of_conditions_inside_of_others(file: tarsia.File, table: pa.Table) -> None:
    polars = pytest.importorskip("polars")

    def nested(column: Any, least: Any) -> Any:
        expression = column == 0
        for number in range(1, 300):
            expression = ((column == number) | expression) & least
        return expression

    rows = table.take(list(range(300)))
    check(file, nested(pc.field("rising"), pc.field("rising") >= 0), rows)
    assert file.count(nested(polars.col("rising"), polars.col("rising") >= 0)) == 300


def test_long_expressions_are_explained(written: Any) -> None:
    file = written(pa.table({"s": ["æ" * 200, "b"]}))
    for shift in range(4):
        expression = pc.utf8_upper(pc.field("s")) == "x" * shift + "Æ" * 200
        assert "utf8_upper" in file.explain(expression)["behind"]
        assert file.count(expression) == (shift == 0)


def test_a_column_has_the_name_of_row_numbers(written: Any) -> None:
    table = pa.table({tarsia.ROW_NUMBER: [7, 8, 9], tarsia.ROW_NUMBER + "_": [1, 0, 1]})
    file = written(table)
    expression = (pc.field(tarsia.ROW_NUMBER) + pc.field(tarsia.ROW_NUMBER + "_")) > 8
    assert file.explain(expression)["behind"] is not None
    assert_same(file.scan(filter=expression).to_pyarrow().combine_chunks(), table.filter(expression).combine_chunks())


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("id = ", tarsia.InvalidFilter),
        ("nothing = 1", tarsia.NoSuchColumn),
        (pc.field("nothing") == 1, tarsia.NoSuchColumn),
        (pc.utf8_upper(pc.field("nothing")) == "A", tarsia.NoSuchColumn),
        ("id = 'a'", tarsia.InvalidFilter),
        ("lower(text) = 'a'", tarsia.InvalidFilter),
        ("id = 1; DROP TABLE t", tarsia.InvalidFilter),
        (5, TypeError),
        (b"id = 1", TypeError),
        (lambda row: True, TypeError),
        (pa.array([True]), TypeError),
    ],
    ids=str,
)
def test_filters_that_are_none(text: Any, error: type[Exception], written: Any, numbers: pa.Table) -> None:
    file = written(numbers)
    with pytest.raises(error):
        file.scan(filter=text).read_all()


@pytest.mark.want(5)
def test_filters_on_texts_of_every_layout(written: Any) -> None:
    words = ["a", None, "b", "ab"]
    for of in (pa.string(), pa.large_string(), pa.string_view()):
        file = written(pa.table({"s": pa.array(words, of)}))
        for views in (False, True):
            opened = tarsia.open(file._source, views=views)
            for filter in ("s = 'a'", pc.field("s") == "a", pc.field("s").isin(["a"])):
                assert opened.scan(filter=filter).to_pyarrow().column("s").to_pylist() == ["a"]
            assert opened.explain(pc.field("s") == "a")["behind"] is None
