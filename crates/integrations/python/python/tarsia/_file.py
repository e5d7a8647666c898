"""Open files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _tarsia
from ._errors import FileChanged, InvalidInput, UnsupportedError
from ._scan import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas
    import polars
    import pyarrow


def open(source: Any, **options: Any) -> File:
    """Opens a file: a path, a URL, bytes, or a binary file object with ``read`` and ``seek``.

    Opening reads no values and, however many columns there are, at most some KiB. Of an object in a store it reads the
    end and the header.

    :param views: whether strings come as views of Arrow, whatever type they were written with; default False
    :param threads: threads that decode; by default one for each processor, which all files of a process share
    :param access: ``"map"`` (default) or ``"read"``: a local file is mapped, or read by position. Where another program
        writes over a mapped file, arrays change, and only the end of a scan says so; where it cuts the file short, the
        process ends by SIGBUS. Tarsia's own commands replace or lock the file instead
    :param checksums: ``"once"`` (default), ``"always"`` or ``"never"``: when the checksums of blocks are compared
    :param kernels: ``"trusted"`` (default), ``"never"`` or ``"forced"``: whether decoders of the file may run
    :param trusted_kernels: digests of kernels to trust beside those of this build
    :param pool_bytes: bytes of output memory that are kept for the next batch
    :param storage_options: options of the store of a URL, such as ``endpoint``, ``region``, ``anonymous``; without
        any, those of the environment
    :raises FileNotFoundError: and the other errors of the system
    :raises CorruptError: for what is no file of this format or is damaged
    """
    return File(source, options)


def _absolute(source: Any) -> Any:
    """The place of a file, as another process with another working directory has to name it."""
    if isinstance(source, str) and "://" in source:
        return source
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        return os.path.abspath(os.fspath(source))
    return source


class File:
    """An open file. All methods can be called from several threads.

    A file goes to other processes: pickled it is its place, its options and its state, and it is opened again where it
    is first used, as in a forked process. If the file is another one there, that raises :class:`FileChanged`.
    """

    def __init__(self, source: Any, options: dict[str, Any]) -> None:
        self._source = _absolute(source)
        self._options = {name: value for name, value in options.items() if value is not None}
        self._is_closed = False
        self._state: tuple[str, int, str] | None = None
        self._process = os.getpid()
        self._handle: _tarsia.Handle | None = _tarsia.open(self._source, **self._options)
        self._state = self._handle.identity()

    def _opened(self) -> _tarsia.Handle:
        """The file as this process has it."""
        if self._is_closed:
            raise InvalidInput("the file is closed")
        handle = self._handle
        if handle is not None and self._process == os.getpid():
            return handle
        if not isinstance(self._source, (str, bytes)):
            raise UnsupportedError("a file object belongs to one process: open the file by its path instead")
        handle = _tarsia.open(self._source, **self._options)
        state = handle.identity()
        if self._state is not None and state != self._state:
            raise FileChanged(f"{self._name()}: the file is another one than when it was opened", self._name())
        self._process = os.getpid()
        self._handle = handle
        return handle

    def _name(self) -> str:
        return self._source if isinstance(self._source, str) else "<memory>"

    def __getstate__(self) -> dict[str, Any]:
        if self._is_closed:
            raise InvalidInput("the file is closed")
        source = self._source
        if not isinstance(source, (str, bytes)):
            if hasattr(source, "read"):
                raise TypeError("a file object cannot be pickled: open the file by its path instead")
            source = bytes(source)
        return {"source": source, "options": self._options, "state": self._state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._source = state["source"]
        self._options = state["options"]
        self._state = state["state"]
        self._is_closed = False
        self._process = -1
        self._handle = None

    def close(self) -> None:
        """Closes the file. Arrays that were read stay as they are."""
        self._is_closed = True
        self._handle = None

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._is_closed:
            return f"<tarsia.File {self._name()}: closed>"
        return f"<tarsia.File {self._name()}: {self.num_rows} rows, {self.num_columns} columns>"

    @property
    def schema(self) -> _tarsia.Schema:
        """The schema, with all metadata."""
        return self._opened().schema()

    @property
    def num_rows(self) -> int:
        """Rows of the table, deleted ones too: they keep their numbers."""
        return self._opened().num_rows

    @property
    def live_rows(self) -> int:
        """Rows that were not deleted: those that a scan has."""
        return self._opened().live_rows

    @property
    def num_columns(self) -> int:
        """Top-level columns."""
        return self._opened().num_columns

    def __len__(self) -> int:
        return self.live_rows

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        rows: Any = None,
        batch_size: int | None = None,
        *,
        limit: int | None = None,
        row_numbers: bool = False,
    ) -> Scan:
        """Describes a scan, which starts when its batches are asked for, and again each time they are.

        :param columns: names, which may lead into structs, lists and maps: ``user.address.city``
        :param filter: SQL text, or an expression of pyarrow or polars; only rows for which it is true
        :param rows: a ``range`` or a ``slice``, or rising row numbers
        :param batch_size: rows of a batch, at most; by default about 3 MiB of the rows that are read
        :param limit: at most so many rows
        :param row_numbers: adds a column :data:`ROW_NUMBER`, the number of each row in the file
        """
        return Scan(self, columns, filter, rows, batch_size, limit, row_numbers)

    def take(
        self, rows: Any, columns: Sequence[str] | None = None, *, deleted: str = "error"
    ) -> _tarsia.Batch:
        """Takes rows, in the order asked for; a row may be asked for more than once.

        :param rows: row numbers: a list, a range, an array of NumPy or Arrow
        :param deleted: ``"error"`` for rows that were deleted, or ``"null"`` for rows of nulls in their place
        :raises OutOfRange: for rows that the file does not have
        :raises RowDeleted: for rows that were deleted
        """
        nulls = _nulls_for_deleted(deleted)
        return self._opened().take(rows, columns, None, nulls)

    def element(self, path: str, rows: Any, *, deleted: str = "error") -> _tarsia.Batch:
        """Takes one element of each row: ``frames[3]``, ``user.ids[0]``, ``events[2..5].time``, null where there is
        none. What lies beside it is not read. The batch has one column, named like the path."""
        if not isinstance(path, str):
            raise TypeError(f"path is a str, not {type(path).__name__}")
        nulls = _nulls_for_deleted(deleted)
        return self._opened().take(rows, None, path, nulls)

    def count(self, filter: Any = None) -> int:
        """Counts rows, of a filter those for which it is true."""
        return self.scan(filter=filter).count()

    def explain(self, filter: Any) -> dict[str, Any]:
        """Says how a filter is evaluated; see :meth:`Scan.explain`."""
        return self.scan(filter=filter).explain()

    def to_pyarrow(self) -> pyarrow.Table:
        """All rows as a ``pyarrow.Table``."""
        return self.scan().to_pyarrow()

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a ``pandas.DataFrame``; needs pyarrow, too."""
        return self.scan().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All rows as a ``polars.DataFrame``."""
        return self.scan().to_polars()

    def inspect(self) -> dict[str, Any]:
        """Says what is in the file: its layout, and of each column the encodings and sizes."""
        return self._opened().inspect()

    def verify(self) -> dict[str, int]:
        """Checks every byte, every value and every statement about them.

        :raises CorruptError: for damage, with its place
        """
        return self._opened().verify()

    def audit(self) -> dict[str, Any]:
        """Finds what the file still holds of deleted rows."""
        return self._opened().audit()


def _nulls_for_deleted(deleted: str) -> bool:
    if deleted not in ("error", "null"):
        raise InvalidInput(f"deleted is error or null, not {deleted!r}")
    return deleted == "null"
