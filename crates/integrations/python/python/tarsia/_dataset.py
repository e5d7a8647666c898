"""Files as a dataset of pyarrow, which DuckDB takes as a table.

DuckDB's scan of Python objects takes the classes of pyarrow alone, so this is one of them, with all methods replaced.
What pyarrow's C++ code would find behind it is a dataset of one Parquet file that does not exist, whose name says why:
so that is an error, where a dataset of nothing would end the process, or have no rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pd
import pyarrow.fs

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


#: The name of a file that is not there, for people who see it in an error.
_ONLY_HERE = "a dataset of Tarsia is read by its own methods"


class Dataset(_Source, pd.FileSystemDataset):
    """Files that are read as one table."""

    #: The files' columns are the same as long as it is there.
    schema_is_stable = True

    def __init__(self, source: Any, *, batch_size: int | None = None, **options: Any) -> None:
        """Describes a table; see :func:`tarsia.duckdb.scan`."""
        files = Files(source, options)
        with files.opened(0) as first:
            # What cannot be is said now, not when the query runs.
            first.scan(batch_size=batch_size)
            self._become(files, batch_size, None, first.schema.to_pyarrow())

    def _become(self, files: Files, batch_size: int | None, filter: pc.Expression | None, schema: pa.Schema) -> None:
        self._files = files
        self._batch_size = batch_size
        self._filter = filter
        self._schema = schema
        self._n_rows: int | None = None
        parquet, local = pd.ParquetFileFormat(), pyarrow.fs.LocalFileSystem()
        pd.FileSystemDataset.__init__(self, [parquet.make_fragment(_ONLY_HERE, local)], schema, parquet, local)

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

    @property
    def files(self) -> list[str]:
        """The names of the files."""
        return [self._files.name(number) for number in range(len(self._files))]

    filesystem = property(lambda _: None, doc="None: files are opened by this package.")
    format = property(lambda _: None, doc="None: pyarrow has no such format.")
    partitioning = property(lambda _: None, doc="None: folders have no meaning.")

    def to_reader(
        self, columns: Sequence[str] | None = None, filter: Any = None, batch_size: int | None = None, **_: Any
    ) -> pa.RecordBatchReader:
        """The rows as a stream.

        :param columns: names of columns; by default all
        :param filter: an expression of pyarrow, or what else :meth:`tarsia.File.scan` takes
        :param batch_size: rows of a batch, at most
        :param _: what pyarrow's own scans can be told about threads and reading ahead, which changes no row
        """
        reader = self._reader(_names(columns), self._all_of(filter), batch_size)
        return pa.RecordBatchReader.from_stream(reader)

    def scanner(self, *columns: Any, **asked: Any) -> pd.Scanner:
        """The rows as a scanner of pyarrow, which can be read once; options are those of :meth:`to_reader`."""
        return pd.Scanner.from_batches(self.to_reader(*columns, **asked))

    def to_batches(self, *columns: Any, **asked: Any) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch; options are those of :meth:`to_reader`."""
        return iter(self.to_reader(*columns, **asked))

    def to_table(self, *columns: Any, **asked: Any) -> pa.Table:
        """The rows at once; options are those of :meth:`to_reader`."""
        return self.to_reader(*columns, **asked).read_all()

    def head(self, num_rows: int, *columns: Any, **asked: Any) -> pa.Table:
        """The first rows; options are those of :meth:`to_reader`."""
        if num_rows < 0:
            raise InvalidInput(f"num_rows is {num_rows}: it is 0 at least")
        reader = self.to_reader(*columns, **asked)
        batches: list[pa.RecordBatch] = []
        left = num_rows
        while left > 0 and (batch := next(reader, None)) is not None:
            batches.append(batch.slice(0, left))
            left -= batches[-1].num_rows
        return pa.Table.from_batches(batches, reader.schema)

    def take(self, indices: Any, *columns: Any, **asked: Any) -> pa.Table:
        """Some rows by their positions, of all rows that are read; options are those of :meth:`to_reader`.
        :meth:`tarsia.File.take` reads these rows alone."""
        return self.to_table(*columns, **asked).take(indices)

    def count_rows(self, filter: Any = None, **_: Any) -> int:
        """Counts rows, of which only what the filter looks at is read."""
        filter = self._all_of(filter)
        return sum(self._scan_of(file, name, None, filter).count() for name, file in self._files.each())

    def filter(self, expression: pc.Expression) -> Dataset:
        """The dataset of the rows for which an expression of pyarrow is true."""
        if not isinstance(expression, pc.Expression):
            raise TypeError(f"a dataset is filtered by an expression of pyarrow, not by {type(expression).__name__}")
        return _restored(self._files, self._batch_size, self._all_of(expression), self._schema)

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

    @property
    def _scan_options(self) -> dict[str, Any]:
        return {}

    # Rows.

    def _all_of(self, filter: Any) -> Any:
        """A filter beside that of the dataset."""
        if self._filter is None or filter is None:
            return filter if self._filter is None else self._filter
        if not isinstance(filter, pc.Expression):
            raise TypeError(f"a filtered dataset is filtered by expressions of pyarrow, not {type(filter).__name__}")
        return self._filter & filter

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


def _names(columns: Any) -> list[str] | None:
    if isinstance(columns, dict):
        raise UnsupportedError("columns are names here: compute expressions from what was read")
    return None if columns is None else list(columns)


def _restored(files: Files, batch_size: int | None, filter: pc.Expression | None, schema: pa.Schema) -> Dataset:
    dataset = Dataset.__new__(Dataset)
    dataset._become(files, batch_size, filter, schema)
    return dataset


def _in_memory(dataset: Any) -> Any:
    return pd.dataset(dataset.to_table()) if isinstance(dataset, Dataset) else dataset
