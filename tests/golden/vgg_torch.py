#!/usr/bin/env python3
"""Golden values of VGG-16: torch's results in f64 for a narrow one, and how far its results in f32
are from them.

    python3 tests/golden/vgg_torch.py >tests/golden/vgg/vgg16.txt

Needs torch and torchvision (2.15.0 and 0.29.2 made the stored file). The network is torchvision's
own class with its configuration D and all widths divided by NARROW; the file also lists names and
shapes of the whole vgg16. Weights, pictures and labels are hashes of name and position (hashed.py),
which tests/golden/test_vgg.c computes as well, so the file holds only results: each tensor by its
norm and its products with vectors of +-1. The error of f32 is the largest over ORDERS orders of the
pictures. There are a million ReLU inputs: one that is above 0 with only one of the two dtypes
changes a gradient by 1e-6 of it.
"""
import numpy as np
import torch
import torchvision
from torchvision.models import vgg

from hashed import labelled_images, products, uniform

SEED, SIDE, BATCH, CLASSES, NARROW, ORDERS = 3, 224, 2, 10, 16, 2


def start_value(name, shape):
    count = int(np.prod(shape))
    bound = 0.1 if len(shape) == 1 else (6.0 / np.prod(shape[1:])) ** 0.5
    return torch.from_numpy(uniform(name, SEED, count, -bound, bound).reshape(shape).copy())


def make(dtype):
    layers = [width if width == "M" else width // NARROW for width in vgg.cfgs["D"]]
    model = vgg.VGG(vgg.make_layers(layers), num_classes=CLASSES, dropout=0.0)
    hidden = 4096 // NARROW
    model.classifier[0] = torch.nn.Linear(512 // NARROW * 7 * 7, hidden)
    model.classifier[3] = torch.nn.Linear(hidden, hidden)
    model.classifier[6] = torch.nn.Linear(hidden, CLASSES)
    model.load_state_dict({k: start_value(k, v.shape) for k, v in model.state_dict().items()})
    return model.to(dtype)


def run(dtype, order):
    image, label = map(torch.from_numpy, labelled_images(SEED, BATCH, SIDE, CLASSES))
    model = make(dtype)
    logits = model(image[order].to(dtype))
    loss = torch.nn.functional.cross_entropy(logits, label[order])
    loss.backward()
    back = torch.argsort(torch.tensor(order))
    return (logits.detach().double()[back].reshape(-1),
            torch.tensor([loss.item()], dtype=torch.float64),
            {k: v.grad.double() for k, v in model.named_parameters()})


def main():
    torch.set_num_threads(1)
    orders = [list(np.roll(range(BATCH), k)) for k in range(ORDERS)]
    exact, rounded = run(torch.float64, orders[0]), [run(torch.float32, order) for order in orders]
    print(f"# torch {torch.__version__}, torchvision {torchvision.__version__}")
    print("case", SEED, BATCH, SIDE, CLASSES, NARROW)
    for i, kind in enumerate(("logits", "loss")):
        error = max(((exact[i] - r[i]).abs().max() / exact[i].abs().max()).item() for r in rounded)
        print(kind, exact[i].numel(), f"{error:.3e}", *(f"{v:.17g}" for v in exact[i].tolist()))
    for name, tensor in exact[2].items():
        truth = products(name, tensor)
        error = max(abs(a - b) for r in rounded for a, b in zip(truth, products(name, r[2][name])))
        norm = tensor.norm().item()
        print("gradient", name, f"{norm:.17g} {error / norm:.3e}", *(f"{p:.17g}" for p in truth))
    for name, tensor in torchvision.models.vgg16(init_weights=False).state_dict().items():
        print("shape", name, *tensor.shape)


main()
