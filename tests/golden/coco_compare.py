#!/usr/bin/env python3
"""Compares `ringtrain eval --coco` with pycocotools, to the last bit.

    python3 tests/golden/coco_compare.py build/release/bin/ringtrain [--coco128 DIR] [--sets N]
        [--store tests/golden/coco]

Needs numpy and pycocotools (PyPI). Cases are made from seeds: small random data sets with ties,
duplicates, crowds, empty categories, id 0 and more than 100 detections; and, where DIR holds
COCO128, its ground truth perturbed. All 12 numbers and the precision, recall and score arrays are
compared as bits. --store writes some cases with pycocotools' results as hex, for the test that
needs no Python (tests/unit/trainer/data/coco/test_coco_golden*.c). For COCO128 it writes only the
results, since that test makes the same detections again by the recipe of recipe_results().
"""
import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from pycocotools import mask as mask_utils
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def polygon(rng, x, y, w, h):
    corners = int(rng.integers(3, 9))
    angles = np.sort(rng.random(corners)) * 2 * np.pi
    xs = x + w / 2 + np.cos(angles) * w / 2
    ys = y + h / 2 + np.sin(angles) * h / 2
    decimals = int(rng.choice([0, 2, 5]))
    points = np.stack([xs, ys], 1).reshape(-1)
    return [round(float(v), decimals) for v in points]


def random_box(rng, width, height):
    w = float(rng.random() ** 2 * width * 0.9 + 1)
    h = float(rng.random() ** 2 * height * 0.9 + 1)
    x = float(rng.random() * (width - w * 0.8) - w * 0.1)
    y = float(rng.random() * (height - h * 0.8) - h * 0.1)
    decimals = int(rng.choice([0, 2, 6]))
    return [round(v, decimals) for v in (x, y, w, h)]


def rle_of(rng, box, height, width, compressed):
    grid = np.zeros((height, width), np.uint8, order="F")
    x, y, w, h = [int(v) for v in box]
    grid[max(y, 0):max(y + h, 0), max(x, 0):max(x + w, 0)] = 1
    if rng.random() < 0.5:
        grid[rng.random(grid.shape) < 0.02] ^= 1
    rle = mask_utils.encode(grid)
    area = int(mask_utils.area(rle))
    if compressed:
        return {"size": rle["size"], "counts": rle["counts"].decode()}, area
    flat = grid.reshape(-1, order="F")
    runs, value, length = [], 0, 0
    for pixel in flat:
        if pixel != value:
            runs.append(length)
            value, length = pixel, 0
        length += 1
    runs.append(length)
    return {"size": [height, width], "counts": [int(r) for r in runs]}, area


def make_truth(rng, scale):
    """Makes a small data set with everything that has caused trouble somewhere."""
    images, annotations = [], []
    category_ids = sorted(
        int(c) for c in rng.choice(np.arange(1, 91), int(rng.integers(1, 7)), False))
    image_ids = [int(i) for i in rng.choice(np.arange(0, 1000), int(rng.integers(1, 9)), False)]
    for image_id in image_ids:
        width, height = int(rng.integers(20, 90)) * scale, int(rng.integers(20, 90)) * scale
        images.append({"id": image_id, "width": width, "height": height,
                       "file_name": f"{image_id}.jpg"})
    first_id = int(rng.choice([0, 1, 1000]))
    for image in images:
        crowded = rng.random() < 0.3
        for _ in range(int(rng.integers(0, 30 if crowded else 6))):
            box = random_box(rng, image["width"], image["height"])
            crowd = int(rng.random() < 0.15)
            if crowd:
                segment, area = rle_of(rng, box, image["height"], image["width"],
                                       rng.random() < 0.3)
            else:
                segment = [polygon(rng, *box) for _ in range(int(rng.integers(1, 3)))]
                area = round(box[2] * box[3] * float(rng.choice([1, 0.7])), 3)
                if rng.random() < 0.1:
                    area = float(rng.choice([1024, 9216, 0]))
            annotations.append({"id": first_id + len(annotations), "image_id": image["id"],
                                "category_id": int(rng.choice(category_ids)), "bbox": box,
                                "area": area, "iscrowd": crowd, "segmentation": segment})
    order = rng.permutation(len(annotations))
    categories = [{"id": c, "name": f"class {c}"} for c in rng.permutation(category_ids).tolist()]
    return {"images": images, "annotations": [annotations[i] for i in order],
            "categories": categories}


