"""Filters of DuckDB as filters of a scan.

DuckDB 2 offers a source each part of a filter as a tree of comparisons with constants of the column's type. Those that
the scan compares in the same way for every value are accepted; DuckDB evaluates the rest itself.

DuckDB compares floating-point numbers as polars does: NaN equals itself and is above all numbers, and both zeros are
one number.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import _tarsia
from ._errors import Error
from ._filter import Condition
from ._filter_exact import compare, is_exact

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPERATORS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

#: DuckDB's names of types, by the format of the column in Arrow's C interface.
_PLAIN = {
    "b": "BOOLEAN",
    "c": "TINYINT",
    "C": "UTINYINT",
    "s": "SMALLINT",
    "S": "USMALLINT",
    "i": "INTEGER",
    "I": "UINTEGER",
    "l": "BIGINT",
    "L": "UBIGINT",
    "f": "FLOAT",
    "g": "DOUBLE",
    "u": "VARCHAR",
    "U": "VARCHAR",
    "vu": "VARCHAR",
    "z": "BLOB",
    "Z": "BLOB",
    "vz": "BLOB",
}

_SECOND = 1_000_000

#: Naive moments: DuckDB's names, and microseconds of a unit.
_MOMENTS = {"tss:": ("TIMESTAMP_S", _SECOND), "tsm:": ("TIMESTAMP_MS", 1000), "tsu:": ("TIMESTAMP", 1)}

#: Moments with a zone, of which DuckDB gives the microseconds: those of a unit.
_ZONED = {"tss:": _SECOND, "tsm:": 1000, "tsu:": 1}

_EPOCH = dt.datetime(1970, 1, 1)


def translated(node: Any, schema: pa.Schema) -> Condition | None:
    """The condition that means the same for every value; None if none is known.

    :param node: a tree of the module ``duckdb._sources.nodes``
    :param schema: the columns, as the file has them
    """
    try:
        condition = _condition(node, schema)
        if condition is not None:
            # Conditions inside of each other have a limit.
            _tarsia.condition_text(condition)
    except (AttributeError, Error, RecursionError, OverflowError):
        return None
    return condition


def _condition(node: Any, schema: pa.Schema) -> Condition | None:
    kind = type(node).__name__
    if kind == "Binary" and node.op in ("AND", "OR"):
        parts = [_condition(part, schema) for part in _chain(node, node.op)]
        return None if None in parts else (node.op.lower(), parts)
    if kind == "Unary" and node.op == "NOT":
        part = _condition(node.operand, schema)
        return ("not", part) if part is not None else None
    if kind == "Binary" and node.op in _OPERATORS:
        column = _column(node.left, schema)
        return _compared(column, _OPERATORS[node.op], node.right) if column is not None else None
    if kind == "Postfix" and node.op in ("IS NULL", "IS NOT NULL"):
        column = _column(node.operand, schema)
        if column is None:
            return None
        missing: Condition = ("null", column[0])
        return missing if node.op == "IS NULL" else ("not", missing)
    if kind == "In":
        column = _column(node.operand, schema)
        return _one_of(column, node.values) if column is not None else None
    return None


def _chain(node: Any, operator: str) -> list[Any]:
    """The parts of ``a OR b OR c``, which DuckDB nests in each other."""
    parts: list[Any] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if type(current).__name__ == "Binary" and current.op == operator:
            pending += [current.right, current.left]
        else:
            parts.append(current)
    return parts


def _column(node: Any, schema: pa.Schema) -> tuple[str, str, pa.DataType] | None:
    """A column's name, the format and the type of its values. Of nested columns, DuckDB and the scan do not agree on
    which values are null."""
    if type(node).__name__ != "Col" or len(node.parts) != 1:
        return None
    index = schema.get_field_index(node.parts[0])
    if index < 0:
        return None
    of = schema.field(index).type
    if pa.types.is_dictionary(of):
        of = of.value_type
    if pa.types.is_nested(of) or isinstance(of, pa.BaseExtensionType) or pa.types.is_run_end_encoded(of):
        return None
    kind = _tarsia.format_of(pa.field("", of).__arrow_c_schema__())
    return (node.parts[0], kind, of) if kind is not None else None


def _compared(column: tuple[str, str, pa.DataType], operator: str, constant: Any) -> Condition | None:
    name, kind, of = column
    if type(constant).__name__ != "Lit":
        return None
    value = constant.value
    if _PLAIN.get(kind) == constant.type:
        return compare(name, kind, operator, value, nan_is_number=True)
    stored = _stored(kind, of, constant)
    return ("compare", name, operator, stored) if stored is not None else None


def _stored(kind: str, of: pa.DataType, constant: Any) -> pa.Array | None:
    """An array of the constant, of the column's type; None if that type does not hold it."""
    value, type_name = constant.value, constant.type
    if kind == "tdD":
        is_day = type_name == "DATE" and isinstance(value, dt.date) and not isinstance(value, dt.datetime)
        return pa.array([value], of) if is_day else None
    unit = kind[:4]
    if type_name == "TIMESTAMP WITH TIME ZONE":
        whole = kind != unit and unit in _ZONED and isinstance(value, int) and value % _ZONED[unit] == 0
        return pa.array([value // _ZONED[unit]], pa.int64()).cast(of) if whole else None
    if kind in _MOMENTS and type_name == _MOMENTS[kind][0] and isinstance(value, dt.datetime) and value.tzinfo is None:
        since = value - _EPOCH
        count, rest = divmod((since.days * 86400 + since.seconds) * _SECOND + since.microseconds, _MOMENTS[kind][1])
        return pa.array([count], pa.int64()).cast(of) if rest == 0 else None
    if pa.types.is_decimal128(of) and type_name == f"DECIMAL({of.precision},{of.scale})":
        is_number = isinstance(value, decimal.Decimal) and value.is_finite()
        return pa.array([value], of) if is_number else None
    return None


def _one_of(column: tuple[str, str, pa.DataType], constants: Sequence[Any]) -> Condition | None:
    name, kind, _ = column
    if any(type(constant).__name__ != "Lit" for constant in constants):
        return None
    type_name = _PLAIN.get(kind)
    values = [constant.value for constant in constants]
    is_plain = type_name is not None and all(constant.type == type_name for constant in constants)
    if is_plain and all(is_exact(kind, value) for value in values):
        return ("in", name, values)
    parts = [_compared(column, "=", constant) for constant in constants]
    return None if None in parts else ("or", parts)
