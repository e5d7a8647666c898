"""Columns as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import _tarsia
from .._errors import InvalidInput, NoSuchColumn, UnsupportedError
from ._arrow import Array, Type, arrays_of
from ._columns import Columns, Ragged

RAGGED = ("values_offsets", "padded", "nested")
BINARY = ("bytes", "tensors", "values_offsets")
_TEXT, _BYTES = ("u", "U", "vu"), ("z", "Z", "vz")
_LISTS, _LIST_VIEWS = ("+l", "+L", "+m"), ("+vl", "+vL")


@dataclass(frozen=True)
class Options:
    """How columns become tensors; see :class:`tarsia.torch.MapDataset`."""

    dtype: Any = None
    ragged: Any = "values_offsets"
    pad_value: Any = 0
    binary: str = "bytes"
    fill_null: Any = None
    masks: bool = False

    def of(self, name: str, option: str) -> Any:
        """An option of a column: the same for all, or one for each name."""
        given = getattr(self, option)
        return given.get(name) if isinstance(given, Mapping) else given

    def ragged_of(self, name: str) -> str:
        """How lists of a column come."""
        return self.of(name, "ragged") or "values_offsets"

    def check(self, types: tuple[Type, ...]) -> None:
        """Refuses options that no column can follow, and columns that cannot be tensors."""
        names = [of.name for of in types]
        if len(set(names)) < len(names):
            raise InvalidInput(f"two columns have the same name: {', '.join(names)}")
        for option in ("dtype", "ragged", "fill_null"):
            given = getattr(self, option)
            for name in given if isinstance(given, Mapping) else ():
                if name not in names:
                    raise NoSuchColumn(f"{option}: no column `{name}` is read", None, str(name))
        if self.binary not in BINARY:
            raise InvalidInput(f"binary is one of {', '.join(BINARY)}, not {self.binary!r}")
        if self.masks:
            _check_masks(types)
        for of in types:
            ragged, dtype = self.ragged_of(of.name), self.of(of.name, "dtype")
            if ragged not in RAGGED:
                raise InvalidInput(f"ragged is one of {', '.join(RAGGED)}, not {ragged!r}")
            if dtype is not None and not isinstance(dtype, torch.dtype):
                raise TypeError(f"dtype is a torch.dtype, not {type(dtype).__name__}")
            _check_type(of, of.name)
            if isinstance(self.dtype, Mapping) and dtype is not None:
                _check_dtype(of, dtype)
            is_list = of.format in _LISTS + _LIST_VIEWS
            if is_list and ragged != "values_offsets" and not _is_numbers(of.children[0]):
                raise InvalidInput(f"column `{of.name}`: {ragged} is for lists of numbers", None, of.name)
            if is_list and ragged == "padded" and f"{of.name}_lengths" in names:
                raise InvalidInput(f"the lengths of column `{of.name}` have the name of a column", None, of.name)


def _check_masks(types: tuple[Type, ...]) -> None:
    """Refuses columns, or fields of a struct, that have the name of a mask."""
    names = {of.name for of in types}
    for of in types:
        if f"{of.name}_mask" in names:
            raise InvalidInput(f"the mask of `{of.name}` has the name of a column or field", None, of.name)
        if of.format == "+s":
            _check_masks(of.children)


def _is_numbers(of: Type) -> bool:
    """Whether values of a type are one tensor, in which each value has the same shape."""
    if of.dictionary is not None:
        return _is_numbers(of.dictionary)
    if of.format.startswith("+w:"):
        return _is_numbers(of.children[0])
    if of.format == "+r":
        return _is_numbers(of.children[1])
    return of.format == "b" or of.number() is not None


def _check_type(of: Type, name: str) -> None:
    if of.dictionary is not None:
        return _check_type(of.dictionary, name)
    known = of.format in ("b", "+s", "+r", *_TEXT, *_BYTES, *_LISTS, *_LIST_VIEWS)
    if not known and not of.format.startswith(("w:", "+w:")) and of.number() is None:
        text = f"column `{name}`: {of} cannot be a tensor; leave it out, or give a `collate` that takes batches"
        raise UnsupportedError(text, None, name)
    if of.format.startswith("+w:") and not _is_numbers(of.children[0]):
        text = f"column `{name}`: fixed-size lists of {of.children[0]} cannot be a tensor"
        raise UnsupportedError(text, None, name)
    for child in of.children:
        _check_type(child, name)
    return None


def _check_dtype(of: Type, dtype: torch.dtype) -> None:
    """A type that is asked for one column has to be one that its numbers can have."""
    leaf = of
    while leaf.dictionary is not None or (leaf.children and leaf.format != "+s"):
        leaf = leaf.dictionary if leaf.dictionary is not None else leaf.children[-1]
    if leaf.format != "b" and leaf.number() is None:
        raise InvalidInput(f"dtype: column `{of.name}` of type {of} has no numbers", None, of.name)
    if leaf.format in ("e", "f", "g") and not dtype.is_floating_point:
        raise InvalidInput(f"dtype: column `{of.name}` of type {leaf} would lose its fractions", None, of.name)


class Converter:
    """Makes values of batches: tensors, lists of texts and bytes, :class:`Ragged`, dicts for structs."""

    def __init__(self, types: tuple[Type, ...], options: Options) -> None:
        options.check(types)
        self._types = types
        self._options = options
        self._all_numbers = isinstance(options.dtype, torch.dtype)

    def columns(self, batch: _tarsia.Batch) -> dict[str, Any]:
        """The columns of a batch, in a form that :func:`sliced` and :func:`row` take."""
        made: dict[str, Any] = {}
        for array in arrays_of(batch, self._types):
            self._add(made, array, array.type.name, None)
        return made

    def finished(self, columns: dict[str, Any]) -> dict[str, Any]:
        """The columns as they are asked for: lists are padded or nested."""
        made = Columns(columns)
        for name, value in columns.items():
            ragged = self._options.ragged_of(name)
            if not isinstance(value, Ragged) or ragged == "values_offsets" or not _is_list(self._types, name):
                continue
            if ragged == "nested":
                made[name] = torch.nested.nested_tensor_from_jagged(value.values, value.offsets)
            else:
                made[name] = padded(value, self._options.pad_value, name)
                made[f"{name}_lengths"] = value.offsets.diff()
        return made

    def _add(self, into: dict[str, Any], array: Array, column: str, hidden: np.ndarray | None) -> None:
        """Adds a column or the field of a struct, and its mask.

        :param hidden: where a struct around it is null
        """
        name = array.type.name
        validity = _valid(array)
        if self._options.masks:
            into[name] = self._value(array, column, hidden, is_row=True)
            # A batch without nulls has a mask as well, so that all batches have the same keys.
            if array.type.is_nullable or hidden is not None or validity is not None:
                mask = np.ones(array.length, bool) if validity is None else validity
                into[f"{name}_mask"] = torch.from_numpy(mask.copy() if hidden is None else mask & ~hidden)
        else:
            into[name] = self._value(array, column, hidden)

    def _value(self, array: Array, column: str, hidden: np.ndarray | None, is_row: bool = False) -> Any:
        """Values of an array.

        :param hidden: where a list or struct around the values is null: what is there does not matter
        :param is_row: whether the mask of the column tells of its nulls
        """
        missing = self._missing(array, column, hidden, is_row)
        of = array.type
        if of.dictionary is not None:
            assert array.dictionary is not None
            numbers = array.numbers()
            if missing is not None:
                numbers = np.where(missing, 0, numbers)
            if array.dictionary.length == 0:
                return self._nothing(array.dictionary, column, array.length)
            # A null among the values was looked for above.
            ignored = None if array.dictionary.validity is None else ~array.dictionary.validity
            values = picked(self._value(array.dictionary, column, ignored), numbers)
            return self._filled(values, missing, column)
        if of.format == "+r":
            return self._runs(array, column, hidden, missing)
        if of.format == "b":
            return self._filled(self._cast(torch.from_numpy(array.bits(1)), column), missing, column)
        if of.number() is not None:
            values = array.numbers()
            # What is hidden may be any bytes, so it is not compared with limits.
            if missing is not None:
                values = np.where(missing, values.dtype.type(0), values)
            return self._filled(self._cast(torch.from_numpy(values), column), missing, column)
        if of.format.startswith("+w:"):
            return self._fixed(array, column, missing)
        if of.format == "+s":
            made: dict[str, Any] = {}
            for child in array.children:
                self._add(made, child.slice(array.offset, array.offset + array.length), column, missing)
            return made
        if of.format in _LISTS + _LIST_VIEWS:
            return self._lists(array, column, missing)
        return self._strings(array, column, missing, is_row)

    def _missing(self, array: Array, column: str, hidden: np.ndarray | None, is_row: bool) -> np.ndarray | None:
        """Where there is no value; None if there is one everywhere. A null that nothing was asked for is an error."""
        validity = _valid(array)
        if validity is not None and not is_row and self._options.of(column, "fill_null") is None:
            null = ~validity if hidden is None else ~validity & ~hidden
            if null.any():
                where = f"row {int(np.flatnonzero(null)[0])} of a batch" if array.type.name == column else "a value"
                text = f"column `{column}`: {where} is null; `fill_null` gives a value for it, and `masks` says where"
                if self._options.masks:
                    text = (
                        f"column `{column}`: a value in a list is null, which no mask tells; `fill_null` gives a value"
                    )
                raise InvalidInput(text, None, column)
        if validity is None:
            return hidden
        return ~validity if hidden is None else ~validity | hidden

    def _cast(self, values: torch.Tensor, column: str) -> torch.Tensor:
        dtype = self._options.of(column, "dtype")
        # One type for all columns is for those of floating-point numbers.
        if dtype is None or dtype == values.dtype or (self._all_numbers and not values.is_floating_point()):
            return values
        if values.is_floating_point() and not dtype.is_floating_point:
            raise InvalidInput(f"dtype: column `{column}` would lose its fractions", None, column)
        if not dtype.is_floating_point and not dtype.is_complex and dtype != torch.bool and values.numel() > 0:
            limits, numbers = torch.iinfo(dtype), values.numpy()
            if int(numbers.min()) < limits.min or int(numbers.max()) > limits.max:
                raise InvalidInput(f"dtype: column `{column}` has numbers that {dtype} does not have", None, column)
        return values.to(dtype)

    def _filled(self, values: Any, missing: np.ndarray | None, column: str) -> Any:
        """The values, with the one of `fill_null` where one is missing. Changes them: they are a copy then."""
        if missing is None or not missing.any():
            return values
        fill = self._options.of(column, "fill_null")
        if isinstance(values, torch.Tensor):
            fill = 0 if fill is None else _fitting(fill, values.dtype, column)
            values[torch.from_numpy(missing)] = fill
            return values
        if isinstance(values, list):
            for at in np.flatnonzero(missing):
                values[at] = fill
        return values

    def _nothing(self, empty: Array, column: str, n_rows: int) -> Any:
        """Values of rows that are all null."""
        values = self._value(empty, column, None)
        everywhere = np.ones(n_rows, bool)
        if isinstance(values, torch.Tensor):
            return self._filled(values.new_zeros((n_rows, *values.shape[1:])), everywhere, column)
        if isinstance(values, list):
            return self._filled([None] * n_rows, everywhere, column)
        raise UnsupportedError(f"column `{column}`: a dictionary of {empty.type}", None, column)

    def _runs(self, array: Array, column: str, hidden: np.ndarray | None, missing: np.ndarray | None) -> Any:
        ends, values = array.children
        run = np.searchsorted(ends.numbers(), np.arange(array.offset, array.offset + array.length), side="right")
        ignored = None if values.validity is None else ~values.validity
        found = picked(self._value(values, column, ignored), run)
        return self._filled(found, missing if missing is not None else hidden, column)

    def _fixed(self, array: Array, column: str, missing: np.ndarray | None) -> torch.Tensor:
        width = int(array.type.format[3:])
        child = array.children[0].slice(array.offset * width, (array.offset + array.length) * width)
        hidden = None if missing is None else np.repeat(missing, width)
        values = self._value(child, column, hidden)
        return values.reshape(array.length, width, *values.shape[1:])

    def _lists(self, array: Array, column: str, missing: np.ndarray | None) -> Ragged:
        child = array.children[0]
        if array.type.format in _LISTS:
            offsets = array.offsets().astype(np.int64)
            starts, lengths = offsets[:-1], np.diff(offsets)
        else:
            number = np.int32 if array.type.format == "+vl" else np.int64
            starts = array.buffer(1, number, array.offset, array.length).astype(np.int64)
            lengths = array.buffer(2, number, array.offset, array.length).astype(np.int64)
        if missing is not None:
            # A null may stand before items that nobody is to see.
            lengths = np.where(missing, 0, lengths)
        ends = np.cumsum(lengths)
        offsets = np.concatenate([[0], ends])
        n_items = int(offsets[-1])
        first = int(starts[0]) if len(starts) else 0
        if (starts == first + offsets[:-1])[lengths > 0].all():
            values = self._value(child.slice(first, first + n_items), column, None)
        else:
            items = np.repeat(starts - offsets[:-1], lengths) + np.arange(n_items)
            hidden = np.ones(child.length, bool)
            hidden[items] = False
            values = picked(self._value(child, column, hidden), items)
        return Ragged(values, torch.from_numpy(offsets))

    def _strings(self, array: Array, column: str, missing: np.ndarray | None, is_row: bool) -> Any:
        is_text = array.type.format in _TEXT
        fill = self._options.of(column, "fill_null")
        if (
            missing is not None
            and missing.any()
            and fill is not None
            and not isinstance(fill, str if is_text else bytes)
        ):
            kind = "str" if is_text else "bytes"
            raise InvalidInput(f"fill_null: column `{column}` needs {kind}, not {type(fill).__name__}", None, column)
        data, starts, ends = _string_places(array)
        if is_text:
            made = _texts(data, starts, ends)
            return self._filled(made, missing, column)
        if self._options.binary == "bytes" or fill is not None:
            memory = memoryview(data)
            made = self._filled(
                [bytes(memory[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)],
                missing,
                column,
            )
            if self._options.binary == "bytes":
                return made
            data = np.frombuffer(b"".join(made), np.uint8)
            ends = np.cumsum([len(one) for one in made], dtype=np.int64)
            starts = np.concatenate([[0], ends])[:-1]
        elif missing is not None:
            ends = np.where(missing, starts, ends)
        return _byte_tensors(data, starts, ends, self._options.binary)


def _valid(array: Array) -> np.ndarray | None:
    """Where values are there, also where a dictionary or a run says so; None for everywhere."""
    validity = array.validity
    if array.type.format == "+r":
        ends, values = array.children
        if values.validity is None:
            return None
        run = np.searchsorted(ends.numbers(), np.arange(array.offset, array.offset + array.length), side="right")
        return values.validity[run]
    dictionary = array.dictionary
    if dictionary is not None and dictionary.validity is not None:
        numbers = array.numbers() if validity is None else np.where(validity, array.numbers(), 0)
        found = dictionary.validity[numbers]
        return found if validity is None else validity & found
    return validity


def _is_list(types: tuple[Type, ...], name: str) -> bool:
    return any(of.name == name and of.format in _LISTS + _LIST_VIEWS for of in types)


def _fitting(fill: Any, dtype: torch.dtype, column: str) -> Any:
    """A number that a type has, exactly if it has no fractions."""
    if isinstance(fill, bool) != (dtype == torch.bool) or not isinstance(fill, (bool, int, float)):
        raise InvalidInput(f"fill_null: {fill!r} is no value of column `{column}` of {dtype}", None, column)
    if not dtype.is_floating_point and dtype != torch.bool:
        limits = torch.iinfo(dtype)
        if fill != fill or fill in (float("inf"), -float("inf")) or fill != int(fill):
            raise InvalidInput(f"fill_null: {fill!r} is no value of column `{column}` of {dtype}", None, column)
        if not limits.min <= fill <= limits.max:
            raise InvalidInput(f"fill_null: {fill!r} is no value of column `{column}` of {dtype}", None, column)
        return int(fill)
    return fill


def _string_places(array: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bytes, and where each string begins and ends in them."""
    of, n_rows = array.type, array.length
    if of.format.startswith("w:"):
        width = int(of.format[2:])
        data = array.buffer(1, np.uint8, array.offset * width, n_rows * width)
        starts = np.arange(n_rows, dtype=np.int64) * width
        return data, starts, starts + width
    if of.format in ("vu", "vz"):
        return _view_places(array)
    offsets = array.offsets().astype(np.int64)
    first = int(offsets[0])
    data = array.buffer(2, np.uint8, first, int(offsets[-1]) - first)
    return data, offsets[:-1] - first, offsets[1:] - first


