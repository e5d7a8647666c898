"""Files as a dataset of pyarrow, which DuckDB takes as a table.

DuckDB's scan of Python objects takes the classes of pyarrow alone, so this is one of them. None of what it inherits
may be called, since that looks for a dataset of C++ behind it: each method is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pd

from . import _tarsia
from ._errors import InvalidInput, UnsupportedError
from ._file import File
from ._files import Files, differs
from ._filter import Filter, Ready, all_of
from ._filter_duckdb import translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._scan import Scan

try:
    # DuckDB 2 asks objects of this class which parts of a filter they evaluate, and how many rows they have.
    from duckdb._sources.arrow import ArrowScanSource as _Source
except ImportError:

    class _Source:  # type: ignore[no-redef]
        """What another version may not have: there, a dataset gets filters as expressions of pyarrow."""


class Dataset(_Source, pd.Dataset):
    """Files that are read as one table."""

    #: The files' columns are the same as long as it is there.
    schema_is_stable = True

    def __init__(self, source: Any, *, batch_size: int | None = None, **options: Any) -> None:
        """Describes a table; see :func:`tarsia.duckdb.scan`."""
        self._files = Files(source, options)
        self._batch_size = batch_size
        self._filter: pc.Expression | None = None
        self._n_rows: int | None = None
        with self._files.opened(0) as first:
            # What cannot be is said now, not when the query runs.
            first.scan(batch_size=batch_size)
            self._schema = first.schema.to_pyarrow()

    def __reduce__(self) -> tuple:
        return (_restored, (self._files, self._batch_size, self._filter, self._schema))

    def __repr__(self) -> str:
        return f"<tarsia.duckdb.Dataset of {len(self._files)} files: {', '.join(self._schema.names)}>"

    # What DuckDB 2 asks.

    def rows(self) -> int | None:
        """Rows of the table when DuckDB first asked, by which it orders joins; None if a filter leaves some of them."""
        if self._filter is not None:
            return None
        if self._n_rows is None:
            self._n_rows = sum(file.live_rows for _, file in self._files.each())
        return self._n_rows

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader(None, self._filter).__arrow_c_stream__(requested_schema)

    def accepts(self, predicate: Any) -> bool:
        """Whether the scan evaluates a part of a filter exactly as DuckDB does."""
        return self._filter is None and translated(predicate, self._schema) is not None

    def stream(self, columns: Sequence[int] | None, filters: Sequence[Any]) -> tuple[object, bool]:
        """The rows that pass accepted parts of a filter, and whether they have these columns and no others."""
        names = None if columns is None else [self._schema.names[column] for column in columns]
        filter: Any = self._filter
        if filters:
            conditions = [translated(part, self._schema) for part in filters]
            filter = Ready(all_of([condition for condition in conditions if condition is not None]))
            if self._filter is not None or None in conditions:
                raise InvalidInput("a filter that was not accepted")
        return self._reader(names, filter).__arrow_c_stream__(), names is not None

    # What datasets of pyarrow have.

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._schema

    @property
    def partition_expression(self) -> pc.Expression:
        """What is true for all rows: nothing in particular."""
        return pc.scalar(value=True)

    def scanner(
        self, columns: Sequence[str] | None = None, filter: Any = None, batch_size: int | None = None, **_: Any
    ) -> Scanner:
        """Describes a scan of some columns, and of the rows for which an expression of pyarrow is true.

        :param filter: an expression of pyarrow, or what else :meth:`tarsia.File.scan` takes
        :param _: what pyarrow's own scans can be told about threads and reading ahead, which changes no row
        """
        if isinstance(columns, dict):
            raise UnsupportedError("columns are names here: compute expressions from what was read")
        filter = filter if self._filter is None else _both(self._filter, filter)
        return Scanner(self, columns, filter, batch_size)

    def to_reader(self, **asked: Any) -> pa.RecordBatchReader:
        """The rows as a stream; options are those of :meth:`scanner`."""
        return self.scanner(**asked).to_reader()

    def to_batches(self, **asked: Any) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch; options are those of :meth:`scanner`."""
        return self.scanner(**asked).to_batches()

    def to_table(self, **asked: Any) -> pa.Table:
        """The rows at once; options are those of :meth:`scanner`."""
        return self.scanner(**asked).to_table()

    def head(self, num_rows: int, **asked: Any) -> pa.Table:
        """The first rows; options are those of :meth:`scanner`."""
        return self.scanner(**asked).head(num_rows)

    def take(self, indices: Any, **asked: Any) -> pa.Table:
        """Some rows by their positions; options are those of :meth:`scanner`."""
        return self.scanner(**asked).take(indices)

    def count_rows(self, **asked: Any) -> int:
        """Counts rows; options are those of :meth:`scanner`."""
        return self.scanner(**asked).count_rows()

    def filter(self, expression: pc.Expression) -> Dataset:
        """The dataset of the rows for which an expression of pyarrow is true."""
        part = _restored(self._files, self._batch_size, self._filter, self._schema)
        part._filter = expression if self._filter is None else _both(self._filter, expression)
        return part

    def sort_by(self, sorting: Any, **options: Any) -> pd.InMemoryDataset:
        """Reads all rows, and sorts them."""
        return pd.dataset(self.to_table()).sort_by(sorting, **options)

    def join(self, right_dataset: Any, *arguments: Any, **options: Any) -> pd.InMemoryDataset:
        """Reads all rows, and joins them with those of another dataset."""
        return pd.dataset(self.to_table()).join(_in_memory(right_dataset), *arguments, **options)

    def join_asof(self, right_dataset: Any, *arguments: Any, **options: Any) -> pd.InMemoryDataset:
        """Reads all rows, and joins them with the nearest ones of another dataset."""
        return pd.dataset(self.to_table()).join_asof(_in_memory(right_dataset), *arguments, **options)

    def get_fragments(self, filter: Any = None) -> Any:
        """Files have no fragments of pyarrow.

        :raises UnsupportedError: always
        """
        raise UnsupportedError("files of Tarsia have no fragments of pyarrow")

    def replace_schema(self, schema: pa.Schema) -> Any:
        """Columns are those of the files.

        :raises UnsupportedError: always
        """
        raise UnsupportedError("columns are those of the files: cast what was read")

    _get_fragments = get_fragments

    def _scanner_options(self, options: dict[str, Any]) -> dict[str, Any]:
        return options

    def _scan_options(self, options: dict[str, Any]) -> dict[str, Any]:
        return options

    # Rows.

    def _scan_of(self, file: File, name: str, columns: Any, filter: Any, batch_size: int | None = None) -> Scan:
        if not file.schema.to_pyarrow().equals(self._schema):
            raise differs(name, self._files.name(0))
        return file.scan(columns, filter, batch_size=batch_size or self._batch_size)

    def _reader(self, columns: Any, filter: Any, batch_size: int | None = None) -> Any:
        """The rows of all files as one stream."""
        with self._files.opened(0) as file:
            first = self._scan_of(file, self._files.name(0), columns, filter, batch_size)
            schema = first.schema
            if len(self._files) == 1 and not first._is_split():
                # What has begun needs the file no longer.
                return first._run()
        return _Stream(schema, self._batches(columns, filter, batch_size))

    def _batches(self, columns: Any, filter: Any, batch_size: int | None) -> Iterator[_tarsia.Batch]:
        for name, file in self._files.each():
            yield from self._scan_of(file, name, columns, filter, batch_size)


