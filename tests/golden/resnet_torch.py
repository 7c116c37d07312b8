#!/usr/bin/env python3
"""Golden values of ResNets: torch's results in f64, and how far its results in f32 are from them.

    python3 tests/golden/resnet_torch.py resnet18 >tests/golden/resnet/resnet18.txt
    python3 tests/golden/resnet_torch.py resnet50 >tests/golden/resnet/resnet50.txt
    python3 tests/golden/resnet_torch.py wide_resnet50_2 --steps 1 \\
        >tests/golden/resnet/wide_resnet50_2.txt
    python3 tests/golden/resnet_torch.py resnext50_32x4d --steps 1 \\
        >tests/golden/resnet/resnext50_32x4d.txt

Needs torch and torchvision (2.15.0 and 0.29.2 made the stored files). Weights, pictures and labels
are hashes of name and position, which tests/golden/test_resnet.c computes as well, so the files
hold only results. A tensor is described by its norm and its products with PROJECTIONS vectors of
+-1, which are hashes as well: for an error vector e, the root mean square of such a product is |e|.

Gradients jump at a ReLU with an input within f32's error of 0, and at a maximum where two values
differ by less than that error. So the norms' betas keep most inputs away from 0, and the first seed
is used with which no mask and no maximum of torch's f32 differs from f64's in any step, with MARGIN
times that error to spare. The learning rate lets the loss fall: one that makes it oscillate
amplifies any rounding from step to step, torch's own included, and the last losses would be
useless.

One run in f32 is one sample of its rounding, and may be close by chance. So the error of the first
step is the largest over ORDERS runs that differ only in the order of the pictures, which changes
nothing but the rounding of sums. The ten steps come from one run. A file of one step does not
contain how far parameters moved.
"""
import argparse
import sys

import numpy as np
import torch
import torchvision

from hashed import PROJECTIONS, hashes, labelled_images, products, uniform

SIDE, BATCH, CLASSES, MARGIN = 32, 8, 10, 2.0
ORDERS = 8
# A gradient with an exact value of 0, like those of many betas here, has no scale of its own:
# torch's error is then 1e9 times its norm. Three times that error is an absolute bound, which must
# be small: no error may exceed this share of the largest norm of a gradient in the same layer.
NOT_EMPTY = 3e-4
RATE, MOMENTUM, DECAY = 0.00003, 0.9, 1e-4


def start_value(name, shape, seed):
    count = int(np.prod(shape))
    if name.endswith("running_mean"):
        values = uniform(name, seed, count, -0.5, 0.5)
    elif name.endswith("running_var"):
        values = uniform(name, seed, count, 0.5, 1.5)
    elif len(shape) == 1 and name.endswith("weight"):
        values = uniform(name, seed, count, 0.5, 1.0)
    elif len(shape) == 1 and not name.startswith("fc."):
        # Three channels of four are mostly above 0, the fourth mostly below. They are the same in
        # every norm, so that sums of two keep away from 0 as well.
        values = uniform(name, seed, count, 3.0, 3.5)
        below = hashes("sign", seed, count) >> np.uint64(62) == 0
        values[below] = -values[below]
    else:
        bound = 0.02 if name.startswith("fc.") else (6.0 / np.prod(shape[1:])) ** 0.5
        values = uniform(name, seed, count, -bound, bound)
    return torch.from_numpy(values.reshape(shape).copy())


def batch_of(seed):
    return tuple(map(torch.from_numpy, labelled_images(seed, BATCH, SIDE, CLASSES)))


class Watch:
    """Records the inputs of the ReLUs and of the pool, in order."""

    def __init__(self, model):
        self.seen = []
        for module in model.modules():
            if isinstance(module, (torch.nn.ReLU, torch.nn.MaxPool2d)):
                if isinstance(module, torch.nn.ReLU):
                    module.inplace = False
                module.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.seen.append((isinstance(module, torch.nn.ReLU), inputs[0].detach().double()))

    def take(self):
        seen, self.seen = self.seen, []
        return seen


def spare(exact, rounded):
    """Returns the least distance to a jump, in units of the greatest error of the same layer."""
    least = float("inf")
    for (relu, x), (_, y) in zip(exact, rounded):
        error = (x - y).abs().max().item()
        if relu:
            gap = x.abs().min().item()
        else:
            patches = torch.nn.functional.unfold(
                torch.nn.functional.pad(x, (1, 1, 1, 1), value=-1.0), 3, stride=2)
            patches = patches.reshape(x.shape[0], x.shape[1], 9, -1)
            top = patches.topk(2, dim=2).values
            live = top[:, :, 0] > 0
            gap = (top[:, :, 0] - top[:, :, 1])[live].min().item()
        least = min(least, gap / error)
    return least


def make(name, seed, dtype):
    model = getattr(torchvision.models, name)(num_classes=CLASSES)
    state = {key: (value if key.endswith("num_batches_tracked")
                   else start_value(key, value.shape, seed))
             for key, value in model.state_dict().items()}
    model.load_state_dict(state)
    return model.to(dtype)


