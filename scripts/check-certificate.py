#!/usr/bin/env python3
"""Checks the certificate of an erasure against a file with no code of the project (docs/spec/certificate.md).
usage: check-certificate.py CERTIFICATE.json FILE.tarsia PUBLIC.key     needs the packages cryptography and blake3
The key is 32 bytes or 64 hexadecimal digits. Exit 0 and `ok` if all is right, else 1. It decodes no values: `tarsia verify` does.
"""
import bisect, json, struct, sys
from blake3 import blake3
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
def need(condition, what): condition or sys.exit(f"wrong: {what}")
def unique(pairs): need(len(dict(pairs)) == len(pairs), "a field stands twice"); return dict(pairs)
def digest(kind, a, b, c, *parts): return blake3(struct.pack("<B3xIII", kind, a, b, c) + b"".join(parts)).digest()
def ranges_of(text):
    pairs = [item.split("..") for item in text.split(",") if item]
    return [(int(pair[0]), int(pair[1]) if len(pair) == 2 else int(pair[0]) + 1) for pair in pairs]
def covered(rows, merged):
    at = [bisect.bisect_right(merged, (start, 1 << 64)) - 1 for start, _ in rows]
    return all(i >= 0 and merged[i][1] >= end for i, (_, end) in zip(at, rows))
def field(data, table, number, form):
    # Of a FlatBuffer's table; its place if the form is None, and 0 where it is absent.
    vtable = table - struct.unpack_from("<i", data, table)[0]; size = struct.unpack_from("<H", data, vtable)[0]
    offset = struct.unpack_from("<H", data, vtable + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    return 0 if not offset else table + offset if form is None else struct.unpack_from(form, data, table + offset)[0]
def roaring(data):
    found, at = [], 8  # rising ranges that do not touch, of the portable format for 64 bits
    for _ in range(struct.unpack_from("<Q", data)[0]):
        high, cookie = struct.unpack_from("<II", data, at)
        has_runs, at = cookie & 0xffff == 12347, at + 8
        n = (cookie >> 16) + 1 if has_runs else struct.unpack_from("<I", data, at)[0]
        flags = data[at:at + (n + 7) // 8] if has_runs else bytes((n + 7) // 8); at += len(flags) if has_runs else 4
        heads = [struct.unpack_from("<HH", data, at + 4 * i) for i in range(n)]
        at += 4 * n + (4 * n if not has_runs or n >= 4 else 0)
        for i, (key, last) in enumerate(heads):
            base = high << 32 | key << 16
            if flags[i // 8] >> i % 8 & 1:
                runs = [struct.unpack_from("<HH", data, at + 2 + 4 * run) for run in range(struct.unpack_from("<H", data, at)[0])]
                parts, at = [(start, start + more + 1) for start, more in runs], at + 2 + 4 * len(runs)
            elif last < 4096:
                parts, at = [(row, row + 1) for row in struct.unpack_from(f"<{last + 1}H", data, at)], at + 2 * (last + 1)
            else:
                parts, at = [(row, row + 1) for row in range(1 << 16) if data[at + row // 8] >> row % 8 & 1], at + 8192
            for start, end in parts:
                if found and found[-1][1] == base + start: found[-1] = (found[-1][0], base + end)
                else: found.append((base + start, base + end))
    return found
def main(certificate, file, key):
    document = json.loads(open(certificate, encoding="utf-8").read(), object_pairs_hook=unique); key = open(key, "rb").read()
    need(document["version"] == 2 and document["kind"] == "tarsia erasure certificate", "another kind or version of document")
    key, signature = key if len(key) == 32 else bytes.fromhex(key.decode()), document.pop("signature", None)
    need(signature and {**signature, "value": 0} == {"algorithm": "ed25519", "public_key": key.hex(), "value": 0}, "not signed by this key")
    signed = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    try: Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(signature["value"]), signed)
    except InvalidSignature: need(False, "the signature is not that of the certificate")
    data = open(file, "rb").read(); need(data[:8] == b"TARSIA\x1a\n", "no Tarsia file"); need(data[16:32].hex() == document["file_id"], "the file has another id")
    slots = [struct.unpack_from("<IIQQ", data, place) for place in (64, 128)]
    state, _, epoch, end = max(slots, key=lambda slot: slot[2]); need(state in (0, 1), "recover the file first")
    end = end if state else len(data); need(end == len(data), "bytes behind the end"); tail = data[end - 64:end]; root = tail[24:56]
    start = end - 64 - 8 * struct.unpack_from("<H", tail, 22)[0]; footer = data[start:end - 64]
    table = struct.unpack_from("<I", footer)[0]; meta, tree = field(footer, table, 6, "<Q"), field(footer, table, 7, "<Q")
    region = data[meta:tree]; level, n = [digest(4, 0, 0, i // 4096, region[i:i + 4096]) for i in range(0, len(region) or 1, 4096)], 0
    while len(level) > 1: n, level = n + 1, [digest(5, 0, n + 1, i // 64, *level[i:i + 64]) for i in range(0, len(level), 64)]
    need(digest(6, 0, 0, 0, data[:64], level[0], footer, tail[:24], bytes(36), tail[60:]) == root, "the root digest is another one")
    sections = {}; vector = field(footer, table, 2, None); vector += struct.unpack_from("<I", footer, vector)[0] if vector else 0
    for i in range(struct.unpack_from("<I", footer, vector)[0] if vector else 0):
        at = vector + 4 + 4 * i; at += struct.unpack_from("<I", footer, at)[0]; place = field(footer, at, 3, "<Q")
        name, own = field(footer, at, 0, "<I"), data[place:place + field(footer, at, 4, "<Q")]
        need(digest(7, name, 0, 0, own) == footer[(d := field(footer, at, 5, None)):d + 32], f"section {name} has another digest"); sections[name] = own
    rows, erased, deleted = document["rows"], *(roaring(sections.get(name, bytes(8))) for name in (6, 5))
    need(all(covered(ranges_of(rows[name]["rows"]), erased) for name in ("erased_now", "erased_before")), "rows are not erased")
    need(covered(ranges_of(rows["asked"]["rows"]), deleted), "rows are not deleted")
    history = sections.get(8, b""); states = [history[i:i + 40] for i in range(32, len(history), 40)]
    if root.hex() != document["new_root"]:
        need(struct.pack("<Q", document["new_epoch"]) + bytes.fromhex(document["new_root"]) in states, "the file does not descend from the certificate's"); print("ok: erased further since"); return
    need(epoch == document["new_epoch"] and all(sum(end - start for start, end in has) == document[says]["count"] for has, says in ((deleted, "deleted_after"), (erased, "erased_after"))), "epoch or numbers of rows")
    for column in document["columns"]:
        for it in column["blocks"]:
            page, place = it["page"] | it["shared"] << 31, data[it["place"]:it["place"] + it["bytes"]]
            need(digest(1, column["leaf"], page, it["block"], place).hex() == it["after"], f"a block of column {column['leaf']}")
    print("ok: as the erasure left it")
main(*sys.argv[1:]) if len(sys.argv) == 4 else sys.exit(__doc__)
