"""Lance, timed: answers the requests of src/operation.rs, a JSON value per line.

One file is read by `LanceFileReader`, so nothing is listed, and there is no manifest to read.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lance"))

# It also keeps what libraries print away from the answers, and limits the memory.
from worker import answers, read_table, same, timed  # noqa: E402

import pyarrow as pa  # noqa: E402
from lance.file import LanceFileReader, LanceFileWriter  # noqa: E402

# Rows per batch of a scan: what Lance chooses itself, or more. The fastest is taken, table by table.
BATCH_ROWS = (1024, 8192, 65536)
STORED_BATCH_ROWS = 65536

# As in src/formats/mod.rs.
BUCKET = "bucket"
OPTIONS = {
    "allow_http": "true",
    "aws_access_key_id": "KEYID",
    "aws_secret_access_key": "SECRETKEY",
    "aws_region": "us-east-1",
    "aws_virtual_hosted_style_request": "false",
}


class Worker:
    url = None
    options = None
    opened = None
    batch_rows = None

    def store(self, table, file):
        table = read_table(table)
        with LanceFileWriter(file, table.schema, version="stable") as writer:
            for batch in table.to_batches(STORED_BATCH_ROWS):
                writer.write_batch(batch)
        metadata = LanceFileReader(file).metadata()
        version = f"file format {metadata.major_version}.{metadata.minor_version}"
        return {"Stored": {"settings": f"{version}, LanceFileReader"}}

    def connect(self, endpoint, key, file_bytes):
        self.url = f"s3://{BUCKET}/{key}"
        self.options = OPTIONS | {"aws_endpoint": endpoint}
        return "Done"

    def new_reader(self, columns=None):
        return LanceFileReader(self.url, storage_options=self.options, columns=columns)

    def open(self):
        self.opened = None

        def work():
            self.opened = self.new_reader()

        return read(timed(work), 0)

    def read(self, warm, rows, columns, expected):
        if rows is None and self.batch_rows is None:
            self.batch_rows = min(BATCH_ROWS, key=lambda n: timed(lambda: scan(self.new_reader(columns), n)))
        kept = [] if expected is not None else None
        begin = time.perf_counter()
        reader = self.opened if warm else self.new_reader(columns)
        n_rows = scan(reader, self.batch_rows, kept) if rows is None else take(reader, rows, kept)
        seconds = time.perf_counter() - begin
        if expected is not None:
            compare(expected, rows, columns, kept)
        return read(seconds, n_rows)


def read(seconds, rows):
    return {"Read": {"seconds": seconds, "rows": rows, "waves": None}}


def scan(reader, batch_rows, kept=None):
    return consume(reader.read_all(batch_size=batch_rows).to_batches(), kept)


def take(reader, rows, kept):
    return consume(reader.take_rows(rows, batch_size=len(rows)).to_batches(), kept)


def consume(batches, kept):
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        if kept is not None:
            kept.append(batch)
    return n_rows


def compare(expected, rows, columns, found):
    """As src/compare.rs does it."""
    expected = read_table(expected)
    if columns is not None:
        expected = expected.select(columns)
    if rows is not None:
        expected = expected.take(pa.array(rows, pa.int64()))
    start = 0
    for batch in found:
        same(expected.slice(start, batch.num_rows), pa.Table.from_batches([batch]), f"rows from {start}")
        start += batch.num_rows
    if start != expected.num_rows:
        raise ValueError(f"{start} rows were read, {expected.num_rows} are there")


REQUESTS = {
    "Store": Worker.store,
    "Connect": Worker.connect,
    "Open": Worker.open,
    "Read": Worker.read,
}


def main():
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        name, arguments = (request, {}) if isinstance(request, str) else next(iter(request.items()))
        try:
            answer = REQUESTS[name](worker, **arguments)
        except Exception as error:  # noqa: BLE001 - whatever went wrong is the answer
            text = str(error).strip().splitlines() or [""]
            answer = {"Failed": f"{type(error).__name__}: {text[0][:500]}"}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
