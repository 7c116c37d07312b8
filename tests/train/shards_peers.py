"""Writes and reads shards with the packages webdataset and tfrecord.

    shards_peers.py write SOURCE TARGET   makes shards of class folders
    shards_peers.py read SOURCE SHARDS    reads ours and compares each picture and class with the
                                          class folders
"""

import glob
import hashlib
import os
import sys

import webdataset
from tfrecord import TFRecordWriter
from tfrecord.reader import tfrecord_loader


def pictures(folder):
    for label, name in enumerate(sorted(os.listdir(folder))):
        for file in sorted(os.listdir(f"{folder}/{name}")):
            with open(f"{folder}/{name}/{file}", "rb") as picture:
                yield label, name, file, picture.read()


def write(source, target):
    for part in "train", "val":
        writer = TFRecordWriter(f"{target}/tfrecord/{part}-00000-of-00001")
        with webdataset.ShardWriter(f"{target}/tar/{part}-%06d.tar", maxcount=50,
                                    verbose=0) as shards:
            for label, name, file, picture in pictures(f"{source}/{part}"):
                shards.write({"__key__": f"{name}/{file[:-4]}", "jpg": picture, "cls": label})
                writer.write({"image/encoded": (picture, "byte"),
                              "image/class/label": (label, "int"),
                              "image/class/text": (name.encode(), "byte"),
                              "image/filename": (file.encode(), "byte")})
        writer.close()
    with open(f"{target}/tar/classes.txt", "w", encoding="utf-8") as names:
        names.write("".join(name + "\n" for name in sorted(os.listdir(f"{source}/train"))))


def read(source, shards):
    expected = sorted((label, hashlib.sha256(picture).hexdigest())
                      for label, _, _, picture in pictures(f"{source}/train"))
    tars = webdataset.WebDataset(sorted(glob.glob(f"{shards}/tar/train-*.tar")), shardshuffle=False)
    found = sorted((int(sample["cls"]), hashlib.sha256(sample["jpg"]).hexdigest())
                   for sample in tars)
    assert found == expected, "webdataset reads other pictures"
    kinds = {"image/encoded": "byte", "image/class/label": "int"}
    records = [record for shard in sorted(glob.glob(f"{shards}/tfrecord/train-*"))
               for record in tfrecord_loader(shard, None, kinds)]
    found = sorted((int(record["image/class/label"][0]),
                    hashlib.sha256(bytes(record["image/encoded"])).hexdigest())
                   for record in records)
    assert found == expected, "tfrecord reads other pictures"


{"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
