"""Measures the Python package beside vortex-data, pylance and pyarrow, and in polars, DuckDB and DataFusion.

    pip install -r engines.txt
    python engines.py                      # TPC-H's lineitem at scale factor 1
    python engines.py --scale 0.1          # a reduced run
    python engines.py --parquet lineitem.parquet

All are measured in one run, in turns, on one processor: the process is bound to it, and each library is told to use
one thread, where it can be told (Tarsia, pyarrow, polars, DuckDB, DataFusion, Vortex, Lance). Times are medians. What
each returns is compared with what the first returns; a difference ends the run. Files are in the cache of the system.

Vortex's strings are views of Arrow; Tarsia's are, where it is told so. Tables are printed as Markdown. A ratio is the
time of a peer by that of Tarsia: above 1, Tarsia is faster.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

# Libraries look at these when they are imported.
for _name in ("POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS", "LANCE_CPU_THREADS"):
    os.environ.setdefault(_name, "1")

import datafusion
import duckdb
import lance
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pd
import pyarrow.parquet as pq
import tarsia
import tarsia.duckdb
import tarsia.polars
import vortex as vx

TAKE_ROWS = 256

#: Between two runs.
PAUSE_SECONDS = 0.01

#: Columns that a filter leaves rows of.
READ = ["l_extendedprice", "l_discount"]

Run = Callable[[], Any]


@dataclass
class Files:
    """One table in the formats."""

    tarsia: str
    parquet: str
    #: Small groups of rows, page index, bloom filters, sorting said.
    tuned: str
    vortex: str
    lance: str
    rows: int
    #: The literal below which a share of the rows lies, by column and share.
    limits: dict[tuple[str, float], int] = field(default_factory=dict)

    def sizes(self) -> list[list[str]]:
        """Bytes of each format."""
        found = []
        for name in ("tarsia", "parquet", "tuned", "vortex", "lance"):
            path = Path(getattr(self, name))
            parts = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
            size = sum(part.stat().st_size for part in parts)
            found.append([name, f"{size:,}"])
        return found


def prepare(folder: Path, source: Path) -> Files:
    """Writes the table in every format. Strings are not views, which pyarrow does not take rows of."""
    table = pq.read_table(source)
    views = [pa.field(of.name, pa.string()) if pa.types.is_string_view(of.type) else of for of in table.schema]
    table = table.cast(pa.schema(views))
    files = Files(
        *(str(folder / name) for name in ("t.tarsia", "t.parquet", "tuned.parquet", "t.vortex", "t.lance")),
        rows=table.num_rows,
    )
    tarsia.write(table, files.tarsia)
    pq.write_table(table, files.parquet, compression="zstd")
    bloom = {name: True for name in ("l_orderkey", "l_partkey", "l_suppkey")}
    order = [pq.SortingColumn(table.column_names.index("l_orderkey"))]
    pq.write_table(
        table,
        files.tuned,
        compression="zstd",
        row_group_size=1 << 17,
        data_page_size=1 << 16,
        write_page_index=True,
        sorting_columns=order,
        bloom_filter_options=bloom,
    )
    vx.io.write(table, files.vortex)
    lance.write_dataset(table, files.lance)
    for name in ("l_orderkey", "l_partkey"):
        values = np.sort(table[name].to_numpy())
        for share in SHARES:
            files.limits[name, share] = int(values[min(int(len(values) * share), len(values) - 1)])
    return files


def canonical(found: Any) -> Any:
    """What two libraries return alike: tables with the types of Tarsia's, and plain values."""
    if isinstance(found, pl.DataFrame):
        found = found.to_arrow()
    if not isinstance(found, pa.Table):
        return found
    fields = []
    for column in found.schema:
        of = column.type
        if pa.types.is_string_view(of) or pa.types.is_large_string(of):
            of = pa.string()
        elif pa.types.is_decimal(of):
            of = pa.decimal128(38, of.scale)
        fields.append(pa.field(column.name, of))
    return found.cast(pa.schema(fields)).combine_chunks()


