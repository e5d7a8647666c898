"""New files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _tarsia

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from ._tarsia import WriterMemory


def _asked(
    *,
    preset: str | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    like: Any = None,
    metadata: Mapping[str, str] | None = None,
    column_order: Sequence[str] | None = None,
    erasure: int | str | None = None,
    zones: bool | None = None,
    kernels: str | None = None,
    page_bytes: int | None = None,
    memory: WriterMemory | None = None,
    memory_bytes: int | None = None,
    row_layout_bytes: int | None = None,
    threads: int | None = None,
    deterministic: bool | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Options of writers, as the compiled module takes them."""
    from ._file import File, open

    if like is not None:
        like = (like if isinstance(like, File) else open(like))._opened()
    return {
        "preset": preset,
        "columns": columns,
        "like": like,
        "metadata": metadata,
        "column_order": column_order,
        "erasure": erasure,
        "zones": zones,
        "kernels": kernels,
        "page_bytes": page_bytes,
        "memory": memory,
        "memory_bytes": memory_bytes,
        "row_layout_bytes": row_layout_bytes,
        "threads": threads,
        "deterministic": deterministic,
        "storage_options": storage_options,
    }


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """The options, of which none is unknown."""
    known = _asked.__kwdefaults__ or {}
    for name in options:
        if name not in known:
            raise TypeError(f"a writer has no option `{name}`")
    return _asked(**options)


def write(data: Any, place: Any, **options: Any) -> dict[str, Any]:
    """Writes a table as a file, and says how large it became.

    The file appears under its name when it is complete; whatever interrupts this leaves the old one, or none.

    :param data: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: tables of pyarrow, polars, pandas,
        DuckDB, scans of this package
    :param place: a path, a URL or a binary file object with ``write``
    :param preset: ``"fast"``, ``"balanced"`` (default) or ``"compact"``
    :param columns: options of columns by name: ``encode`` (``"dict(runend)"``), ``layout`` (``"packed"``,
        ``"full-zip"``, ``"mini-block"``), ``round`` (``"bf16"``), ``erasure``, ``preset``, ``zones``, ``bloom`` (True
        for a bloom filter, by which ``=`` and ``IN`` pass over rows: for keys and other values that are rare)
    :param like: a file, or its place, whose encodings are taken over, without a search
    :param metadata: a dict of texts that is added to the metadata of the schema
    :param column_order: columns whose pages lie together, in this order
    :param erasure: 0, 1 (rows can be hidden; default), 2 (rows can be erased) or ``"strict"``
    :param zones: whether columns have statistics by which filters pass over blocks; default True
    :param kernels: ``"embed"`` (default) or ``"omit"``: whether the file brings its decoder
    :param page_bytes: bytes of values in a page, about
    :param memory: a :class:`WriterMemory` that files alike share, which are then written in a fraction of the time
    :param memory_bytes: bytes of rows that the writer holds until pages are full, about
    :param row_layout_bytes: bytes of a value from which rows are stored so that one is one read
    :param threads: threads that encode
    :param deterministic: whether equal tables become equal files, without a random id
    :param storage_options: as of :func:`open`
    """
    return _tarsia.write(data, place, **_known(options))


class Writer:
    """Writes a file batch by batch. The file appears when the ``with`` block ends; if it fails, there is none.

    ::

        with tarsia.Writer("clicks.tarsia", schema) as writer:
            for table in tables:
                writer.write(table)
    """

    def __init__(self, place: Any, schema: Any, **options: Any) -> None:
        """Begins a file.

        :param schema: anything with ``__arrow_c_schema__``
        :param options: those of :func:`write`
        """
        self._writer = _tarsia.Writer(place, schema, **_known(options))
        self._summary: dict[str, Any] | None = None

    def write(self, data: Any) -> None:
        """Writes the rows of a table, as :func:`write` takes it. A few rows at a time are cheap, too.

        :raises InvalidInput: for columns of other names or types than the schema has, or in another order; the writer
            can go on
        """
        self._writer.write(data)

    def finish(self) -> dict[str, Any]:
        """Completes the file, and says how large it became."""
        if self._summary is None:
            self._summary = self._writer.finish()
        return self._summary

    @property
    def summary(self) -> dict[str, Any] | None:
        """What :meth:`finish` said; None before."""
        return self._summary

    def abandon(self) -> None:
        """Gives the file up, if it is not complete."""
        self._writer.abandon()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.abandon()
