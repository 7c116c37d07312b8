#!/usr/bin/env python3
"""Golden values of what Mask R-CNN does after its proposals: torchvision's results in f64, and how
far its results in f32 are from them.

    python3 tests/golden/maskrcnn_roi.py >tests/golden/maskrcnn/roi.txt

Needs torch and torchvision (2.15.0 and 0.29.2 made the stored file). Feature maps, logits and
incoming gradients are hashes of name and position, which the test computes as well; boxes, labels,
sizes and masks are stored in the file. A line `i` or `f` holds a list of integers or of f32 values.
A line `d` describes a tensor: how many values it has, its norm, the error of torch's f32 relative
to that norm, and its products with vectors of +-1 (hashed.py); or it holds one number and its
error.

torch samples candidates at random; this script takes those with the smallest keys, by the rule of
trainer/math/sample_key.h, which is implemented here a second time. Whatever depends on a comparison
keeps a distance: a case is rejected if an overlap, a score or a level is within MARGIN of the point
where another box would be chosen.
"""
import sys

import numpy as np
import torch
import torchvision
from torch.nn import functional as F
from torchvision.models.detection import roi_heads, transform
from torchvision.ops import MultiScaleRoIAlign, box_iou, roi_align

from hashed import PROJECTIONS, products, uniform
from philox import philox

MARGIN = 1e-4
CANVAS = (512, 640)
CHANNELS = 3


def ints(name, values):
    flat = np.asarray(values, dtype=np.int64).reshape(-1)
    print("i", name, flat.size, *flat.tolist())


def floats(name, values):
    flat = np.asarray(values, dtype=np.float32).reshape(-1)
    print("f", name, flat.size, *("%.9g" % v for v in flat.tolist()))


def digest(name, exact, rounded):
    exact, rounded = exact.detach().contiguous().double(), rounded.detach().contiguous().double()
    norm = exact.norm().item()
    error = max(abs(a - b) for a, b in zip(products(name, exact), products(name, rounded))) / norm
    print("d", name, 3 + PROJECTIONS, exact.numel(), "%.17g %.3e" % (norm, error),
          *("%.17g" % p for p in products(name, exact)))


def value(name, exact, rounded):
    exact, rounded = exact.item(), rounded.item()
    print("d", name, 2, "%.17g %.3e" % (exact, abs(rounded / exact - 1)))


def hashed_tensor(name, shape, low=-1.0, high=1.0):
    return torch.from_numpy(uniform(name, 1, int(np.prod(shape)), low, high).reshape(shape))


def boxes_of(rows):
    return torch.tensor(rows, dtype=torch.float32)


# --- RoIAlign ----------------------------------------------------------------
ALIGN_ROIS = [
    [[20.3, 31.7, 76.9, 98.2], [100.1, 50.5, 100.8, 51.1], [300.7, 200.2, 470.4, 390.9],
     [0, 0, 640, 512], [600.5, 480.25, 639.9, 511.8], [-40.6, -25.3, 55.1, 44.4],
     [5.5, 300.5, 90.2, 511.9], [610.3, 2.2, 700.7, 90.1], [33.3, 44.4, 433.3, 374.4],
     [150.9, 10.1, 310.4, 140.6]],
    [[10.2, 11.3, 44.7, 80.4], [200.3, 100.2, 620.6, 480.8], [-3.9, -3.8, 9.6, 7.2],
     [620.1, 495.2, 655.5, 530.3], [80.8, 90.9, 260.6, 280.2], [1.1, 2.2, 3.3, 4.4],
     [400.4, 0.3, 639.6, 60.7], [0.4, 3.3, 25.5, 510.6], [60.6, 70.7, 530.3, 505.5],
     [340.2, 222.8, 500.1, 402.6]]]
ALIGN_ROWS = [0, 3, 8, 11, 14, 17]  # the slots, counted over both pictures, that a mask head sees


def levels_of(rois):
    side = ((rois[:, 2] - rois[:, 0]) * (rois[:, 3] - rois[:, 1])).double().sqrt()
    at = 4 + torch.log2(side / 224)
    assert ((at - at.round()).abs() > MARGIN).all()
    return at.floor().clamp(2, 5).long() - 2


