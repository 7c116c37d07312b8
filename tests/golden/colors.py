#!/usr/bin/env python3
"""Makes tests/golden/colors.h: a small picture after changes of colour with given factors.

    python3 tests/golden/colors.py tests/golden/colors.h

The changes are made by torchvision on PIL pictures (PyPI; stored with torchvision 0.29.2, pillow
13), and by the formulas of MXNet's image.py and of TensorFlow's YIQ in numpy, rounded once.
tests/unit/trainer/data/color/test_color.c reads the table.
"""
import sys

import numpy as np
from PIL import Image
from torchvision.transforms import functional as tv

WIDTH, HEIGHT = 7, 5
GREY = np.array([0.299, 0.587, 0.114])


def picture():
    """Makes a picture with saturated and grey pixels, dark and bright ones."""
    values = [(i * 97 + (i // 3) * 53 + (i % 7) * 31) % 256 for i in range(WIDTH * HEIGHT * 3)]
    a = np.array(values, dtype=np.uint8).reshape(HEIGHT, WIDTH, 3)
    a[0, 0], a[0, 1], a[0, 2], a[1, 0] = (0, 0, 0), (255, 255, 255), (128, 128, 128), (255, 0, 0)
    a[1, 1], a[1, 2], a[1, 3], a[1, 4] = (0, 255, 0), (0, 0, 255), (255, 255, 0), (200, 10, 190)
    return a


def brightness(x, f):
    return x * f


def contrast(x, f):
    return x * f + (1 - f) * (x * GREY).sum(axis=2).mean()


def saturation(x, f):
    return x * f + (1 - f) * (x * GREY).sum(axis=2, keepdims=True)


def yiq(x, f, turn):
    to = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
    back = np.array([[1, 0.956, 0.621], [1, -0.272, -0.647], [1, -1.107, 1.705]])
    u, w = f * np.cos(turn * np.pi), f * np.sin(turn * np.pi)
    return x @ (back @ np.array([[1, 0, 0], [0, u, -w], [0, w, u]]) @ to).T


def channels(x, f):
    mean = x.mean(axis=(0, 1), keepdims=True)
    return (x - mean) * f + mean


def once(x):
    return np.clip(np.floor(x + 0.5), 0, 255).astype(np.uint8)


MXNET = {0: brightness, 1: contrast, 2: saturation}
TORCHVISION = {0: tv.adjust_brightness, 1: tv.adjust_contrast, 2: tv.adjust_saturation,
               3: tv.adjust_hue}


def torchvision(order, factors):
    image = Image.fromarray(picture())
    for change in order:
        image = TORCHVISION[change](image, factors[change])
    return np.asarray(image)


def mxnet(order, factors, offset):
    x = picture().astype(np.float64)
    for change in order:
        x = MXNET[change](x, factors[change])
    return once(x + np.array(offset))


def main():
    none = (1.0, 1.0, 1.0, 0.0)
    rows = [("COLOR_NONE", (), none, (0, 0, 0), picture())]
    for order, factors in [((0,), (0.6, 1, 1, 0)), ((0,), (1.4, 1, 1, 0)),
                           ((1,), (1, 0.55, 1, 0)), ((1,), (1, 1.7, 1, 0)),
                           ((2,), (1, 1, 0.3, 0)), ((2,), (1, 1, 1.9, 0)),
                           ((3,), (1, 1, 1, 0.1)), ((3,), (1, 1, 1, -0.37)),
                           ((3,), (1, 1, 1, 0.5)), ((2, 0, 3, 1), (1.25, 0.8, 1.3, -0.05)),
                           ((1, 3, 0, 2), (0.7, 1.2, 0.6, 0.2))]:
        rows.append(("COLOR_TORCHVISION", order, factors, (0, 0, 0), torchvision(order, factors)))
    for order, factors, offset in [((0,), (1.3, 1, 1, 0), (0, 0, 0)),
                                   ((1,), (1, 0.65, 1, 0), (0, 0, 0)),
                                   ((2,), (1, 1, 1.35, 0), (0, 0, 0)),
                                   ((2, 0, 1), (1.3, 1.2, 0.7, 0), (3.5, -2.25, 6.75)),
                                   ((1, 2, 0), (0.65, 1.35, 1.2, 0), (-8.5, -9, -7.75))]:
        rows.append(("COLOR_MXNET", order, factors, offset, mxnet(order, factors, offset)))
    for factors in [(1, 1, 1.3, 0.1), (1, 1, 0.7, -0.13), (1, 1.4, 1, 0), (1, 0.65, 1.2, 0.06)]:
        x = channels(yiq(picture().astype(np.float64), factors[2], factors[3]), factors[1])
        rows.append(("COLOR_TF", (1, 2, 3), factors, (0, 0, 0), once(x)))
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("/* Made by tests/golden/colors.py with torchvision; not to be edited. */\n\n"
                  "/* clang-format off */\n"
                  "static const struct golden_color golden_colors[] = {\n")
        for kind, order, factors, offset, pixels in rows:
            listed = ", ".join(f"(enum color_change){c}" for c in order) or "0"
            out.write(f"    {{{{.set = {kind}, .order = {{{listed}}}, .count = {len(order)},\n"
                      "      .factor = {"
                      + ", ".join(map(repr, factors))
                      + "}, .offset = {" + ", ".join(map(repr, offset)) + "}},\n     {"
                      + ", ".join(map(str, pixels.reshape(-1).tolist())) + "}},\n")
        out.write("};\n/* clang-format on */\n")


main()
