"""Expressions of pyarrow as filters.

An expression says what it is made of when it is pickled: a stream of Arrow whose metadata lists calls, fields and
literals, and whose columns are the literals. All of it is checked here; whatever is unknown is left to pyarrow.
"""

from __future__ import annotations

import ctypes
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import _tarsia
from ._errors import InvalidInput, NoSuchColumn
from ._filter import DEPTH_MAX, Behind, Condition, all_of
from ._filter_exact import compare, is_exact, is_text, like_escaped

if TYPE_CHECKING:
    from ._file import File

_COMPARISONS = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}

_SWAPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

#: AND and OR, which mean the same however their parts are grouped.
_JOINS = ("and_kleene", "or_kleene")

#: Null matches null in the values, and else nothing: the default of ``isin``.
_NULLS_MATCH = 0


@dataclass
class _Field:
    path: list[str]


@dataclass
class _Literal:
    #: An array of one value.
    array: pa.Array


@dataclass
class _Call:
    name: str
    arguments: deque[Any]
    #: A scalar of a struct; None without options.
    options: Any = None


def split(expression: Any, file: File) -> tuple[Condition | None, Behind | None]:
    """What the scan evaluates of an expression, and what is left to pyarrow."""
    if not isinstance(expression, pa.compute.Expression):
        raise TypeError(f"filter is an expression of pyarrow, not {type(expression).__name__}")
    root = _tree_of(expression)
    schema = file.schema
    translated = [_condition(part, schema) for part in _conjuncts(root)]
    pushed = all_of([condition for condition in translated if condition is not None])
    if all(condition is not None for condition in translated):
        return pushed, None
    columns: list[str] = []
    _collect_columns(root, columns)
    for name in columns:
        # pyarrow would list the columns that it is handed, the row numbers among them.
        if name not in schema.names:
            raise NoSuchColumn(f"filter: there is no column `{name}`")
    return pushed, _Evaluated(expression, columns)


def columns_of(expression: Any) -> list[str]:
    """The top-level columns that an expression looks at."""
    columns: list[str] = []
    _collect_columns(_tree_of(expression), columns)
    return columns


class _Evaluated:
    """An expression that pyarrow evaluates."""

    def __init__(self, expression: Any, columns: list[str]) -> None:
        self.expression = expression
        self.columns = columns

    def passing(self, batch: _tarsia.Batch) -> Any:
        table = pa.table(batch)
        names = table.column_names[:-1]
        # The row numbers are the last column. They get a name that the expression cannot mean.
        numbers = _tarsia.ROW_NUMBER
        while numbers in names:
            numbers += "_"
        return table.rename_columns([*names, numbers]).filter(self.expression).column(numbers)

    def joined(self, passing: list[Any]) -> Any:
        chunks = [chunk for column in passing for chunk in column.chunks]
        return pa.chunked_array(chunks, type=pa.uint64())


def _tree_of(expression: Any) -> Any:
    """The tree of an expression; an unknown leaf for what is not understood."""
    _, (buffer,) = expression.__reduce__()
    with pa.ipc.open_file(buffer) as reader:
        literals = reader.get_batch(0)
    # A dictionary would keep one pair of each key.
    steps = iter(_pairs_of(literals.schema))
    tree = _parse(steps, literals)
    if next(steps, None) is not None:
        raise InvalidInput("an expression of pyarrow that is not understood")
    return tree


def _parse(steps: Any, literals: pa.RecordBatch) -> Any:
    """The first node of the steps. Calls are kept on a list: there may be thousands inside of each other."""
    open_calls: list[_Call] = []
    for key, value in steps:
        if key == "call":
            open_calls.append(_Call(value, deque()))
            continue
        if key == "options" and open_calls:
            open_calls[-1].options = literals.column(int(value))[0]
            continue
        if key == "end" and open_calls:
            node: Any = _joined(open_calls.pop())
        elif key == "field_ref":
            node = _Field([value])
        elif key == "nested_field_ref":
            node = _Field([next(steps)[1] for _ in range(int(value))])
        elif key == "literal":
            node = _Literal(literals.column(int(value)))
        else:
            raise InvalidInput(f"an expression of pyarrow that is not understood: {key}")
        if not open_calls:
            return node
        open_calls[-1].arguments.append(node)
    raise InvalidInput("an expression of pyarrow that ends too early")


def _joined(call: _Call) -> _Call:
    """The call, with the arguments of arguments that join by the same word: `a | b | (c | d)` is one call of four."""
    if call.name not in _JOINS:
        return call
    joined: deque[Any] = deque()
    for argument in call.arguments:
        is_same = isinstance(argument, _Call) and argument.name == call.name
        part: deque[Any] = argument.arguments if is_same else deque([argument])
        # The shorter one is moved, so thousands cost the same from the left and from the right.
        if len(part) > len(joined):
            part.extendleft(reversed(joined))
            joined = part
        else:
            joined.extend(part)
    call.arguments = joined
    return call