class Measured:
    """Runs of several libraries that do the same, measured in turns."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.runs: dict[str, Run] = {}
        self.seconds: dict[str, float] = {}
        self.failed: dict[str, str] = {}

    def add(self, name: str, run: Run) -> None:
        """Adds a run; the first is the one that others are compared with."""
        self.runs[name] = run

    def measure(self, repeats: int) -> Measured:
        """Runs all of them, and compares what they return.

        :raises AssertionError: for a library that returns something else
        """
        expected = None
        for name, run in list(self.runs.items()):
            try:
                found = canonical(run())
            except Exception as error:
                if not self.failed and expected is None:
                    raise
                self.failed[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
                del self.runs[name]
                continue
            if expected is None:
                expected = found
            else:
                assert _equal(found, expected), f"{self.title}: {name} returns something else"
        times: dict[str, list[float]] = {name: [] for name in self.runs}
        for _ in range(repeats):
            for name, run in self.runs.items():
                # What the others' threads still do, they do now.
                gc.collect()
                time.sleep(PAUSE_SECONDS)
                started = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - started)
        self.seconds = {name: statistics.median(values) for name, values in times.items()}
        print(f"  {self.title}: {self.ratios()}", file=sys.stderr)
        return self

    def ratios(self) -> dict[str, float]:
        """Times of all by that of the first."""
        first = next(iter(self.seconds.values()))
        return {name: round(seconds / first, 2) for name, seconds in self.seconds.items()}


def _equal(found: Any, expected: Any) -> bool:
    if isinstance(found, pa.Table) and isinstance(expected, pa.Table):
        return found.column_names == expected.column_names and all(
            found[name].equals(expected[name]) for name in found.column_names
        )
    return found == expected


def table_of(rows: list[list[str]], head: list[str]) -> str:
    """Rows as a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def shown(groups: list[Measured]) -> str:
    """Measurements with the same libraries, one a row."""
    names = list(dict.fromkeys(name for group in groups for name in [*group.seconds, *group.failed]))
    rows = []
    for group in groups:
        cells = []
        for name in names:
            seconds = group.seconds.get(name)
            ratio = group.ratios().get(name)
            cells.append("—" if seconds is None else f"{seconds * 1e3:,.2f} ms ({ratio:.2f})")
        rows.append([group.title, *cells])
    text = table_of(rows, ["", *names])
    for name, why in {name: why for group in groups for name, why in group.failed.items()}.items():
        text += f"\n{name}: {why}\n"
    return text


# (a) All rows, and single ones.


def drained(batches: Any) -> int:
    """Rows of all batches, of which none is kept."""
    return sum(batch.num_rows for batch in batches)


