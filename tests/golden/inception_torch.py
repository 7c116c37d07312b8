#!/usr/bin/env python3
"""Golden values of Inception v3: torch's results in f64 for a narrow one, and how far its results
in f32 are from them.

    python3 tests/golden/inception_torch.py >tests/golden/inception/inception_v3.txt

Needs torch and torchvision (2.15.0 and 0.29.2 made the stored file). The network is torchvision's
own class with transform_input=False and its second classifier, all widths divided by NARROW; the
file also lists names and shapes of the whole one. Weights, pictures and labels are hashes of name
and position (hashed.py), which tests/golden/test_inception.c computes as well, so the file holds
only results: each tensor by its norm and its products with vectors of +-1. The error of f32 is the
largest over ORDERS orders of the pictures. Betas keep most inputs of ReLUs away from 0, as in
resnet_torch.py: an input above 0 with only one dtype changes the gradients of all earlier layers.
An error of a gradient is at most NOT_EMPTY times the largest norm in its layer.
"""
import sys

import numpy as np
import torch
import torchvision
from torchvision.models import inception

from hashed import hashes, labelled_images, products, uniform

SEED, SIDE, BATCH, CLASSES, NARROW, ORDERS = 5, 299, 6, 10, 8, 4
AUX_WEIGHT, NOT_EMPTY = 0.4, 1e-2


def narrow(channels):
    return channels if channels == 3 else channels // NARROW


class Conv(inception.BasicConv2d):
    def __init__(self, inputs, outputs, **kwargs):
        super().__init__(narrow(inputs), narrow(outputs), **kwargs)


def with_conv(block):
    return lambda *args, **kwargs: block(*args, conv_block=Conv, **kwargs)


def auxiliary(inputs, classes):
    block = inception.InceptionAux(inputs, classes, conv_block=Conv)
    block.fc = torch.nn.Linear(narrow(768), classes)
    return block


def start_value(name, shape):
    count = int(np.prod(shape))
    if name.endswith("running_mean"):
        values = uniform(name, SEED, count, -0.5, 0.5)
    elif name.endswith("running_var"):
        values = uniform(name, SEED, count, 0.5, 1.5)
    elif name.endswith("bn.weight"):
        values = uniform(name, SEED, count, 0.5, 1.0)
    elif name.endswith("bn.bias"):
        values = uniform(name, SEED, count, 3.0, 3.5)
        values[hashes("sign", SEED, count) >> np.uint64(62) == 0] *= -1
    else:
        bound = 0.1 if "fc." in name else (6.0 / np.prod(shape[1:])) ** 0.5
        values = uniform(name, SEED, count, -bound, bound)
    return torch.from_numpy(values.reshape(shape).copy())


def make(dtype):
    names = ("InceptionA", "InceptionB", "InceptionC", "InceptionD", "InceptionE")
    blocks = [Conv, *(with_conv(getattr(inception, name)) for name in names), auxiliary]
    model = inception.Inception3(CLASSES, inception_blocks=blocks, init_weights=False, dropout=0.0)
    model.fc = torch.nn.Linear(narrow(2048), CLASSES)
    model.load_state_dict({k: v if k.endswith("num_batches_tracked") else start_value(k, v.shape)
                           for k, v in model.state_dict().items()})
    return model.to(dtype)


def run(dtype, order):
    image, label = map(torch.from_numpy, labelled_images(SEED, BATCH, SIDE, CLASSES))
    image, label = image[order].to(dtype), label[order]
    model = make(dtype)
    back = torch.argsort(torch.tensor(order))
    model.eval()
    with torch.no_grad():
        evaluated = model(image)
    model.train()
    logits, aux = model(image)
    losses = [torch.nn.functional.cross_entropy(values, label) for values in (logits, aux)]
    (losses[0] + AUX_WEIGHT * losses[1]).backward()
    lists = {kind: values.detach().double()[back].reshape(-1)
             for kind, values in (("eval_logits", evaluated), ("logits", logits),
                                  ("aux_logits", aux))}
    lists["loss"] = torch.stack(losses).detach().double()
    return (lists, {k: v.grad.double() for k, v in model.named_parameters()},
            {k: v.double() for k, v in model.named_buffers()
             if not k.endswith("num_batches_tracked")})


def table(kind, exact, several, share=float("inf")):
    norms = {name: tensor.norm().item() for name, tensor in exact.items()}
    for name, tensor in exact.items():
        layer = max(norm for other, norm in norms.items()
                    if other.rpartition(".")[0] == name.rpartition(".")[0])
        truth = products(name, tensor)
        error = max(abs(a - b) for r in several for a, b in zip(truth, products(name, r[name])))
        norm = norms[name]
        if not error <= share * layer:
            sys.exit(f"{kind} {name}: torch's f32 is {error:g} off, its layer has {layer:g}")
        print(kind, name, f"{norm:.10g} {error / norm:.3e}", *(f"{p:.10g}" for p in truth))


def main():
    torch.set_num_threads(1)
    orders = [list(np.roll(range(BATCH), k)) for k in range(ORDERS)]
    exact, rounded = (run(torch.float64, orders[0]),
                      [run(torch.float32, order) for order in orders])
    print(f"# torch {torch.__version__}, torchvision {torchvision.__version__}")
    print("case", SEED, BATCH, SIDE, CLASSES, NARROW)
    for kind, values in exact[0].items():
        error = max(((values - r[0][kind]).abs().max() / values.abs().max()).item()
                    for r in rounded)
        print(kind, values.numel(), f"{error:.3e}", *(f"{v:.10g}" for v in values.tolist()))
    table("gradient", exact[1], [r[1] for r in rounded], NOT_EMPTY)
    table("state", exact[2], [r[2] for r in rounded])
    for name, tensor in torchvision.models.inception_v3(init_weights=False).named_parameters():
        print("shape", name, *tensor.shape)


main()
