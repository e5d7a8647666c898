"""Expressions of polars as filters.

An expression is read as the JSON that polars makes of it. That format is not promised to stay: all of it is checked
here, and whatever is unknown is left to polars.
"""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from . import _tarsia
from ._errors import InvalidFilter, InvalidInput
from ._filter import DEPTH_MAX, Behind, Condition, all_of, said
from ._filter_exact import compare, is_exact, is_text, like_escaped

if TYPE_CHECKING:
    from ._file import File

_COMPARISONS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}

_SWAPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

#: The ends that belong to a range.
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}

_UNITS = {"Milliseconds": ("ms", "tsm:"), "Microseconds": ("us", "tsu:"), "Nanoseconds": ("ns", "tsn:")}


def split(expression: Any, file: File) -> tuple[Condition | None, Behind | None]:
    """What the scan evaluates of an expression, and what is left to polars."""
    if not isinstance(expression, pl.Expr):
        raise TypeError(f"filter is an expression of polars, not {type(expression).__name__}")
    schema = file.schema
    translated = [_condition(part, schema) for part in _conjuncts(_tree_of(expression))]
    pushed = all_of([condition for condition in translated if condition is not None])
    if all(condition is not None for condition in translated):
        return pushed, None
    _refuse_several_rows(expression, file)
    # Selectors, such as all columns of a type, may mean any column.
    names = schema.names
    roots = list(dict.fromkeys(expression.meta.root_names()))
    known = [name for name in roots if name in names]
    is_named = len(known) == len(roots) and not expression.meta.has_multiple_outputs() and known
    return pushed, _Evaluated(expression, known if is_named else names)


def schema_of(file: File) -> pl.Schema:
    """The schema of a file's rows as polars has them; no row is read for it.

    :raises InvalidInput: for several columns of one name, which polars does not have
    """
    names = file.schema.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        text = f"{file._name()}: several columns are named `{twice}`, which polars does not have"
        raise InvalidInput(text, file._name())
    return pl.DataFrame(file.scan(limit=0)).schema


def _refuse_several_rows(expression: Any, file: File) -> None:
    """Refuses expressions that look at several rows at once: rows are read batch by batch, of which each would have
    its own mean, its own order and its own first row.

    :raises InvalidFilter: for such an expression
    """
    source = register_io_source(lambda *_: iter(()), schema=schema_of(file))
    try:
        plan = source.filter(expression).explain()
    except pl.exceptions.PolarsError:
        # What does not suit the columns is said where it is evaluated.
        return
    # polars leaves above a source what the source could not evaluate batch by batch.
    if plan.startswith("FILTER"):
        text = f"{said(expression)}: whether a row passes depends on other rows; collect the rows and filter them by polars"
        raise InvalidFilter(text)


class _Evaluated:
    """An expression that polars evaluates."""

    def __init__(self, expression: Any, columns: list[str]) -> None:
        self.expression = expression
        self.columns = columns

    def passing(self, batch: _tarsia.Batch) -> Any:
        frame = pl.DataFrame(batch)
        # The row numbers are the last column, and none of those that an expression such as `pl.all()` means.
        numbers = frame.to_series(-1)
        found = frame.select(frame.columns[:-1]).select(self.expression)
        if found.width != 1:
            text = f"{said(self.expression)}: {found.width} conditions; join them by `all_horizontal` or `any_horizontal`"
            raise InvalidFilter(text)
        passes = found.to_series()
        if passes.dtype == pl.Null:
            passes = passes.cast(pl.Boolean)
        if passes.dtype != pl.Boolean:
            raise InvalidFilter(f"{said(self.expression)}: of type {passes.dtype}, not true or false")
        if len(passes) == 1:
            # It looks at no column.
            passes = passes.new_from_index(0, len(numbers))
        return numbers.filter(passes)

    def joined(self, passing: list[Any]) -> Any:
        return pl.concat(passing) if passing else pl.Series([], dtype=pl.UInt64)


def _tree_of(expression: Any) -> Any:
    try:
        with warnings.catch_warnings():
            # The format is deprecated for storage, not for a look at it.
            warnings.simplefilter("ignore")
            return json.loads(expression.meta.serialize(format="json"))
    except Exception:
        # Functions of Python, for instance, have no JSON.
        return None


def _one(node: Any, key: str) -> Any:
    """The content of a node of this kind; None for another one."""
    return node[key] if isinstance(node, dict) and len(node) == 1 and key in node else None


def _conjuncts(node: Any) -> list[Any]:
    return _operands(node, "And")


def _operands(node: Any, operator: str) -> list[Any]:
    """What an operator joins, in order, however it is grouped; the node alone, if it is another one."""
    found, left = [], [node]
    while left:
        node = left.pop()
        both = _one(node, "BinaryExpr")
        if both is not None and both.get("op") == operator:
            left += [both["right"], both["left"]]
        else:
            found.append(node)
    return found


