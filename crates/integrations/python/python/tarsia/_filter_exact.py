"""Comparisons that mean the same to a scan as to another library, for every value.

A scan compares integers with all their digits, and floating-point numbers by IEEE 754's total order, in which -0.0 is
below 0.0, and NaN above or, with its sign bit set, below all numbers. Here comparisons of other kinds are said in that
order. Each function returns None where it knows no condition that means the same.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from ._filter import Condition

#: The smallest and the largest number of integers, by their format in Arrow's C interface.
_INTEGERS = {
    "c": (-(2**7), 2**7 - 1),
    "C": (0, 2**8 - 1),
    "s": (-(2**15), 2**15 - 1),
    "S": (0, 2**16 - 1),
    "i": (-(2**31), 2**31 - 1),
    "I": (0, 2**32 - 1),
    "l": (-(2**63), 2**63 - 1),
    "L": (0, 2**64 - 1),
}

#: Integers of which a float64 holds each.
_HELD_BY_FLOAT = "cCsSiI"

#: Formats of floating-point numbers, as the module struct names them.
_FLOATS = {"e": "e", "f": "f", "g": "d"}

_TEXTS = ("u", "U", "vu")
_BYTES = ("z", "Z", "vz")

_OPERATORS = ("=", "<>", "<", "<=", ">", ">=")


def compare(column: str, kind: str, operator: str, value: Any, *, nan_is_number: bool) -> Condition | None:
    """The comparison of a column with a value of Python.

    :param kind: the column's format in Arrow's C interface
    :param nan_is_number: whether NaN equals itself and is above all numbers, or is different from everything
    """
    if operator not in _OPERATORS:
        return None
    if isinstance(value, bool):
        if kind != "b" or operator not in ("=", "<>"):
            return None
        return ("compare", column, operator, value)
    if kind in _INTEGERS and isinstance(value, (int, float)):
        return _integer(column, kind, operator, value)
    if kind in _FLOATS and isinstance(value, (int, float)):
        return _float(column, kind, operator, value, nan_is_number)
    if (kind in _TEXTS and isinstance(value, str)) or (kind in _BYTES and isinstance(value, bytes)):
        return ("compare", column, operator, value)
    return None


def is_exact(kind: str, value: Any) -> bool:
    """Whether a value is one of the column's type, so that equality needs no care: an integer, text, bytes."""
    if isinstance(value, bool):
        return False
    if kind in _INTEGERS and isinstance(value, int):
        least, most = _INTEGERS[kind]
        return least <= value <= most
    return (kind in _TEXTS and isinstance(value, str)) or (kind in _BYTES and isinstance(value, bytes))


def is_text(kind: str) -> bool:
    """Whether a column has text."""
    return kind in _TEXTS


def like_escaped(text: str) -> str:
    """A pattern that only this text is like."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _integer(column: str, kind: str, operator: str, value: float) -> Condition | None:
    if isinstance(value, float):
        # The library compares as floats, which are exact for small integers alone.
        if kind not in _HELD_BY_FLOAT or not value.is_integer():
            return None
        value = int(value)
    least, most = _INTEGERS[kind]
    return ("compare", column, operator, value) if least <= value <= most else None


def _float(column: str, kind: str, operator: str, value: float, nan_is_number: bool) -> Condition | None:
    held = _held(kind, value)
    if held is None:
        return None

    def of(operator: str, value: float) -> Condition:
        # An array of one value keeps the sign of zero.
        return ("compare", column, operator, ("float", value))

    # Both zeros are one number to the library.
    low, high = (-0.0, 0.0) if held == 0 else (held, held)
    equal = of("=", held) if held != 0 else ("and", [of(">=", low), of("<=", high)])
    # NaN with its sign bit set lies below all numbers, and the other one above.
    no_nan = [of(">=", -math.inf), of("<=", math.inf)]
    nan_below = of("<", -math.inf)
    if operator == "=":
        return equal
    if operator == "<>":
        return ("not", equal)
    if operator in ("<", "<="):
        below = of("<", low) if operator == "<" else of("<=", high)
        return ("and", [below, no_nan[0]])
    above = of(">", high) if operator == ">" else of(">=", low)
    return ("or", [above, nan_below]) if nan_is_number else ("and", [above, no_nan[1]])


def _held(kind: str, value: float) -> float | None:
    """The value, if the column's type holds it and it is a number."""
    try:
        number = float(value)
        if math.isnan(number) or number != value:
            return None
        held = struct.unpack(_FLOATS[kind], struct.pack(_FLOATS[kind], number))[0]
    except (OverflowError, struct.error):
        return None
    return number if held == number else None
