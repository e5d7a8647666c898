"""Updates of columns with Iceberg, Delta Lake and Lance, for the benchmark of tables.

    updates.py data paper FOLDER ROWS COLUMNS CHARS
    updates.py data lineitem FOLDER              takes FOLDER/source.arrow
        writes rows.arrow, and new values of a column as N-all.arrow, N-some.arrow
    updates.py data wide FOLDER MAKER ROWS FILES WIDEST COLUMNS
        writes rows.arrow with a batch for each file, and the values of a new column as new.arrow
    updates.py update FORMAT FOLDER DATA WHICH SECONDS
        makes a table of DATA/rows.arrow, and updates it ten times, or less if the time is up
    updates.py add FORMAT FOLDER DATA
        makes a table of DATA/rows.arrow, of a file for each batch, and adds the column of DATA/new.arrow

Each command prints one line of JSON. Rows have a number `id`, by which new values are found.
"""

import json
import os
import sys
import time
import warnings

import numpy
import pyarrow as pa
import pyarrow.parquet

from peers import sizes

UPDATES = 10
SCANS = 3
# Times of reading a few columns of a wide table, of which the middle one counts.
REPETITIONS = 5


def write(table, path):
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read(path):
    # Lance refuses decimals that are not aligned as they are in memory.
    options = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.At64Byte)
    with pa.memory_map(path) as source:
        return pa.ipc.open_file(source, options=options).read_all()


def texts(random, n_rows, n_chars):
    letters = numpy.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789", "S1")
    picked = letters[random.integers(0, len(letters), n_rows * n_chars)].tobytes().decode()
    return pa.array([picked[i * n_chars : (i + 1) * n_chars] for i in range(n_rows)])


