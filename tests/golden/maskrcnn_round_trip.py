#!/usr/bin/env python3
"""Compares a trained Mask R-CNN with torchvision's with the same weights, in both directions.

    python3 tests/golden/maskrcnn_round_trip.py RINGTRAIN MODEL_DIR DATA FOLDER

Needs torch, torchvision and pycocotools. MODEL_DIR is what `ringtrain train` wrote for
maskrcnn_resnet50_fpn with preset tv. DATA is a COCO folder, of which the evaluation set is used.
FOLDER receives the detections of both. Way there: torchvision's maskrcnn_resnet50_fpn takes the
weights, each by its name. Way back: torchvision trains them for STEPS more steps, with the
statistics of the norms, and ringtrain evaluates the result.

In both directions the detections of the two programs are paired one to one, and pycocotools scores
both. The exit code is 1 if a pair differs by more than BOUNDS or a detection has no partner. One
with a score within the bound of the least score, or of the last in a picture's full list, may be
missing on the other side; such detections are counted.
"""
import json
import os
import subprocess
import sys

import numpy as np
import torch
from pycocotools import mask as masks

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "bench"),
                os.path.join(HERE, "..", "..", "examples", "pytorch")]
from flowers_torch import write_safetensors  # noqa: E402
from maskrcnn_cpu import samples_of  # noqa: E402
from maskrcnn_onnx import model_of, read_weights  # noqa: E402
from maskrcnn_overfit import detect, scores_of  # noqa: E402

BOUNDS = {"box": 0.1, "score": 1e-4, "mask": 0.99, "mAP": 1e-3}  # px, -, IoU, each of 24 numbers
LEAST, PLACES, STEPS, RATE = 0.05, 100, 2, 1e-3


def evaluate(program, model, data, folder):
    """Returns the detections of ringtrain."""
    subprocess.run([program, "eval", "--model-dir", model, "--data", data, "--backend", "cpu",
                    "--dtype", "f32", "--batch-size", "1", "--pictures", "0", "--out", folder],
                   check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/detections.json", encoding="utf-8") as file:
        return json.load(file)


def trained_on(model, data):
    """Trains MODEL for a few steps with torchvision."""
    samples = list(samples_of(data, "val"))
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE,
                                momentum=0.9)
    torch.manual_seed(0)
    model.train()
    for step in range(STEPS):
        pictures, objects = zip(*(samples[(2 * step + i) % len(samples)] for i in range(2)))
        optimizer.zero_grad()
        sum(model(list(pictures), list(objects)).values()).backward()
        optimizer.step()
    return model


def apart(a, b):
    """Returns how far apart two detections of a class are: their boxes in pixels, their scores, and
    the overlap of their masks, which is 1 where both are empty."""
    pixels = masks.area([a["segmentation"], b["segmentation"]])
    overlap = (float(masks.iou([a["segmentation"]], [b["segmentation"]], [0])[0][0])
               if pixels.any() else 1.0)
    return (max(abs(x - y) for x, y in zip(corners(a), corners(b))), abs(a["score"] - b["score"]),
            overlap)


def corners(found):
    x, y, w, h = found["bbox"]
    return x, y, x + w, y + h


def on_edge(found, all_of_picture):
    """Returns whether FOUND is listed at all only because of its score's last bits."""
    last = min(f["score"] for f in all_of_picture) if len(all_of_picture) == PLACES else 0
    return found["score"] - max(LEAST, last) < BOUNDS["score"]


def pair(ours, theirs):
    """Prints how far apart the pairs are; returns whether that is within bounds."""
    worst, lonely, edge, pairs = [0.0, 0.0, 1.0], 0, 0, 0
    for image in sorted({f["image_id"] for f in ours + theirs}):
        left, right = ([f for f in side if f["image_id"] == image] for side in (ours, theirs))
        free = list(right)
        for found in sorted(left, key=lambda f: -f["score"]):
            same = [f for f in free if f["category_id"] == found["category_id"]]
            best = min(same, key=lambda f: apart(found, f)[0], default=None)
            if best is None or apart(found, best)[0] > 10 * BOUNDS["box"]:
                edge += on_edge(found, left)
                lonely += not on_edge(found, left)
                continue
            free.remove(best)
            pairs += 1
            box, score, mask = apart(found, best)
            worst = [max(worst[0], box), max(worst[1], score), min(worst[2], mask)]
        edge += sum(on_edge(f, right) for f in free)
        lonely += sum(not on_edge(f, right) for f in free)
    print(f"  {pairs} pairs, {lonely} without a partner, {edge} on the edge; "
          f"boxes {worst[0]:.2g} px, scores {worst[1]:.2g} "
          f"apart, masks overlap by {worst[2]:.4f} and more")
    return (pairs > 0 and lonely == 0 and worst[0] <= BOUNDS["box"] and worst[1] <= BOUNDS["score"]
            and worst[2] >= BOUNDS["mask"])


def compare(what, data, ours, theirs):
    """Compares OURS, a list of detections and its file, with THEIRS, a file of detections."""
    print(what)
    with open(theirs, encoding="utf-8") as file:
        same = pair(ours[0], json.load(file))
    numbers = [np.concatenate([scores_of(data, path, kind) for kind in ("bbox", "segm")])
               for path in (ours[1], theirs)]
    worst = float(np.abs(numbers[0] - numbers[1]).max())
    print(f"  box mAP {numbers[0][0]:.4f} and {numbers[1][0]:.4f}, "
          f"mask mAP {numbers[0][12]:.4f} and {numbers[1][12]:.4f}; "
          f"of 24 numbers none is more than {worst:.2g} apart", flush=True)
    return same and worst <= BOUNDS["mAP"]


def main():
    program, trained, data, folder = sys.argv[1:5]
    with open(f"{trained}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    os.makedirs(folder, exist_ok=True)
    model = model_of(config, read_weights(f"{trained}/model.safetensors"))
    detect(model, data, f"{folder}/there.json")
    good = compare("there", data, (evaluate(program, trained, data, f"{folder}/there"),
                                   f"{folder}/there/detections.json"), f"{folder}/there.json")
    back = f"{folder}/model"
    os.makedirs(back, exist_ok=True)
    with open(f"{back}/config.json", "w", encoding="utf-8") as file:
        # The stored checksums belong to other weights and to another text.
        json.dump({key: value for key, value in config.items()
                   if key not in ("weights", "checksum")}, file)
    write_safetensors(f"{back}/model.safetensors", trained_on(model, data).state_dict())
    detect(model, data, f"{folder}/back.json")
    good &= compare("back", data, (evaluate(program, back, data, f"{folder}/back"),
                                   f"{folder}/back/detections.json"), f"{folder}/back.json")
    if not good:
        sys.exit("they do not find the same")


if __name__ == "__main__":
    main()
