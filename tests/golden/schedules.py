#!/usr/bin/env python3
"""Makes tests/golden/schedules.h: rates and momentum of schedules at some of their steps.

    python3 tests/golden/schedules.py tests/golden/schedules.h

one-cycle and cosine come from torch's schedulers (PyPI; stored with torch 2.15); poly2 and
linear-cosine from the formulas that TensorFlow documents for polynomial_decay and
linear_cosine_decay, in f64. tests/unit/trainer/optim/test_schedule.c reads the table.
"""
import math
import sys
import warnings

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, OneCycleLR

warnings.simplefilter("ignore")


def by_torch(make, momentum, total):
    weight = torch.zeros(1, requires_grad=True, dtype=torch.float64)
    sgd = torch.optim.SGD([weight], lr=0.4, momentum=momentum)
    schedule = make(sgd)
    for step in range(total):
        yield step, sgd.param_groups[0]["lr"], sgd.param_groups[0]["momentum"]
        sgd.step()
        if step + 1 < total:
            schedule.step()


def by_formula(rate, total):
    return ((step, rate(step / total), 0.9) for step in range(total))


def main():
    peak, end, periods, beta = 0.4, 0.003, 0.47, 1e-5
    tables = [
        ("SCHEDULE_ONE_CYCLE", 0, 4,
         by_torch(lambda s: OneCycleLR(s, peak, total_steps=4), 0.9, 4)),
        ("SCHEDULE_ONE_CYCLE", 0, 37,
         by_torch(lambda s: OneCycleLR(s, peak, total_steps=37), 0.9, 37)),
        ("SCHEDULE_ONE_CYCLE", 0, 100,
         by_torch(lambda s: OneCycleLR(s, peak, total_steps=100), 0.9, 100)),
        ("SCHEDULE_COSINE", end, 40,
         by_torch(lambda s: CosineAnnealingLR(s, 40, eta_min=end), 0.9, 40)),
        ("SCHEDULE_POLY2", end, 40, by_formula(lambda t: (peak - end) * (1 - t) ** 2 + end, 40)),
        ("SCHEDULE_LINEAR_COSINE", 0, 40,
         by_formula(lambda t: peak * (
             (1 - t) * 0.5 * (1 + math.cos(math.pi * 2 * periods * t)) + beta), 40)),
    ]
    rows = []
    for kind, last, total, values in tables:
        for step, rate, momentum in values:
            if step < 3 or step % 7 == 0 or step > total - 3 or abs(step - 0.3 * total) < 2:
                rows.append(f"    {{{kind}, {last!r}, {total}, {step}, {rate!r}, {momentum!r}}},")
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("/* Made by tests/golden/schedules.py with torch; not to be edited. */\n\n"
                  "/* clang-format off */\n"
                  "/* kind, end, steps in all, step from 0, rate of a peak of 0.4, momentum of 0.9 "
                  "*/\n"
                  "static const struct golden_schedule golden_schedules[] = {\n" + "\n".join(rows) +
                  "\n};\n/* clang-format on */\n")


main()