def make_results(rng, truth, masks, boxes, many):
    sizes = {i["id"]: (i["height"], i["width"]) for i in truth["images"]}
    category_ids = [c["id"] for c in truth["categories"]]
    results = []

    def add(image_id, category_id, box, score):
        height, width = sizes[image_id]
        result = {"image_id": image_id, "category_id": category_id, "score": score}
        if boxes:
            result["bbox"] = box
        if masks:
            result["segmentation"] = rle_of(rng, box, height, width, True)[0]
        results.append(result)

    def score():
        return float(rng.choice([round(float(rng.random()), 1), float(rng.random()), 1.0]))

    for a in truth["annotations"]:
        for _ in range(int(rng.choice([0, 1, 1, 2, 3]))):
            shift = rng.normal(0, float(rng.choice([0, 0.02, 0.1, 0.3])), 4)
            x, y, w, h = a["bbox"]
            box = [x + w * shift[0], y + h * shift[1], w * np.exp(shift[2]), h * np.exp(shift[3])]
            box = [float(v) for v in box]
            category = a["category_id"] if rng.random() < 0.9 else int(rng.choice(category_ids))
            add(a["image_id"], category, box, score())
            if rng.random() < 0.1:
                results.append(dict(results[-1]))
    for image in truth["images"]:
        for _ in range(int(rng.integers(0, 4))):
            add(image["id"], int(rng.choice(category_ids)),
                random_box(rng, image["width"], image["height"]), score())
    if many and truth["images"]:
        image = truth["images"][0]
        for _ in range(130):
            add(image["id"], category_ids[0], random_box(rng, image["width"], image["height"]),
                score())
    if rng.random() < 0.3:
        results = [r for r in results if r["category_id"] != category_ids[-1]]
    order = rng.permutation(len(results))
    return [results[i] for i in order]


def recipe_results(truth):
    """Makes detections from ground truth with integer arithmetic that any language repeats exactly.

    Images are taken by id, annotations in file order. Lengths are in hundredths of a pixel."""
    state = 88172645463325252

    def draw(below):
        nonlocal state
        state ^= (state << 13) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFFFFFFFFFFFFFF
        return (state >> 11) % below

    hundredths = lambda v: int(np.floor(v * 100 + 0.5))
    category_ids = sorted(c["id"] for c in truth["categories"])
    by_image = {}
    for a in truth["annotations"]:
        by_image.setdefault(a["image_id"], []).append(a)
    results = []
    for image_id in sorted(i["id"] for i in truth["images"]):
        for a in by_image.get(image_id, []):
            for _ in range(draw(4) if draw(20) else 40):
                x, y, w, h = [hundredths(v) for v in a["bbox"]]
                span = 1 + draw(60)
                dx, dy = w * (draw(2 * span) - span) // 200, h * (draw(2 * span) - span) // 200
                if a["iscrowd"]:
                    parts = [[x, y, x + w, y, x + w, y + h, x, y + h]]
                else:
                    parts = [[hundredths(v) for v in part] for part in a["segmentation"]]
                moved = [[(v + (dy if i % 2 else dx)) / 100 for i, v in enumerate(part)]
                         for part in parts]
                category_id = a["category_id"] if draw(8) else category_ids[draw(len(category_ids))]
                score = draw(50) / 50 if draw(2) else draw(1000000) / 1000000
                results.append({"image_id": image_id, "category_id": category_id,
                                "bbox": [(x + dx) / 100, (y + dy) / 100, w / 100, h / 100],
                                "score": score, "segmentation": moved})
    return results


def reference(truth_path, results_path, kind):
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(truth_path)
        found = truth.loadRes(results_path)
        scorer = COCOeval(truth, found, kind)
        scorer.evaluate()
        scorer.accumulate()
        scorer.summarize()
    return scorer.stats, scorer.eval["precision"], scorer.eval["recall"], scorer.eval["scores"]


def ours(program, truth_path, results_path, kind, folder):
    out = os.path.join(folder, "out.json")
    arrays = os.path.join(folder, "arrays")
    subprocess.run([program, "eval", "--coco", truth_path, "--results", results_path,
                    "--iou-type", kind, "--json", out, "--arrays", arrays],
                   check=True, stdout=subprocess.DEVNULL)
    stats = np.array(json.load(open(out))[kind]["stats"])
    load = lambda name: np.load(os.path.join(arrays, f"{kind}.{name}.npy"))
    return stats, load("precision"), load("recall"), load("scores")