class Run:
    """Evaluation and training with one dtype, step by step."""

    def __init__(self, name, seed, dtype, order=None):
        self.seed, self.dtype, self.step = seed, dtype, 0
        self.order = torch.arange(BATCH) if order is None else order
        self.model = make(name, seed, dtype)
        self.watch = Watch(self.model)
        self.first = {k: v.detach().clone() for k, v in self.model.named_parameters()}
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=RATE, momentum=MOMENTUM,
                                   weight_decay=DECAY, nesterov=True)
        self.loss, self.gradients, self.states = [], {}, {}

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            self.eval_logits = self.model(batch_of(self.seed)[0].to(self.dtype)).double()
        self.model.train()
        self.watch.take()

    def take_step(self):
        image, label = (whole[self.order] for whole in batch_of(self.seed))
        logits = self.model(image.to(self.dtype))
        loss = torch.nn.functional.cross_entropy(logits, label)
        self.sgd.zero_grad()
        loss.backward()
        self.loss.append(loss.item())
        if self.step == 0:
            self.logits = logits.detach().double()
            self.gradients = {k: v.grad.double().clone() for k, v in self.model.named_parameters()}
            self.states = self.running()
        self.sgd.step()
        self.step += 1
        return self.watch.take()

    def running(self):
        return {k: v.double().clone() for k, v in self.model.named_buffers()
                if not k.endswith("num_batches_tracked")}

    def moved(self):
        return {k: (v.detach() - self.first[k]).double() for k, v in self.model.named_parameters()}


def error_of(name, exact, rounded):
    return max(abs(a - b) for a, b in zip(products(name, exact), products(name, rounded)))


def table(kind, exact, several, share=float("inf")):
    """Prints every tensor of EXACT with the largest error of SEVERAL, at most SHARE of its
    layer."""
    norms = {name: tensor.norm().item() for name, tensor in exact.items()}
    for name, tensor in exact.items():
        layer = max(norm for other, norm in norms.items()
                    if other.rpartition(".")[0] == name.rpartition(".")[0])
        worst = max(error_of(name, tensor, rounded[name]) for rounded in several)
        if not worst <= share * layer:
            sys.exit(f"{kind} {name}: torch's f32 is {worst:g} off, its layer has {layer:g}: "
                     "a bound from that is empty")
        error = worst / norms[name] if norms[name] > 0 else worst
        print(kind, name, f"{norms[name]:.17g} {error:.3e}",
              *(f"{p:.17g}" for p in products(name, tensor)))


def values_line(kind, exact, several):
    exact = exact.reshape(-1)
    error = max(((exact - rounded.reshape(-1)).abs().max() / exact.abs().max()).item()
                for rounded in several)
    print(kind, exact.numel(), f"{error:.3e}", *(f"{v:.17g}" for v in exact.tolist()))


def reordered(name, seed, seen):
    """Runs first steps in f32 with other orders of the pictures, which must not jump from SEEN."""
    runs, generator = [], torch.Generator().manual_seed(seed)
    for _ in range(1, ORDERS):
        run = Run(name, seed, torch.float32, torch.randperm(BATCH, generator=generator))
        back = torch.argsort(run.order)
        least = spare(seen, [(relu, x[back]) for relu, x in run.take_step()])
        if least < 1:
            sys.exit(f"{name} seed {seed}: {least:.2f} errors from a jump in another order")
        run.logits = run.logits[back]
        runs.append(run)
    return runs


def attempt(name, seed, steps):
    """Returns both runs and f64's records of its first step, or None if a jump is too near."""
    exact, rounded = Run(name, seed, torch.float64), Run(name, seed, torch.float32)
    exact.evaluate()
    rounded.evaluate()
    seen = exact.take_step()
    least = spare(seen, rounded.take_step())
    while exact.step < steps and least >= MARGIN:
        least = min(least, spare(exact.take_step(), rounded.take_step()))
    print(f"{name} seed {seed}: {least:.2f} errors from a jump in {exact.step} steps",
          file=sys.stderr)
    return (exact, rounded, seen, least) if least >= MARGIN else None


def main():
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    name = args.name
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    for seed in args.seeds or range(1, 1000):
        found = attempt(name, seed, args.steps)
        if found:
            break
    else:
        sys.exit("no seed keeps its distance")
    exact, rounded, seen, least = found
    first = [rounded, *reordered(name, seed, seen)]
    print(f"# torch {torch.__version__}, torchvision {torchvision.__version__}; "
          f"{least:.1f} errors of f32 from the nearest jump")
    print("case", name, seed, BATCH, SIDE, CLASSES, args.steps, RATE, MOMENTUM, DECAY)
    values_line("eval_logits", exact.eval_logits, [rounded.eval_logits])
    values_line("logits", exact.logits, [run.logits for run in first])
    values_line("loss", torch.tensor(exact.loss, dtype=torch.float64),
                [torch.tensor(rounded.loss, dtype=torch.float64)])
    table("gradient", exact.gradients, [run.gradients for run in first], NOT_EMPTY)
    table("state", exact.states, [run.states for run in first])
    if args.steps == 1:
        return
    table("moved", exact.moved(), [rounded.moved()])
    table("last_state", exact.running(), [rounded.running()])


main()