def _view_places(array: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The strings of views, copied one behind the other."""
    views = array.buffer(1, np.uint8, array.offset * 16, array.length * 16).reshape(-1, 16)
    heads = views.view(np.int32).copy()
    if array.validity is not None:
        # The view of a null may be any bytes.
        heads[~array.validity] = 0
    lengths = heads[:, 0].astype(np.int64)
    n_buffers = len(array.buffers) - 3
    sizes = array.buffer(len(array.buffers) - 1, np.int64, 0, n_buffers)
    buffers = [array.buffer(2 + at, np.uint8, 0, int(size)) for at, size in enumerate(sizes)]
    parts = []
    for view, (length, _, buffer, offset) in zip(views, heads, strict=True):
        parts.append(view[4 : 4 + length] if length <= 12 else buffers[buffer][offset : offset + length])
    ends = np.cumsum(lengths)
    return np.concatenate(parts) if parts else np.empty(0, np.uint8), ends - lengths, ends


def _texts(data: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> list[str]:
    whole = data.tobytes()
    places = zip(starts.tolist(), ends.tolist(), strict=True)
    if whole.isascii():
        text = whole.decode("ascii")
        return [text[start:end] for start, end in places]
    return [whole[start:end].decode() for start, end in places]


def _byte_tensors(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, binary: str) -> Any:
    """Bytes as tensors. They are copied: what is read may be the file's own memory, which must not be written to."""
    lengths = ends - starts
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if len(starts) and (starts == starts[0] + offsets[:-1]).all():
        copied = data[int(starts[0]) : int(ends[-1])].copy()
    else:
        parts = [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        copied = np.concatenate(parts) if parts else np.empty(0, np.uint8)
    values = torch.from_numpy(copied)
    if binary == "tensors":
        return list(values.split(lengths.tolist())) if len(lengths) else []
    return Ragged(values, torch.from_numpy(offsets))


def picked(value: Any, places: np.ndarray) -> Any:
    """Values at places, copied."""
    if isinstance(value, torch.Tensor):
        return value[torch.from_numpy(places.astype(np.int64))]
    if isinstance(value, list):
        return [value[place] for place in places.tolist()]
    if isinstance(value, dict):
        return {name: picked(part, places) for name, part in value.items()}
    starts, lengths = value.offsets.numpy()[:-1][places], value.offsets.diff().numpy()[places]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    items = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return Ragged(picked(value.values, items), torch.from_numpy(offsets))


def sliced(value: Any, start: int, stop: int) -> Any:
    """Rows of a value that :meth:`Converter.columns` made, over the same memory."""
    if isinstance(value, dict):
        return {name: sliced(part, start, stop) for name, part in value.items()}
    if isinstance(value, Ragged):
        offsets = value.offsets[start : stop + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        return Ragged(sliced(value.values, first, last), offsets - first)
    return value[start:stop]


def row(value: Any, at: int) -> Any:
    """One row of a value that :meth:`Converter.columns` made."""
    if isinstance(value, dict):
        return {name: row(part, at) for name, part in value.items()}
    if isinstance(value, Ragged):
        return sliced(value.values, int(value.offsets[at]), int(value.offsets[at + 1]))
    return value[at]


def padded(lists: Ragged, pad_value: Any, column: str) -> torch.Tensor:
    """Lists of numbers as one tensor, each as long as the longest."""
    lengths = lists.offsets.diff()
    longest = int(lengths.max()) if len(lengths) else 0
    fill = _fitting(pad_value if lists.values.dtype != torch.bool else bool(pad_value), lists.values.dtype, column)
    shape = (len(lengths), longest, *lists.values.shape[1:])
    made = torch.full(shape, fill, dtype=lists.values.dtype)
    made[torch.arange(longest) < lengths.unsqueeze(1)] = lists.values
    return made
