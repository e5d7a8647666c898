#!/usr/bin/env python3
"""Imports tables that come with packages into Tarsia files, and compares them with what pyarrow reads.

usage: foreign-files.py BINARY FOLDER       needs Python 3.11 and pyarrow; FOLDER has wheels and source archives

Each Parquet, Feather, Arrow and CSV file in them is imported, verified, and exported to Arrow and to Parquet; both must
be the table that pyarrow reads from the original file:

- Columns, types, metadata of the schema and of its fields, nulls and values; floats bit by bit, NaN too. A type may
  differ where a line of NOTES says so, and Tarsia says so with a note of its own.
- CSV has no types. Here pyarrow reads texts only. The types that docs/command.md promises are computed again from them,
  and each value is parsed again; a text must be the same.
- What both refuse is counted. What only Tarsia refuses is a failure, unless REFUSED names the file and the reason.

Exit 0 if there is no failure and every archive had a file to compare, else 1.
"""
import datetime
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

EXTENSIONS = (".parquet", ".feather", ".arrow", ".csv")

# The rows that say the types of CSV (docs/command.md, limits).
INFERENCE_ROWS = 10_000

# Files that Tarsia refuses and pyarrow reads: end of the name, a part of the message, the reason.
REFUSED = [
]


class Failure(Exception):
    """What is wrong with one file."""


class Refused(Exception):
    """Tarsia does not import a file; the text is its message."""


def need(condition, what):
    if not condition:
        raise Failure(what)


# Parquet and Arrow files: the same types, metadata, nulls and bits.


def plain(array):
    """An array of a type that can be compared: extension types as what they are stored as, dictionaries decoded."""
    while isinstance(array, (pa.ExtensionArray, pa.DictionaryArray)):
        array = array.storage if isinstance(array, pa.ExtensionArray) else array.dictionary_decode()
    return array


def need_same(ours, theirs, where):
    """Compares two arrays of one type, down to the bits of floats."""
    ours, theirs = plain(ours), plain(theirs)
    need(len(ours) == len(theirs), f"{where}: {len(ours)} values, {len(theirs)} in pyarrow")
    need(ours.is_valid().equals(theirs.is_valid()), f"{where}: other rows are null")
    of = theirs.type
    if pa.types.is_struct(of):
        for i, (left, right) in enumerate(zip(ours.flatten(), theirs.flatten(), strict=True)):
            need_same(left, right, f"{where}.{of.field(i).name}")
    elif pa.types.is_map(of):
        # Keys and items of the rows that are left have no gaps.
        ours, theirs = pa.concat_arrays([ours.drop_null()]), pa.concat_arrays([theirs.drop_null()])
        lengths = [[len(row.as_py()) for row in rows] for rows in (ours, theirs)]
        need(lengths[0] == lengths[1], f"{where}: maps of other lengths")
        need_same(ours.keys, theirs.keys, f"{where}.keys")
        need_same(ours.items, theirs.items, f"{where}.items")
    elif pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        need(pc.list_value_length(ours).equals(pc.list_value_length(theirs)), f"{where}: lists of other lengths")
        need_same(ours.flatten(), theirs.flatten(), f"{where}[]")
    elif pa.types.is_floating(of):
        bits = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[of.bit_width]
        need(ours.drop_null().view(bits).equals(theirs.drop_null().view(bits)), f"{where}: other floats")
    else:
        need(ours.equals(theirs), f"{where}: other values")


def need_same_table(ours, theirs):
    """Compares two tables: all that their schemas say, and all values."""
    need(ours.schema.names == theirs.schema.names, f"columns {ours.schema.names}, {theirs.schema.names} in pyarrow")
    need(ours.num_rows == theirs.num_rows, f"{ours.num_rows} rows, {theirs.num_rows} in pyarrow")
    need(
        (ours.schema.metadata or {}) == (theirs.schema.metadata or {}),
        f"metadata {ours.schema.metadata}, {theirs.schema.metadata} in pyarrow",
    )
    for i, (left, right) in enumerate(zip(ours.schema, theirs.schema, strict=True)):
        need(
            left.equals(right, check_metadata=True),
            f"{right.name}: {left} {left.metadata}, in pyarrow {right} {right.metadata}",
        )
        left, right = ours.column(i).combine_chunks(), theirs.column(i).combine_chunks()
        need_same(left, right, ours.schema.names[i])


def read_arrow(path):
    """An IPC file or stream, by pyarrow."""
    with pa.memory_map(str(path)) as source:
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()


def read_typed(path):
    """A file with types, by pyarrow."""
    if path.suffix == ".parquet":
        return pa.parquet.ParquetFile(path).read()
    return pa.feather.read_table(path) if path.suffix == ".feather" else read_arrow(path)


