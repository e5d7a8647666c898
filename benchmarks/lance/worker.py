"""Lance, timed: answers the requests of src/speed/protocol.rs, a JSON value per line.

The environment variables LANCE_CPU_THREADS and LANCE_IO_THREADS are read once, by Lance itself, so a process has one number of
threads; `threads` of a request was used to choose the process.
"""

import ctypes
import json
import os
import resource
import shutil
import statistics
import sys
import time

# Whatever a library prints is no answer.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


def memory_field_kib(file, name):
    with open(file, encoding="ascii") as lines:
        for line in lines:
            if line.startswith(name):
                return int(line.split()[1])
    raise RuntimeError(f"no {name} in {file}")


# The part of the machine's memory that a worker may hold: see src/speed/memory.rs.
DATA_BYTES_MAX = memory_field_kib("/proc/meminfo", "MemTotal:") * 1024 // 2
resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES_MAX, DATA_BYTES_MAX))

import lance  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402

# The newest file format that the package calls stable. What it was is in the settings; 2.1 is the first that is made for random access.
STORAGE_VERSION = "stable"

# As in src/speed/worker.rs.
MEASURE_SECONDS = 0.030
MEASURE_COUNT_MAX = 64
WARM_UP_SECONDS_MAX = 5.0
TAKE_SECONDS_MAX = 2.0
TAKE_LISTS_MIN = 3

LINE_BYTES = 64

# Rows per batch of a scan: what Lance chooses itself, or a number. The fastest is taken, table by table.
BATCH_ROWS = (None, 8192, 65536)

TAKE_ROWS_CHECKED = 64

# As in src/speed/check.rs.
CHECKED_COLUMNS_MAX = 10_000
CHECKED_COLUMN_STEP = 100

# Of wider tables scans are not timed, so there is nothing to choose.
TUNED_COLUMNS_MAX = 500


# Bits of a value by the id of its type; of strings and binary, minus the bits of an offset. Types whose width is a parameter are
# not here.
WIDTHS = {}


def width_of(data_type):
    width = WIDTHS.get(data_type.id)
    if width is not None:
        return width
    if pa.types.is_large_string(data_type) or pa.types.is_large_binary(data_type):
        width = -64
    elif pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        width = -32
    elif pa.types.is_null(data_type):
        width = 0
    else:
        width = data_type.bit_width
        if pa.types.is_fixed_size_binary(data_type) or pa.types.is_decimal(data_type):
            return width
    WIDTHS[data_type.id] = width
    return width


def touch_lines(buffer, start, end):
    """Reads a byte of every 64-byte line from `start` to `end`, and the last one."""
    n_bytes = end - start
    if n_bytes <= 0:
        return 0
    if n_bytes <= LINE_BYTES:
        # A numpy array costs more than what it is for.
        return buffer[start] + buffer[end - 1]
    data = np.frombuffer(buffer, np.uint8, n_bytes, start)
    return int(data[::LINE_BYTES].sum(dtype=np.uint64)) + int(data[-1])