def parquet_batches(path: str) -> Any:
    """Batches of a Parquet file, as pyarrow reads them fastest: the file as a whole is not held."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        yield from file.iter_batches(batch_size=1 << 17, use_threads=False)


def scans_and_takes(files: Files, repeats: int) -> str:
    """Files that are open, all rows of them and some."""
    ours, theirs = tarsia.open(files.tarsia, threads=1), lance.dataset(files.lance)
    views = tarsia.open(files.tarsia, threads=1, views=True)
    parquet = pd.dataset(files.parquet)
    vortex = vx.open(files.vortex)
    scan = Measured("scan of all columns")
    scan.add("Tarsia", lambda: drained(pa.RecordBatchReader.from_stream(ours.scan())))
    scan.add("Tarsia, views", lambda: drained(pa.RecordBatchReader.from_stream(views.scan())))
    scan.add("Vortex", lambda: drained(vortex.to_arrow()))
    scan.add("Lance", lambda: drained(theirs.to_batches()))
    scan.add("Parquet", lambda: drained(parquet_batches(files.parquet)))
    whole = Measured("the same, kept as a table")
    whole.add("Tarsia", ours.to_pyarrow)
    whole.add("Tarsia, views", views.to_pyarrow)
    whole.add("Vortex", lambda: vortex.to_arrow().read_all())
    whole.add("Lance", theirs.to_table)
    whole.add("Parquet", lambda: pq.read_table(files.parquet, use_threads=False))
    draw = np.random.default_rng(7)
    chosen = [np.sort(draw.choice(files.rows, TAKE_ROWS, replace=False)) for _ in range(repeats + 1)]
    take = Measured(f"take of {TAKE_ROWS} rows")
    take.add("Tarsia", in_turns(chosen, lambda rows: pa.table(ours.take(rows))))
    take.add("Tarsia, views", in_turns(chosen, lambda rows: pa.table(views.take(rows))))
    take.add("Vortex", in_turns(chosen, lambda rows: vortex.to_arrow(indices=vx.array(pa.array(rows))).read_all()))
    take.add("Lance", in_turns(chosen, lambda rows: theirs.take(rows)))
    take.add("Parquet", in_turns(chosen, lambda rows: parquet.take(rows)))
    return shown([scan.measure(repeats), whole.measure(repeats), take.measure(repeats)])


def in_turns(chosen: list[np.ndarray], run: Callable[[np.ndarray], Any]) -> Run:
    """A run that takes other rows each time, the same for each library."""
    at = iter(chosen)
    return lambda: run(next(at))


# (b) Engines, with and without pushdown.

#: Filters that 1 % of the rows pass: a column in the order of rows, and one that is not.
ONE_PERCENT = ("l_orderkey", "l_partkey")


def in_polars(files: Files, column: str, repeats: int) -> Measured:
    limit = files.limits[column, 0.01]
    names = ["l_extendedprice", column]

    def asked(lazy: pl.LazyFrame) -> pl.DataFrame:
        rows = lazy.filter(pl.col(column) < limit)
        return rows.select(pl.col("l_extendedprice").sum().cast(pl.Float64), pl.len().alias("n")).collect()

    ours = tarsia.open(files.tarsia, threads=1)
    runs = Measured(f"polars: {column}")
    runs.add("Tarsia", lambda: asked(tarsia.polars.scan(files.tarsia, threads=1)))
    runs.add("Tarsia, columns pushed", lambda: asked(ours.scan(names).to_polars().lazy()))
    runs.add("Tarsia, nothing pushed", lambda: asked(ours.to_polars().lazy()))
    runs.add("Parquet", lambda: asked(pl.scan_parquet(files.tuned)))
    runs.add("Vortex", lambda: asked(vx.open(files.vortex).to_polars()))
    runs.add("Lance", lambda: asked(pl.scan_pyarrow_dataset(lance.dataset(files.lance))))
    return runs.measure(repeats)


def in_duckdb(files: Files, column: str, repeats: int) -> Measured:
    limit = files.limits[column, 0.01]
    names = ["l_extendedprice", column]
    database = duckdb.connect()
    database.sql("SET threads = 1")

    def asked(table: Any) -> list[Any]:
        database.register("asked", table)
        return database.sql(f"SELECT sum(l_extendedprice), count(*) FROM asked WHERE {column} < {limit}").fetchall()

    ours = tarsia.open(files.tarsia, threads=1)
    runs = Measured(f"DuckDB: {column}")
    runs.add("Tarsia", lambda: asked(tarsia.duckdb.scan(files.tarsia, threads=1)))
    runs.add("Tarsia, columns pushed", lambda: asked(pa.RecordBatchReader.from_stream(ours.scan(names))))
    runs.add("Tarsia, nothing pushed", lambda: asked(pa.RecordBatchReader.from_stream(ours.scan())))
    text = f"sum(l_extendedprice), count(*) FROM read_parquet('{files.tuned}') WHERE {column} < {limit}"
    runs.add("Parquet", lambda: database.sql(f"SELECT {text}").fetchall())
    runs.add("Vortex", lambda: asked(vx.open(files.vortex).to_dataset()))
    runs.add("Lance", lambda: asked(lance.dataset(files.lance)))
    return runs.measure(repeats)


# (c) Filters.

SHARES = (0.0001, 0.01, 0.5)

#: TPC-H's query 6.
Q6 = (
    "l_shipdate >= {date} '1994-01-01' AND l_shipdate < {date} '1995-01-01' "
    "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
)


def q6_of_pyarrow() -> pc.Expression:
    """Query 6 as an expression."""
    import datetime as dt

    day, two = (lambda year: pa.scalar(dt.date(year, 1, 1))), pa.decimal128(15, 2)
    discount = pc.field("l_discount")
    between = (discount >= pa.scalar(Decimal("0.05"), two)) & (discount <= pa.scalar(Decimal("0.07"), two))
    date = (pc.field("l_shipdate") >= day(1994)) & (pc.field("l_shipdate") < day(1995))
    return date & between & (pc.field("l_quantity") < pa.scalar(Decimal("24.00"), two))


def session(path: str, *, is_pushed: bool) -> Any:
    """DataFusion on a Parquet file."""
    settings = {
        "datafusion.execution.target_partitions": "1",
        "datafusion.execution.parquet.pushdown_filters": str(is_pushed).lower(),
        "datafusion.execution.parquet.reorder_filters": str(is_pushed).lower(),
        "datafusion.execution.parquet.bloom_filter_on_read": "true",
        "datafusion.execution.parquet.enable_page_index": "true",
    }
    context = datafusion.SessionContext(datafusion.SessionConfig(settings))
    context.register_parquet("t", path)
    return context


def filters(files: Files, repeats: int) -> list[Measured]:
    """Filters of several selectivities. Each run opens the file: Vortex keeps what an open file has been asked."""
    contexts = {is_pushed: session(files.tuned, is_pushed=is_pushed) for is_pushed in (True, False)}
    database = duckdb.connect()
    database.sql("SET threads = 1")
    cases = [("Q6", Q6.format(date=""), Q6.format(date="DATE"), q6_of_pyarrow())]
    for column in ONE_PERCENT:
        order = "sorted" if column == "l_orderkey" else "unsorted"
        for share in SHARES:
            limit = files.limits[column, share]
            text = f"{column} < {limit}"
            cases.append((f"{share:.2%}, {order}", text, text, pc.field(column) < limit))
    found = []
    for title, of_tarsia, of_sql, expression in cases:
        # Lance's decimals are compared with decimals alone.
        of_lance = expression if title == "Q6" else of_sql
        query = f"SELECT {', '.join(READ)} FROM {{}} WHERE {of_sql}"
        run = Measured(title)
        run.add("Tarsia", lambda where=of_tarsia: pa.table(tarsia.open(files.tarsia, threads=1).scan(READ, where)))
        for is_pushed, context in contexts.items():
            name = "DataFusion, filters pushed" if is_pushed else "DataFusion"
            run.add(name, lambda asked=query.format("t"), context=context: context.sql(asked).to_arrow_table())
        parquet = query.format(f"read_parquet('{files.tuned}')")
        run.add("DuckDB", lambda asked=parquet: database.sql(asked).to_arrow_table())
        run.add("Vortex", lambda where=expression: vortex_rows(files.vortex, where))
        run.add("Lance", lambda where=of_lance: lance.dataset(files.lance).to_table(columns=READ, filter=where))
        found.append(run.measure(repeats))
    return found


def vortex_rows(path: str, where: pc.Expression) -> pa.Table:
    """Rows of a Vortex file for which an expression is true."""
    return vx.open(path).to_dataset().to_table(columns=READ, filter=where)


def best_of(groups: list[Measured]) -> str:
    """The better of DataFusion's two ways, and all others, for each filter."""
    rows = []
    for group in groups:
        both = [name for name in group.seconds if name.startswith("DataFusion")]
        better = min(both, key=lambda name: group.seconds[name])
        others = {name: ratio for name, ratio in group.ratios().items() if name not in both and name != "Tarsia"}
        best = min(others, key=lambda name: others[name])
        ratio = group.ratios()[better]
        rows.append([group.title, f"{ratio:.2f} ({better})", f"{others[best]:.2f} ({best})"])
    return table_of(rows, ["", "DataFusion, better of both, by Tarsia", "best of the others, by Tarsia"])


