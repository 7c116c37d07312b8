#!/usr/bin/env python3
"""Makes tests/golden/detection_sample.h: the sizes to which torchvision's detectors scale pictures,
and where boxes are afterwards.

    python3 tests/golden/detection_sample.py tests/golden/detection_sample.h

Needs torchvision (PyPI); stored with torchvision 0.29.2. GeneralizedRCNNTransform is unchanged, and
mirroring is that of torchvision's reference training: boxes[:, [0, 2]] = width - boxes[:, [2, 0]].
tests/unit/trainer/data/detect reads the tables.
"""
import sys

import torch
from torchvision.models.detection.transform import GeneralizedRCNNTransform

PICTURES = [(480, 640), (426, 640), (427, 640), (333, 500), (360, 640), (640, 425), (612, 612),
            (640, 480), (375, 500), (500, 334), (199, 640), (640, 51), (16, 640), (800, 1333),
            (1333, 800), (801, 1334), (1, 1), (2, 3), (97, 101), (1200, 1600), (2048, 1365)]
SIZES = [(800, 1333), (128, 192), (400, 666), (96, 96)]
BOXES = [(0.0, 0.0, 1.0, 1.0), (10.25, 3.5, 77.13, 21.9), (236.98, 142.51, 24.7, 69.5)]


def main():
    rows, boxes = [], []
    for short, long in SIZES:
        transform = GeneralizedRCNNTransform(short, long, [0.0] * 3, [1.0] * 3).train()
        for height, width in PICTURES:
            try:
                images, _ = transform([torch.zeros(3, height, width)])
            except RuntimeError:  # a side of 0
                continue
            h, w = images.image_sizes[0]
            rows.append(f"    {{{short}, {long}, {height}, {width}, {h}, {w}}},")
    transform = GeneralizedRCNNTransform(800, 1333, [0.0] * 3, [1.0] * 3).train()
    for height, width in PICTURES[:6]:
        for flip in (0, 1):
            for x, y, w, h in BOXES:
                box = torch.tensor([[x, y, w, h]], dtype=torch.float32)
                box[:, 2:] += box[:, :2]
                box[:, 0::2].clamp_(min=0, max=width)
                box[:, 1::2].clamp_(min=0, max=height)
                if flip:
                    box[:, [0, 2]] = width - box[:, [2, 0]]
                _, targets = transform([torch.zeros(3, height, width)], [{"boxes": box}])
                out = ", ".join(float(v).hex() + "F" for v in targets[0]["boxes"][0])
                boxes.append(f"    {{{height}, {width}, {flip}, {{{x}, {y}, {w}, {h}}},\n"
                             f"     {{{out}}}}},")
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("/* Made by tests/golden/detection_sample.py from torchvision; not to be edited. "
                  "*/\n\n/* clang-format off */\n"
                  "/* short and long side, height and width, scaled height and width */\n"
                  "static const struct golden_size golden_sizes[] = {\n" + "\n".join(rows) +
                  "\n};\n\n/* height and width, mirrored, x y width height, scaled corners */\n"
                  "static const struct golden_box golden_boxes[] = {\n" + "\n".join(boxes) +
                  "\n};\n/* clang-format on */\n")


main()