def same_bits(a, b):
    a, b = np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64)
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def compare(program, truth_path, results_path, kind, folder, label):
    wanted = reference(truth_path, results_path, kind)
    got = ours(program, truth_path, results_path, kind, folder)
    parts = ["stats", "precision", "recall", "scores"]
    bad = [p for p, a, b in zip(parts, wanted, got) if not same_bits(a, b)]
    if bad:
        print(f"{label} {kind}: differs in {', '.join(bad)}", wanted[0], got[0], sep="\n")
    return not bad, wanted


def fnv(array):
    """Hashes the array's bytes as common/str.h does."""
    value = 0xCBF29CE484222325
    for byte in np.ascontiguousarray(array, np.float64).tobytes():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def store(folder, label, truth, results, outcomes):
    case = os.path.join(folder, label)
    os.makedirs(case, exist_ok=True)
    json.dump(truth, open(os.path.join(case, "truth.json"), "w"), separators=(",", ":"))
    json.dump(results, open(os.path.join(case, "results.json"), "w"), separators=(",", ":"))
    store_outcomes(os.path.join(case, "expect"), outcomes)


def store_outcomes(path, outcomes):
    with open(path, "w") as out:
        for kind, (stats, precision, recall, scores) in outcomes.items():
            words = ([float(s).hex() for s in stats]
                     + [f"{fnv(a):016x}" for a in (precision, recall, scores)])
            out.write(" ".join([kind] + words) + "\n")


def run_case(args, label, truth, results, kinds, keep):
    with tempfile.TemporaryDirectory() as folder:
        truth_path, results_path = (os.path.join(folder, "truth.json"),
                                    os.path.join(folder, "results.json"))
        json.dump(truth, open(truth_path, "w"))
        json.dump(results, open(results_path, "w"))
        good, outcomes = True, {}
        for kind in kinds:
            same, outcomes[kind] = compare(args.program, truth_path, results_path, kind, folder,
                                           label)
            good &= same
        if keep and args.store:
            store(args.store, label, truth, results, outcomes)
        return good


def random_case(args, seed):
    rng = np.random.default_rng(seed)
    truth = make_truth(rng, 4 if seed % 7 == 0 else 1)
    boxes, masks = seed % 4 != 3, seed % 4 != 0
    results = make_results(rng, truth, masks, boxes, many=seed % 5 == 0)
    if not results:
        return True
    kinds = ["bbox", "segm"] if truth["annotations"] else ["bbox"]
    return run_case(args, f"random-{seed:03d}", truth, results, kinds,
                    keep=seed < 10 and seed % 7 != 0)


def coco128_case(args, seed):
    rng = np.random.default_rng(seed)
    truth = json.load(open(os.path.join(args.coco128, "annotations/instances_train2017.json")))
    if seed % 2:
        truth["annotations"][0]["id"] = 0
        truth["categories"].append({"id": 9999, "name": "nothing of this kind"})
    results = make_results(rng, truth, masks=True, boxes=seed % 3 != 2, many=True)
    return run_case(args, f"coco128-{seed}", truth, results, ["bbox", "segm"], keep=False)


def coco128_recipe_case(args):
    path = os.path.join(args.coco128, "annotations/instances_train2017.json")
    results = recipe_results(json.load(open(path)))
    with tempfile.TemporaryDirectory() as folder:
        results_path = os.path.join(folder, "results.json")
        json.dump(results, open(results_path, "w"))
        good, outcomes = True, {}
        for kind in ("bbox", "segm"):
            same, outcomes[kind] = compare(args.program, path, results_path, kind, folder,
                                           "coco128-recipe")
            good &= same
    if args.store:
        store_outcomes(os.path.join(args.store, "coco128.expect"), outcomes)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--coco128")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--store")
    args = parser.parse_args()
    outcomes = [random_case(args, seed) for seed in range(args.sets)]
    print(f"random sets: {sum(outcomes)} of {len(outcomes)} the same to the last bit")
    if args.coco128:
        extra = [coco128_case(args, seed) for seed in range(6)] + [coco128_recipe_case(args)]
        print(f"COCO128: {sum(extra)} of {len(extra)} the same to the last bit")
        outcomes += extra
    sys.exit(0 if all(outcomes) else 1)


if __name__ == "__main__":
    main()