def bound_to_one_processor() -> int:
    """Binds the process to one processor, and libraries to one thread."""
    processor = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    vx.set_worker_threads(1)
    return processor


def source_of(asked: argparse.Namespace, folder: Path) -> Path:
    """The Parquet file of the table, made if none was named."""
    if asked.parquet is not None:
        return asked.parquet
    tool = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run(
        [tool, "parquet", "-s", str(asked.scale), "--tables", "lineitem", "--output-dir", folder], check=True
    )
    return folder / "lineitem.parquet"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor of TPC-H; default %(default)s")
    parser.add_argument("--parquet", type=Path, help="a file with the columns of lineitem, in place of a new one")
    parser.add_argument("--repeats", type=int, default=7, help="runs of which the median is taken; 5 at least")
    parser.add_argument("--only", choices=["a", "b", "c"], help="one part: scans and takes, engines, filters")
    asked = parser.parse_args()
    if asked.repeats < 5:
        parser.error("--repeats is 5 at least")

    with tempfile.TemporaryDirectory(prefix="tarsia-engines-") as name:
        folder = Path(name)
        # Before any library starts a thread: those that run already would stay where they are.
        processor = bound_to_one_processor()
        files = prepare(folder, source_of(asked, folder))
        print(f"lineitem, {files.rows:,} rows; processor {processor}, medians of {asked.repeats}\n")
        print(table_of(files.sizes(), ["format", "bytes"]))
        if asked.only in (None, "a"):
            print("## Scans and takes\n\n" + scans_and_takes(files, asked.repeats))
        if asked.only in (None, "b"):
            groups = [run(files, column, asked.repeats) for run in (in_polars, in_duckdb) for column in ONE_PERCENT]
            print("## A filter of 1 % in polars and DuckDB\n\n" + shown(groups))
        if asked.only in (None, "c"):
            groups = filters(files, asked.repeats)
            print("## Filters\n\n" + shown(groups) + "\n" + best_of(groups))
    return 0


if __name__ == "__main__":
    sys.exit(main())