def _column(node: Any, schema: _tarsia.Schema) -> tuple[str, str] | None:
    """The name and the format of a column; polars changes what is in dictionaries and nested columns."""
    name = _one(node, "Column")
    kind = schema.column_format(name) if isinstance(name, str) else None
    return (name, kind) if kind is not None else None


def _condition(node: Any, schema: _tarsia.Schema, depth: int = 0) -> Condition | None:
    """The condition that means the same for every value; None if none is known."""
    if depth > DEPTH_MAX:
        return None
    column = _column(node, schema)
    if column is not None:
        return ("compare", column[0], "=", True) if column[1] == "b" else None
    both = _one(node, "BinaryExpr")
    if both is not None:
        return _binary(node, both, schema, depth)
    function = _one(node, "Function")
    if function is None:
        return None
    inputs, name = function.get("input"), function.get("function")
    boolean = _one(name, "Boolean")
    if boolean == "Not":
        part = _condition(inputs[0], schema, depth + 1)
        return ("not", part) if part is not None else None
    column = _column(inputs[0], schema) if inputs else None
    if column is None:
        return None
    if boolean == "IsNull":
        return ("null", column[0])
    if boolean == "IsNotNull":
        return ("not", ("null", column[0]))
    between = _one(boolean, "IsBetween")
    if between is not None and len(inputs) == 3:
        low, high = _CLOSED[between["closed"]]
        ends = [_compared(column, low, inputs[1]), _compared(column, high, inputs[2])]
        return None if None in ends else ("and", ends)
    within = _one(boolean, "IsIn")
    if within is not None and within.get("nulls_equal") is False:
        return _one_of(column, inputs[1])
    return _text_like(_one(name, "StringExpr"), column, inputs)


def _binary(node: Any, both: dict[str, Any], schema: _tarsia.Schema, depth: int) -> Condition | None:
    operator = both.get("op")
    if operator in ("And", "Or"):
        parts = [_condition(operand, schema, depth + 1) for operand in _operands(node, operator)]
        return None if None in parts else (operator.lower(), parts)
    if operator not in _COMPARISONS:
        return None
    left, right, symbol = both["left"], both["right"], _COMPARISONS[operator]
    if "Literal" in left:
        left, right, symbol = right, left, _SWAPPED[symbol]
    column = _column(left, schema)
    return _compared(column, symbol, right) if column is not None else None


def _compared(column: tuple[str, str], operator: str, node: Any) -> Condition | None:
    """The comparison of a column with a literal."""
    name, kind = column
    literal = _one(node, "Literal")
    value = _plain(literal)
    if value is not None:
        return compare(name, kind, operator, value, nan_is_number=True)
    scalar = _one(literal, "Scalar")
    days = _one(scalar, "Date")
    if isinstance(days, int) and kind == "tdD":
        return ("compare", name, operator, pl.Series([days], dtype=pl.Int32).cast(pl.Date))
    time = _one(scalar, "Datetime")
    if isinstance(time, list) and time[2] is None and time[1] in _UNITS:
        unit, format_of_unit = _UNITS[time[1]]
        if kind == format_of_unit:
            return ("compare", name, operator, pl.Series([time[0]]).cast(pl.Datetime(unit)))
    return None


def _plain(literal: Any) -> Any:
    """The value of a literal that Python has as it is; None for others."""
    dynamic = _one(literal, "Dyn")
    for key, kind in (("Int", int), ("Float", float), ("Str", str)):
        value = _one(dynamic, key)
        if isinstance(value, kind):
            return value
    scalar = _one(literal, "Scalar")
    if not isinstance(scalar, dict) or len(scalar) != 1:
        return None
    ((key, value),) = scalar.items()
    if key == "Binary" and isinstance(value, list):
        return bytes(value)
    is_number = key in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
    if is_number and isinstance(value, int):
        return value
    if (key == "Boolean" and isinstance(value, bool)) or (key == "String" and isinstance(value, str)):
        return value
    return value if key == "Float64" and isinstance(value, float) else None


def _one_of(column: tuple[str, str], node: Any) -> Condition | None:
    content = _one(_one(_one(node, "Literal"), "Scalar"), "List")
    if not isinstance(content, list):
        return None
    try:
        values = pl.read_ipc_stream(bytes(content)).to_series().to_list()
    except Exception:
        return None
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    if not all(is_exact(column[1], value) for value in values):
        return None
    return ("in", column[0], values)


def _text_like(function: Any, column: tuple[str, str], inputs: list[Any]) -> Condition | None:
    around = {"StartsWith": ("", "%"), "EndsWith": ("%", "")}
    if not isinstance(function, str) or function not in around or len(inputs) != 2 or not is_text(column[1]):
        return None
    text = _plain(_one(inputs[1], "Literal"))
    if not isinstance(text, str):
        return None
    before, after = around[function]
    return ("like", column[0], before + like_escaped(text) + after)
