#!/usr/bin/env python3
"""Makes tests/golden/optimizers.h: twenty steps of each optimizer on two small tensors, in f64.

    python3 tests/golden/optimizers.py tests/golden/optimizers.h

sgd, adamw and adagrad are those of torch.optim (PyPI; stored with torch 2.15), the averages those
of torch.optim.swa_utils. LARS is a transcription of MLPerf's reference (mlcommons/training,
tensorflow2/lars_optimizer.py, with Keras's epsilon), LARC one of NVIDIA's OpenSeq2Seq as in the
ResNet-50 of the AWS Deep Learning AMI. The second tensor has no weight decay and no adaptive rate.
tests/unit/trainer/optim/test_optimizer.c reads the table.
"""
import math
import sys

import torch
from torch.optim.swa_utils import AveragedModel

SIZE, STEPS = 7, 20


def f32(value):
    """Rounds a setting to f32, as the trainer stores it."""
    return float(torch.tensor(value, dtype=torch.float32))


def start(tensor):
    return torch.tensor([((i * 5 + tensor) % 9 - 4) / 4 for i in range(SIZE)], dtype=torch.float64)


def gradient(tensor, step):
    return torch.tensor([((i * 7 + step * 13 + tensor * 5) % 23 - 11) / 16 for i in range(SIZE)],
                        dtype=torch.float64)


class ByFormula:
    """Updates one tensor by LARS or LARC, with STEP as the formula."""

    def __init__(self, weight, rate, momentum, nesterov, decay, step):
        (self.weight, self.rate, self.momentum, self.nesterov,
         self.decay) = weight, rate, momentum, nesterov, decay
        self.take, self.m = step, torch.zeros_like(weight)

    def step(self):
        with torch.no_grad():
            self.take(self, self.weight.grad)


def lars(trust, epsilon, adapts):
    def step(s, g):
        w, factor = s.weight, 1.0
        wn, gn = float(w.norm()), float(g.norm())
        if adapts and wn > 0 and gn > 0:
            factor = trust * wn / (gn + s.decay * wn + epsilon)
        if adapts:
            g = g + s.decay * w
        scaled = s.rate * factor * g
        s.m = s.momentum * s.m + scaled
        w -= s.momentum * s.m + scaled if s.nesterov else s.m
    return step


def larc(trust, adapts):
    def step(s, g):
        w, factor = s.weight, 1.0
        g = g + s.decay * w
        if adapts:
            factor = min(trust * float(w.norm()) / (float(g.norm()) * s.rate), 1)
        g = factor * g
        s.m = s.momentum * s.m + g
        w -= s.rate * (g + s.momentum * s.m if s.nesterov else s.m)
    return step


def make(row, weight, tensor):
    kind, nesterov, rate, momentum, decay, trust, second, epsilon, _ = row
    decay = decay if tensor == 0 else 0.0
    if kind == "SGD":
        return torch.optim.SGD([weight], lr=rate, momentum=momentum, weight_decay=decay,
                               nesterov=bool(nesterov))
    if kind == "ADAMW":
        return torch.optim.AdamW([weight], lr=rate, betas=(momentum, second), eps=epsilon,
                                 weight_decay=decay)
    if kind == "ADAGRAD":
        return torch.optim.Adagrad([weight], lr=rate, eps=epsilon, weight_decay=decay)
    step = lars(trust, epsilon, tensor == 0) if kind == "LARS" else larc(trust, tensor == 0)
    return ByFormula(weight, rate, momentum, nesterov, decay, step)


class Module(torch.nn.Module):
    def __init__(self, tensor):
        super().__init__()
        self.w = torch.nn.Parameter(start(tensor))


def run(row, tensor):
    module, decay, steps = Module(tensor), row[-1], [0]

    def average(averaged, current, _):
        kept = min(decay, (1 + steps[0]) / (10 + steps[0]))
        return kept * averaged + (1 - kept) * current

    averaged = AveragedModel(module, avg_fn=average)
    averaged.update_parameters(module)  # the first call copies: the average starts at the weights
    optimizer = make(row, module.w, tensor)
    for step in range(STEPS):
        module.w.grad = gradient(tensor, step)
        optimizer.step()
        steps[0] = step + 1
        averaged.update_parameters(module)
    return module.w.detach().tolist(), averaged.module.w.detach().tolist()


ROWS = [
    # kind, nesterov, rate, momentum, decay, trust, second, epsilon, average
    ("SGD", 0, 0.1, 0.9, 0.01, 0.0, 0.0, 0.0, 0.9),
    ("SGD", 1, 0.1, 0.9, 0.01, 0.0, 0.0, 0.0, 0.5),
    ("LARS", 0, 0.9, 0.9, 5e-3, 0.02, 0.0, 1e-7, 0.9),
    ("LARS", 1, 0.9, 0.9, 5e-3, 0.02, 0.0, 1e-7, 0.9),
    ("LARC", 0, 0.7, 0.9, 5e-4, 0.13, 0.0, 0.0, 0.999),
    ("LARC", 1, 0.005, 0.977, 5e-4, 0.013, 0.0, 0.0, 0.999),
    ("ADAMW", 0, 0.01, 0.9, 0.05, 0.0, 0.999, 1e-8, 0.9999),
    ("ADAGRAD", 0, 0.05, 0.0, 0.01, 0.0, 0.0, 1e-10, 0.9),
]


def listed(values):
    return "{" + ", ".join(repr(v) for v in values) + "}"


def main():
    lines = []
    for row in ROWS:
        row = row[:2] + tuple(f32(v) for v in row[2:])
        (first, first_average), (second, second_average) = run(row, 0), run(row, 1)
        assert all(math.isfinite(v) for v in first + second)
        settings = ", ".join("%.9gF" % v if "e" in "%.9g" % v or "." in "%.9g" % v else "%.1fF" % v
                             for v in row[2:])
        lines.append(f"    {{OPTIMIZER_{row[0]}, {row[1]}, {settings},"
                     f"\n     {{{listed(first)},\n      {listed(second)}}},"
                     f"\n     {{{listed(first_average)},\n      {listed(second_average)}}}}},")
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("/* Made by tests/golden/optimizers.py with torch; not to be edited. */\n\n"
                  "/* clang-format off */\n"
                  "static const struct golden_optimizer golden_optimizers[] = {\n"
                  + "\n".join(lines) + "\n};\n/* clang-format on */\n")


main()
