"""Arrow arrays as NumPy arrays over the same memory, read by Arrow's C data interface. No Arrow library is needed.

Layouts and format strings are those of https://arrow.apache.org/docs/format/CDataInterface.html.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _tarsia

_NULLABLE = 2


class _CSchema(ctypes.Structure):
    pass


_CSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_CSchema))),
    ("dictionary", ctypes.POINTER(_CSchema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class _CArray(ctypes.Structure):
    pass


_CArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_CArray))),
    ("dictionary", ctypes.POINTER(_CArray)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]

#: Formats of numbers, and of the types that are stored as numbers.
NUMBERS = {
    "c": np.int8,
    "C": np.uint8,
    "s": np.int16,
    "S": np.uint16,
    "i": np.int32,
    "I": np.uint32,
    "l": np.int64,
    "L": np.uint64,
    "e": np.float16,
    "f": np.float32,
    "g": np.float64,
    "tdD": np.int32,
    "tdm": np.int64,
    "tts": np.int32,
    "ttm": np.int32,
    "ttu": np.int64,
    "ttn": np.int64,
    "tiM": np.int32,
}
#: How formats begin that have more text behind, such as a zone.
_LONG_NUMBERS = {
    "tss:": np.int64,
    "tsm:": np.int64,
    "tsu:": np.int64,
    "tsn:": np.int64,
    "tDs": np.int64,
    "tDm": np.int64,
    "tDu": np.int64,
    "tDn": np.int64,
}


@dataclass(frozen=True)
class Type:
    """The type of an array."""

    format: str
    name: str
    is_nullable: bool
    children: tuple[Type, ...]
    dictionary: Type | None

    def number(self) -> Any:
        """The NumPy type of the numbers that the values are stored as; None for other types."""
        for start, number in _LONG_NUMBERS.items():
            if self.format.startswith(start):
                return number
        return NUMBERS.get(self.format)

    def same(self, other: Type) -> bool:
        """Whether both types have the same values, null or not."""
        if self.format != other.format or len(self.children) != len(other.children):
            return False
        if (self.dictionary is None) != (other.dictionary is None):
            return False
        if self.dictionary is not None and not self.dictionary.same(other.dictionary):  # type: ignore[arg-type]
            return False
        # The names of the fields of a list are no part of what it holds.
        is_struct = self.format == "+s"
        pairs = zip(self.children, other.children, strict=True)
        return all(one.same(two) and (not is_struct or one.name == two.name) for one, two in pairs)

    def __str__(self) -> str:
        known = _NAMES.get(self.format)
        if known is None:
            known = next((name for start, name in _STARTS.items() if self.format.startswith(start)), self.format)
        return f"dictionary of {self.dictionary}" if self.dictionary is not None else known


_NAMES = {
    "n": "null",
    "b": "bool",
    "c": "int8",
    "C": "uint8",
    "s": "int16",
    "S": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "e": "float16",
    "f": "float32",
    "g": "float64",
    "z": "binary",
    "Z": "large_binary",
    "vz": "binary_view",
    "u": "string",
    "U": "large_string",
    "vu": "string_view",
    "tdD": "date32",
    "tdm": "date64",
    "tiM": "interval",
    "tiD": "interval",
    "tin": "interval",
    "+l": "list",
    "+L": "large_list",
    "+vl": "list_view",
    "+vL": "large_list_view",
    "+s": "struct",
    "+m": "map",
    "+r": "run_end_encoded",
}
_STARTS = {
    "d:": "decimal",
    "w:": "fixed_size_binary",
    "ts": "timestamp",
    "tt": "time",
    "tD": "duration",
    "+w:": "fixed_size_list",
    "+u": "union",
}


@dataclass(frozen=True)
class Array:
    """An array of Arrow. Buffers hold the values from ``offset`` on."""

    type: Type
    length: int
    offset: int
    #: True where a value is there; None if all are.
    validity: np.ndarray | None
    #: Addresses of buffers, and what keeps them alive.
    buffers: tuple[int | None, ...]
    owner: Any
    children: tuple[Array, ...]
    dictionary: Array | None

    def buffer(self, position: int, number: Any, first: int, count: int) -> np.ndarray:
        """Numbers of a buffer, over its memory."""
        number = np.dtype(number)
        address = self.buffers[position]
        if count == 0 or address is None:
            return np.empty(0, number)
        memory = (ctypes.c_char * (count * number.itemsize)).from_address(address + first * number.itemsize)
        # NumPy keeps this object, and this object keeps the buffers.
        memory.owner = self.owner  # type: ignore[attr-defined]
        return np.frombuffer(memory, number)

    def bits(self, position: int) -> np.ndarray:
        """Bits of a buffer as booleans, which are copied."""
        return _bits(self, position, self.offset, self.length)

    def numbers(self) -> np.ndarray:
        """The values of a type of numbers."""
        number = self.type.number()
        assert number is not None
        return self.buffer(1, number, self.offset, self.length)

    def offsets(self) -> np.ndarray:
        """Where the values of each row begin and end, of text, binary and lists; one more than there are rows."""
        if self.length == 0:
            return np.zeros(1, np.int64)
        number = np.int64 if self.type.format in ("Z", "U", "+L") else np.int32
        return self.buffer(1, number, self.offset, self.length + 1)

    def slice(self, start: int, stop: int) -> Array:
        """The values from ``start`` to ``stop``."""
        validity = None if self.validity is None else self.validity[start:stop]
        if validity is not None and validity.all():
            validity = None
        return Array(
            self.type,
            stop - start,
            self.offset + start,
            validity,
            self.buffers,
            self.owner,
            self.children,
            self.dictionary,
        )


def _bits(array: Array, position: int, first: int, count: int) -> np.ndarray:
    start = first // 8
    packed = array.buffer(position, np.uint8, start, (first + count + 7) // 8 - start)
    return np.unpackbits(packed, bitorder="little", count=first - start * 8 + count)[first - start * 8 :].view(bool)


def _type_of(schema: Any) -> Type:
    return Type(
        schema.format.decode(),
        (schema.name or b"").decode(),
        bool(schema.flags & _NULLABLE),
        tuple(_type_of(schema.children[position].contents) for position in range(schema.n_children)),
        _type_of(schema.dictionary.contents) if schema.dictionary else None,
    )


def _array_of(array: Any, of: Type, owner: Any) -> Array:
    made = Array(
        of,
        array.length,
        array.offset,
        None,
        tuple(array.buffers[position] for position in range(array.n_buffers)),
        owner,
        tuple(_array_of(array.children[at].contents, child, owner) for at, child in enumerate(of.children)),
        _array_of(array.dictionary.contents, of.dictionary, owner) if of.dictionary is not None else None,
    )
    # Nulls, unions and run-ends have no validity of their own.
    has_validity = not of.format.startswith(("n", "+u", "+r")) and array.n_buffers > 0
    if has_validity and array.null_count != 0 and made.buffers[0] is not None:
        validity = made.bits(0)
        if not validity.all():
            object.__setattr__(made, "validity", validity)
    return made


def columns_of(schema: _tarsia.Schema) -> tuple[Type, ...]:
    """The types of the columns of a schema, with their names."""
    capsule = schema.__arrow_c_schema__()
    return _type_of(_CSchema.from_address(_pointer_of(capsule, b"arrow_schema"))).children


def arrays_of(batch: _tarsia.Batch, types: tuple[Type, ...]) -> list[Array]:
    """The columns of a batch, whose types are those of its schema."""
    _, capsule = batch.__arrow_c_array__()
    rows = _CArray.from_address(_pointer_of(capsule, b"arrow_array"))
    # A batch is an array of structs that are all there. It is exported from the first row on.
    assert rows.n_children == len(types) and rows.offset == 0
    return [_array_of(rows.children[position].contents, of, capsule) for position, of in enumerate(types)]
