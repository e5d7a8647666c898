"""Rows by number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import Dataset, default_collate

from .. import _tarsia
from .._errors import InvalidInput, OutOfRange
from ._columns import Columns
from ._table import Table
from ._tensors import Converter, Options, row


class Rows(Sequence):
    """Rows that were taken together: a sequence of rows, each a dict by the names of the columns.

    :func:`collate` makes tensors of all rows at once, without making the rows first.
    """

    def __init__(self, batch: _tarsia.Batch, converter: Converter) -> None:
        #: The rows as a batch, for a function that collates by itself.
        self.batch = batch
        self._converter = converter
        self._columns: dict[str, Any] | None = None

    def columns(self) -> dict[str, Any]:
        """The columns by name, as tensors and lists."""
        return self._converter.finished(self._read())

    def _read(self) -> dict[str, Any]:
        if self._columns is None:
            self._columns = self._converter.columns(self.batch)
        return self._columns

    def __len__(self) -> int:
        return self.batch.num_rows

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[position] for position in range(*at.indices(len(self)))]
        position = operator.index(at)
        if not -len(self) <= position < len(self):
            raise IndexError(f"row {position} of {len(self)}")
        return row(self._read(), position % len(self))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = self._read()
        return (row(columns, position) for position in range(len(self)))

    def __reduce__(self) -> Any:
        # In another process they are a list. A batch cannot go there.
        return (_listed, (Columns(self._read()), len(self)))

    def __repr__(self) -> str:
        return f"<tarsia.torch.Rows: {len(self)} rows>"


def _listed(columns: dict[str, Any], n_rows: int) -> list[dict[str, Any]]:
    columns = dict(columns)
    return [row(columns, at) for at in range(n_rows)]


def collate(rows: Any) -> Any:
    """Makes a dict of tensors of the rows of a :class:`MapDataset`: the ``collate_fn`` of a loader.

    What a ``transform`` made of the rows goes through ``torch.utils.data.default_collate``.
    """
    return rows.columns() if isinstance(rows, Rows) else default_collate(rows)


class MapDataset(Dataset):
    """Rows of one or several files by number. A loader takes all rows of a batch with one call.

    Rows that were deleted are no rows: numbers go to the rows that are left. ::

        dataset = tarsia.torch.MapDataset("train.tarsia", ["image", "label"])
        loader = DataLoader(dataset, batch_size=256, shuffle=True, collate_fn=tarsia.torch.collate)
    """

    def __init__(
        self,
        files: Any,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,
        transform: Callable[[dict[str, Any]], Any] | None = None,
        dtype: Any = None,
        ragged: Any = "values_offsets",
        pad_value: Any = 0,
        binary: str = "bytes",
        fill_null: Any = None,
        masks: bool = False,
        **options: Any,
    ) -> None:
        """Opens the files. With a filter, it is evaluated now, once.

        :param files: a path, a URL or a :class:`tarsia.File`, or a list of these, whose rows follow one another
        :param columns: names, which may lead into structs and lists: ``user.address.city``; by default all
        :param filter: SQL text, or an expression of pyarrow or polars; only rows for which it is true
        :param transform: a function of one row, a dict by the names of the columns
        :param dtype: a ``torch.dtype`` for the floating-point columns, or a dict of column to ``torch.dtype``. A number
            that an integer type does not have is an error
        :param ragged: lists come as ``"values_offsets"`` (:class:`Ragged`), ``"padded"`` (a tensor, with
            ``NAME_lengths`` beside it) or ``"nested"`` (a nested tensor of PyTorch); one for all or a dict by column
        :param pad_value: what pads shorter lists
        :param binary: ``"bytes"``, ``"tensors"`` (a list of uint8 tensors) or ``"values_offsets"``
        :param fill_null: what stands in place of null: a value for all columns, or a dict by column
        :param masks: whether each column that may have nulls has a ``NAME_mask`` beside it, false where a row is null
        :param options: those of :func:`tarsia.open`
        :raises UnsupportedError: for columns that cannot be tensors
        """
        self._table = Table(files, columns, filter, options)
        self._converter = Converter(self._table.types, Options(dtype, ragged, pad_value, binary, fill_null, masks))
        if transform is not None and not callable(transform):
            raise TypeError(f"transform is a function, not {type(transform).__name__}")
        self._transform = transform

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, at: Any) -> Any:
        """One row. Negative numbers count from the end. Rows of a batch are better taken together."""
        if isinstance(at, slice):
            raise TypeError("a row number is an int; `__getitems__` takes several rows")
        return self.__getitems__([at])[0]

    def __getitems__(self, rows: Any) -> Any:
        """Several rows, taken with one call: :class:`Rows`, or a list of what the transform makes of each."""
        taken = Rows(self._table.take(self._numbers(rows)), self._converter)
        return taken if self._transform is None else [self._transform(one) for one in taken]

    def _numbers(self, rows: Any) -> np.ndarray:
        if hasattr(rows, "numpy"):
            rows = rows.numpy()
        given = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
        if given.ndim != 1 or (given.size > 0 and given.dtype.kind not in "iu"):
            try:
                numbers = np.fromiter((_index(row) for row in given.tolist()), np.int64, len(given))
            except OverflowError as error:
                raise OutOfRange(f"a row number is beyond {len(self)} rows") from error
        else:
            numbers = given
        if given.dtype.kind == "u" and given.size > 0 and int(given.max()) >= len(self):
            raise OutOfRange(f"row {int(given.max())} of {len(self)} rows")
        numbers = numbers.astype(np.int64)
        numbers = np.where(numbers < 0, numbers + len(self), numbers)
        outside = np.flatnonzero((numbers < 0) | (numbers >= len(self)))
        if len(outside) > 0:
            raise OutOfRange(f"row {given[outside[0]]} of {len(self)} rows")
        return numbers

    def __repr__(self) -> str:
        return f"<tarsia.torch.MapDataset: {len(self)} rows>"


def _index(row: Any) -> int:
    if isinstance(row, (bool, list)) or not hasattr(row, "__index__"):
        raise TypeError(f"a row number is an int, not {type(row).__name__}")
    return operator.index(row)


def checked_count(name: str, value: Any, least: int) -> int:
    """A count that was given, as an int."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if operator.index(value) < least:
        raise InvalidInput(f"{name} is {value}: it is {least} at least")
    return operator.index(value)
