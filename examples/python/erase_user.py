"""Erases rows of a file in place, as a user who leaves may ask for, and checks that their values are gone.

    python erase_user.py clicks.tarsia --where "user = 17" --certificate user-17.json --yes

Columns lose the values if they were written for it: tarsia.write(table, path, erasure=2), or for some columns,
columns={"user": {"erasure": 2}}. The certificate says which rows were erased, and which bytes the file has since.
Without --yes, nothing is changed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import tarsia


def check(path: str, certificate: str, rows: Sequence[int]) -> list[str]:
    """What is not as it should be after an erasure."""
    wrong = []
    verified = tarsia.verify_certificate(path, certificate)
    if verified["verdict"] == "refuted":
        wrong.append(f"the certificate is refuted: {verified['why']}")
    with open(certificate, encoding="utf-8") as text:
        said = json.load(text)
    if said["rows"]["asked"]["count"] != len(rows):
        wrong.append(f"the certificate names {said['rows']['asked']['count']} rows, not {len(rows)}")
    with tarsia.open(path) as file:
        # Every byte of the file is read, and its checksums and statistics are compared with it.
        file.verify()
        for row in rows[:100]:
            try:
                file.take([row])
            except tarsia.RowDeleted:
                continue
            wrong.append(f"row {row} can be read")
        for column in file.audit()["columns"]:
            if column["erasure_level"] >= 2 and column["rows_held"]:
                wrong.append(f"column {column['name']} holds values of {column['rows_held']} erased rows")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="a local Tarsia file")
    parser.add_argument("--where", required=True, help='SQL text, as in "user = 17"')
    parser.add_argument("--certificate", required=True, help="the path of the certificate; nothing may be there")
    parser.add_argument("--key", help="a file with the key that signs it: `openssl genpkey -algorithm ed25519`")
    parser.add_argument("--note", help="a text in the certificate, such as the number of the request")
    parser.add_argument("--yes", action="store_true", help="erase, and not only say what that would change")
    asked = parser.parse_args(arguments)

    with tarsia.open(asked.file) as file:
        numbers = file.scan([], filter=asked.where, row_numbers=True)
        rows = [row for batch in numbers for row in batch.to_pyarrow().column(0).to_pylist()]
    if not rows:
        print(f"{asked.file}: no row is like that")
        return 1
    plan = tarsia.erase(asked.file, where=asked.where, dry_run=True)
    print(f"{plan['rows']:,} rows, {plan['bytes_written']:,} bytes to write")
    if plan["columns_holding_values"]:
        print(f"columns that keep their values: {', '.join(plan['columns_holding_values'])}")
    if not asked.yes:
        print("nothing was changed: --yes erases")
        return 0
    done = tarsia.erase(asked.file, where=asked.where, certificate=asked.certificate, key=asked.key, note=asked.note)
    print(f"{done['rows_erased']:,} rows erased; certificate: {asked.certificate}")
    wrong = check(asked.file, asked.certificate, rows)
    for text in wrong:
        print(text, file=sys.stderr)
    if not wrong:
        print("checked: the rows cannot be read, and the columns of level 2 hold none of their values")
        print(f"for others to check: tarsia verify-certificate {asked.certificate} {asked.file}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
