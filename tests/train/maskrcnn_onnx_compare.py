"""Compares what `ringtrain predict` finds with torchvision and onnxruntime, which use the same
weights, for test_maskrcnn_onnx.sh.

    maskrcnn_onnx_compare.py pictures FROM TO    converts pictures to PNGs, which all decode alike
    maskrcnn_onnx_compare.py compare MODEL_DIR FILE.onnx PREDICTIONS_DIR PICTURES

The FIRST findings of each picture by score are compared with the peer's findings of the same class:
each has a partner within BOUNDS. Only a finding with a score within the bound of LEAST, the least
score that is kept, may lack one, because rounding decides whether it is kept.
"""
import json
import os
import sys

import numpy as np
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples",
                                "pytorch"))

FIRST, LEAST = 20, 0.05
BOUNDS = {"box": 0.1, "score": 1e-4, "mask": 0.99}  # px, -, IoU


def pictures(source, target):
    os.makedirs(target, exist_ok=True)
    for name in sorted(os.listdir(source)):
        Image.open(os.path.join(source, name)).convert("RGB").save(
            os.path.join(target, name.split(".")[0] + ".png"))


def mask_of(segmentation):
    """Decodes COCO's compressed run lengths into a mask: they run along columns, each is the
    difference to the run before the last one, and a character holds five bits."""
    runs, at, text = [], 0, segmentation["counts"]
    while at < len(text):
        value, shift, more = 0, 0, True
        while more:
            bits = ord(text[at]) - 48
            value |= (bits & 31) << shift
            more, shift, at = bits & 32, shift + 5, at + 1
            if not more and bits & 16:
                value |= -1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
    flat = np.repeat(np.arange(len(runs)) % 2, runs)
    return flat.reshape(segmentation["size"][::-1]).T.astype(bool)


def findings_of(boxes, labels, scores, masks):
    return [{"box": box, "label": int(label), "score": float(score), "mask": mask[0] > 0.5}
            for box, label, score, mask in zip(boxes, labels, scores, masks)]


def predicted(folder, names):
    """Returns the findings by file name; NAMES are the classes in the network's order."""
    with open(f"{folder}/pictures.json", encoding="utf-8") as file:
        coco = json.load(file)
    with open(f"{folder}/predictions.json", encoding="utf-8") as file:
        found = json.load(file)
    number = {c["id"]: names.index(c["name"]) + 1 for c in coco["categories"]}
    ret = {}
    for image in coco["images"]:
        ret[os.path.basename(image["file_name"])] = [
            {"box": np.array([b[0], b[1], b[0] + b[2], b[1] + b[3]]),
             "label": number[f["category_id"]],
             "score": f["score"], "mask": mask_of(f["segmentation"])}
            for f in found if f["image_id"] == image["id"] for b in [f["bbox"]]]
    return ret


def overlap(a, b):
    either = np.logical_or(a, b).sum()
    return np.logical_and(a, b).sum() / either if either else 1.0


def hold(what, ours, theirs):
    """Checks that each of our findings has a partner within BOUNDS; returns their number."""
    worst, lonely = [0.0, 0.0, 1.0], 0
    ours = sorted(ours, key=lambda f: -f["score"])[:FIRST]
    for found in ours:
        same = [f for f in theirs if f["label"] == found["label"]]
        apart = [np.abs(f["box"] - found["box"]).max() for f in same]
        if not apart or min(apart) > 10 * BOUNDS["box"]:
            lonely += found["score"] - LEAST > BOUNDS["score"]
            continue
        best = same[int(np.argmin(apart))]
        worst = [max(worst[0], min(apart)), max(worst[1], abs(best["score"] - found["score"])),
                 min(worst[2], overlap(best["mask"], found["mask"]))]
    print(f"{what}: {len(ours)} findings, {lonely} without a partner; boxes {worst[0]:.2g} px, "
          f"scores {worst[1]:.2g} apart, masks overlap by {worst[2]:.4f} and more")
    assert (lonely == 0 and worst[0] <= BOUNDS["box"] and worst[1] <= BOUNDS["score"]
            and worst[2] >= BOUNDS["mask"])
    return len(ours)


def compare(trained, path, folder, source):
    import onnxruntime
    import torch
    from maskrcnn_onnx import read_model

    with open(f"{trained}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    names = [c["name"] if isinstance(c, dict) else c for c in config["classes"]]
    model, session = read_model(trained), onnxruntime.InferenceSession(
        path, providers=["CPUExecutionProvider"])
    checked = 0
    for name, ours in sorted(predicted(folder, names).items()):
        picture = np.array(
            Image.open(os.path.join(source, name)), np.float32).transpose(2, 0, 1) / 255
        with torch.no_grad():
            found = model([torch.from_numpy(picture)])[0]
        torchs = findings_of(
            *(found[key].numpy() for key in ("boxes", "labels", "scores", "masks")))
        checked += hold(f"{name} torchvision", ours, torchs)
        hold(f"{name} onnxruntime", ours, findings_of(
            *session.run(["boxes", "labels", "scores", "masks"], {"image": picture})))
    assert checked > 0, "nothing was found"


globals()[sys.argv[1]](*sys.argv[2:])
