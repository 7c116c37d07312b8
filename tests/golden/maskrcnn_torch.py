#!/usr/bin/env python3
"""Golden values of a whole Mask R-CNN: the results of torchvision's model in f64, and how far its
results in f32 are from them.

    python3 tests/golden/maskrcnn_torch.py >tests/golden/maskrcnn/tiny.txt
    python3 tests/golden/maskrcnn_torch.py --trained-norms >tests/golden/maskrcnn/tiny_batchnorm.txt

Needs torch and torchvision (2.15.0 and 0.29.2 made the stored files). The network is maskrcnn_tiny
of trainer/models/maskrcnn.c, built from torchvision's own classes: one bottleneck per stage from 16
channels, a pyramid of 64, anchors from 8 px. Its norms are frozen, or trained as in a network that
starts from scratch: a step uses its own statistics, and the evaluation the running ones. Weights,
pictures and masks are hashes of name and position (hashed.py), which tests/golden/test_maskrcnn.c
computes as well, so the file holds only results: five losses, what was sampled, every parameter's
gradient by its norm and its products with vectors of +-1, and what an evaluation finds.

The choices depend on the order of scores and on overlaps near a threshold, and a ReLU with an input
near 0 makes gradients jump. Biases and betas keep most inputs away from 0, and the first seed is
used with which f64, f32 and JITTERS runs in f32 with weights changed by up to JITTER find the same
proposals and boxes (their order may differ where scores are equal; all proposals are sampled) and
all gradients within STEADY of their layer's. Other processors and kernels round by less than that.
Samplers choose by our keys (trainer/math/sample_key.h), as no two programs agree on a permutation.

With trained norms many a beta's exact gradient is 0, because another norm follows: the norm of the
computed one is rounding noise of f64 and no scale for an error. The file gives STEADY of the layer
as torch's error of such gradients (EMPTY).
"""
import sys

import numpy as np
import torch
from torch import nn
from torchvision.models.detection import MaskRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import BackboneWithFPN
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
from torchvision.models.detection.rpn import RPNHead
from torchvision.models.resnet import Bottleneck, ResNet
from torchvision.ops import FrozenBatchNorm2d

from hashed import hashes, products, uniform
from philox import philox

CLASSES, JITTERS, JITTER, STEADY, SAME_PX, EMPTY = 3, 5, 4e-7, 5e-5, 0.01, 1e-9
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
# Height and width as stored, and as resized to a short side of 36 and a long side of 48 at most.
# There are so few anchors that neighbouring scores differ by more than rounding does.
PICTURES, RESIZED, CANVAS = [(72, 96), (96, 72)], [(36, 48), (48, 36)], (64, 64)
# x1, y1, x2, y2 in whole pixels of the stored picture, and label; masks are ellipses in the box.
OBJECTS = [[(6, 9, 38, 52, 1), (40, 20, 90, 66, 2), (50, 4, 61, 17, 3)],
           [(10, 30, 60, 90, 3), (22, 5, 44, 25, 1)]]
EPOCH, SAMPLE = 2, 40
KIND = {"rpn": 0x52504E00, "roi": 0x524F4900}


class Body(ResNet):
    """A ResNet with one bottleneck per stage, starting from 16 channels."""

    def __init__(self, norm):
        nn.Module.__init__(self)
        (self._norm_layer, self.inplanes, self.dilation, self.groups,
         self.base_width) = norm, 16, 1, 1, 64
        self.conv1 = nn.Conv2d(3, 16, 7, stride=2, padding=3, bias=False)
        self.bn1 = norm(16)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        for stage in range(4):
            setattr(self, f"layer{stage + 1}",
                    self._make_layer(Bottleneck, 16 << stage, 1, stride=1 if stage == 0 else 2))


