"""Interruptions: Ctrl-C while something takes long."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tarsia

#: Seconds between Ctrl-C and the exception, at most. The machine that tests run on may be busy.
PATIENCE = 0.3


@pytest.fixture(autouse=True)
def ctrl_c_raises() -> Any:
    """Shells let programs in the background ignore Ctrl-C, and then Python does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Slow(io.BytesIO):
    """A file whose reads take long: of a store that does not answer, for instance."""

    def __init__(self, contents: bytes) -> None:
        super().__init__(contents)
        self.delay = 0.0

    def read(self, *size: Any) -> bytes:
        time.sleep(self.delay)
        return super().read(*size)


def interrupted(work: Callable[[], Any], after: float = 0.2) -> float:
    """The seconds from the signal to the exception."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        timer.join()


@pytest.fixture
def slow(numbers: pa.Table) -> tuple[Slow, tarsia.File]:
    contents = io.BytesIO()
    tarsia.write(numbers, contents)
    source = Slow(contents.getvalue())
    file = tarsia.open(source)
    source.delay = 0.15
    return source, file


@pytest.mark.want(8)
@pytest.mark.parametrize(
    "call",
    [
        lambda file: [len(batch) for batch in file.scan(batch_size=10)],
        lambda file: file.scan(batch_size=10).read_all(),
        lambda file: file.to_pyarrow(),
        lambda file: file.count("half = -1"),
        lambda file: file.scan(filter="half = -1").read_all(),
        lambda file: file.take(range(0, 100_000, 100)),
        lambda file: file.verify(),
        lambda file: file.inspect(),
        lambda file: [file.take([1]) for _ in range(100)],
    ],
    ids=["iterate", "read_all", "to_pyarrow", "count", "filter", "take", "verify", "inspect", "small takes"],
)
def test_ctrl_c_ends_what_waits(call: Callable[[tarsia.File], Any], slow: tuple[Slow, tarsia.File]) -> None:
    source, file = slow

    def again() -> None:
        while True:
            call(file)

    assert interrupted(again) < PATIENCE
    source.delay = 0
    # What was interrupted is over, and the file is as before.
    assert file.count("id < 10") == 10


@pytest.mark.want(8)
def test_ctrl_c_ends_a_scan_that_decodes(written: Any, numbers: pa.Table) -> None:
    file = written(pa.concat_tables([numbers] * 10))

    def scan() -> None:
        while True:
            file.scan().read_all()

    assert interrupted(scan) < PATIENCE


@pytest.mark.want(8)
def test_ctrl_c_while_another_library_reads(slow: tuple[Slow, tarsia.File]) -> None:
    source, file = slow

    def read() -> None:
        try:
            pa.table(file.scan(batch_size=10))
        except pa.ArrowException:
            # The interruption follows the error of the stream.
            while True:
                pass

    assert interrupted(read) < PATIENCE
    source.delay = 0


@pytest.mark.want(8)
def test_ctrl_c_while_a_table_is_written(tmp_path: Path, numbers: pa.Table) -> None:
    path = tmp_path / "t.tarsia"

    def batches() -> Any:
        while True:
            yield from numbers.to_batches(max_chunksize=1000)

    def write() -> None:
        tarsia.write(pa.RecordBatchReader.from_batches(numbers.schema, batches()), path)

    # The step that is being written comes to its end.
    assert interrupted(write) < 2
    assert os.listdir(tmp_path) == []

    def write_in_steps() -> None:
        with tarsia.Writer(path, numbers.schema) as writer:
            while True:
                writer.write(numbers)

    assert interrupted(write_in_steps) < 2
    assert os.listdir(tmp_path) == []


@pytest.mark.want(8)
def test_a_handler_of_ones_own(slow: tuple[Slow, tarsia.File]) -> None:
    _, file = slow

    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Stopped):
            while True:
                file.scan(batch_size=10).read_all()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
