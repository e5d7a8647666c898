"""DuckDB on Parquet files, for the benchmark of SQL.

Reads a line of JSON per statement and answers with one: the seconds it took. The rows go to a file of Arrow's stream
format.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa


def main(folder: str, n_threads: str) -> None:
    con = duckdb.connect(config={"threads": int(n_threads)})
    for path in sorted(Path(folder).glob("*.parquet")):
        con.execute(f"CREATE VIEW {path.stem} AS SELECT * FROM read_parquet('{path}')")
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            begin = time.perf_counter()
            rows = con.sql(asked["statement"]).to_arrow_table()
            seconds = time.perf_counter() - begin
            with pa.OSFile(asked["rows_to"], "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_table(rows)
            answer = {"seconds": seconds, "version": duckdb.__version__}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