class _ArrowSchema(ctypes.Structure):
    """The beginning of a schema of Arrow's C interface."""

    _fields_ = (
        ("format", ctypes.c_void_p),
        ("name", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
    )


def _pairs_of(schema: pa.Schema) -> list[tuple[str, str]]:
    """All pairs of a schema's metadata, in order, of which several may have one key."""
    capsule = schema.__arrow_c_schema__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    at = _ArrowSchema.from_address(pointer(capsule, b"arrow_schema")).metadata
    if not at:
        return []

    def number() -> int:
        nonlocal at
        found = ctypes.c_int32.from_address(at).value
        at += 4
        return found

    def text() -> str:
        nonlocal at
        length = number()
        found = ctypes.string_at(at, length).decode()
        at += length
        return found

    return [(text(), text()) for _ in range(number())]


def _conjuncts(node: Any) -> list[Any]:
    if isinstance(node, _Call) and node.name == "and_kleene":
        return list(node.arguments)
    return [node]


def _collect_columns(root: Any, names: list[str]) -> None:
    left = [root]
    while left:
        node = left.pop()
        if isinstance(node, _Field) and node.path[0] not in names:
            names.append(node.path[0])
        if isinstance(node, _Call):
            left.extend(reversed(node.arguments))


def _column(node: Any, schema: _tarsia.Schema) -> tuple[str, str] | None:
    """The name and the format of a column that a scan names in the same way. pyarrow and the scan do not agree on
    which nested values are null."""
    if not isinstance(node, _Field) or len(node.path) != 1:
        return None
    kind = schema.column_format(node.path[0])
    return (node.path[0], kind) if kind is not None else None


def _condition(node: Any, schema: _tarsia.Schema, depth: int = 0) -> Condition | None:
    """The condition that means the same for every value; None if none is known."""
    if depth > DEPTH_MAX:
        return None
    if isinstance(node, _Field):
        column = _column(node, schema)
        return ("compare", column[0], "=", True) if column is not None and column[1] == "b" else None
    if not isinstance(node, _Call):
        return None
    if node.name in (*_JOINS, "invert"):
        parts = [_condition(argument, schema, depth + 1) for argument in node.arguments]
        if any(part is None for part in parts):
            return None
        if node.name == "invert":
            return ("not", parts[0])
        return ("and" if node.name == "and_kleene" else "or", parts)
    if node.name in _COMPARISONS:
        return _comparison(node, schema)
    if node.name == "if_else":
        return _unknown_if_missing(node, schema)
    if not node.arguments:
        return None
    # Whether a nested value is missing is known only of the whole column.
    column = _column(node.arguments[0], schema)
    if column is None:
        return None
    options = node.options.as_py() if node.options is not None else {}
    if node.name == "is_valid":
        return ("not", ("null", column[0]))
    if node.name == "is_null":
        return None if options.get("nan_is_null") else ("null", column[0])
    if node.name == "is_in":
        return _one_of(column, options)
    return _text_like(node.name, column, options)


def _comparison(node: _Call, schema: _tarsia.Schema) -> Condition | None:
    left, right = node.arguments
    operator = _COMPARISONS[node.name]
    if isinstance(left, _Literal):
        left, right, operator = right, left, _SWAPPED[operator]
    column = _column(left, schema)
    if column is None or not isinstance(right, _Literal) or right.array.null_count:
        return None
    name, kind = column
    array = right.array
    if _is_plain(array.type):
        return compare(name, kind, operator, array[0].as_py(), nan_is_number=False)
    # Dates, times and decimals: no care is needed where both have one type.
    if _format_of(array.type) == kind and not pa.types.is_nested(array.type):
        return ("compare", name, operator, array)
    return None


def _one_of(column: tuple[str, str], options: dict[str, Any]) -> Condition | None:
    name, kind = column
    values = options.get("value_set")
    if values is None or options.get("null_matching_behavior") != _NULLS_MATCH:
        return None
    present = [value for value in values if value is not None]
    if not all(is_exact(kind, value) for value in present):
        return None
    # Never unknown: a missing value is one of the values, or is not.
    found: Condition = ("and", [("not", ("null", name)), ("in", name, present)])
    return ("or", [("null", name), found]) if len(present) < len(values) else found


def _unknown_if_missing(node: _Call, schema: _tarsia.Schema) -> Condition | None:
    """``if_else(is_valid(a), is_in(a, …), null)``: one of several values, as SQL and so DuckDB has it."""
    if len(node.arguments) != 3:
        return None
    is_valid, within, otherwise = node.arguments
    if not (isinstance(is_valid, _Call) and isinstance(within, _Call) and isinstance(otherwise, _Literal)):
        return None
    if (is_valid.name, within.name, otherwise.array.null_count) != ("is_valid", "is_in", 1):
        return None
    if is_valid.arguments != within.arguments:
        return None
    found = _condition(within, schema)
    # Of one of several values that are not null, the second part is that condition of SQL.
    return found[1][1] if found is not None and found[0] == "and" else None


def _text_like(function: str, column: tuple[str, str], options: dict[str, Any]) -> Condition | None:
    around = {"starts_with": ("", "%"), "ends_with": ("%", ""), "match_substring": ("%", "%")}
    pattern = options.get("pattern")
    if function not in around or not isinstance(pattern, str) or options.get("ignore_case") or not is_text(column[1]):
        return None
    before, after = around[function]
    return ("like", column[0], before + like_escaped(pattern) + after)


def _is_plain(of: pa.DataType) -> bool:
    """Whether Python has the values of a type as they are."""
    test = pa.types
    is_text = test.is_string(of) or test.is_large_string(of) or test.is_string_view(of)
    is_bytes = test.is_binary(of) or test.is_large_binary(of) or test.is_binary_view(of)
    return test.is_boolean(of) or test.is_integer(of) or test.is_floating(of) or is_text or is_bytes


def _format_of(of: pa.DataType) -> str | None:
    """The format of a type in Arrow's C interface."""
    capsule = pa.field("", of).__arrow_c_schema__()
    return _tarsia.format_of(capsule)