def align(dtype, rows, bins):
    features = {}
    for level in range(4):
        shape = (2, CANVAS[0] >> level + 2, CANVAS[1] >> level + 2, CHANNELS)
        name = "align.p%d" % (level + 2)
        features[name] = (hashed_tensor(name, shape).to(dtype).permute(0, 3, 1, 2).contiguous()
                          .requires_grad_())
    rois = [boxes_of(r).to(dtype) for r in ALIGN_ROIS]
    slots = len(ALIGN_ROIS[0])
    if rows is not None:
        rois = [torch.stack([r[k % slots] for k in rows if k // slots == i])
                for i, r in enumerate(rois)]
    pool = MultiScaleRoIAlign(list(features), output_size=bins, sampling_ratio=2)
    y = pool(features, rois, [CANVAS] * 2)
    name = "align.dy%d" % bins
    dy = hashed_tensor(name, (y.shape[0], bins, bins, CHANNELS)).to(dtype).permute(0, 3, 1, 2)
    (y * dy).sum().backward()
    return y.permute(0, 2, 3, 1), [f.grad.permute(0, 2, 3, 1) for f in features.values()]


def aligned(dtype, sampling):
    """Pools the second picture's boxes from one map, with pixel centres at whole numbers."""
    x = hashed_tensor("align.p2", (2, CANVAS[0] >> 2, CANVAS[1] >> 2, CHANNELS)).to(dtype)
    x = x.permute(0, 3, 1, 2).contiguous().requires_grad_()
    rois = [torch.zeros(0, 4, dtype=dtype), boxes_of(ALIGN_ROIS[1]).to(dtype)]
    y = roi_align(x, rois, 5, 0.25, sampling, True)
    dy = hashed_tensor("align.dy5", (y.shape[0], 5, 5, CHANNELS)).to(dtype).permute(0, 3, 1, 2)
    (y * dy).sum().backward()
    return y.permute(0, 2, 3, 1), x.grad.permute(0, 2, 3, 1)


def print_align():
    floats("align.roi", ALIGN_ROIS)
    ints("align.row", ALIGN_ROWS)
    ints("align.level", torch.cat([levels_of(boxes_of(r)) for r in ALIGN_ROIS]))
    for bins, rows in ((7, None), (14, ALIGN_ROWS)):
        (exact, gradients), (rounded, other) = (align(torch.float64, rows, bins),
                                                align(torch.float32, rows, bins))
        digest("align.y%d" % bins, exact, rounded)
        for level in range(4):
            digest("align.dp%d.%d" % (level + 2, bins), gradients[level], other[level])
    for sampling in (0, 2):
        (exact, gradient), (rounded, other) = (aligned(torch.float64, sampling),
                                               aligned(torch.float32, sampling))
        digest("aligned.y%d" % sampling, exact, rounded)
        digest("aligned.dx%d" % sampling, gradient, other)


# --- sampled targets ---------------------------------------------------------
SAMPLES, POSITIVES, PROPOSALS, KIND = 16, 4, 40, 0x524F4900
KEYS = [[7, 1, 3, 11], [7, 1, 3, 12], [7, 1, 3, 1 << 20]]


def key_of(key, i):
    return philox([i, key[2], key[3], KIND], (key[0], key[1]))[0], i


class Sampler:
    """Replaces BalancedPositiveNegativeSampler; chooses the smallest keys."""

    def __call__(self, labels):
        positives, negatives = [], []
        for key, label in zip(KEYS, labels):
            above = sorted(torch.where(label >= 1)[0].tolist(),
                           key=lambda i: key_of(key, i))[:POSITIVES]
            below = torch.where(label == 0)[0].tolist()
            below = sorted(below, key=lambda i: key_of(key, i))[:SAMPLES - len(above)]
            for chosen, kept in ((above, positives), (below, negatives)):
                mask = torch.zeros_like(label, dtype=torch.uint8)
                mask[chosen] = 1
                kept.append(mask)
        return positives, negatives


def jittered(boxes, count, generator, share):
    rows = []
    for k in range(count):
        if k < share * count and len(boxes):
            box = boxes[k % len(boxes)]
            side = (box[2:] - box[:2]).repeat(2)
            rows.append(box + (torch.rand(4, generator=generator) - 0.5) * 0.5 * side)
        else:
            corner = torch.rand(2, generator=generator) * 200
            rows.append(torch.cat([corner, corner + 4 + torch.rand(2, generator=generator) * 80]))
    return torch.stack(rows)


def print_targets():
    generator = torch.Generator().manual_seed(3)
    gt = [jittered([], 5, generator, 0), jittered([], 1, generator, 0), torch.zeros(0, 4)]
    labels = [torch.tensor([3, 1, 2, 3, 5]), torch.tensor([4]), torch.zeros(0, dtype=torch.int64)]
    proposals = [jittered(gt[0], PROPOSALS, generator, 0.6), jittered(gt[1], 6, generator, 0.5),
                 jittered([], 30, generator, 0)]
    for boxes, truth in zip(proposals, gt):
        if len(truth):
            overlap = box_iou(truth.double(), torch.cat([boxes, truth]).double()).max(0).values
            assert ((overlap - 0.5).abs() > MARGIN).all()
    heads = roi_heads.RoIHeads(None, None, None, 0.5, 0.5, SAMPLES, POSITIVES / SAMPLES, None, 0.05,
                               0.5, 100)
    heads.fg_bg_sampler = Sampler()
    runs = []
    for dtype in (torch.float64, torch.float32):
        targets = [{"boxes": b.to(dtype), "labels": l} for b, l in zip(gt, labels)]
        runs.append(heads.select_training_samples([p.to(dtype) for p in proposals], targets))
    (rois, matches, classes, deltas), (_, _, again, rounded) = runs
    assert all((a == b).all() for a, b in zip(classes, again))
    out_roi, out_label = np.zeros((3, SAMPLES, 4)), np.full((3, SAMPLES), -1)
    out_match, out_delta = np.full((3, SAMPLES), -1), np.zeros((2, 3, SAMPLES, 4))
    for n in range(3):
        order = torch.argsort((classes[n] == 0).long(), stable=True)  # matches come first
        for slot, k in enumerate(order.tolist()):
            out_roi[n, slot], out_label[n, slot] = rois[n][k].numpy(), classes[n][k]
            if classes[n][k] > 0:
                out_match[n, slot] = matches[n][k]
                out_delta[0, n, slot], out_delta[1, n, slot] = (deltas[n][k].numpy(),
                                                                rounded[n][k].numpy())
    assert (out_label[1] >= 0).sum() < SAMPLES and (out_label > 0).sum() > POSITIVES
    padded = [np.zeros((3, PROPOSALS, 4)), np.zeros((3, 5, 4)), np.zeros((3, 5))]
    for n in range(3):
        padded[0][n, :len(proposals[n])] = proposals[n].numpy()
        padded[1][n, :len(gt[n])] = gt[n].numpy()
        padded[2][n, :len(gt[n])] = labels[n].numpy()
    floats("targets.box", padded[0])
    ints("targets.count", [len(p) for p in proposals])
    floats("targets.gt_box", padded[1])
    ints("targets.gt_label", padded[2])
    ints("targets.gt_count", [len(g) for g in gt])
    ints("targets.key", KEYS)
    floats("targets.roi", out_roi)
    ints("targets.label", out_label)
    ints("targets.match", out_match)
    digest("targets.target", torch.from_numpy(out_delta[0]), torch.from_numpy(out_delta[1]))


# --- box loss ----------------------------------------------------------------
BOX_LABELS = [[4, 1, 1, 2, 5, 0, 0, 0, 0, 0, -1, -1], [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
BOX_CLASSES = 6


def box_loss(dtype):
    labels = torch.tensor(BOX_LABELS).reshape(-1)
    count = labels.numel()
    logits = (hashed_tensor("box_loss.logits", (count, BOX_CLASSES), -3, 3).to(dtype)
              .requires_grad_())
    deltas = hashed_tensor("box_loss.deltas", (count, 4 * BOX_CLASSES)).to(dtype).requires_grad_()
    targets = hashed_tensor("box_loss.target", (count, 4)).to(dtype)
    valid = labels >= 0
    losses = roi_heads.fastrcnn_loss(logits[valid], deltas[valid], [labels[valid]],
                                     [targets[valid]])
    sum(losses).backward()
    right = (logits[valid].argmax(1) == labels[valid]).to(dtype).mean()
    return losses, right, logits.grad, deltas.grad


def print_box_loss():
    ints("box_loss.label", BOX_LABELS)
    (losses, right, dlogits, ddeltas), other = box_loss(torch.float64), box_loss(torch.float32)
    value("box_loss.classifier", losses[0], other[0][0])
    value("box_loss.box_reg", losses[1], other[0][1])
    value("box_loss.accuracy", right, other[1])
    digest("box_loss.dlogits", dlogits, other[2])
    digest("box_loss.ddeltas", ddeltas, other[3])


# --- masks -------------------------------------------------------------------
# Each row is a picture's height and width, those it is resized to, and whether it is mirrored.
MASK_SIZES = [(60, 80, 97, 129, 0), (75, 50, 48, 32, 1)]
MASK_LABELS = [[2, 1, 4], [3, 3, 1]]
MASK_ROIS = [[[3.3, 4.4, 70.2, 90.9, 0], [20.5, 10.2, 21.1, 10.9, 0], [0, 0, 129, 97, 1],
              [60.6, 30.3, 128.8, 80.1, 2], [50.2, 20.9, 100.3, 96.5, 1]],
             [[2.2, 3.3, 30.1, 44.4, 0], [0, 0, 32, 48, 1], [10.7, 5.5, 28.3, 30.2, 2],
              [4.1, 20.2, 9.9, 47.7, 1]]]
MASK_BINS, MASK_CHANNELS, MASK_CLASSES = 28, 5, 6


def object_mask(number, height, width):
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    if number == 0:  # an ellipse
        return (((y - 0.45 * height) / (0.4 * height)) ** 2
                + ((x - 0.3 * width) / (0.25 * width)) ** 2 < 1)
    if number == 1:  # stripes, over the whole picture
        return (x + 2 * y).astype(np.int64) // 5 % 2 == 0
    grains = uniform("mask.grains", 1, height * width, 0, 1).reshape(height, width)
    return (grains > 0.4) & (y > 0.2 * height) & (x > 0.35 * width) & (x < 0.9 * width)


def crop_bits(mask, pool):
    """Appends MASK to POOL in the layout of trainer/math/mask_bits.h; returns its place."""
    ys, xs = np.where(mask)
    x, y, w, h = xs.min(), ys.min(), xs.max() - xs.min() + 1, ys.max() - ys.min() + 1
    bits = np.packbits(mask[y:y + h, x:x + w], axis=1, bitorder="little")
    place = [len(pool), x, y, w, h]
    pool.extend(bits.reshape(-1).tolist())
    return place


def resized_masks(masks, size):
    height, width, to_height, to_width, flip = size
    masks = torch.from_numpy(np.stack(masks)).to(torch.uint8)
    if flip:
        masks = masks.flip(-1)
    picture = torch.zeros(3, height, width)
    _, target = transform._resize_image_and_masks(picture, 0, 0, {"masks": masks},
                                                  (to_width, to_height))
    return target["masks"]


def mask_losses(dtype, resized):
    rois = [boxes_of([r[:4] for r in rows]).to(dtype) for rows in MASK_ROIS]
    matched = [torch.tensor([int(r[4]) for r in rows]) for rows in MASK_ROIS]
    labels = [torch.tensor(row) for row in MASK_LABELS]
    rows = sum(len(r) for r in rois)
    targets = torch.cat([roi_heads.project_masks_on_boxes(m, r, i, MASK_BINS)
                         for m, r, i in zip(resized, rois, matched)])
    x = (hashed_tensor("mask.x", (rows, MASK_BINS, MASK_BINS, MASK_CHANNELS)).to(dtype)
         .requires_grad_())
    w = hashed_tensor("mask.w", (MASK_CLASSES, MASK_CHANNELS), -2, 2).to(dtype).requires_grad_()
    b = hashed_tensor("mask.b", (MASK_CLASSES,)).to(dtype).requires_grad_()
    logits = F.conv2d(x.permute(0, 3, 1, 2), w[:, :, None, None], b)
    logits.retain_grad()
    loss = roi_heads.maskrcnn_loss(logits, rois, resized, labels, matched)
    loss.backward()
    wanted = torch.cat([label[m] for label, m in zip(labels, matched)])
    at = torch.arange(rows), wanted
    return targets, logits[at], loss, logits.grad[at], x.grad, w.grad, b.grad


def print_masks():
    pool, places, resized = [], [], []
    for size in MASK_SIZES:
        masks = [object_mask(k, size[0], size[1]) for k in range(3)]
        places.append([crop_bits(mask, pool) for mask in masks])
        resized.append(resized_masks(masks, size))
    ints("mask.size", MASK_SIZES)
    ints("mask.at", places)
    ints("mask.pool", pool)
    ints("mask.gt_label", MASK_LABELS)
    ints("mask.rows", [len(rows) for rows in MASK_ROIS])
    floats("mask.roi", [r[:4] for rows in MASK_ROIS for r in rows])
    ints("mask.match", [int(r[4]) for rows in MASK_ROIS for r in rows])
    exact, rounded = mask_losses(torch.float64, resized), mask_losses(torch.float32, resized)
    for k, name in enumerate(("target", "logits", None, "dlogits", "dx", "dw", "db")):
        if name is None:
            value("mask.loss", exact[k], rounded[k])
        else:
            digest("mask." + name, exact[k], rounded[k])


# --- detections --------------------------------------------------------------
DETECT_SIZES = [(96, 128), (80, 50)]
DETECT_CLASSES, DETECT_PROPOSALS, DETECTIONS = 5, 30, 10


def detect(dtype, count, size, n):
    proposals = torch.from_numpy(
        uniform("detect.box%d" % n, 1, 4 * DETECT_PROPOSALS, 0, 1).reshape(-1, 4))
    corner = proposals[:, :2] * torch.tensor([size[1] * 0.5, size[0] * 0.5])
    proposals = torch.cat(
        [corner, corner + 4 + proposals[:, 2:] * torch.tensor([size[1] * 0.5, size[0] * 0.5])], 1)
    logits = hashed_tensor("detect.logits", (2, DETECT_PROPOSALS, DETECT_CLASSES), -3, 3)[n]
    deltas = hashed_tensor("detect.deltas", (2, DETECT_PROPOSALS, 4 * DETECT_CLASSES), -2, 2)[n]
    heads = roi_heads.RoIHeads(None, None, None, 0.5, 0.5, 512, 0.25, None, 0.05, 0.5, DETECTIONS)
    found = heads.postprocess_detections(logits[:count].to(dtype), deltas[:count].to(dtype),
                                         [proposals[:count].to(dtype)], [size])
    return (proposals, [part[0] for part in found],
            (heads, logits[:count].double(), deltas[:count].double()))


def keeps_distance(heads, logits, deltas, proposals, size):
    scores = F.softmax(logits, -1)[:, 1:]
    boxes = heads.box_coder.decode(deltas, [proposals.double()])
    boxes = torchvision.ops.clip_boxes_to_image(boxes, size)[:, 1:]
    sides = boxes[..., 2:] - boxes[..., :2]
    assert ((scores - 0.05).abs() > MARGIN / 10).all() and ((sides - 0.01).abs() > MARGIN).all()
    likely = scores.reshape(-1)[scores.reshape(-1) > 0.05].sort().values
    assert (likely.diff() > MARGIN / 100).all()
    for k in range(scores.shape[1]):
        overlap = box_iou(boxes[:, k], boxes[:, k])
        assert not ((overlap - 0.5).abs() < MARGIN).any()


def print_detections():
    ints("detect.size", DETECT_SIZES)
    ints("detect.count", [DETECT_PROPOSALS, 7])
    kept = []
    for n, (size, count) in enumerate(zip(DETECT_SIZES, (DETECT_PROPOSALS, 7))):
        proposals, exact, inner = detect(torch.float64, count, size, n)
        _, rounded, _ = detect(torch.float32, count, size, n)
        keeps_distance(*inner, proposals[:count], size)
        assert (exact[2] == rounded[2]).all()
        floats("detect.proposals%d" % n, proposals)
        ints("detect.label%d" % n, exact[2])
        digest("detect.box%d" % n, exact[0], rounded[0])
        digest("detect.score%d" % n, exact[1], rounded[1])
        kept.append(len(exact[2]))
    assert kept[0] == DETECTIONS


# --- pictures ----------------------------------------------------------------
PICTURES = [(37, 53, 60, 86, 0), (64, 40, 45, 28, 1), (50, 50, 50, 50, 0)]
PICTURE_CANVAS = (64, 96)


def resized_pictures(dtype):
    rule = transform.GeneralizedRCNNTransform(800, 1333, [0.485, 0.456, 0.406],
                                              [0.229, 0.224, 0.225])
    canvas = torch.zeros(len(PICTURES), *PICTURE_CANVAS, 3, dtype=dtype)
    for n, (height, width, to_height, to_width, flip) in enumerate(PICTURES):
        pixels = (uniform("picture%d" % n, 1, height * width * 3, 0, 256)).astype(np.uint8)
        picture = (torch.from_numpy(pixels.reshape(height, width, 3)).permute(2, 0, 1).to(dtype)
                   / 255)
        if flip:
            picture = picture.flip(-1)
        picture, _ = transform._resize_image_and_masks(rule.normalize(picture), 0, 0, None,
                                                       (to_width, to_height))
        canvas[n, :to_height, :to_width] = picture.permute(1, 2, 0)
    return canvas


def print_pictures():
    ints("picture.size", PICTURES)
    digest("picture.y", resized_pictures(torch.float64), resized_pictures(torch.float32))


def main():
    torch.set_num_threads(1)
    print(f"# torch {torch.__version__}, torchvision {torchvision.__version__}")
    print_align()
    print_targets()
    print_box_loss()
    print_masks()
    print_detections()
    print_pictures()


main()