def make(seed, norm, dtype, jitter):
    body = Body(norm)
    backbone = BackboneWithFPN(body, {f"layer{i + 1}": str(i) for i in range(4)},
                               [64, 128, 256, 512], 64)
    model = MaskRCNN(backbone, min_size=RESIZED[0][0], max_size=RESIZED[0][1],
                     image_mean=MEAN, image_std=STD,
                     rpn_anchor_generator=AnchorGenerator(((8,), (16,), (32,), (64,), (128,)),
                                                          ((0.5, 1.0, 2.0),) * 5),
                     rpn_head=RPNHead(64, 3), box_head=TwoMLPHead(64 * 49, 128),
                     box_predictor=FastRCNNPredictor(128, CLASSES + 1),
                     mask_head=MaskRCNNHeads(64, (64, 64), 1),
                     mask_predictor=MaskRCNNPredictor(64, 64, CLASSES + 1))
    state = model.state_dict()
    for key, value in state.items():
        if key.endswith("num_batches_tracked"):
            continue
        state[key] = start_value(key, value.shape, seed)
        if jitter:
            noise = torch.from_numpy(
                uniform(f"jitter{jitter}" + key, seed, value.numel(), -1, 1).reshape(value.shape))
            state[key] = state[key] * (1 + JITTER * noise)
    model.load_state_dict(state)
    model.transform._skip_resize = False
    model.rpn.fg_bg_sampler = KeySampler("rpn", seed, 256, 128)
    model.roi_heads.fg_bg_sampler = KeySampler("roi", seed, 512, 128)
    return model.to(dtype)


# Layers followed by a ReLU: their biases keep its inputs away from 0.
RECTIFIED = ("rpn.head.conv.", "roi_heads.box_head.", "roi_heads.mask_head.",
             "roi_heads.mask_predictor.conv5_mask.")
PREDICTORS = ("rpn.head.cls_logits.", "rpn.head.bbox_pred.", "roi_heads.box_predictor.",
              "roi_heads.mask_predictor.mask_fcn_logits.")


def start_value(name, shape, seed):
    count = int(np.prod(shape))
    if name.endswith("running_mean"):
        values = uniform(name, seed, count, -0.5, 0.5)
    elif name.endswith("running_var"):
        values = uniform(name, seed, count, 0.5, 1.5)
    elif len(shape) == 1 and name.endswith("weight"):
        values = uniform(name, seed, count, 0.25, 0.5)
    elif len(shape) == 1 and (".bn" in name or "downsample" in name or name.startswith(RECTIFIED)):
        # Three channels of four are mostly above 0, the fourth mostly below. They are the same in
        # all layers, so that sums of two layers keep away from 0 as well.
        values = uniform(name, seed, count, 3.0, 3.5)
        below = hashes("sign", seed, count) >> np.uint64(62) == 0
        values[below] = -values[below]
    elif len(shape) == 1:
        values = uniform(name, seed, count, -0.1, 0.1)
    else:
        fan = np.prod(shape[1:]) if "conv5_mask" not in name else shape[0]
        bound = (0.3 if name.startswith(RECTIFIED + PREDICTORS) else 1.0) * (3.0 / fan) ** 0.5
        values = uniform(name, seed, count, -bound, bound)
    return torch.from_numpy(values.reshape(shape).copy())


class KeySampler:
    def __init__(self, kind, seed, samples, positives):
        (self.kind, self.seed, self.samples, self.positives,
         self.seen) = KIND[kind], seed, samples, positives, []

    def __call__(self, labels):
        chosen = ([], [])
        self.seen = []
        for picture, label in enumerate(labels):
            def smallest(where, count):
                numbers = torch.where(where)[0].tolist()
                numbers.sort(key=lambda i: (
                    philox([i, EPOCH, SAMPLE + picture, self.kind], (self.seed, 0))[0], i))
                mask = torch.zeros_like(label, dtype=torch.uint8)
                mask[numbers[:count]] = 1
                return mask, min(count, len(numbers))

            positive, found = smallest(label >= 1, self.positives)
            negative, _ = smallest(label == 0, self.samples - found)
            chosen[0].append(positive)
            chosen[1].append(negative)
            self.seen.append((torch.where(positive)[0].tolist(), torch.where(negative)[0].tolist()))
        return chosen


