"""Converts a folder of Parquet files to Tarsia files, with the same folders in it.

    python convert_folder.py clicks-parquet/ clicks/ --preset compact

A file is read and written some rows at a time, whatever its size. Types and metadata are kept. What was written is
compared with what was read; --no-check leaves that out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import tarsia


def convert(source: Path, target: Path, preset: str) -> int:
    """Writes one Parquet file as a Tarsia file, and returns its rows."""
    with pq.ParquetFile(source) as file:
        rows = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
        return tarsia.write(rows, target, preset=preset)["rows"]


def first_difference(source: Path, target: Path) -> int | None:
    """The first row in which the two files differ; None if they are equal."""
    with pq.ParquetFile(source) as expected, tarsia.open(target) as found:
        if expected.metadata.num_rows != found.num_rows:
            return min(expected.metadata.num_rows, found.num_rows)
        start = 0
        for batch in expected.iter_batches():
            rows = range(start, start + batch.num_rows)
            ours = found.scan(rows=rows).to_pyarrow()
            theirs = pa.Table.from_batches([batch], expected.schema_arrow)
            if not _same(ours, theirs):
                return start
            start += batch.num_rows
        return None


def _same(ours: pa.Table, theirs: pa.Table) -> bool:
    if ours.equals(theirs):
        return True
    # NaN is different from itself, and equal as text.
    return ours.schema.equals(theirs.schema) and str(ours.to_pylist()) == str(theirs.to_pylist())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the folder of Parquet files")
    parser.add_argument("target", type=Path, help="the folder for Tarsia files")
    parser.add_argument("--preset", choices=["fast", "balanced", "compact"], default="balanced")
    parser.add_argument("--pattern", default="**/*.parquet", help="names of files in the folder; default %(default)s")
    parser.add_argument("--overwrite", action="store_true", help="convert files again that are there")
    parser.add_argument("--no-check", action="store_true", help="do not compare what was written")
    asked = parser.parse_args(arguments)

    sources = sorted(path for path in asked.source.glob(asked.pattern) if path.is_file())
    if not sources:
        print(f"{asked.source}: no file is like {asked.pattern}", file=sys.stderr)
        return 1
    bytes_before = bytes_after = 0
    for source in sources:
        target = asked.target / source.relative_to(asked.source).with_suffix(".tarsia")
        if target.exists() and not asked.overwrite:
            print(f"{target}: is there")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        started = time.perf_counter()
        rows = convert(source, target, asked.preset)
        seconds = time.perf_counter() - started
        if not asked.no_check and (row := first_difference(source, target)) is not None:
            print(f"{target}: differs from {source} at row {row} or behind it", file=sys.stderr)
            return 1
        before, after = source.stat().st_size, target.stat().st_size
        bytes_before, bytes_after = bytes_before + before, bytes_after + after
        print(f"{target}: {rows:,} rows in {seconds:.2f} s, {after:,} bytes ({after / before:.2f} of Parquet)")
    if bytes_before:
        print(f"{bytes_after:,} bytes, {bytes_after / bytes_before:.2f} of Parquet")
    return 0


if __name__ == "__main__":
    sys.exit(main())