# CSV: the same texts, and the types and values that follow from them.

WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
FRACTION = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
SPELLED_OUT = re.compile(r"[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE)
CODE = re.compile(r"\+.*|-?0[0-9].*|-0", re.ASCII)
TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:?\d\d)?)?", re.ASCII
)
EPOCH = datetime.datetime(1970, 1, 1)


def is_number(text):
    return bool(FRACTION.fullmatch(text) or SPELLED_OUT.fullmatch(text))


def timestamp(text):
    """Nanoseconds since 1970, digits of the fraction, whether there is an offset; or None."""
    parts = TIMESTAMP.fullmatch(text)
    try:
        date, time, fraction, offset = parts.groups()
        point = datetime.datetime.fromisoformat(f"{date}T{time or '00:00:00'}")
        seconds = (point - EPOCH) // datetime.timedelta(seconds=1)
        if offset and offset not in "Zz":
            hours, minutes = int(offset[1:3]), int(offset[-2:])
            datetime.time(hours, minutes)
            seconds -= int(offset[0] + "1") * (hours * 3600 + minutes * 60)
        digits = fraction or ""
        return seconds * 10**9 + int(digits.ljust(9, "0")), len(digits), bool(offset)
    except (AttributeError, ValueError):
        return None


def expected_type(texts):
    """The type that the rules of docs/command.md and of `import --help` give a column of these texts, null or not."""
    seen = [text for text in texts[:INFERENCE_ROWS] if text]
    if not seen:
        return pa.string()
    if all(text.lower() in ("true", "false") for text in seen):
        return pa.bool_()
    if all(is_number(text) for text in seen):
        if any(CODE.fullmatch(text) for text in seen):
            return pa.string()
        whole = [int(text) for text in seen if WHOLE.fullmatch(text)]
        if any(not -(2**63) <= n < 2**64 for n in whole):
            return pa.string()
        if len(whole) == len(seen):
            if max(whole) < 2**63:
                return pa.int64()
            return pa.uint64() if min(whole) >= 0 else pa.string()
        is_infinite = [FRACTION.fullmatch(text) and abs(float(text)) == float("inf") for text in seen]
        return pa.string() if any(is_infinite) or any(int(float(n)) != n for n in whole) else pa.float64()
    points = [timestamp(text) for text in seen]
    if all(points):
        if all(len(text) == 10 for text in seen):
            return pa.date32()
        if len({has_offset for _, _, has_offset in points}) == 1:
            is_fine = any(digits > 6 for _, digits, _ in points)
            if not is_fine or all(-(2**63) <= nanos < 2**63 for nanos, _, _ in points):
                return pa.timestamp("ns" if is_fine else "us", "UTC" if points[0][2] else None)
    return pa.string()


def parsed(text, of):
    """What a column of the type has in its buffer for a text."""
    if pa.types.is_string(of):
        return text
    if pa.types.is_boolean(of):
        return {"true": True, "false": False}[text.lower()]
    if pa.types.is_integer(of):
        need(WHOLE.fullmatch(text) and not CODE.fullmatch(text), f"{text!r} has become a {of}")
        return int(text)
    if pa.types.is_floating(of):
        need(is_number(text) and not CODE.fullmatch(text), f"{text!r} has become a {of}")
        need(not WHOLE.fullmatch(text) or int(text) == float(text), f"{text!r} is no {of}")
        return struct.unpack("<q", struct.pack("<d", float(text)))[0]
    nanos, _, _ = timestamp(text)
    per_unit = 86_400 * 10**9 if pa.types.is_date32(of) else {"us": 1_000, "ns": 1}[of.unit]
    need(nanos % per_unit == 0, f"{text!r} has become a {of}")
    return nanos // per_unit


def raw(array):
    """Values as Python has them: floats, dates and timestamps as the numbers in the buffer."""
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_floating(array.type) or pa.types.is_timestamp(array.type):
        array = array.view(pa.int64())
    return array.to_pylist()