def picture_of(seed, number):
    height, width = PICTURES[number]
    # Blocks of 4 x 4 pixels, since single-pixel noise looks the same everywhere to a network.
    coarse = (hashes(f"image{number}", seed, height // 4 * (width // 4) * 3)
              >> np.uint64(56)).astype(np.float64)
    coarse = coarse.reshape(height // 4, width // 4, 3).repeat(4, axis=0).repeat(4, axis=1)
    return torch.from_numpy(coarse).permute(2, 0, 1) / 255


def truth_of(number, dtype):
    """The targets as a data set gives them: boxes in the stored picture, masks of its size."""
    height, width = PICTURES[number]
    y, x = np.mgrid[0:height, 0:width] + 0.5
    masks = []
    for x1, y1, x2, y2, _ in OBJECTS[number]:
        inside = (((x - (x1 + x2) / 2) / (x2 - x1) * 2) ** 2
                  + ((y - (y1 + y2) / 2) / (y2 - y1) * 2) ** 2 <= 1)
        masks.append(inside)
    return {"boxes": torch.tensor([o[:4] for o in OBJECTS[number]], dtype=dtype),
            "labels": torch.tensor([o[4] for o in OBJECTS[number]]),
            "masks": torch.from_numpy(np.stack(masks).astype(np.uint8))}


class Run:
    def __init__(self, seed, norm, dtype, jitter=0):
        self.model = make(seed, norm, dtype, jitter)
        pictures = [picture_of(seed, i).to(dtype) for i in range(2)]
        self.seen, self.places = {}, {}
        heads = self.model.roi_heads
        select = heads.select_training_samples

        def keep(proposals, targets):
            self.seen["proposals"] = [len(p) for p in proposals]
            self.places["proposals"] = [p.double() for p in proposals]
            result = select(proposals, targets)
            self.places["regions"] = [p.double() for p in result[0]]
            self.seen["labels"] = [l.tolist() for l in result[2]]
            return result

        heads.select_training_samples = keep
        self.model.train()
        losses = self.model(pictures, [truth_of(i, dtype) for i in range(2)])
        names = ("loss_classifier", "loss_box_reg", "loss_mask", "loss_objectness",
                 "loss_rpn_box_reg")
        self.losses = torch.stack([losses[name] for name in names]).double()
        sum(losses.values()).backward()
        self.seen["rpn"] = self.model.rpn.fg_bg_sampler.seen
        self.seen["roi"] = heads.fg_bg_sampler.seen
        self.gradients = {k: v.grad.double().clone() for k, v in self.model.named_parameters()}
        self.running = {k: v.double().clone()
                        for k, v in self.model.named_buffers() if "running" in k}
        self.model.eval()
        kept = {}
        predict = heads.mask_predictor.forward
        heads.mask_predictor.forward = lambda x: kept.setdefault("masks", predict(x))
        # Boxes stay those of the resized picture and are not mapped back to the stored one.
        self.model.transform.postprocess = lambda result, sizes, originals: result
        with torch.no_grad():
            self.found = self.model(pictures)
        labels = torch.cat([f["labels"] for f in self.found])
        self.masks = kept["masks"][torch.arange(len(labels)), labels].double()
        self.seen["found"] = [f["labels"].tolist() for f in self.found]
        self.places["boxes"] = [f["boxes"].double() for f in self.found]


def error_of(name, exact, rounded):
    return max(abs(a - b) for a, b in zip(products(name, exact), products(name, rounded)))


def errors(exact, others):
    """Yields the largest error of OTHERS in each gradient, and the largest norm in its layer."""
    norms = {name: tensor.norm().item() for name, tensor in exact.gradients.items()}
    for name, tensor in exact.gradients.items():
        layer = max(norm for other, norm in norms.items()
                    if other.rpartition(".")[0] == name.rpartition(".")[0])
        worst = max(error_of(name, tensor, run.gradients[name]) for run in others)
        yield name, tensor, norms[name], worst, layer


def are_the_same(boxes, others):
    """Returns whether each of OTHERS is close to a different one of BOXES."""
    if len(boxes) != len(others):
        return False
    distance, nearest = (boxes[:, None] - others[None]).abs().amax(dim=2).min(dim=1)
    return distance.max().item() < SAME_PX and len(set(nearest.tolist())) == len(others)


def attempt(seed, norm):
    exact = Run(seed, norm, torch.float64)
    if any(len(positive) < 2 for positive, _ in exact.seen["rpn"] + exact.seen["roi"]):
        return f"few positives: {[len(p) for p, _ in exact.seen['rpn'] + exact.seen['roi']]}"
    others = []
    for jitter in range(JITTERS + 1):
        others.append(Run(seed, norm, torch.float32, jitter))
        for what, chosen in exact.seen.items():
            if others[-1].seen[what] != chosen:
                return f"{what} differs in run {jitter}"
        for what, places in exact.places.items():
            if not all(map(are_the_same, places, others[-1].places[what])):
                return f"{what} lie elsewhere in run {jitter}"
        for name, _, _, worst, layer in errors(exact, others[-1:]):
            if not worst <= STEADY * layer:
                return f"{name}: run {jitter} is {worst:g} off, its layer has {layer:g}"
    if max(exact.seen["proposals"]) > 508:
        return f"not all of {exact.seen['proposals']} proposals are sampled"
    if min(exact.seen["proposals"]) < 100 or any(len(f) < 3 for f in exact.seen["found"]):
        return (f"too little to see: {exact.seen['proposals']} proposals, "
                f"{[len(f) for f in exact.seen['found']]} found")
    return exact, others[0]


def values_line(kind, exact, rounded):
    exact, rounded = exact.reshape(-1).double(), rounded.reshape(-1).double()
    error = ((exact - rounded).abs().max() / exact.abs().max()).item()
    print(kind, exact.numel(), f"{error:.3e}", *(f"{v:.17g}" for v in exact.tolist()))


def tensor_line(kind, name, tensor, norm, error):
    print(kind, name, f"{norm:.17g} {error / norm if norm > 0 else error:.3e}",
          *(f"{p:.17g}" for p in products(name, tensor)))


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    words = sys.argv[1:]
    trained = words[:1] == ["--trained-norms"]
    for seed in (int(w) for w in words[trained:]) if len(words) > trained else range(1, 1000):
        result = attempt(seed, nn.BatchNorm2d if trained else FrozenBatchNorm2d)
        print(f"seed {seed}: {result if isinstance(result, str) else 'taken'}", file=sys.stderr)
        if not isinstance(result, str):
            break
    else:
        sys.exit("no seed is clear")
    exact, rounded = result
    print(f"# torch {torch.__version__}")
    print("case maskrcnn_tiny", seed)
    values_line("losses", exact.losses, rounded.losses)
    for i in range(2):
        print(f"chosen_rpn{i}", *(len(s) for s in exact.seen["rpn"][i]))
        print(f"labels{i}", len(exact.seen["labels"][i]),
              *sorted(exact.seen["labels"][i], reverse=True))
        found = exact.found[i]
        print(f"found{i}", len(found["labels"]), *found["labels"].tolist())
        values_line(f"scores{i}", found["scores"], rounded.found[i]["scores"])
        values_line(f"boxes{i}", found["boxes"], rounded.found[i]["boxes"])
    tensor_line("masks", "masks", exact.masks, exact.masks.norm().item(),
                error_of("masks", exact.masks, rounded.masks))
    for name, tensor, norm, worst, layer in errors(exact, [rounded]):
        tensor_line("gradient", name, tensor, norm,
                    worst if norm > EMPTY * layer else STEADY * layer)
    for name, tensor in exact.running.items() if trained else ():
        tensor_line("state", name, tensor, tensor.norm().item(),
                    error_of(name, tensor, rounded.running[name]))


if __name__ == "__main__":
    main()
