#!/usr/bin/env python3
"""Makes tests/golden/boxes.h: the part of a picture that torchvision's transforms select.

    python3 tests/golden/boxes.py tests/golden/boxes.h

Needs torchvision and Pillow (PyPI); stored with torchvision 0.29.2. RandomResizedCrop.get_params,
resize and center_crop are unchanged; only the random numbers that they draw come from the trainer's
streams (Philox 4x32-10, trainer/math/random.h), which are implemented here a second time.
tests/unit/trainer/data/dataset/test_augment.c reads the table.
"""
import sys
from unittest import mock

import torch
from PIL import Image
from torchvision.transforms import RandomResizedCrop
from torchvision.transforms import functional as F

MASK = 0xFFFFFFFF
SIZES = [(500, 375), (375, 500), (64, 48), (1000, 10), (10, 1000), (1, 1), (33, 2), (299, 300),
         (4000, 3000), (97, 101)]


class Stream:
    def __init__(self, seed, epoch, sample):
        self.key = (seed & MASK, seed >> 32)
        self.counter = [0, epoch, sample & MASK, sample >> 32]
        self.block = []

    def u32(self):
        if not self.block:
            c, (k0, k1) = list(self.counter), self.key
            for _ in range(10):
                p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
                c = [(p1 >> 32) ^ c[1] ^ k0, p1 & MASK, (p0 >> 32) ^ c[3] ^ k1, p0 & MASK]
                k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
            self.block = c
            self.counter[0] += 1
        return self.block.pop(0)

    def uniform(self, low, high):
        bits = (self.u32() >> 5) << 26 | self.u32() >> 6
        return float(low) + (float(high) - float(low)) * (bits / 2**53)

    def below(self, n):
        rest = 2**32 % n
        number = self.u32()
        while number < rest:
            number = self.u32()
        return number % n


def random_box(width, height, scale, key):
    stream = Stream(*key)
    with mock.patch.object(torch.Tensor, "uniform_",
                           lambda self, low, high: self.fill_(stream.uniform(low, high))), \
         mock.patch.object(torch, "randint",
                           lambda low, high, size: torch.tensor([low + stream.below(high - low)])):
        image = Image.new("L", (width, height))
        top, left, h, w = RandomResizedCrop.get_params(image, scale, (3 / 4, 4 / 3))
    return left, top, w, h


def center(width, height, side, size):
    resized = F.resize(Image.new("L", (width, height)), side)
    with mock.patch("torchvision.transforms.functional.crop") as crop:
        F.center_crop(resized, size)
    _, top, left, _, _ = crop.call_args.args
    return resized.width, resized.height, left, top


def main():
    torch.set_default_dtype(torch.float64)  # as the trainer computes
    lines = ["/* Made by tests/golden/boxes.py from torchvision; not to be edited. */", "",
             "/* width, height, seed, epoch, sample, smallest area: left, top, width, height */"]
    rows = []
    for number, (width, height) in enumerate(SIZES):
        for sample in range(12):
            key = (number * 2**33 + 7, sample % 4, sample * 2**31 + number)
            area = 1.0 if sample == 11 else 0.08 if sample % 2 else 0.25
            rows.append((width, height) + key + (area,) +
                        random_box(width, height, (area, 1.0), key))
    lines.append("static const struct golden_box golden_boxes[] = {")
    lines += ["    {%d, %d, UINT64_C(%d), %d, UINT64_C(%d), %g, {%d, %d, %d, %d}}," % row
              for row in rows]
    lines += ["};", "", "/* width, height, side, size: scaled width, height, left, top */",
              "static const struct golden_center golden_centers[] = {"]
    for width, height in SIZES + [(343, 256), (342, 256), (256, 345), (517, 389)]:
        for side, size in ((256, 224), (128, 112), (257, 224), (110, 96)):
            if max(width, height) * side // min(width, height) < 2**15:
                lines.append("    {%d, %d, %d, %d, %d, %d, %d, %d}," %
                             ((width, height, side, size) + center(width, height, side, size)))
    lines += ["};", ""]
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
