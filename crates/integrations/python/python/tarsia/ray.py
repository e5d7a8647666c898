"""Files as datasets of Ray Data, and datasets of Ray Data as files.

::

    import ray
    import tarsia.ray

    clicks = tarsia.ray.read("clicks/", columns=["user", "price"])
    tarsia.ray.write(clicks.filter(expr="price > 10"), "expensive/")
"""

from __future__ import annotations

import os
import shutil
import uuid
from typing import TYPE_CHECKING, Any

from ._errors import Error, InvalidFilter, InvalidInput
from ._files import Files, differs
from ._library import need
from ._tarsia import ROW_NUMBER
from ._write import Writer, _known

need(__name__, "ray", "2.60", "[data]")

import pyarrow as pa
import ray
from ray.data.block import BlockAccessor, BlockMetadata
from ray.data.datasource import Datasink, Datasource, ReadTask

from ._filter_pyarrow import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ray.data import Dataset
    from ray.data._internal.execution.interfaces import TaskContext
    from ray.data.expressions import Expr

    from ._file import File

__all__ = ["TarsiaDatasink", "TarsiaDatasource", "read", "write"]

#: The column that Ray takes for none.
_NO_COLUMN = "__bsp_stub"

#: Rows of a task, at least: smaller ones cost more to start than to read.
_TASK_ROWS_MIN = 1 << 14

#: Ranges begin where blocks of rows do, so that none is decoded by two tasks.
_BLOCK_ROWS = 1 << 10

#: Rows that say how large the others are.
_SAMPLE_ROWS = 1024