def touch_array(array):
    """As src/speed/touch.rs does it: each buffer, as far as the array uses it, and those of the arrays below."""
    start = array.offset
    end = start + len(array)
    if start == end:
        return 0
    buffers = array.buffers()
    total = 0
    if buffers[0] is not None:
        total = touch_lines(buffers[0], start // 8, (end + 7) // 8)
    nested = NESTED.get(array.type.id)
    if nested is not None:
        return total + nested(array, start, end, buffers)
    width = width_of(array.type)
    if width > 0:
        return total + touch_lines(buffers[1], start * width // 8, (end * width + 7) // 8)
    if width == 0:
        return total
    offset_bytes = -width // 8
    total += touch_lines(buffers[1], start * offset_bytes, (end + 1) * offset_bytes)
    offset_type = np.int32 if width == -32 else np.int64
    first = np.frombuffer(buffers[1], offset_type, 1, start * offset_bytes)[0]
    last = np.frombuffer(buffers[1], offset_type, 1, end * offset_bytes)[0]
    # There need not be a buffer where all strings are empty.
    return total + (touch_lines(buffers[2], int(first), int(last)) if last > first else 0)


def touch_list(array, start, end, buffers):
    """Offsets, and the items between the first and the last."""
    large = pa.types.is_large_list(array.type)
    offset_bytes, offset_type = (8, np.int64) if large else (4, np.int32)
    first = np.frombuffer(buffers[1], offset_type, 1, start * offset_bytes)[0]
    last = np.frombuffer(buffers[1], offset_type, 1, end * offset_bytes)[0]
    total = touch_lines(buffers[1], start * offset_bytes, (end + 1) * offset_bytes)
    # Maps are lists of structs; `values` knows nothing of the slice.
    items = array.values.slice(int(first), int(last - first))
    return total + touch_array(items)


def touch_fixed_size_list(array, start, end, buffers):
    size = array.type.list_size
    return touch_array(array.values.slice(start * size, (end - start) * size))


def touch_struct(array, start, end, buffers):
    return sum(touch_array(array.field(i)) for i in range(array.type.num_fields))


# What has arrays below it, by the id of its type.
NESTED = {
    pa.list_(pa.null()).id: touch_list,
    pa.large_list(pa.null()).id: touch_list,
    pa.map_(pa.int8(), pa.int8()).id: touch_list,
    pa.list_(pa.null(), 1).id: touch_fixed_size_list,
    pa.struct([]).id: touch_struct,
}


def touch(batch_or_table):
    total = 0
    for column in batch_or_table.columns:
        if isinstance(column, pa.ChunkedArray):
            for chunk in column.iterchunks():
                total += touch_array(chunk)
        else:
            total += touch_array(column)
    return total


def repeated(work):
    """The median time, after a first time that does not count, unless it is long."""
    first = timed(work)
    if first > WARM_UP_SECONDS_MAX:
        return first
    seconds = []
    whole = time.perf_counter()
    while not seconds or (
        time.perf_counter() - whole < MEASURE_SECONDS and len(seconds) < MEASURE_COUNT_MAX
    ):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def read_table(path):
    """Buffers are parts of the mapping."""
    return pa.ipc.open_file(pa.memory_map(path)).read_all()


def write(path, table):
    lance.write_dataset(table, path, mode="create", data_storage_version=STORAGE_VERSION)
    for folder, _, names in os.walk(path):
        for name in names:
            descriptor = os.open(os.path.join(folder, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def remove(path):
    shutil.rmtree(path, ignore_errors=True)


def bytes_of(path):
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        for name in names
    )


def same_values(expected, found):
    """Of the same type: floats are compared by their bits, so that NaN payloads and -0.0 count; nothing under a null does."""
    if len(expected) != len(found) or not expected.is_valid().equals(found.is_valid()):
        return False
    data_type = expected.type
    if data_type.id not in NESTED:
        bits = {pa.float16(): pa.uint16(), pa.float32(): pa.uint32(), pa.float64(): pa.uint64()}.get(data_type)
        if bits is not None:
            expected, found = expected.view(bits), found.view(bits)
        return expected.equals(found)
    if pa.types.is_struct(data_type):
        # Nulls of the struct are nulls of its fields there.
        return all(map(same_values, expected.flatten(), found.flatten()))
    if not pa.types.is_fixed_size_list(data_type):
        lengths = [pc.list_value_length(as_list(array)) for array in (expected, found)]
        if not lengths[0].equals(lengths[1]):
            return False
    # Items of null lists are left out.
    return same_values(as_list(expected).flatten(), as_list(found).flatten())


def as_list(array):
    """Maps lack some functions of lists."""
    if pa.types.is_map(array.type):
        return pa.Array.from_buffers(
            pa.list_(array.values.type), len(array), array.buffers()[:2], offset=array.offset, children=[array.values]
        )
    return array


def same(expected, found, what):
    if expected.schema.names != found.schema.names:
        raise ValueError(f"{what}: other columns")
    for field, expected, found in zip(found.schema, expected.columns, found.columns):
        if expected.type != found.type:
            raise ValueError(f"{what}: {field.name} is {found.type}, not {expected.type}")
        if not same_values(one_array(expected), one_array(found)):
            raise ValueError(f"{what}: {field.name} has other values than those written")


def one_array(column):
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


class Worker:
    table = None
    dataset = None
    path = None
    batch_rows = None

    def load(self, table):
        self.table = read_table(table)
        for batch in self.table.to_batches():
            touch(batch)
        return {
            "Loaded": {
                "rows": self.table.num_rows,
                "columns": self.table.schema.names,
                # The other workers say it.
                "fixed_width": [],
                "arrow_bytes": self.table.nbytes,
            }
        }

    def store(self, file, threads, goal):
        self.path = file
        seconds = timed(lambda: write(file, self.table))
        return {
            "Stored": {
                "seconds": seconds,
                "file_bytes": bytes_of(file),
                "kernel_bytes": 0,
                "settings": None,
            }
        }

    def check(self, file, goal):
        self.path = file
        self.dataset = lance.dataset(file)
        names = self.table.schema.names
        if len(names) > CHECKED_COLUMNS_MAX:
            self.check_scan(names[::CHECKED_COLUMN_STEP])
            return {"Checked": {"settings": self.settings()}}
        self.check_scan(names)
        self.check_take(names[:1])
        if len(names) <= TUNED_COLUMNS_MAX:
            self.batch_rows = min(BATCH_ROWS, key=self.time_of_scan)
        return {"Checked": {"settings": self.settings()}}

    def check_scan(self, names):
        table = self.table.select(names)
        start = 0
        for batch in self.dataset.scanner(columns=names).to_batches():
            expected = table.slice(start, batch.num_rows)
            same(expected, pa.Table.from_batches([batch]), f"scan, rows from {start}")
            start += batch.num_rows
        if start != self.table.num_rows:
            raise ValueError(f"scan: {start} rows")

    def check_take(self, names):
        n_rows = self.table.num_rows
        rows = sorted({n_rows * i // TAKE_ROWS_CHECKED for i in range(TAKE_ROWS_CHECKED)})
        expected = self.table.take(pa.array(rows, pa.int64()))
        same(expected, self.dataset.take(rows), "take")
        same(expected.select(names), self.dataset.take(rows, names), "take of some columns")

    def time_of_scan(self, batch_rows):
        self.batch_rows = batch_rows
        return min(timed(lambda: self.scan_all(self.dataset)) for _ in range(2))

    def settings(self):
        rows = "default" if self.batch_rows is None else self.batch_rows
        return f"file format {self.dataset.data_storage_version}, scan batches: {rows}"

    def use(self, settings):
        rows = settings.rsplit(" ", 1)[1]
        self.batch_rows = None if rows == "default" else int(rows)

    def scan_all(self, dataset, columns=None):
        for batch in dataset.scanner(columns=columns, batch_size=self.batch_rows).to_batches():
            touch(batch)

    def write(self, threads):
        path = self.path + ".again"
        seconds = timed(lambda: write(path, self.table))
        remove(path)
        return {"Seconds": seconds}

    def open(self, column):
        return {"Seconds": repeated(lambda: lance.dataset(self.path).schema.field(column).type)}

    def scan(self, threads, columns):
        return {"Seconds": repeated(lambda: self.scan_all(self.dataset, columns))}

    def take(self, lists, columns):
        seconds = []
        whole = time.perf_counter()
        for rows in lists:
            if len(seconds) >= TAKE_LISTS_MIN and time.perf_counter() - whole > TAKE_SECONDS_MAX:
                break
            seconds.append(timed(lambda: touch(self.dataset.take(rows, columns))))
        return {"Seconds": statistics.median(seconds[1:])}

    def open_and_scan(self, columns):
        return {"Seconds": repeated(lambda: self.scan_all(lance.dataset(self.path), columns))}

    def open_and_take(self, file, rows):
        return {"Seconds": timed(lambda: touch(lance.dataset(file).take(rows)))}

    def peak_of_write(self, file, settings):
        peak = peak_bytes(lambda: write(file, self.table))
        remove(file)
        return {"Bytes": peak}

    def peak_of_scan(self, table, file, settings):
        if settings is not None:
            self.use(settings)
        return {"Bytes": peak_bytes(lambda: self.scan_all(lance.dataset(file)))}

    def overhead(self, file):
        write(file, pa.table({"a": pa.array([1], pa.int64())}))
        small = lance.dataset(file)
        call = repeated(lambda: touch(small.take([0])))
        del small
        remove(file)
        row = self.dataset.take([0])
        batches = self.table.to_batches()

        def touch_all():
            for batch in batches:
                touch(batch)

        return {
            "Overhead": {
                "call": call,
                "touch_of_row": repeated(lambda: touch(row)),
                "touch_of_scan": repeated(touch_all),
            }
        }


def peak_bytes(work):
    """As src/speed/memory.rs does it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except (AttributeError, OSError):
        pass
    before = memory_field_kib("/proc/self/status", "VmHWM:")
    work()
    return max(memory_field_kib("/proc/self/status", "VmHWM:") - before, 0) * 1024


REQUESTS = {
    "Load": Worker.load,
    "Store": Worker.store,
    "Check": Worker.check,
    "Write": Worker.write,
    "Open": Worker.open,
    "Scan": Worker.scan,
    "Take": Worker.take,
    "OpenAndScan": Worker.open_and_scan,
    "OpenAndTake": Worker.open_and_take,
    "PeakOfWrite": Worker.peak_of_write,
    "PeakOfScan": Worker.peak_of_scan,
    "Overhead": Worker.overhead,
}


def main():
    worker = Worker()
    for line in sys.stdin:
        [(name, arguments)] = json.loads(line).items()
        try:
            answer = REQUESTS[name](worker, **arguments)
        except Exception as error:  # noqa: BLE001 - whatever went wrong is the answer
            text = str(error).strip().splitlines() or [""]
            answer = {"Failed": f"{type(error).__name__}: {text[0][:500]}"}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
