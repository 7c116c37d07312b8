"""Writes and reads MXNet's RecordIO without MXNet, by its layout (dmlc-core src/recordio.cc; mxnet
python/mxnet/recordio.py).

    recordio_layout.py write SOURCE TARGET   makes record files of class folders
    recordio_layout.py read SOURCE SHARDS    reads ours and compares each picture and class with
                                             the class folders

Each picture that is written contains the magic number in a JPEG comment, so that every record
consists of two parts.
"""

import glob
import hashlib
import os
import struct
import sys

MAGIC = struct.pack("<I", 0xCED7230A)
# A JPEG comment that puts the magic at byte 32 of the payload.
COMMENT = b"\xff\xfe" + struct.pack(">H", 2 + 2 + 4) + b"--" + MAGIC


def pictures(folder):
    for label, name in enumerate(sorted(os.listdir(folder))):
        for file in sorted(os.listdir(f"{folder}/{name}")):
            with open(f"{folder}/{name}/{file}", "rb") as picture:
                yield label, picture.read()


def parts_of(payload):
    """Splits a payload at the magic numbers whose offsets are multiples of four; returns the parts
    without them."""
    parts, begin, at = [], 0, 0
    while at + 4 <= len(payload):
        if payload[at : at + 4] == MAGIC:
            parts.append(payload[begin:at])
            begin = at + 4
        at += 4
    return parts + [payload[begin:]]


def record(payload):
    parts = parts_of(payload)
    out = b""
    for i, part in enumerate(parts):
        kind = 0 if len(parts) == 1 else 1 if i == 0 else 3 if i == len(parts) - 1 else 2
        out += MAGIC + struct.pack("<I", kind << 29 | len(part)) + part + b"\0" * (-len(part) % 4)
    return out, len(parts)


def records(data):
    at = 0
    while at < len(data):
        payload, begun = b"", at
        while True:
            assert data[at : at + 4] == MAGIC, "no magic where a record begins"
            (head,) = struct.unpack_from("<I", data, at + 4)
            size, kind = head & (1 << 29) - 1, head >> 29
            payload += (MAGIC if kind in (2, 3) else b"") + data[at + 8 : at + 8 + size]
            at += 8 + size + -size % 4
            if kind in (0, 3):
                break
        yield begun, payload


def write(source, target):
    for part in "train", "val":
        with open(f"{target}/{part}.rec", "wb") as shard, open(
                f"{target}/{part}.idx", "w", encoding="ascii") as index:
            for number, (label, picture) in enumerate(pictures(f"{source}/{part}")):
                header = struct.pack("<IfQQ", 0, label, number, 0)
                index.write(f"{number}\t{shard.tell()}\n")
                out, parts = record(header + picture[:2] + COMMENT + picture[2:])
                assert parts == 2, "a record of one part"
                shard.write(out)


def read(source, shards):
    expected = sorted((label, hashlib.sha256(picture).hexdigest())
                      for label, picture in pictures(f"{source}/train"))
    found = []
    for path in sorted(glob.glob(f"{shards}/train-*.rec")):
        with open(path, "rb") as shard:
            data = shard.read()
        with open(path[:-4] + ".idx", encoding="ascii") as index:
            offsets = sorted(int(line.split("\t")[1]) for line in index)
        assert offsets == [begun for begun, _ in records(data)], "the index has other offsets"
        for _, payload in records(data):
            flag, label, _, _ = struct.unpack_from("<IfQQ", payload)
            assert flag == 0 and label == int(label)
            found.append((int(label), hashlib.sha256(payload[24:]).hexdigest()))
    assert sorted(found) == expected, "other pictures in RecordIO"


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
