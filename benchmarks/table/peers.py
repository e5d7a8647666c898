"""Iceberg, Delta Lake and Lance for the benchmark of tables: one command, one line of JSON.

    peers.py make FORMAT FOLDER FILES          makes a table of so many files
    peers.py plan FORMAT FOLDER PARTITION ...  opens it, and plans each partition
    peers.py append FORMAT FOLDER COMMITS FILES  commits in a row, of so many files each
    peers.py race FORMAT FOLDER COMMITS        says "ready", waits for a line, commits of one file each

Data files do not exist. Their entries go through the writers of metadata that each package has.
"""

import json
import os
import random
import sys
import time
import uuid
import warnings

PARTITIONS = 1024
ROWS = 100_000
FILE_BYTES = 100_000_000


def sizes(folder):
    """Bytes of every file below a folder."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            try:
                found[path] = os.path.getsize(path)
            except FileNotFoundError:
                continue
    return found


class Delta:
    # One commit has as many files as a run of commits would: after a checkpoint the state is the same.
    files_of_a_commit = 65_536

    def __init__(self, folder):
        self.folder = folder
        self.table = None

    def schema(self):
        from deltalake import Field, Schema
        from deltalake.schema import PrimitiveType

        return Schema([Field("p", PrimitiveType("long")), Field("v", PrimitiveType("double"))])

    def create(self):
        from deltalake import DeltaTable

        self.table = DeltaTable.create(self.folder, self.schema(), partition_by=["p"])

    def open(self):
        from deltalake import DeltaTable

        self.table = DeltaTable(self.folder)

    def append(self, partitions):
        from deltalake.transaction import AddAction

        stats = json.dumps({"numRecords": ROWS})
        actions = [
            AddAction(f"p={p}/{uuid.uuid4()}.parquet", FILE_BYTES, {"p": str(p)}, 0, True, stats)
            for p in partitions
        ]
        self.table.create_write_transaction(actions, "append", self.schema(), ["p"])

    def finish(self):
        self.open()
        self.table.create_checkpoint()

    def plan(self, partition):
        return len(self.table.file_uris([("p", "=", str(partition))]))

    def state(self):
        """Objects that a reader of the newest state reads."""
        log = sizes(os.path.join(self.folder, "_delta_log"))
        version = self.table.version()
        checkpoints = sorted(path for path in log if ".checkpoint" in path and "_last" not in path)
        at = -1
        found = {path: size for path, size in log.items() if "_last" in path}
        if checkpoints:
            at = int(os.path.basename(checkpoints[-1]).split(".")[0])
            found.update({path: log[path] for path in checkpoints if f"{at:020}" in path})
        for n in range(at + 1, version + 1):
            path = os.path.join(self.folder, "_delta_log", f"{n:020}.json")
            found[path] = log.get(path, 0)
        return found


class Iceberg:
    files_of_a_commit = PARTITIONS

    def __init__(self, folder):
        self.folder = folder
        self.table = None
        os.makedirs(folder, exist_ok=True)

    def catalog(self):
        from pyiceberg.catalog.sql import SqlCatalog

        uri = f"sqlite:///{self.folder}/catalog.db"
        return SqlCatalog("default", uri=uri, warehouse=f"file://{self.folder}/warehouse")

    def create(self):
        from pyiceberg.partitioning import PartitionField, PartitionSpec
        from pyiceberg.schema import Schema
        from pyiceberg.transforms import IdentityTransform
        from pyiceberg.types import DoubleType, LongType, NestedField

        schema = Schema(NestedField(1, "p", LongType()), NestedField(2, "v", DoubleType()))
        spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))
        catalog = self.catalog()
        catalog.create_namespace("n")
        self.table = catalog.create_table("n.t", schema, partition_spec=spec)

    def open(self):
        self.table = self.catalog().load_table("n.t")

    def append(self, partitions):
        from pyiceberg.exceptions import CommitFailedException
        from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
        from pyiceberg.typedef import Record

        def file(p):
            return DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"{self.table.location()}/data/p={p}/{uuid.uuid4()}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(p),
                record_count=ROWS,
                file_size_in_bytes=FILE_BYTES,
                column_sizes={},
                value_counts={},
                null_value_counts={},
                nan_value_counts={},
                lower_bounds={},
                upper_bounds={},
                key_metadata=None,
                split_offsets=None,
                equality_ids=None,
                sort_order_id=None,
                spec_id=0,
            )

        while True:
            try:
                with self.table.transaction() as transaction:
                    with transaction.update_snapshot().fast_append() as snapshot:
                        for p in partitions:
                            snapshot.append_data_file(file(p))
                return
            except Exception as error:  # The catalogue's database may be locked.
                name = type(error).__name__
                if not isinstance(error, CommitFailedException) and name != "OperationalError":
                    raise
                retries.append(name)
                time.sleep(random.random() * 0.05)
                self.table.refresh()

    def finish(self):
        pass

    def plan(self, partition):
        from pyiceberg.expressions import EqualTo

        return sum(1 for _ in self.table.scan(row_filter=EqualTo("p", partition)).plan_files())

    def state(self):
        snapshot = self.table.current_snapshot()
        paths = [self.table.metadata_location, snapshot.manifest_list]
        paths += [it.manifest_path for it in snapshot.manifests(self.table.io)]
        paths = [path.removeprefix("file://") for path in paths]
        return {path: os.path.getsize(path) for path in paths}


class Lance:
    files_of_a_commit = 65_536

    def __init__(self, folder):
        self.folder = folder
        self.table = None

    def fragments(self, partitions):
        from lance.fragment import DataFile, FragmentMetadata

        return [
            FragmentMetadata(
                0,
                [DataFile(f"{uuid.uuid4()}.lance", [0, 1], [0, 1], 2, 0, FILE_BYTES)],
                ROWS,
            )
            for _ in partitions
        ]

    def create(self):
        import lance
        import pyarrow as pa

        schema = pa.schema([pa.field("p", pa.int64()), pa.field("v", pa.float64())])
        empty = pa.Table.from_batches([], schema)
        self.table = lance.write_dataset(empty, self.folder)

    def open(self):
        import lance

        self.table = lance.dataset(self.folder)

    def append(self, partitions):
        import lance

        operation = lance.LanceOperation.Append(self.fragments(partitions))
        version = self.table.version
        self.table = lance.LanceDataset.commit(self.table, operation, read_version=version)

    def finish(self):
        pass

    def plan(self, partition):
        # It has no partitions, so every fragment is planned: the manifest that lists them is read.
        del partition
        self.open()
        return None

    def state(self):
        versions = sizes(os.path.join(self.folder, "_versions"))
        versions = {path: size for path, size in versions.items() if path.endswith(".manifest")}
        newest = max(versions, key=os.path.getmtime)
        return {newest: versions[newest]}


FORMATS = {"delta": Delta, "iceberg": Iceberg, "lance": Lance}
retries = []


def make(peer, n_files):
    n_files = int(n_files)
    begun = time.perf_counter()
    peer.create()
    for first in range(0, n_files, peer.files_of_a_commit):
        last = min(n_files, first + peer.files_of_a_commit)
        peer.append([i % PARTITIONS for i in range(first, last)])
    peer.finish()
    return {"seconds": time.perf_counter() - begun}


def plan(peer, *partitions):
    begun = time.perf_counter()
    peer.open()
    opened = time.perf_counter() - begun
    times, counts = [], []
    for partition in partitions:
        begun = time.perf_counter()
        counts.append(peer.plan(int(partition)))
        times.append(time.perf_counter() - begun)
    state = peer.state()
    return {
        "open": opened,
        "seconds": times,
        "files": counts,
        "objects": len(state),
        "bytes": sum(state.values()),
    }


def append(peer, n_commits, n_files):
    peer.open()
    before = sizes(peer.folder)
    times = []
    for i in range(int(n_commits)):
        begun = time.perf_counter()
        peer.append([(i + k) % PARTITIONS for k in range(int(n_files))])
        times.append(time.perf_counter() - begun)
    after = sizes(peer.folder)
    new = {path: size for path, size in after.items() if before.get(path) != size}
    return {"seconds": times, "objects": len(new), "bytes": sum(new.values())}


def race(peer, n_commits):
    peer.open()
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(int(n_commits)):
        while True:
            try:
                peer.append([i % PARTITIONS])
                break
            except Exception as error:  # Any conflict: the state is read again.
                retries.append(type(error).__name__)
                if len(retries) > 1_000:
                    raise
                peer.open()
    return {"retries": len(retries)}


def main():
    warnings.filterwarnings("ignore")
    command, name, folder, *rest = sys.argv[1:]
    commands = {"make": make, "plan": plan, "append": append, "race": race}
    print(json.dumps(commands[command](FORMATS[name](folder), *rest)), flush=True)
    # Threads of the packages may abort a process that ends in the ordinary way.
    os._exit(0)


if __name__ == "__main__":
    main()
