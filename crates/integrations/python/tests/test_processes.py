"""Forked and spawned processes, pickled handles, threads."""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bits import assert_same

import tarsia

SUM = 4_999_950_000


def total(file: tarsia.File) -> int:
    return pc.sum(file.scan(["id"]).to_pyarrow().column("id")).as_py()


def take_one(work: tuple[tarsia.File, int]) -> int:
    file, row = work
    return file.take([row], ["id"]).to_pyarrow().column(0)[0].as_py()


def in_child(work: Any) -> None:
    """Runs work in a forked process, which has ten seconds."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    status: list[int] = []
    waiting = threading.Thread(target=lambda: status.append(os.waitpid(child, 0)[1]))
    waiting.start()
    waiting.join(20)
    if waiting.is_alive():
        os.kill(child, 9)
        waiting.join()
        pytest.fail("the forked process hangs")
    assert os.waitstatus_to_exitcode(status[0]) == 0


@pytest.mark.want(1)
def test_a_forked_process_reads_files_of_its_parent(written: Any, numbers: pa.Table) -> None:
    file = written(numbers)
    # The parent has threads, an open scan, and tables in memory.
    assert total(file) == SUM
    running = iter(file.scan(batch_size=1000))
    next(running)
    held = file.take([1, 2])

    def child() -> None:
        assert total(file) == SUM
        assert take_one((file, 7)) == 7
        assert file.count("id < 10") == 10
        assert held.to_pyarrow().num_rows == 2
        with pytest.raises(tarsia.InvalidInput, match="forked"):
            next(running)
        # What the child has of its parent is dropped without waiting for threads that are not there.
        nonlocal_names.clear()
        gc.collect()

    nonlocal_names: dict[str, Any] = {"file": file}
    in_child(child)
    in_child(child)
    assert sum(batch.num_rows for batch in running) == 99_000


@pytest.mark.want(1)
def test_forks_of_a_process_whose_threads_read(written: Any, numbers: pa.Table) -> None:
    file = written(numbers)
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            total(file)
            file.take([5, 3], ["id"])

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(10):
            in_child(lambda: total(file))
    finally:
        is_over.set()
        for reader in readers:
            reader.join()


@pytest.mark.want(1)
@pytest.mark.want(2)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(method: str, written: Any, numbers: pa.Table) -> None:
    file = written(numbers)
    total(file)
    with multiprocessing.get_context(method).Pool(2) as pool:
        rows = list(range(0, 100_000, 9999))
        assert pool.map(take_one, [(file, row) for row in rows]) == rows
        assert pool.map(total, [file] * 3) == [SUM] * 3


@pytest.mark.want(2)
def test_files_and_scans_are_pickled(written: Any, numbers: pa.Table, tmp_path: Path) -> None:
    file = written(numbers)
    text = pickle.dumps(file)
    assert len(text) < 1000
    copy = pickle.loads(text)
    assert (copy.num_rows, copy.schema) == (file.num_rows, file.schema)
    scan = pickle.loads(pickle.dumps(file.scan(["id"], pc.field("id") * 2 < 10)))
    assert scan.to_pyarrow().column("id").to_pylist() == [0, 1, 2, 3, 4]
    contents = Path(file._source).read_bytes()
    assert take_one((pickle.loads(pickle.dumps(tarsia.open(contents))), 3)) == 3
    # The place does not depend on the working directory.
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        relative = pickle.dumps(tarsia.open(os.path.basename(file._source)))
    finally:
        os.chdir(before)
    assert pickle.loads(relative).num_rows == 100_000
    views = pickle.loads(pickle.dumps(tarsia.open(file._source, views=True, threads=1)))
    assert views.schema.to_pyarrow().field("text").type == pa.string_view()
    with pytest.raises(TypeError, match="file object"):
        pickle.dumps(tarsia.open(io.BytesIO(contents)))


@pytest.mark.want(2)
def test_rows_in_memory_are_pickled(written: Any, numbers: pa.Table) -> None:
    file = written(numbers.replace_schema_metadata({"of": "numbers"}))
    rows, taken = file.scan().read_all(), file.take([5, 3])
    assert_same(pickle.loads(pickle.dumps(rows)).to_pyarrow(), rows.to_pyarrow())
    for batch in (taken, taken.slice(1, 1), taken.slice(0, 0)):
        copy = pickle.loads(pickle.dumps(batch))
        assert type(copy) is type(batch)
        assert_same(pa.table(copy), pa.table(batch))
    assert pickle.loads(pickle.dumps(file.schema)) == file.schema
    empty = file.scan(rows=range(0)).read_all()
    assert pickle.loads(pickle.dumps(empty)).schema == file.schema
    # What is copied is what the slice shows.
    assert len(pickle.dumps(rows.batches()[0].slice(0, 1))) < 4000
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_ids_of, (taken,)) == [5, 3]
        assert pool.apply(_two_rows_of, (file,)).to_pyarrow().column("id").to_pylist() == [1, 2]
    function, _ = rows.__reduce__()
    with pytest.raises(tarsia.Error):
        function(b"no stream of Arrow")


def _ids_of(batch: Any) -> list[int]:
    return batch.to_pyarrow().column("id").to_pylist()


def _two_rows_of(file: tarsia.File) -> Any:
    return file.take([1, 2])


@pytest.mark.want(2)
def test_a_changed_file_is_an_error(written: Any, numbers: pa.Table) -> None:
    file = written(numbers, erasure=2)
    place, text = file._source, pickle.dumps(file)
    file.close()
    tarsia.erase(place, rows=[5])
    with pytest.raises(tarsia.FileChanged) as found:
        pickle.loads(text).take([1])
    assert found.value.file == place
    assert tarsia.open(place).live_rows == 99_999
    text = pickle.dumps(tarsia.open(place))
    tarsia.write(numbers, place)
    with pytest.raises(tarsia.FileChanged):
        pickle.loads(text).num_rows
    os.remove(place)
    with pytest.raises(FileNotFoundError):
        pickle.loads(text).num_rows


@pytest.mark.want(7)
def test_threads_read_at_the_same_time(written: Any, numbers: pa.Table) -> None:
    file = written(numbers)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(total, [file] * 16)) == {SUM}
        assert list(pool.map(take_one, [(file, row) for row in range(200)])) == list(range(200))


@pytest.mark.want(7)
def test_the_lock_of_python_is_released(written: Any, numbers: pa.Table) -> None:
    file = written(pa.concat_tables([numbers] * 10))
    ticks = 0
    is_over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not is_over.wait(0.0005):
            ticks += 1

    other = threading.Thread(target=tick)
    other.start()
    for _ in range(5):
        file.verify()
    n_during_verify = ticks
    is_over.set()
    other.join()
    assert n_during_verify > 3


@pytest.mark.want(7)
def test_python_code_under_a_reader_and_a_writer(numbers: pa.Table) -> None:
    """File objects are called from threads of the pool, and from the one that the main thread waits for."""
    sink = io.BytesIO()
    generated = pa.RecordBatchReader.from_batches(numbers.schema, iter(numbers.to_batches(max_chunksize=1000)))
    summary = tarsia.write(generated, sink)
    assert summary["file_bytes"] == len(sink.getvalue())
    file = tarsia.open(io.BytesIO(sink.getvalue()))
    assert total(file) == SUM
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(total, [file] * 8)) == {SUM}


def test_one_scan_is_read_by_one_thread(written: Any, numbers: pa.Table) -> None:
    running = iter(written(numbers).scan(batch_size=100))
    rows: list[int] = []
    refused: list[Exception] = []

    def read() -> None:
        while True:
            try:
                rows.append(next(running).num_rows)
            except StopIteration:
                return
            except tarsia.InvalidInput as error:
                refused.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert sum(rows) == 100_000


@pytest.mark.want(12)
def test_importing_starts_nothing() -> None:
    code = """
