"""Measures how far the trainer's crops differ from torchvision's, pixel by pixel.

    python bench/crops_torch.py FOLDER [SIDE]

FOLDER has class folders of JPEGs. build/release/bench/bench_crops makes our crops, and torchvision
uses the same random boxes. Needs torchvision and numpy. Prints the largest and the mean difference
in steps of 1/255, and the worst picture's mean.
"""
import subprocess
import sys

import numpy as np
from PIL import Image
from torchvision.transforms import functional as F


def files(folder):
    import os
    for name in sorted(os.listdir(folder), key=os.fsencode):
        inner = os.path.join(folder, name)
        if name.startswith(".") or not os.path.isdir(inner):
            continue
        for file in sorted(os.listdir(inner), key=os.fsencode):
            if not file.startswith(".") and file.lower().endswith((".jpg", ".jpeg")):
                yield os.path.join(inner, file)


def difference(ours, theirs):
    return np.abs(ours.astype(int) - np.asarray(theirs).astype(int))


def main():
    folder = sys.argv[1]
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 224
    short = (side * 8 + 3) // 7
    ours = subprocess.Popen(["build/release/bench/bench_crops", folder, str(side)],
                            stdout=subprocess.PIPE)
    rows = {"centre crop": [], "random resized crop": []}
    for file in files(folder):
        left, top, width, height, flip = np.frombuffer(ours.stdout.read(20), np.int32).tolist()
        size = side * side * 3
        center = np.frombuffer(ours.stdout.read(size), np.uint8).reshape(side, side, 3)
        crop = np.frombuffer(ours.stdout.read(size), np.uint8).reshape(side, side, 3)
        image = Image.open(file).convert("RGB")
        rows["centre crop"].append(
            difference(center, F.center_crop(F.resize(image, short), side)))
        theirs = F.resized_crop(image, top, left, height, width, [side, side])
        rows["random resized crop"].append(difference(crop, F.hflip(theirs) if flip else theirs))
    for name, parts in rows.items():
        means = [part.mean() for part in parts]
        print(f"{name}: {len(parts)} pictures, largest {max(part.max() for part in parts)}, "
              f"mean {np.mean(means):.4f}, worst picture's mean {max(means):.4f}")
    return ours.wait()


if __name__ == "__main__":
    sys.exit(main())
