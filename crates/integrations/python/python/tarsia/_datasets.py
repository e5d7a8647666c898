"""Reads files for Hugging Face's ``datasets``, which imports this module by its name."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from datasets.builder import Key, _CountableBuilderMixin
from datasets.table import table_cast

from . import _file
from ._errors import Error, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._file import File

_logger = datasets.utils.logging.get_logger(__name__)

#: Rows of a shard where a file is split into several.
_SHARD_ROWS = 1 << 20

Rows = tuple[int, int]


@dataclass
class TarsiaConfig(datasets.BuilderConfig):
    """What ``load_dataset`` can be told about files of Tarsia."""

    #: Names of columns; by default all.
    columns: list[str] | None = None
    #: SQL text, an expression of pyarrow or polars, or filters as pyarrow has them for Parquet:
    #: ``[("price", ">", 10)]``.
    filters: Any = None
    #: Rows of a batch, at most.
    batch_size: int | None = None
    #: Rows of a shard, about: of a streamed dataset, workers read different shards. By default a shard is a file.
    shard_rows: int | None = None
    #: Types to cast to.
    features: datasets.Features | None = None
    #: What to do about files that cannot be read.
    on_bad_files: Literal["error", "warn", "skip"] = "error"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.on_bad_files not in ("error", "warn", "skip"):
            raise InvalidInput(f"on_bad_files is error, warn or skip, not {self.on_bad_files!r}")
        if self.shard_rows is not None and self.shard_rows < 1:
            raise InvalidInput(f"shard_rows is {self.shard_rows}: it is 1 at least")


class Tarsia(datasets.ArrowBasedBuilder, _CountableBuilderMixin):
    """Reads files of Tarsia. A shard is a file, or a range of its rows."""

    BUILDER_CONFIG_CLASS = TarsiaConfig

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=self.config.features)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        if not any((self.config.data_files or {}).values()):
            raise FileNotFoundError(f"data_files names no file: {self.config.data_files!r}")
        splits = []
        for name, paths in dl_manager.download(self.config.data_files).items():
            shards: list[tuple[str, Rows | None]] = []
            for path in map(str, paths):
                try:
                    with _opened(path) as file:
                        self._take_features(file)
                        shards += [(path, rows) for rows in _ranges(file, self.config.shard_rows)]
                except Error as error:
                    self._bad(path, error)
            files, ranges = [path for path, _ in shards], [rows for _, rows in shards]
            splits.append(datasets.SplitGenerator(name=name, gen_kwargs={"files": files, "ranges": ranges}))
        if self.info.features is None:
            raise InvalidInput(f"none of the files can be read: {self.config.data_files!r}")
        return splits

    def _take_features(self, file: File) -> None:
        """The types of the first file that can be read, unless others were asked for."""
        # Whatever is wrong with the filter is said here, once.
        schema = file.scan(self.config.columns, self._filter()).schema.to_pyarrow()
        if self.info.features is None:
            self.info.features = datasets.Features.from_arrow_schema(_decoded_schema(schema))
        elif self.config.features is not None and set(schema.names) != set(self.info.features):
            raise ValueError(f"features has {sorted(self.info.features)}, but the columns are {sorted(schema.names)}")

    def _generate_shards(self, files: list[str], ranges: list[Rows | None]) -> Iterator[Any]:
        for path, rows in zip(files, ranges, strict=True):
            yield path if rows is None else {"fragment_data_file": path, "fragment_row_range": rows}

    def _generate_more_gen_kwargs(self, files: list[str], ranges: list[Rows | None]) -> Iterator[dict[str, Any]]:
        """Smaller shards, for ``IterableDataset.reshard``."""
        for path, rows in zip(files, ranges, strict=True):
            parts: list[Rows | None] = [rows]
            if rows is None:
                try:
                    with _opened(path) as file:
                        parts = _ranges(file, self.config.shard_rows or _SHARD_ROWS)
                except Error:
                    # What is wrong with it is said where its rows are read.
                    pass
            yield {"files": [path] * len(parts), "ranges": parts}

    def _generate_num_examples(self, files: list[str], ranges: list[Rows | None]) -> Iterator[int]:
        for path, rows in zip(files, ranges, strict=True):
            try:
                with _opened(path) as file:
                    yield file.scan(filter=self._filter(), rows=None if rows is None else range(*rows)).count()
            except Error as error:
                self._bad(path, error)

    def _generate_tables(self, files: list[str], ranges: list[Rows | None]) -> Iterator[tuple[Key, pa.Table]]:
        for shard, (path, rows) in enumerate(zip(files, ranges, strict=True)):
            try:
                with _opened(path) as file:
                    part = None if rows is None else range(*rows)
                    scan = file.scan(self.config.columns, self._filter(), part, self.config.batch_size)
                    for number, batch in enumerate(scan):
                        table = _decoded(pa.table(batch))
                        if self.info.features is not None:
                            table = table_cast(table, self.info.features.arrow_schema)
                        yield Key(shard, number), table
            except Error as error:
                self._bad(path, error)

    def _filter(self) -> Any:
        filters = self.config.filters
        return pq.filters_to_expression(filters) if isinstance(filters, list) else filters

    def _bad(self, path: str, error: Error) -> None:
        """Raises the error of a file, or passes over it. An argument that does not fit is no fault of the file."""
        if self.config.on_bad_files == "error" or isinstance(error, InvalidInput):
            raise error
        level = _logger.warning if self.config.on_bad_files == "warn" else _logger.debug
        level(f"passing over {path}: {error}")


@contextmanager
def _opened(path: str) -> Iterator[File]:
    if "://" not in path and "::" not in path:
        with _file.open(path) as file:
            yield file
        return
    # datasets puts a function in the place of this one, which knows its URLs and archives.
    with open(path, "rb") as stream, _file.open(stream) as file:
        yield file


def _ranges(file: File, shard_rows: int | None) -> list[Rows | None]:
    """Ranges of rows of about the same size; None for the whole file."""
    if shard_rows is None or file.num_rows <= shard_rows:
        return [None]
    n_parts = -(-file.num_rows // shard_rows)
    ends = [file.num_rows * part // n_parts for part in range(n_parts + 1)]
    return list(zip(ends[:-1], ends[1:], strict=True))


def _decoded_schema(schema: pa.Schema) -> pa.Schema:
    """The schema without dictionaries, which datasets has no type for."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema
    ]
    return pa.schema(fields, schema.metadata)


def _decoded(table: pa.Table) -> pa.Table:
    if not any(pa.types.is_dictionary(field.type) for field in table.schema):
        return table
    return table.cast(_decoded_schema(table.schema))
