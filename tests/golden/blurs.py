#!/usr/bin/env python3
"""Makes tests/golden/blurs.h: a small picture after torchvision's gaussian_blur with given
deviations.

    python3 tests/golden/blurs.py tests/golden/blurs.h

torchvision blurs u8 tensors (PyPI; stored with torchvision 0.29.2, torch 2.15.0).
tests/unit/trainer/data/color/test_blur.c reads the table.
"""
import sys

import torch
from torchvision.transforms import functional as tv

WIDTH, HEIGHT = 11, 9
CASES = [(3, 0.1), (3, 0.8), (5, 1.0), (5, 20.0), (7, 1.7), (15, 2.5)]


def picture():
    values = [(i * 97 + (i // 3) * 53 + (i % 7) * 31) % 256 for i in range(WIDTH * HEIGHT * 3)]
    a = torch.tensor(values, dtype=torch.uint8).reshape(HEIGHT, WIDTH, 3)
    a[:4, :5] = torch.tensor([255, 0, 128], dtype=torch.uint8)
    return a


def blurred(kernel, deviation):
    image = picture().permute(2, 0, 1)
    return tv.gaussian_blur(image, [kernel, kernel], [deviation, deviation]).permute(1, 2, 0)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("/* Made by tests/golden/blurs.py with torchvision; not to be edited. */\n\n"
                  "/* clang-format off */\n"
                  f"enum {{ GOLDEN_WIDTH = {WIDTH}, GOLDEN_HEIGHT = {HEIGHT} }};\n"
                  "static const struct {\n    int kernel;\n    double deviation;\n"
                  "    uint8_t pixels[3 * GOLDEN_WIDTH * GOLDEN_HEIGHT];\n} golden_blurs[] = {\n")
        rows = [(0, 0.0, picture())] + [(k, d, blurred(k, d)) for k, d in CASES]
        for kernel, deviation, pixels in rows:
            out.write(f"    {{{kernel}, {deviation!r},\n     {{"
                      + ", ".join(map(str, pixels.reshape(-1).tolist())) + "}},\n")
        out.write("};\n/* clang-format on */\n")


main()