import sys, threading, time
before = set(sys.modules)
started = time.perf_counter()
import tarsia
elapsed = time.perf_counter() - started
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
assert not loaded & {"pyarrow", "pandas", "polars", "numpy", "datetime", "multiprocessing"}, loaded
assert threading.active_count() == 1
with open("/proc/self/status") as status:
    threads = [line for line in status if line.startswith("Threads:")]
assert threads[0].split()[1] == "1", threads
print(elapsed)
"""
    found = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    assert min(found) < 0.05, found


@pytest.mark.want(12)
def test_no_other_package_is_needed(written: Any, numbers: pa.Table) -> None:
    file = written(numbers)
    code = """
import sys
for name in ("pyarrow", "pandas", "polars", "numpy"):
    sys.modules[name] = None
import tarsia
file = tarsia.open(sys.argv[1])
assert file.count("id < 10") == 10
assert len(file.take([1, 2])) == 2
assert tarsia.write(file.scan(), sys.argv[1] + ".copy")["rows"] == 100_000
assert file.schema.names == ["id", "half", "text"]
try:
    file.to_pyarrow()
except ImportError:
    print("ok")
"""
    assert subprocess.check_output([sys.executable, "-c", code, file._source]) == b"ok\n"


def test_threads_are_those_that_are_asked_for(written: Any, numbers: pa.Table) -> None:
    file = written(numbers)
    for threads in (1, 2, 3, None):
        assert total(tarsia.open(file._source, threads=threads)) == SUM
    for threads, error in ((0, tarsia.InvalidInput), (-1, tarsia.InvalidInput), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error):
            tarsia.open(file._source, threads=threads)


def test_python_ends_while_threads_read(written: Any, numbers: pa.Table) -> None:
    """A scan is ahead of its reader, whose file object sleeps."""
    place = written(numbers)._source
    code = """
import sys, time, tarsia
class Slow:
    delay = 0
    def __init__(self, path):
        self.file = open(path, "rb")
        self.seek, self.tell = self.file.seek, self.file.tell
    def read(self, size):
        time.sleep(self.delay)
        return self.file.read(size)
source = Slow(sys.argv[1])
file = tarsia.open(source)
source.delay = 0.05
running = iter(file.scan(batch_size=100))
next(running)
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code, place], check=True, timeout=20)
        subprocess.run([sys.executable, "-c", code.replace("file.scan", "tarsia.open(sys.argv[1]).scan"), place], check=True)
