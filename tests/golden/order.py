#!/usr/bin/env python3
"""Prints the table of tests/unit/trainer/data/dataset/test_sampler.c: which samples come first in an epoch.

    python3 tests/golden/order.py

The permutation as trainer/data/order/sampler.h describes it, written down a second time. A change of this
table is a change of every run: a resumed one would see other pictures.
"""
from philox import MASK, philox

CASES = [(0, 0, 10), (7, 3, 1000), (7 + (5 << 32), 3, 1000), (1, 89, 1281167),
         ((1 << 63) + 9, MASK, 103)]


def permute(seed, epoch, count, place):
    bits = 1
    while 1 << (2 * bits) < count:
        bits += 1
    half = (1 << bits) - 1
    value = place
    while True:
        left, right = value >> bits, value & half
        for number in range(8):
            noise = philox((right, epoch, number, MASK), (seed & MASK, seed >> 32))[0]
            left, right = right, left ^ (noise & half)
        value = left << bits | right
        if value < count:
            return value


for seed, epoch, count in CASES:
    places = ", ".join(str(permute(seed, epoch, count, place)) for place in range(8))
    print(f"    {{UINT64_C({seed}), {epoch}u, {count}, {{{places}}}}},")