def wide(random, folder, maker, n_rows, n_files, widest, n_columns):
    """The first columns of a table of `widest`, beside a number and a column with the values of the new one."""
    sys.path.insert(0, os.path.dirname(maker))
    import make_ml

    table = make_ml.ads_wide(make_ml.AdsWide(columns=widest, rows=n_rows))
    names = [name for name in table.column_names if name not in ("id", "plain", "score")]
    table = table.select(names[: n_columns - 2])
    ids = pa.array(range(n_rows), pa.int64())
    values = pa.array(random.random(n_rows))
    table = table.add_column(0, "id", ids).append_column("plain", values)
    batches = table.combine_chunks().to_batches(max_chunksize=-(-n_rows // n_files))
    with pa.OSFile(f"{folder}/rows.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    write(pa.table({"id": ids, "score": values}), f"{folder}/new.arrow")
    return {"rows": n_rows, "columns": table.num_columns, "files": len(batches)}


def data(name, folder, *rest):
    """Tables, and new values of one of their columns: the values that it had, in another order, or new text."""
    random = numpy.random.default_rng(7)
    if name == "wide":
        maker, *numbers = rest
        return wide(random, folder, maker, *[int(number) for number in numbers])
    if name == "paper":
        n_rows, n_columns, n_chars = [int(number) for number in rest]
        columns = {"id": pa.array(range(n_rows), pa.int64())}
        for i in range(1, n_columns):
            columns[f"f{i}"] = texts(random, n_rows, n_chars)
        table, column = pa.table(columns), "f7"
    else:
        table = read(f"{folder}/source.arrow").combine_chunks()
        table = table.add_column(0, "id", pa.array(range(len(table)), pa.int64()))
        column = "l_extendedprice"
    n_rows = len(table)
    write(table.combine_chunks(), f"{folder}/rows.arrow")
    for i in range(UPDATES):
        if name == "paper":
            values = texts(random, n_rows, n_chars)
        else:
            values = table[column].take(pa.array(random.permutation(n_rows)))
        new = pa.table({"id": table["id"], column: values}).combine_chunks()
        write(new, f"{folder}/{i}-all.arrow")
        some = numpy.sort(random.choice(n_rows, n_rows // 20, replace=False))
        write(new.take(pa.array(some)).combine_chunks(), f"{folder}/{i}-some.arrow")
    if name != "paper":
        os.remove(f"{folder}/source.arrow")
    return {"rows": n_rows, "columns": table.num_columns, "column": column}


class Delta:
    def __init__(self, folder):
        self.folder = folder

    def make(self, table):
        import deltalake

        deltalake.write_deltalake(self.folder, table)

    def make_of(self, batches):
        import deltalake

        for batch in batches:
            deltalake.write_deltalake(self.folder, pa.Table.from_batches([batch]), mode="append")

    def table(self):
        import deltalake

        return deltalake.DeltaTable(self.folder)

    def update(self, new, column):
        merge = self.table().merge(new, "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update({column: f"s.{column}"}).execute()

    def scan(self, columns=None):
        return self.table().to_pyarrow_table(columns=columns)

    def compact(self):
        self.table().optimize.compact()

    def add(self, new):
        import deltalake

        table = self.scan().sort_by("id").append_column("score", new["score"])
        deltalake.write_deltalake(self.folder, table, mode="overwrite", schema_mode="overwrite")


class Iceberg:
    """It has no updates of columns, so the table is read, and written with the new values."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def catalog(self):
        from pyiceberg.catalog.sql import SqlCatalog

        uri = f"sqlite:///{self.folder}/catalog.db"
        return SqlCatalog("default", uri=uri, warehouse=f"file://{self.folder}/warehouse")

    def make(self, table):
        catalog = self.catalog()
        catalog.create_namespace("n")
        catalog.create_table("n.t", table.schema).append(table)

    def make_of(self, batches):
        catalog = self.catalog()
        catalog.create_namespace("n")
        table = catalog.create_table("n.t", batches[0].schema)
        with table.transaction() as transaction:
            for batch in batches:
                transaction.append(pa.Table.from_batches([batch]))

    def table(self):
        return self.catalog().load_table("n.t")

    def update(self, new, column):
        table = self.table()
        rows = table.scan().to_arrow().sort_by("id")
        values = rows[column].to_numpy(zero_copy_only=False).copy()
        values[new["id"].to_numpy()] = new[column].to_numpy()
        place = rows.schema.get_field_index(column)
        values = pa.array(values, rows.schema.field(place).type)
        table.overwrite(rows.set_column(place, rows.schema.field(place), values))

    def scan(self, columns=None):
        return self.table().scan(selected_fields=columns or ("*",)).to_arrow()

    def compact(self):
        pass

    def add(self, new):
        table = self.table()
        rows = table.scan().to_arrow().sort_by("id").append_column("score", new["score"])
        with table.update_schema() as update:
            update.union_by_name(rows.schema)
        table.overwrite(rows)


class Lance:
    def __init__(self, folder):
        self.folder = folder

    def make(self, table):
        import lance

        lance.write_dataset(table, self.folder)

    def make_of(self, batches):
        import lance

        table = pa.Table.from_batches(batches)
        lance.write_dataset(table, self.folder, max_rows_per_file=batches[0].num_rows)

    def table(self):
        import lance

        return lance.dataset(self.folder)

    def update(self, new, column):
        import lance

        table = self.table()
        fragments, fields = [], []
        for fragment in table.get_fragments():
            updated, fields = fragment.update_columns(new, left_on="id", right_on="id")
            fragments.append(updated)
        operation = lance.LanceOperation.Update(updated_fragments=fragments, fields_modified=fields)
        lance.LanceDataset.commit(self.folder, operation, read_version=table.version)

    def scan(self, columns=None):
        return self.table().to_table(columns=columns)

    def compact(self):
        self.table().optimize.compact_files()

    def add(self, new):
        self.table().add_columns(new.select(["score"]).to_reader())


FORMATS = {"delta": Delta, "iceberg": Iceberg, "lance": Lance}


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def middle(n_times, work):
    """The median of the seconds."""
    times = sorted(timed(work) for _ in range(n_times))
    return times[len(times) // 2]


def written(peer, work):
    """Seconds of work, and bytes of the files that are new or changed."""
    before = sizes(peer.folder)
    seconds = timed(work)
    after = sizes(peer.folder)
    return seconds, sum(size for path, size in after.items() if before.get(path) != size)


def check(peer, new, column):
    """Refuses a table whose rows do not have these values."""
    rows = peer.scan(["id", column]).sort_by("id").take(new["id"].combine_chunks())
    found = rows[column].cast(new[column].type).combine_chunks()
    if not found.equals(new[column].combine_chunks()):
        raise ValueError(f"the values of `{column}` are not there")


def update(name, folder, data, which, seconds):
    begun = time.perf_counter()
    peer = FORMATS[name](folder)
    peer.make(read(f"{data}/rows.arrow"))
    peer.scan()
    found = {"seconds": [], "bytes": [], "scan": middle(SCANS, peer.scan), "scans": [], "compacted": None}
    for i in range(UPDATES):
        if time.perf_counter() - begun > float(seconds):
            return found
        new = read(f"{data}/{i}-{which}.arrow")
        column = new.schema.names[1]
        took, n_bytes = written(peer, lambda: peer.update(new, column))
        found["seconds"].append(took)
        found["bytes"].append(n_bytes)
        found["scans"].append(middle(SCANS, peer.scan))
        if i in (0, UPDATES - 1):
            check(peer, new, column)
    peer.compact()
    peer.scan()
    found["compacted"] = middle(SCANS, peer.scan)
    return found


def add(name, folder, data):
    peer = FORMATS[name](folder)
    batches = read(f"{data}/rows.arrow").to_batches()
    make = timed(lambda: peer.make_of(batches))
    names = [name for name in batches[0].schema.names if name != "plain"][:10]
    peer.scan(names)
    ten = middle(REPETITIONS, lambda: peer.scan(names))
    new = read(f"{data}/new.arrow")
    took, n_bytes = written(peer, lambda: peer.add(new))
    check(peer, new, "score")
    reads = [middle(REPETITIONS, lambda: peer.scan([name])) for name in ("plain", "score")]
    return {"seconds": took, "bytes": n_bytes, "make": make, "ten": ten, "plain": reads[0], "new": reads[1]}


def main():
    warnings.filterwarnings("ignore")
    command, *rest = sys.argv[1:]
    print(json.dumps({"data": data, "update": update, "add": add}[command](*rest)), flush=True)
    # Threads of the packages may abort a process that ends in the ordinary way.
    os._exit(0)


if __name__ == "__main__":
    main()