class _Stream:
    """Batches as a stream that other libraries take."""

    def __init__(self, schema: _tarsia.Schema, batches: Iterator[_tarsia.Batch]) -> None:
        self._schema = schema
        self._batches = batches

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return _tarsia.stream_of(self._schema, self._batches, requested_schema)


class Scanner(pd.Scanner):
    """A scan of a :class:`Dataset`, which starts anew whenever its rows are asked for."""

    def __init__(self, dataset: Dataset, columns: Sequence[str] | None, filter: Any, batch_size: int | None) -> None:
        self._dataset = dataset
        self._columns = None if columns is None else list(columns)
        self._filter = filter
        self._batch_size = batch_size
        with dataset._files.opened(0) as file:
            scan = dataset._scan_of(file, dataset._files.name(0), self._columns, filter, batch_size)
            self._schema = scan.schema.to_pyarrow()

    def __reduce__(self) -> tuple:
        return (Scanner, (self._dataset, self._columns, self._filter, self._batch_size))

    @property
    def dataset_schema(self) -> pa.Schema:
        """The columns of the dataset."""
        return self._dataset.schema

    @property
    def projected_schema(self) -> pa.Schema:
        """The columns that are read."""
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream."""
        reader = self._dataset._reader(self._columns, self._filter, self._batch_size)
        return pa.RecordBatchReader.from_stream(reader)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch."""
        return iter(self.to_reader())

    def scan_batches(self) -> Any:
        """Batches have no fragments of pyarrow.

        :raises UnsupportedError: always
        """
        raise UnsupportedError("files of Tarsia have no fragments of pyarrow: use to_batches")

    def to_table(self) -> pa.Table:
        """The rows at once."""
        return self.to_reader().read_all()

    def head(self, num_rows: int) -> pa.Table:
        """The first rows."""
        if num_rows < 0:
            raise InvalidInput(f"num_rows is {num_rows}: it is 0 at least")
        batches: list[pa.RecordBatch] = []
        left = num_rows
        if left:
            for batch in self.to_batches():
                batches.append(batch.slice(0, left))
                left -= batches[-1].num_rows
                if left == 0:
                    break
        return pa.Table.from_batches(batches, self._schema)

    def take(self, indices: Any) -> pa.Table:
        """Some rows by their positions among those of the scan."""
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        """Counts the rows, of which only what the filter looks at is read."""
        dataset = self._dataset
        each = dataset._files.each()
        return sum(dataset._scan_of(file, name, None, self._filter).count() for name, file in each)


def _restored(files: Files, batch_size: int | None, filter: pc.Expression | None, schema: pa.Schema) -> Dataset:
    dataset = Dataset.__new__(Dataset)
    dataset._files, dataset._batch_size, dataset._filter, dataset._schema = files, batch_size, filter, schema
    dataset._n_rows = None
    return dataset


def _both(one: pc.Expression, other: Any) -> pc.Expression:
    if other is None:
        return one
    if not isinstance(other, pc.Expression):
        raise TypeError(f"a filtered dataset is filtered by expressions of pyarrow, not by {type(other).__name__}")
    return one & other


def _in_memory(dataset: Any) -> Any:
    return pd.dataset(dataset.to_table()) if isinstance(dataset, Dataset) else dataset
