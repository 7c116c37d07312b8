#!/usr/bin/env python3
"""Writes synthetic COCO files of a given size; the same seed gives the same files.

    python3 bench/coco_synthetic.py annotations OUT.json --images 5000 --objects 36000
    python3 bench/coco_synthetic.py results OUT.json --annotations IN.json --each 100

Objects are polygons of about 25 corners with two decimals, as in COCO; one in a hundred is a crowd
in run-length encoding. Detections are perturbed objects (boxes and masks as COCO writes them) and
random ones, EACH per image. Needs numpy, and pycocotools to encode the masks.
"""
import argparse
import json

import numpy as np


def corners(rng, x, y, w, h, count):
    angles = (np.arange(count) + rng.random(count) * 0.8) * (2 * np.pi / count)
    radius = 0.5 * (0.75 + 0.25 * rng.random(count))
    points = np.empty(2 * count)
    points[0::2] = x + w / 2 + np.cos(angles) * w * radius
    points[1::2] = y + h / 2 + np.sin(angles) * h * radius
    return points.round(2)


def boxes_of(rng, count, width, height):
    w = np.exp(rng.normal(3.9, 1.0, count)).clip(4, width * 0.95)
    h = np.exp(rng.normal(3.9, 1.0, count)).clip(4, height * 0.95)
    x, y = rng.random(count) * (width - w), rng.random(count) * (height - h)
    return np.stack([x, y, w, h], 1)


def crowd_runs(rng, width, height):
    total, runs = width * height, []
    while total > 0:
        run = int(min(total, rng.integers(20, 2000)))
        runs.append(run)
        total -= run
    return runs


def object_text(rng, width, height, average):
    """Returns one annotation as JSON text, without its ids and the closing brace."""
    box = boxes_of(rng, 1, width, height)[0]
    crowd = int(rng.random() < 0.01)
    if crowd:
        segment = {"counts": crowd_runs(rng, width, height), "size": [height, width]}
    else:
        # The number of corners varies around COCO's mean.
        segment = [corners(rng, *box, int(rng.integers(8, average * 2 - 8))).tolist()]
    return json.dumps({"segmentation": segment, "area": round(float(box[2] * box[3] * 0.6), 4),
                       "iscrowd": crowd, "bbox": box.round(2).tolist(),
                       "category_id": int(rng.integers(1, 81))})[:-1]


def write_annotations(args):
    rng = np.random.default_rng(args.seed)
    per_image = rng.multinomial(args.objects, np.ones(args.images) / args.images)
    # Objects are reused from a pool of at most POOL, as generating their text is slow.
    forms = [(640, 480), (480, 640)]
    pools = [[object_text(rng, *form, args.corners) for _ in range(min(args.objects, args.pool))]
             for form in forms]
    number = 0
    with open(args.out, "w") as out:
        out.write('{"info": {"description": "synthetic"}, "images": [')
        shapes = (rng.random(args.images) < 0.4).astype(int)
        for i, shape in enumerate(shapes):
            w, h = forms[shape]
            image = {"license": 1, "file_name": f"{i + 1:012d}.jpg", "height": h, "width": w,
                     "id": i + 1,
                     "coco_url": f"http://images.example.org/train/{i + 1:012d}.jpg"}
            out.write((", " if i else "") + json.dumps(image))
        out.write('], "annotations": [')
        for i, count in enumerate(per_image):
            pool = pools[shapes[i]]
            for _ in range(count):
                number += 1
                out.write(f'{", " if number > 1 else ""}{pool[number % len(pool)]}, '
                          f'"image_id": {i + 1}, "id": {number}}}')
        out.write('], "categories": [')
        out.write(", ".join(json.dumps({"supercategory": "thing", "id": c, "name": f"class {c}"})
                            for c in range(1, 81)))
        out.write("]}")


def write_results(args):
    from pycocotools import mask as mask_utils

    rng = np.random.default_rng(args.seed + 1)
    truth = json.load(open(args.annotations))
    objects = {}
    for a in truth["annotations"]:
        objects.setdefault(a["image_id"], []).append(a)
    first = True
    with open(args.out, "w") as out:
        out.write("[")
        for image in truth["images"]:
            width, height = image["width"], image["height"]
            boxes = boxes_of(rng, args.each, width, height)
            labels = rng.integers(1, 81, args.each)
            scores = rng.random(args.each) ** 3
            for i, a in enumerate(objects.get(image["id"], [])[: args.each // 3]):
                for j in range(3):
                    at = 3 * i + j
                    if j == 0 or rng.random() < 0.3:
                        boxes[at] = np.array(a["bbox"]) * (1 + rng.normal(0, 0.05, 4))
                        labels[at] = a["category_id"]
                        scores[at] = 1 - rng.random() * 0.5
            shapes = [corners(rng, *box, 20).tolist() for box in boxes]
            strings = mask_utils.frPyObjects(shapes, height, width)
            for box, label, score, rle in zip(boxes, labels, scores, strings):
                record = {"image_id": image["id"], "category_id": int(label), "bbox": box.tolist(),
                          "score": float(score),
                          "segmentation": {"size": [height, width],
                                           "counts": rle["counts"].decode()}}
                out.write(("" if first else ", ") + json.dumps(record))
                first = False
        out.write("]")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["annotations", "results"])
    parser.add_argument("out")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--objects", type=int, default=36000)
    parser.add_argument("--corners", type=int, default=25)
    parser.add_argument("--pool", type=int, default=20000)
    parser.add_argument("--annotations")
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    (write_annotations if args.what == "annotations" else write_results)(args)


if __name__ == "__main__":
    main()
