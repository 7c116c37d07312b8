#!/usr/bin/env python3
"""Makes tests/golden/mask_paste.h: masks that torchvision pastes into pictures.

    python3 tests/golden/mask_paste.py tests/golden/mask_paste.h

Needs torchvision (PyPI); stored with torchvision 0.29.2. paste_masks_in_image is used unchanged.
For detectron2's rule torch's grid_sample is called as detectron2's layers/mask_ops.py documents it;
the original was not available. The logits are small integers divided by 16, by a formula that
tests/unit/trainer/eval/test_mask_paste.c repeats. Cases with a pixel within MARGIN of one half are
rejected, so that nothing depends on a last bit.
"""
import sys

import torch
from torchvision.models.detection.roi_heads import paste_masks_in_image

MARGIN = 2e-6
SIDE = 28
# height, width, box
PICTURES = [
    (60, 80, (10.0, 12.0, 50.5, 41.25)),
    (60, 80, (-20.5, -13.25, 30.75, 33.5)),      # over the upper left corner
    (60, 80, (55.0, 40.0, 97.0, 75.5)),          # over the lower right one
    (60, 80, (20.25, 20.5, 22.5, 23.75)),        # two pixels
    (60, 80, (-100.0, -90.0, 200.0, 170.0)),     # larger than the picture
    (427, 640, (100.3, 50.7, 611.9, 398.2)),
    (640, 425, (0.0, 0.0, 425.0, 640.0)),
    (33, 500, (3.5, 2.5, 490.5, 30.5)),          # flat
    (400, 7, (0.5, 10.0, 6.5, 391.0)),           # narrow
    (60, 80, (30.4, 30.6, 30.5, 52.0)),          # thinner than a pixel
]


def logits_of(seed):
    """Makes a blob with two holes and some noise; every number is k/16."""
    y, x = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    cy, cx, r = 10 + seed % 7, 9 + seed * 5 % 9, 9 + seed % 5
    blob = r * r - (y - cy) ** 2 - (x - cx) ** 2
    noise = ((x * 7919 + y * 104729 + seed * 1299709) % 65537) % 33 - 16
    holes = (((x + seed) % 9 == 3) & (y % 11 < 4)).long() * 90
    return (blob + noise - holes).float() / 16


def counts(mask):
    """Returns the lengths of the runs down the columns, zeros first."""
    flat, runs, value, length = mask.T.reshape(-1).tolist(), [], False, 0
    for pixel in flat:
        if bool(pixel) != value:
            runs.append(length)
            value, length = not value, 0
        length += 1
    return runs + [length]


def text(runs):
    out = ""
    for i, run in enumerate(runs):
        left, more = run - (runs[i - 2] if i > 2 else 0), True
        while more:
            group = left & 31
            left >>= 5
            more = left != -1 if group & 16 else left != 0
            out += chr(48 + group + (32 if more else 0))
    return out


def paste_tv(logits, box, height, width):
    return paste_masks_in_image(torch.sigmoid(logits)[None, None], torch.tensor([box]),
                                (height, width))[0, 0]


def paste_d2(logits, box, height, width):
    x0, y0, x1, y1 = torch.tensor(box)
    y = (torch.arange(height, dtype=torch.float32) + 0.5 - y0) / (y1 - y0) * 2 - 1
    x = (torch.arange(width, dtype=torch.float32) + 0.5 - x0) / (x1 - x0) * 2 - 1
    grid = torch.stack([x[None, :].expand(height, width), y[:, None].expand(height, width)], 2)
    return torch.nn.functional.grid_sample(torch.sigmoid(logits)[None, None], grid[None],
                                           align_corners=False)[0, 0]


def main():
    rows = []
    for rule, paste in (("TV", paste_tv), ("D2", paste_d2)):
        for number, (height, width, box) in enumerate(PICTURES):
            for seed in range(number * 10, number * 10 + 10):
                value = paste(logits_of(seed), box, height, width)
                if (value - 0.5).abs().min() > MARGIN:
                    break
            else:
                sys.exit(f"picture {number}: each seed has a pixel at one half")
            mask = value > 0.5 if rule == "TV" else value >= 0.5
            runs = text(counts(mask))
            numbers = ", ".join(f"{v!r}F" for v in box)
            rows.append(f"    {{MASK_PASTE_{rule}, {seed}, {height}, {width}, {{{numbers}}}, "
                        f"{int(mask.sum())},")
            for i in range(0, len(runs), 80):
                line = runs[i:i + 80].replace("\\", "\\\\").replace("?", "\\?")
                rows.append(f'     "{line}"')
            rows[-1] += "},"
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("/* Made by tests/golden/mask_paste.py from torchvision; not to be edited. */\n\n"
                  "/* clang-format off */\n"
                  "/* rule, seed of the logits, height and width, box, area, runs */\n"
                  "static const struct golden_paste golden_pastes[] = {\n")
        out.write("\n".join(rows) + "\n};\n/* clang-format on */\n")


main()
