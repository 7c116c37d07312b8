#!/usr/bin/env python3
"""Prints the tables of test_sampler.c and test_lanes.c in tests/unit/trainer/data/order: the first
samples of an epoch.

    python3 tests/golden/order.py

The permutation (trainer/data/order/permutation.h) and the lanes (lanes.h in the same folder) are
implemented here a second time. A change of these tables is a change of every run: a resumed run
would train on other pictures.
"""
from philox import MASK, philox

CASES = [(0, 0, 10), (7, 3, 1000), (7 + (5 << 32), 3, 1000), (1, 89, 1281167),
         ((1 << 63) + 9, MASK, 103)]


def permute(seed, epoch, count, place, order=0, mark=MASK):
    bits = 1
    while 1 << (2 * bits) < count:
        bits += 1
    half = (1 << bits) - 1
    value = place
    while True:
        left, right = value >> bits, value & half
        for number in range(8):
            noise = philox((right, epoch, number | order << 8, mark),
                           (seed & MASK, seed >> 32))[0]
            left, right = right, left ^ (noise & half)
        value = left << bits | right
        if value < count:
            return value


for seed, epoch, count in CASES:
    places = ", ".join(str(permute(seed, epoch, count, place)) for place in range(8))
    print(f"    {{UINT64_C({seed}), {epoch}u, {count}, {{{places}}}}},")

SHARDS, LANES, WINDOW, GLOBAL = [30, 0, 50, 41, 7, 60], 4, 8, 12


def lane_order(seed, epoch, step):
    """Returns the samples of one step, numbered as they are stored in the shards."""
    line = []
    for place in range(len(SHARDS)):
        shard = permute(seed, epoch, len(SHARDS), place, order=64)
        line += range(sum(SHARDS[:shard]), sum(SHARDS[:shard + 1]))
    taken = []
    for lane in range(LANES):
        own = line[lane * len(line) // LANES:(lane + 1) * len(line) // LANES]
        windows = [own[at:at + WINDOW] for at in range(0, len(own), WINDOW)]
        mixed = [window[permute(seed, epoch, len(window), place, order=lane,
                                mark=MASK - 1 - number)]
                 for number, window in enumerate(windows) for place in range(len(window))]
        taken += mixed[step * GLOBAL // LANES:(step + 1) * GLOBAL // LANES]
    return taken


for seed, epoch, step in [(0, 0, 0), (9, 2, 5), (9, 2, 14)]:
    print(f"    {{{seed}, {epoch}, {step}, "
          f"{{{', '.join(map(str, lane_order(seed, epoch, step)))}}}}},")
