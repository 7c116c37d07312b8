#!/usr/bin/env python3
"""Makes tests/golden/recipes.h: learning rates of the recipes for Mask R-CNN at some of their
steps, by torch's schedulers.

    python3 tests/golden/recipes.py tests/golden/recipes.h

Needs torch (PyPI); stored with torch 2.15. The numbers are those of the recipes' sources: the 1x
schedule in epochs (mmdetection's schedule_1x.py; detectron2's steps of 16 images agree with it to
two percent), config.py and train.py of aws-samples/mask-rcnn-tensorflow with the epochs of
SageMaker's example, and config_DGXH100.sh of NVIDIA's submission to MLPerf training v3.1.
tests/unit/trainer/app/run/test_recipes.c reads the table.
"""
import sys
import warnings

import torch
from torch.optim.lr_scheduler import ChainedScheduler, LinearLR, MultiStepLR

warnings.simplefilter("ignore")
IMAGES = 117266  # images of COCO train2017 with objects to learn from

# name, images per step, peak, share of it in the first step, steps until the peak, milestones in
# steps, total steps
epoch16, epoch96 = IMAGES // 16, IMAGES // 96
RECIPES = [
    ("coco-1x", 16, 0.02, 1 / 1000, 1000, [8 * epoch16, 11 * epoch16], 12 * epoch16),
    ("aws-24", 8, 0.0125, 0.0033 / 0.0125, 1000, [16 * (IMAGES // 8), 20 * (IMAGES // 8)],
     24 * (IMAGES // 8)),
    # The warmup is base - (625 - iteration) * 1.92e-4, with iterations counted from 1.
    ("mlperf", 96, 0.12, 1 / 625, 624, [12000, 16000], 18 * epoch96),
]


def rates(peak, share, warm, milestones, total):
    weight = torch.zeros(1, requires_grad=True)
    sgd = torch.optim.SGD([weight], lr=peak)
    schedule = ChainedScheduler([LinearLR(sgd, start_factor=share, total_iters=warm),
                                 MultiStepLR(sgd, milestones=milestones, gamma=0.1)])
    wanted = {0, 1, 7, warm // 2, warm - 1, warm, warm + 1, total - 1}
    wanted |= {m + d for m in milestones for d in (-1, 0, 1)}
    for step in range(max(wanted) + 1):
        if step in wanted:
            yield step, sgd.param_groups[0]["lr"]
        sgd.step()
        schedule.step()


def main():
    rows = []
    for name, images, peak, share, warm, milestones, total in RECIPES:
        for step, rate in rates(peak, share, warm, milestones, total):
            rows.append(f'    {{"{name}", {images}, {IMAGES // images}, {step}, {rate!r}}},')
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("/* Made by tests/golden/recipes.py with torch; not to be edited. */\n\n"
                  "/* clang-format off */\n"
                  "/* recipe, images a step, steps an epoch, step from 0, rate */\n"
                  "static const struct golden_rate golden_rates[] = {\n" + "\n".join(rows) +
                  "\n};\n/* clang-format on */\n")


main()
