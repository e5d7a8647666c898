"""Several files as one table, whose rows are those that were not deleted and that pass a filter."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import _tarsia
from .._errors import InvalidInput
from .._file import File, open
from ._arrow import Type, arrays_of, columns_of


class Chosen:
    """Chosen rows of a file, as runs: 16 bytes for each run, whatever its length."""

    def __init__(self, starts: np.ndarray, before: np.ndarray, n_rows: int) -> None:
        #: Where each run starts in the file, and how many chosen rows are before it.
        self._starts = starts
        self._before = before
        self.n_rows = n_rows

    @classmethod
    def of(cls, batches: Any) -> Chosen:
        """The rows of a scan with row numbers, which is read batch by batch."""
        starts: list[np.ndarray] = []
        before: list[np.ndarray] = []
        n_rows, expected = 0, -1
        for batch in batches:
            numbers = _row_numbers(batch)
            if len(numbers) == 0:
                continue
            is_start = np.empty(len(numbers), bool)
            is_start[0] = numbers[0] != expected
            is_start[1:] = numbers[1:] != numbers[:-1] + 1
            at = np.flatnonzero(is_start)
            starts.append(numbers[at])
            before.append(at + n_rows)
            n_rows += len(numbers)
            expected = numbers[-1] + 1
        empty = [np.empty(0, np.int64)]
        return cls(np.concatenate(starts or empty), np.concatenate(before or empty), n_rows)

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        """The row numbers of positions among the chosen rows."""
        run = np.searchsorted(self._before, positions, side="right") - 1
        return self._starts[run] + (positions - self._before[run])


def _row_numbers(batch: _tarsia.Batch) -> np.ndarray:
    types = columns_of(batch.schema)
    position = next(at for at, of in enumerate(types) if of.name == _tarsia.ROW_NUMBER)
    return arrays_of(batch, types)[position].numbers().astype(np.int64)


def is_in_worker() -> bool:
    """Whether this is a worker process of a loader."""
    from torch.utils.data import get_worker_info

    return get_worker_info() is not None


class Table:
    """Chosen rows of several files, numbered from 0 on, and the columns that are read of them."""

    def __init__(self, files: Any, columns: Any, filter: Any, options: dict[str, Any]) -> None:
        self._files = _opened(files, options)
        if isinstance(columns, (str, bytes)):
            raise TypeError("columns is a list of names, not one name")
        self.columns: list[str] | None = None if columns is None else list(columns)
        if self.columns == []:
            raise InvalidInput("columns is empty: there is nothing to read")
        self.types = self._types_of(self._files[0])
        for file in self._files[1:]:
            types = self._types_of(file)
            for one, other in zip(self.types, types, strict=False):
                if one.name != other.name or not one.same(other):
                    name, first = file._name(), self._files[0]._name()
                    text = f"{name}: column {other.name} of type {other}, in {first} {one.name} of type {one}"
                    raise InvalidInput(f"files with different columns: {text}", name, other.name)
            if len(types) != len(self.types):
                name, (n_columns, n_first) = file._name(), (len(types), len(self.types))
                raise InvalidInput(f"files with different columns: {name} has {n_columns}, the first {n_first}", name)
        self._chosen: list[Chosen | None] = [_chosen(file, filter) for file in self._files]
        rows = [file.num_rows if of is None else of.n_rows for file, of in zip(self._files, self._chosen, strict=True)]
        #: The number of the first row of each file, and of all rows.
        self._starts = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])
        self._in_worker: tuple[int, list[File]] | None = None

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_in_worker": None}

    def _types_of(self, file: File) -> tuple[Type, ...]:
        return columns_of(file.scan(self.columns, rows=range(0, 0)).schema)

    def identity(self) -> str:
        """A text that differs if the files, their rows or the filter's result do."""
        from hashlib import sha256

        digest = sha256()
        for file, chosen in zip(self._files, self._chosen, strict=True):
            digest.update(repr(file._opened().identity()).encode())
            if chosen is not None:
                digest.update(chosen._starts.tobytes() + b"/" + chosen._before.tobytes())
            digest.update(b";")
        return digest.hexdigest()[:32]

    def _here(self) -> list[File]:
        """The files as this process reads them. In a worker one thread decodes: each worker has its own."""
        if not is_in_worker():
            return self._files
        if self._in_worker is None or self._in_worker[0] != os.getpid():
            self._in_worker = (os.getpid(), [_for_worker(file) for file in self._files])
        return self._in_worker[1]

    def take(self, rows: np.ndarray) -> _tarsia.Batch:
        """Takes rows of the table, in the order asked for. They are in range."""
        files = self._here()
        if len(files) == 1:
            return self._take(files, 0, rows)
        of = np.searchsorted(self._starts, rows, side="right") - 1
        order = np.argsort(of, kind="stable")
        used, counts = np.unique(of, return_counts=True)
        if len(used) <= 1:
            file = int(used[0]) if len(used) == 1 else 0
            return self._take(files, file, rows - self._starts[file])
        ends = np.cumsum(counts)
        batches = [
            self._take(files, int(file), rows[order[end - count : end]] - self._starts[file])
            for file, count, end in zip(used, counts, ends, strict=True)
        ]
        # For each row asked for, the batch that it is in and its place there.
        batch_of, in_batch = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        batch_of[order] = np.repeat(np.arange(len(used)), counts)
        in_batch[order] = np.arange(len(rows)) - np.repeat(ends - counts, counts)
        return _tarsia.interleave(batches, batch_of, in_batch)

    def _take(self, files: list[File], number: int, rows: np.ndarray) -> _tarsia.Batch:
        chosen = self._chosen[number]
        return files[number].take(rows if chosen is None else chosen.numbers(rows), self.columns)


def _opened(files: Any, options: dict[str, Any]) -> list[File]:
    if isinstance(files, (str, bytes, os.PathLike, File)) or hasattr(files, "read"):
        files = [files]
    made = []
    for file in files:
        if isinstance(file, File) and options:
            names = ", ".join(options)
            raise InvalidInput(f"{names}: options are for files that are opened here, not for an open file")
        made.append(file if isinstance(file, File) else open(file, **options))
    if not made:
        raise InvalidInput("there are no files")
    return made


def _chosen(file: File, filter: Any) -> Chosen | None:
    """The rows of a file that are not deleted and that pass the filter; None if those are all."""
    if filter is None and file.live_rows == file.num_rows:
        return None
    chosen = Chosen.of(file.scan([], filter, row_numbers=True))
    return None if chosen.n_rows == file.num_rows else chosen


def _for_worker(file: File) -> File:
    """The file with one thread, unless its options name a number of threads."""
    if file._options.get("threads") is not None or not isinstance(file._source, (str, bytes)):
        return file
    state = file.__getstate__()
    state["options"] = {**state["options"], "threads": 1}
    copy = File.__new__(File)
    copy.__setstate__(state)
    return copy