def read(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,
    batch_size: int | None = None,
    override_num_blocks: int | None = None,
    concurrency: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """Describes a dataset of Ray Data, whose tasks read ranges of rows.

    What the dataset is asked for later, ``select_columns`` and ``filter`` by expressions, is read by the file's scan,
    too, as far as Ray says so.

    :param source: a path, a folder, a pattern of paths, a URL, or a list of these, which all workers reach under
        these names; all files have the same columns
    :param columns: names of columns; by default all
    :param filter: SQL text, or an expression of pyarrow, polars or Ray; only rows for which it is true
    :param batch_size: rows of a block, at most; by default about 3 MiB of the rows that are read
    :param override_num_blocks: tasks that read, about; by default Ray decides
    :param concurrency: tasks that read at a time, at most
    :param ray_remote_args: what Ray is told about the tasks
    :param options: those of :func:`tarsia.open`
    """
    made = TarsiaDatasource(source, columns=columns, filter=filter, batch_size=batch_size, **options)
    return ray.data.read_datasource(
        made,
        override_num_blocks=override_num_blocks,
        concurrency=concurrency,
        ray_remote_args=ray_remote_args,
    )


def write(dataset: Dataset, folder: Any, *, min_rows_per_file: int | None = None, **options: Any) -> list[str]:
    """Writes a dataset of Ray Data as files in a folder, one for each task, and lists them.

    If a task fails, all files of this call are removed.

    :param folder: a local or shared folder that all workers reach under this name; it is made if it is not there
    :param min_rows_per_file: rows of a file, at least, except the last one
    :param options: those of :func:`tarsia.write`
    """
    sink = TarsiaDatasink(folder, min_rows_per_file=min_rows_per_file, **options)
    dataset.write_datasink(sink)
    return sink.files


class TarsiaDatasource(Datasource):
    """Files that Ray Data reads; see :func:`read`."""

    def __init__(
        self,
        source: Any,
        *,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._files = Files(source, options)
        if self._files.some_are_objects:
            raise InvalidInput("a file object belongs to one process: name the file by its path instead")
        self._columns = None if columns is None else list(columns)
        self._filter = _of_pyarrow(filter) if _is_of_ray(filter) else filter
        self._batch_size = batch_size
        self._projection_map: dict[str, str] | None = None
        self._pushed: pa.compute.Expression | None = None
        with self._files.opened(0) as first:
            # What cannot be is said now, not by a task.
            scan = first.scan(self._columns, self._filter, batch_size=batch_size)
            self._schema = first.schema.to_pyarrow()
            self._read_schema = scan.schema.to_pyarrow()
        #: Rows of each file, and rows that were not deleted.
        self._rows: list[tuple[int, int]] = []
        for name, file in self._files.each():
            if not file.schema.to_pyarrow().equals(self._schema):
                raise differs(name, self._files.name(0))
            self._rows.append((file.num_rows, file.live_rows))

    def get_name(self) -> str:
        """The name of the tasks that read."""
        return "Tarsia"

    def supports_projection_pushdown(self) -> bool:
        """Whether Ray may ask for fewer columns."""
        return True

    def supports_predicate_pushdown(self) -> bool:
        """Whether Ray may ask for fewer rows."""
        return True

    def apply_predicate(self, predicate_expr: Expr) -> TarsiaDatasource:
        """The source of the rows for which an expression is true; this source where the scan has no part of it, so
        that Ray filters what it reads. Ray does not look again at what it has given away, so all of it is evaluated:
        what the scan does not compare in the same way, pyarrow evaluates behind it, as Ray would."""
        try:
            expression = _of_pyarrow(predicate_expr)
            with self._files.opened(0) as first:
                asked = first.scan(filter=expression)._asked
        except (Error, pa.ArrowException, TypeError):
            return self
        is_known = set(columns_of(expression)) <= set(self._read_schema.names)
        if asked is None or asked.pushed is None or not is_known:
            return self
        source: Any = super().apply_predicate(predicate_expr)
        source._pushed = expression if self._pushed is None else self._pushed & expression
        return source

    def estimate_inmemory_data_size(self) -> int | None:
        """Bytes of all rows in memory, of which those of the first rows are a sample."""
        n_live = sum(live for _, live in self._rows)
        columns = self._read_columns()
        with self._files.opened(0) as first:
            sample = first.scan(columns, limit=_SAMPLE_ROWS).to_pyarrow()
        return 0 if sample.num_rows == 0 else sample.nbytes * n_live // sample.num_rows

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """Tasks that read ranges of rows, about as many as asked for."""
        columns = self._read_columns()
        with self._files.opened(0) as first:
            schema = first.scan(columns).schema.to_pyarrow()
        n_live = sum(live for _, live in self._rows)
        n_bytes = self.estimate_inmemory_data_size() or 0
        has_filter = self._filter is not None or self._pushed is not None
        tasks = []
        for number, start, end in _ranges(self._rows, max(1, parallelism)):
            total, live = self._rows[number]
            # Which rows were deleted is not known of a range.
            n_rows = end - start if live == total and not has_filter else None
            metadata = BlockMetadata(
                num_rows=n_rows,
                size_bytes=None if n_live == 0 else n_bytes * (end - start) // n_live,
                input_files=(self._files.name(number),),
                exec_stats=None,
            )
            task = _Task(self._files, number, (start, end), columns, (self._filter, self._pushed), self._batch_size)
            tasks.append(ReadTask(task, metadata, schema=schema, per_task_row_limit=per_task_row_limit))
        return tasks

    def _read_columns(self) -> list[str] | None:
        """Columns that are left, of those that the source was made with."""
        kept = self._projection_map
        if kept is None:
            return self._columns
        if self._columns is None:
            return list(kept)
        # Of a path into a struct, the column is the struct.
        names = self._schema.names
        return [path for path in self._columns if (path if path in names else path.split(".")[0]) in kept]


class _Task:
    """Reads a range of rows, in another process."""

    def __init__(
        self,
        files: Files,
        number: int,
        rows: tuple[int, int],
        columns: list[str] | None,
        filters: tuple[Any, Any],
        batch_size: int | None,
    ) -> None:
        self._files = files
        self._number = number
        self._rows = rows
        self._columns = columns
        self._filters = filters
        self._batch_size = batch_size

    def __call__(self) -> Iterator[pa.Table]:
        filter, pushed = self._filters
        rows: Any = range(*self._rows)
        with self._files.opened(self._number) as file:
            if filter is not None and pushed is not None:
                rows = self._passing(file, pushed)
            elif filter is None:
                filter = pushed
            is_empty = True
            if len(rows):
                for batch in file.scan(self._columns, filter, rows, self._batch_size):
                    is_empty = False
                    yield pa.table(batch) if self._columns != [] else _without_columns(len(batch))
            if is_empty:
                # Ray takes the columns of rows, even if there are none.
                yield file.scan(self._columns, limit=0).to_pyarrow() if self._columns != [] else _without_columns(0)

    def _passing(self, file: File, pushed: Any) -> Any:
        """Rows of the range that pass the filter that Ray pushed: the other one may be of another language."""
        found = file.scan([], pushed, range(*self._rows), row_numbers=True).to_pyarrow()
        return found.column(ROW_NUMBER)


class TarsiaDatasink(Datasink):
    """A folder into which Ray Data writes; see :func:`write`.

    Tasks write into a hidden folder in it. When all have ended, their files are moved to where they belong; if one has
    failed, the hidden folder is removed, so that a task that still runs cannot leave a file.
    """

    def __init__(self, folder: Any, *, min_rows_per_file: int | None = None, **options: Any) -> None:
        name = os.fspath(folder)
        if "://" in name:
            raise InvalidInput(f"{name}: files are written into a local or shared folder")
        if min_rows_per_file is not None and min_rows_per_file < 1:
            raise InvalidInput(f"min_rows_per_file is {min_rows_per_file}: it is 1 at least")
        # An unknown option is said now, not by a task.
        _known(options)
        self._folder = os.path.abspath(name)
        self._min_rows_per_file = min_rows_per_file
        self._options = options
        #: In the names of files, so that no other call writes the same.
        self._call = uuid.uuid4().hex[:16]
        self._hidden = os.path.join(self._folder, f".{self._call}.partial")
        #: Files that were written, when the write is over.
        self.files: list[str] = []

    def get_name(self) -> str:
        """The name of the tasks that write."""
        return "Tarsia"

    @property
    def min_rows_per_write(self) -> int | None:
        """Rows of a task, at least."""
        return self._min_rows_per_file

    def on_write_start(self, schema: pa.Schema | None = None) -> None:
        """Makes the folders."""
        os.makedirs(self._hidden, exist_ok=True)

    def write(self, blocks: Iterable[Any], ctx: TaskContext) -> list[str]:
        """Writes the rows of one task as one file; without rows there is none."""
        tables = [BlockAccessor.for_block(block).to_arrow() for block in blocks]
        tables = [table for table in tables if table.num_rows]
        if not tables:
            return []
        # Columns that are missing, or all null, in some blocks become those of the others.
        table = pa.concat_tables(tables, promote_options="default")
        # A task that is started again does not write over what the first try may still write.
        name = f"{self._call}-{ctx.task_idx:06}.{uuid.uuid4().hex[:8]}.tarsia"
        with Writer(os.path.join(self._hidden, name), table.schema, **self._options) as writer:
            writer.write(table)
        return [name]

    def on_write_complete(self, write_result: Any) -> None:
        """Moves the files to their places, and lists them."""
        written = sorted(name for names in write_result.write_returns for name in names)
        for name in written:
            call_and_task, _, suffix = name.split(".")
            path = os.path.join(self._folder, f"{call_and_task}.{suffix}")
            os.replace(os.path.join(self._hidden, name), path)
            self.files.append(path)
        shutil.rmtree(self._hidden, ignore_errors=True)

    def on_write_failed(self, error: Exception) -> None:
        """Removes the files of this call."""
        shutil.rmtree(self._hidden, ignore_errors=True)
        for path in self.files:
            os.unlink(path)
        self.files = []


def _is_of_ray(filter: Any) -> bool:
    return (type(filter).__module__ or "").partition(".")[0] == "ray"


def _of_pyarrow(expression: Expr) -> pa.compute.Expression:
    """An expression of Ray as one of pyarrow.

    :raises InvalidFilter: if it is not one of those that Ray says in pyarrow's terms
    """
    if not expression._is_pyarrow_convertible():
        raise InvalidFilter(f"{expression}: Ray has no expression of pyarrow for it; filter the dataset instead")
    return expression.to_pyarrow()


def _without_columns(n_rows: int) -> pa.Table:
    """Rows without a column, as Ray has them: it loses the number of rows of a table of none."""
    return pa.table({_NO_COLUMN: pa.nulls(n_rows)})


def _ranges(rows: list[tuple[int, int]], parallelism: int) -> Iterator[tuple[int, int, int]]:
    """Ranges of rows of files, all of about the same number of rows: ``(file, start, end)``."""
    total = sum(count for count, _ in rows)
    wanted = max(-(-total // parallelism), min(_TASK_ROWS_MIN, max(total, 1)))
    for number, (count, live) in enumerate(rows):
        if live == 0:
            continue
        n_parts = max(1, round(count / wanted))
        ends = [0, *(count * part // n_parts // _BLOCK_ROWS * _BLOCK_ROWS for part in range(1, n_parts)), count]
        for start, end in zip(ends, ends[1:], strict=False):
            if start < end:
                yield number, start, end
