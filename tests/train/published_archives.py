"""Makes small archives in the layouts in which data sets are published.

    published_archives.py SHAPES OUT

    OUT/flower_photos.tgz               flower_photos/CLASS/NAME.jpg and LICENSE.txt
    OUT/cifar-10-binary.tar.gz          cifar-10-batches-bin/{data_batch_1..5,test_batch}.bin,
                                        batches.meta.txt and readme.html
    OUT/cifar-10-python.tar.gz          cifar-10-batches-py/data_batch_1
    OUT/ILSVRC2012_img_train.tar        a CLASS.tar of CLASS_N.JPEG for each class
    OUT/ILSVRC2012_img_val.tar          ILSVRC2012_val_0000000N.JPEG; their classes are in
                                        OUT/synsets.txt, OUT/solution.csv and OUT/ids.txt
    OUT/{train2017,val2017,annotations_trainval2017}.zip
                                        COCO's pictures and annotations
    OUT/hostile.zip, OUT/broken.zip     a path that leaves the folder; a wrong byte
"""

import io
import pathlib
import random
import sys
import tarfile
import zipfile

shapes, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
out.mkdir()


def member(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def classes(part):
    return sorted(p for p in (shapes / part).iterdir() if p.is_dir())


with tarfile.open(out / "flower_photos.tgz", "w:gz") as tar:
    member(tar, "flower_photos/LICENSE.txt", b"CC-BY")
    for folder in classes("train"):
        for path in sorted(folder.iterdir()):
            member(tar, f"flower_photos/{folder.name}/{path.name}", path.read_bytes())

noise = random.Random(1)
with tarfile.open(out / "cifar-10-binary.tar.gz", "w:gz") as tar:
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship",
             "truck"]
    member(tar, "cifar-10-batches-bin/batches.meta.txt", "\n".join([*names, "", ""]).encode())
    member(tar, "cifar-10-batches-bin/readme.html", b"<html>")
    for batch in ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5",
                  "test_batch"]:
        records = b"".join(bytes([i % 10]) + noise.randbytes(3072) for i in range(20))
        member(tar, f"cifar-10-batches-bin/{batch}.bin", records)
with tarfile.open(out / "cifar-10-python.tar.gz", "w:gz") as tar:
    member(tar, "cifar-10-batches-py/data_batch_1", b"\x80\x02}q\x01.")

with tarfile.open(out / "ILSVRC2012_img_train.tar", "w") as tar:
    for folder in classes("train"):
        inner = io.BytesIO()
        with tarfile.open(fileobj=inner, mode="w") as of_class:
            for i, path in enumerate(sorted(folder.iterdir())):
                member(of_class, f"{folder.name}_{i}.JPEG", path.read_bytes())
        member(tar, f"{folder.name}.tar", inner.getvalue())

pictures = [(folder.name, path) for folder in classes("val") for path in sorted(folder.iterdir())]
noise.shuffle(pictures)
with tarfile.open(out / "ILSVRC2012_img_val.tar", "w") as tar:
    for i, (_, path) in enumerate(pictures):
        member(tar, f"ILSVRC2012_val_{i + 1:08}.JPEG", path.read_bytes())
(out / "synsets.txt").write_text("".join(f"{name}\n" for name, _ in pictures))
lines = [f"ILSVRC2012_val_{i + 1:08},{name} 1 2 3 4 {name} 5 6 7 8\n"
         for i, (name, _) in enumerate(pictures)]
noise.shuffle(lines)
(out / "solution.csv").write_text("ImageId,PredictionString\n" + "".join(lines))
(out / "ids.txt").write_text("".join(f"{i + 1}\n" for i in range(len(pictures))))

for part in ["train", "val"]:
    with zipfile.ZipFile(out / f"{part}2017.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{part}2017/", "")
        for folder in classes(part):
            for path in sorted(folder.iterdir()):
                archive.writestr(f"{part}2017/{folder.name}{path.name}", path.read_bytes())
with zipfile.ZipFile(out / "annotations_trainval2017.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for part in ["train", "val"]:
        archive.writestr(f"annotations/instances_{part}2017.json",
                         '{"images": [], "annotations": []}' + " " * 100000)
with zipfile.ZipFile(out / "hostile.zip", "w") as archive:
    archive.writestr("../../outside.jpg", "x")
data = bytearray((out / "val2017.zip").read_bytes())
data[len(data) // 2] ^= 1
(out / "broken.zip").write_bytes(data)
