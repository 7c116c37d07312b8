"""Writes and reads TFRecord files with TensorFlow.

    shards_tensorflow.py write SOURCE TARGET   makes shards of class folders
    shards_tensorflow.py read SOURCE SHARDS    reads ours and compares each picture and class with
                                               the class folders
"""

import glob
import hashlib
import os
import sys

import tensorflow as tf


def pictures(folder):
    for label, name in enumerate(sorted(os.listdir(folder))):
        for file in sorted(os.listdir(f"{folder}/{name}")):
            with open(f"{folder}/{name}/{file}", "rb") as picture:
                yield label, name, file, picture.read()


def text(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def write(source, target):
    for part in "train", "validation":
        with tf.io.TFRecordWriter(f"{target}/{part}-00000-of-00001") as writer:
            for label, name, file, picture in pictures(
                    f"{source}/{'train' if part == 'train' else 'val'}"):
                number = tf.train.Feature(int64_list=tf.train.Int64List(value=[label + 1]))
                features = tf.train.Features(feature={
                    "image/encoded": text(picture), "image/class/label": number,
                    "image/class/synset": text(name.encode()),
                    "image/filename": text(file.encode())})
                writer.write(tf.train.Example(features=features).SerializeToString())


def read(source, shards):
    expected = sorted((label, hashlib.sha256(picture).hexdigest())
                      for label, _, _, picture in pictures(f"{source}/train"))
    kinds = {"image/encoded": tf.io.FixedLenFeature([], tf.string),
             "image/class/label": tf.io.FixedLenFeature([], tf.int64)}
    kinds |= {f"image/{key}": tf.io.FixedLenFeature([], tf.int64)
              for key in ("height", "width", "channels")}
    kinds |= {f"image/{key}": tf.io.FixedLenFeature([], tf.string)
              for key in ("colorspace", "format", "filename")}
    found = []
    for raw in tf.data.TFRecordDataset(sorted(glob.glob(f"{shards}/train-*-of-*"))):
        example = tf.io.parse_single_example(raw, kinds)
        shape = tuple(int(example[f"image/{key}"]) for key in ("height", "width", "channels"))
        assert tf.io.decode_jpeg(example["image/encoded"], 3).shape == shape, "another size"
        assert example["image/colorspace"] == b"RGB" and example["image/format"] == b"JPEG"
        found.append((int(example["image/class/label"]),
                      hashlib.sha256(example["image/encoded"].numpy()).hexdigest()))
    assert sorted(found) == expected, "TensorFlow reads other pictures"


{"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
