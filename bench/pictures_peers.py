"""Measures how many images another library decodes, crops at random and resamples to 224 px per
second of processor time, on one thread.

    python bench/pictures_peers.py pillow|torchvision FOLDER

FOLDER has class folders of JPEGs or, for Pillow, of PNM files, which are read into memory first.
Both libraries' crops are torchvision's RandomResizedCrop.
"""
import io
import os
import sys
import time

SECONDS, SIDE = 3, 224


def encoded(folder):
    for root, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.lower().endswith((".jpg", ".jpeg", ".ppm", ".pgm", ".pnm")):
                with open(os.path.join(root, name), "rb") as file:
                    yield file.read()


def pillow():
    from PIL import Image
    from torchvision import transforms
    crop = transforms.RandomResizedCrop(SIDE)
    return lambda data: crop(Image.open(io.BytesIO(data)).convert("RGB"))


def torchvision():
    import numpy
    import torch
    from torchvision import io as tvio
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    crop = v2.RandomResizedCrop(SIDE, antialias=True)  # on bytes, without floats

    def one(data):
        return crop(tvio.decode_jpeg(
            torch.from_numpy(numpy.frombuffer(data, numpy.uint8).copy()), tvio.ImageReadMode.RGB))

    return one


def main(name, folder):
    one = {"pillow": pillow, "torchvision": torchvision}[name]()
    pictures = list(encoded(folder))
    one(pictures[0])
    begin, done = time.thread_time(), 0
    while time.thread_time() - begin < SECONDS:
        one(pictures[done % len(pictures)])
        done += 1
    print(f"{done / (time.thread_time() - begin):.1f}")


main(*sys.argv[1:])
