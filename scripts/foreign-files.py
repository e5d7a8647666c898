#!/usr/bin/env python3
"""Imports tables that come with packages into Tarsia files, and compares them with what pyarrow reads.

usage: foreign-files.py BINARY ARCHIVE...       needs Python 3.11 and pyarrow; the archives are wheels or .tar.gz

Each Parquet, Feather, Arrow and CSV file in them is imported, verified, and exported to Arrow and to Parquet. Both must
be the table that pyarrow reads from the original file:

- Parquet, Feather and Arrow: the same columns, types, metadata of the schema and of its fields, nulls and values;
  floats are compared bit by bit, NaN too.
- CSV has no types, and pyarrow reads only texts here. The types that docs/command.md promises are computed again from
  the texts, and each value is parsed again. Where the command refuses a file and says that --no-header reads it, it is
  imported so.
- What both refuse is counted. What only Tarsia refuses is a failure, unless REFUSED names the file and the reason; what
  only pyarrow refuses is one, unless ACCEPTED does. A line there that no file needs is a failure, too.

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

# Files that Tarsia refuses and pyarrow reads, by the ends of their names: what the message says, and the reason.
REFUSED = {
    "csvkit-2.2.0/examples/test_skip_lines.csv": (
        "3 fields, but the header has 1",
        "empty lines come before the header; the first line is the header, whatever it holds",
    ),
    "kartothek-5.3.0/reference-data/arrow-compat/0.12.1.parquet": (
        "Unexpected ConvertedType 24",
        "pyarrow before 0.14 annotated columns of nulls with a number that no version of Parquet has",
    ),
    "kartothek-5.3.0/reference-data/arrow-compat/0.13.0.parquet": ("Unexpected ConvertedType 24", "as 0.12.1"),
    "pyarrow/tests/data/feather/v0.17.0.version.2-compression.lz4.feather": (
        "compressed with LZ4 as by Arrow 0.17",
        "docs/command.md: Feather files as Arrow 0.17 compressed them are refused by name",
    ),
    "statsmodels/datasets/scotland/src/scotvote.csv": (
        "text follows a closing quote",
        "spaces separate its columns; by RFC 4180 nothing stands between a quote and a comma",
    ),
}

# Files that pyarrow refuses and Tarsia reads, and the reason.
ACCEPTED = {
    "csvkit-2.2.0/examples/empty.csv": "one empty line: the header of one column without a name",
}


class Failure(Exception):
    """What is wrong with one file."""


class Refused(Exception):
    """Tarsia does not import a file; the text is what it says."""


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
        entries = pa.list_(pa.struct([of.key_field, of.item_field]))
        need_same(ours.cast(entries), theirs.cast(entries), where)
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
                column_types={f"f{i}": pa.string() for i in range(1 << 16)},
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


def need_same_texts(ours, texts, header):
    """Compares a table with the texts that it was made of. Without a header the first row counts, too."""
    names = [column[0].as_py() or "" if header else f"column_{i}" for i, column in enumerate(texts.columns)]
    texts = texts.slice(1) if header else texts
    need(ours.schema.names == names, f"columns {ours.schema.names}, {names} in pyarrow")
    need(ours.num_rows == texts.num_rows, f"{ours.num_rows} rows, {texts.num_rows} in pyarrow")
    need(not ours.schema.metadata, "metadata that CSV does not have")
    for i, field in enumerate(ours.schema):
        column = texts.column(i).to_pylist()
        where, of = f"{field.name} (column {i})", field.type
        need(of == expected_type(column), f"{where}: {of}, by the rules {expected_type(column)}")
        values = raw(ours.column(i).combine_chunks())
        for row, (value, text) in enumerate(zip(values, column, strict=True)):
            is_null = text is None or (text == "" and not pa.types.is_string(of))
            right = None if is_null else parsed(text, of)
            need(value == right and type(value) is type(right), f"{where}: row {row}: {text!r} has become {value!r}")


# The command.


def run(binary, *arguments):
    """Runs the command, which must succeed; what `import` refuses with one line and exit code 1 is Refused."""
    done = subprocess.run([binary, *arguments], capture_output=True, encoding="utf-8", timeout=600)
    if done.returncode == 0:
        return
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    if arguments[0] == "import" and done.returncode == 1 and len(lines) == 1 and lines[0].startswith("error: "):
        raise Refused(lines[0])
    raise Failure(f"{arguments[0]}: exit code {done.returncode}: {done.stderr.strip()}")


def import_file(binary, path, table):
    """Imports a file; returns whether its first line is a header, if it is CSV."""
    try:
        run(binary, "import", path, table)
        return True
    except Refused as refused:
        if "--no-header says so" not in str(refused):
            raise
    run(binary, "import", "--no-header", path, table)
    return False


def compare(binary, path, scratch, accepted):
    """Takes a file through Tarsia; returns its number of rows, or None if pyarrow refuses it, and rightly so."""
    is_csv = path.suffix == ".csv"
    try:
        theirs, their_error = read_texts(path) if is_csv else read_typed(path), None
    except (pa.ArrowException, OSError) as error:
        theirs, their_error = None, str(error)
    table = scratch / "out.tarsia"
    try:
        header = import_file(binary, path, table)
    except Refused:
        if theirs is None:
            return None
        raise
    run(binary, "verify", table)
    need(theirs is not None or accepted, f"is imported, but pyarrow refuses it: {their_error}")
    need(theirs is None or not accepted, "is on the list ACCEPTED, but pyarrow reads it")
    for back in [scratch / "back.arrow", scratch / "back.parquet"]:
        run(binary, "export", table, back)
        ours = read_typed(back)
        if theirs is None:
            continue
        try:
            need_same_texts(ours, theirs, header) if is_csv else need_same_table(ours, theirs)
        except Failure as failure:
            raise Failure(f"exported to {back.suffix}: {failure}") from None
    return theirs and theirs.num_rows - (is_csv and header)


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
    n_files, n_rows, n_refused, n_listed = 0, 0, 0, 0
    for name, content in members(archive):
        with tempfile.TemporaryDirectory(prefix="tarsia-foreign.") as scratch:
            path = pathlib.Path(scratch, "in" + pathlib.Path(name).suffix.lower())
            path.write_bytes(content)
            unused.discard(name)
            try:
                rows = compare(binary, path, pathlib.Path(scratch), name in ACCEPTED)
                need(name not in REFUSED, "is on the list REFUSED, but was not refused")
                n_files += rows is not None
                n_rows += rows or 0
                n_listed += name in ACCEPTED
                n_refused += rows is None and name not in ACCEPTED
            except Refused as refused:
                n_listed += name in REFUSED
                if name not in REFUSED or REFUSED[name][0] not in str(refused):
                    failures.append(f"{name}: refused, but pyarrow reads it: {refused}".replace(str(path), "FILE"))
            except (Failure, subprocess.TimeoutExpired) as failure:
                failures.append(f"{name}: {failure}".replace(str(path), "FILE"))
    counts = f"{n_files} tables, {n_rows} rows compared; {n_refused} refused by both, {n_listed} on the lists"
    print(f"{archive.name}: {counts}")
    if not n_files:
        failures.append(f"{archive.name}: no table was compared")
    return n_files, n_rows


def main(binary, *archives):
    failures, unused = [], REFUSED.keys() | ACCEPTED.keys()
    counts = [check_archive(binary, pathlib.Path(archive), failures, unused) for archive in archives]
    failures += [f"{name}: is on a list, but in no archive" for name in sorted(unused)]
    for failure in failures:
        print(f"FAILED: {failure}")
    n_files, n_rows = (sum(column) for column in zip(*counts))
    print(f"{len(archives)} packages, {n_files} tables, {n_rows} rows compared; {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 2 else __doc__)
