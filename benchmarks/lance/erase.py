"""Lance, timed: deletes rows, compacts what lost some, and removes the versions that had them, so that the bytes are gone.

Reads one request from the standard input and writes the answer to the standard output; both are JSON (src/erasure/lance.rs).
"""

import datetime
import json
import os
import shutil
import statistics
import sys
import time

# Whatever a library prints is no answer.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import lance  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

# The newest file format that the package calls stable, as in worker.py.
STORAGE_VERSION = "stable"


def filter_of(fragments, ranges):
    """One SQL filter for all rows of the ranges, by their ids: an id is the number of a fragment and a place in it.

    `fragments` has the number and the count of rows of each fragment, in the order of the rows.
    """
    found = []
    for start, end in ranges:
        first = 0
        for number, rows in fragments:
            low, high = max(start - first, 0), min(end - first, rows)
            if low < high:
                low, high = (number << 32) + low, (number << 32) + high
                found.append((low, high))
            first += rows
    single = [str(low) for low, high in found if high == low + 1]
    longer = [f"(_rowid >= {low} AND _rowid < {high})" for low, high in found if high > low + 1]
    return " OR ".join(longer + ([f"_rowid IN ({', '.join(single)})"] if single else []))


def files_below(folder):
    sizes = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            sizes[os.path.relpath(path, folder)] = os.path.getsize(path)
    return sizes


def erase(original, copy, ranges):
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    before = files_below(copy)
    dataset = lance.dataset(copy)
    fragments = [(it.fragment_id, it.count_rows()) for it in dataset.get_fragments()]
    rows = dataset.count_rows()
    which = filter_of(fragments, ranges)
    started = time.perf_counter()
    dataset = lance.dataset(copy)
    dataset.delete(which)
    dataset.optimize.compact_files(materialize_deletions=True, materialize_deletions_threshold=0.0)
    dataset.cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True)
    seconds = time.perf_counter() - started
    after = files_below(copy)
    left = lance.dataset(copy).count_rows()
    gone = sum(end - start for start, end in ranges)
    if left != rows - gone:
        raise RuntimeError(f"{left} of {rows} rows are left, {gone} were to go")
    # Data files are never changed in place: those that lost a row are new ones.
    written = sum(size for name, size in after.items() if name not in before)
    return seconds, written, sum(before.values())


def answer(request):
    original, copy = (os.path.join(request["folder"], name) for name in ("lance", "lance-copy"))
    table = pq.ParquetFile(request["parquet"])
    batches = pa.RecordBatchReader.from_batches(table.schema_arrow, table.iter_batches(batch_size=65536))
    lance.write_dataset(batches, original, data_storage_version=STORAGE_VERSION)
    cases = []
    for ranges in request["cases"]:
        seconds = []
        while not seconds or len(seconds) < request["repetitions"] and sum(seconds) < request["budget_seconds"]:
            spent, written, file_bytes = erase(original, copy, ranges)
            seconds.append(spent)
        cases.append({"seconds": statistics.median(seconds), "bytes_written": written})
    shutil.rmtree(original)
    shutil.rmtree(copy, ignore_errors=True)
    return {"file_bytes": file_bytes, "cases": cases}


if __name__ == "__main__":
    answers.write(json.dumps(answer(json.load(sys.stdin))))
