"""Draws a random sample of the rows that pass a filter, and writes it as a file of its own.

    python sample_and_filter.py clicks.tarsia sample.tarsia --where "price > 10" --rows 1000 --seed 7

The filter reads the columns that it looks at, and passes over parts of the file that hold no such row. Then the rows
of the sample are taken, and nothing else. The new file has the encodings of the old one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import tarsia


def passing(file: tarsia.File, where: str | None) -> np.ndarray:
    """The numbers of the rows that pass a filter; no column is read but those of the filter."""
    parts = [np.zeros(0, np.uint64)]
    for batch in file.scan([], filter=where, row_numbers=True):
        parts.append(batch.to_pyarrow().column(tarsia.ROW_NUMBER).to_numpy())
    return np.concatenate(parts)


def sample(rows: np.ndarray, wanted: int, seed: int) -> np.ndarray:
    """Some of the rows, each with the same chance, in the order of the file."""
    chosen = np.random.default_rng(seed).choice(rows, min(wanted, len(rows)), replace=False)
    return np.sort(chosen)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="a Tarsia file, or its URL")
    parser.add_argument("target", help="the new file")
    parser.add_argument("--where", help="SQL text, as in \"price > 10 AND origin = 'JFK'\"; by default all rows")
    parser.add_argument("--rows", type=int, default=1000, help="rows of the sample; default %(default)s")
    parser.add_argument("--columns", help="names of columns, with commas between them; by default all")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same rows")
    asked = parser.parse_args(arguments)
    if asked.rows < 1:
        parser.error("--rows is 1 at least")

    with tarsia.open(asked.source) as file:
        if asked.where:
            said = file.explain(asked.where)
            print(f"filter: {said['pushed']}; statistics leave {said['rows_looked_at']:,} of {said['rows']:,} rows")
        rows = passing(file, asked.where)
        chosen = sample(rows, asked.rows, asked.seed)
        columns = asked.columns.split(",") if asked.columns else None
        # A sample of some columns cannot have the encodings of all.
        like = {"like": file} if columns is None else {}
        summary = tarsia.write(file.take(chosen, columns), asked.target, **like)
    print(f"{asked.target}: {summary['rows']:,} of {len(rows):,} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