def read_texts(path):
    """A CSV file with its header as the first row, all fields as texts; null where nothing stands, not even quotes."""
    def read(skips_empty_lines):
        return pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(autogenerate_column_names=True, block_size=256 << 20),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=skips_empty_lines),
            convert_options=pa.csv.ConvertOptions(
                column_types={f"f{i}": pa.string() for i in range(10_000)},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    texts = read(True)
    # An empty line is a row where there is one column.
    texts = read(False) if texts.num_columns == 1 else texts
    need(all(pa.types.is_string(of) for of in texts.schema.types), "more columns than are read as texts")
    return texts


def need_same_texts(ours, texts):
    """Compares a table with the texts that it was made of."""
    names = [column[0].as_py() or "" for column in texts.columns]
    need(ours.schema.names == names, f"columns {ours.schema.names}, {names} in pyarrow")
    need(ours.num_rows == texts.num_rows - 1, f"{ours.num_rows} rows, {texts.num_rows - 1} in pyarrow")
    need(not ours.schema.metadata, "metadata that CSV does not have")
    for i, field in enumerate(ours.schema):
        column = texts.column(i).to_pylist()[1:]
        where, of = f"{field.name} (column {i})", field.type
        need(of == expected_type(column), f"{where}: {of}, by the rules {expected_type(column)}")
        values = raw(ours.column(i).combine_chunks())
        for row, (value, text) in enumerate(zip(values, column, strict=True)):
            is_null = text is None or (text == "" and not pa.types.is_string(of))
            right = None if is_null else parsed(text, of)
            need(value == right and type(value) is type(right), f"{where}: row {row}: {text!r} has become {value!r}")


# The command.


def run(binary, *arguments):
    """Runs the command; returns what it says on the standard error."""
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=600)
    if done.returncode == 0:
        return done.stderr
    message = done.stderr.strip() or f"exit code {done.returncode}"
    if arguments[0] == "import" and done.returncode == 1 and "\n" not in message:
        raise Refused(message)
    raise Failure(f"{arguments[0]}: {message}")


def compare(binary, path, scratch):
    """Takes a file through Tarsia; returns its number of rows, or None if both refuse it."""
    reads = read_texts if path.suffix == ".csv" else read_typed
    try:
        theirs, their_error = reads(path), None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        theirs, their_error = None, str(error)
    table = scratch / "out.tarsia"
    try:
        run(binary, "import", path, table)
    except Refused:
        if theirs is None:
            return None
        raise
    run(binary, "verify", table)
    backs = [scratch / "back.arrow", scratch / "back.parquet"]
    for back in backs:
        run(binary, "export", table, back)
    need(theirs is not None, f"is imported, but pyarrow refuses it: {their_error}")
    for back in backs:
        ours = read_typed(back)
        try:
            need_same_texts(ours, theirs) if path.suffix == ".csv" else need_same_table(ours, theirs)
        except Failure as failure:
            raise Failure(f"exported to {back.suffix}: {failure}") from None
    return ours.num_rows


def members(archive):
    """Names and bytes of the tables in a wheel or a source archive."""
    def is_table(name):
        return name.lower().endswith(EXTENSIONS)

    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as files:
            for name in sorted(filter(is_table, files.namelist())):
                yield name, files.read(name)
    else:
        with tarfile.open(archive) as files:
            for member in sorted(files.getmembers(), key=lambda member: member.name):
                if member.isfile() and is_table(member.name):
                    yield member.name, files.extractfile(member).read()


def check_archive(binary, archive, failures, unused):
    """Compares all tables of an archive; prints a line, and returns how many tables and rows were compared."""
    n_files, n_rows, n_refused, n_known = 0, 0, 0, 0
    for name, content in members(archive):
        with tempfile.TemporaryDirectory(prefix="tarsia-foreign.") as scratch:
            path = pathlib.Path(scratch, "in" + pathlib.Path(name).suffix.lower())
            path.write_bytes(content)
            try:
                rows = compare(binary, path, pathlib.Path(scratch))
            except Refused as refused:
                known = [it for it in REFUSED if name.endswith(it[0]) and it[1] in str(refused)]
                unused.difference_update(known)
                n_known += bool(known)
                if not known:
                    failures.append(f"{name}: refused, but pyarrow reads it: {refused}".replace(f"{path}", "FILE"))
            except (Failure, subprocess.TimeoutExpired) as failure:
                failures.append(f"{name}: {failure}".replace(f"{path}", "FILE"))
            else:
                n_refused += rows is None
                n_files += rows is not None
                n_rows += rows or 0
    print(f"{archive.name}: {n_files} tables, {n_rows} rows compared; refused: {n_refused} by both, {n_known} known")
    if not n_files:
        failures.append(f"{archive.name}: no table was compared")
    return n_files, n_rows


def main(binary, folder):
    failures, unused = [], set(REFUSED)
    archives = sorted(path for path in pathlib.Path(folder).iterdir() if path.name.endswith((".whl", ".tar.gz")))
    counts = [check_archive(binary, archive, failures, unused) for archive in archives]
    failures += [f"{name}: is on the list of refused files, but was not refused so" for name, _, _ in sorted(unused)]
    for failure in failures:
        print(f"FAILED: {failure}")
    n_files, n_rows = (sum(column) for column in zip(*counts)) if counts else (0, 0)
    print(f"{len(archives)} packages, {n_files} tables, {n_rows} rows compared; {len(failures)} failures")
    return 0 if n_files and not failures else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 3 else __doc__)
