"""Writes the same pictures of ten classes twice: as CIFAR-10's binaries and as folders of PPMs, or
as MNIST's IDX files and as folders of PGMs.

    python3 tests/train/raw_sets.py cifar|idx FOLDER
"""

import os
import random
import struct
import sys

SIDE = 32


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def picture(rng, label, channels):
    """Returns the planes of a gradient; its colour depends on the class."""
    return [bytes((label * 23 + c * 40 + x + y + rng.randrange(9)) % 256
                  for y in range(SIDE) for x in range(SIDE)) for c in range(channels)]


def sets(rng, channels):
    """Yields (part, [(label, planes)]), ordered by class, as class folders are."""
    for part, of_each in (("train", 8), ("test", 3)):
        yield part, [(c, picture(rng, c, channels)) for c in range(10) for _ in range(of_each)]


def write_cifar(root):
    for part, rows in sets(random.Random(1), 3):
        name = "data_batch_1.bin" if part == "train" else "test_batch.bin"
        put(f"{root}/cifar/{name}", b"".join(bytes([c]) + b"".join(p) for c, p in rows))
        for i, (c, p) in enumerate(rows):
            pixels = bytes(byte for pixel in zip(*p) for byte in pixel)
            put(f"{root}/folder/{part}/{c}/{i:03}.ppm", b"P6 %d %d 255\n" % (SIDE, SIDE) + pixels)


def write_idx(root):
    for part, rows in sets(random.Random(2), 1):
        name = {"train": "train", "test": "t10k"}[part]
        put(f"{root}/idx/{name}-images-idx3-ubyte",
            struct.pack(">IIII", 0x803, len(rows), SIDE, SIDE) + b"".join(p[0] for _, p in rows))
        put(f"{root}/idx/{name}-labels-idx1-ubyte",
            struct.pack(">II", 0x801, len(rows)) + bytes(c for c, _ in rows))
        for i, (c, p) in enumerate(rows):
            put(f"{root}/folder/{part}/{c}/{i:03}.pgm", b"P5 %d %d 255\n" % (SIDE, SIDE) + p[0])


{"cifar": write_cifar, "idx": write_idx}[sys.argv[1]](sys.argv[2])
