"""Checks what TensorBoard's own readers find in the event files of a training, and compares its
histograms with a checkpoint.

    python tensorboard_reads.py EVENTS CHECKPOINT STEP TRAIN_TAGS EVAL_TAGS

EVENTS has the runs "train" and "eval". CHECKPOINT is the one of STEP; the histograms of that step
must have the counts and sums of its weights. The tags, separated by commas, are scalars that each
run must have.
"""

import json
import math
import struct
import sys

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

EVERYTHING = {"scalars": 0, "images": 0, "tensors": 0, "histograms": 0, "compressedHistograms": 1}


def load(folder):
    run = EventAccumulator(folder, EVERYTHING)
    run.Reload()
    return run


def jpeg_size(data):
    """Returns a JPEG's height and width, from its frame header."""
    at = 2
    while data[at + 1] not in (0xC0, 0xC2):
        at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return struct.unpack_from(">HH", data, at + 5)


def weights(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack_from("<Q", data)
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            yield name, numpy.frombuffer(
                data[8 + size + begin : 8 + size + end], "<f4").astype("f8")


def check_graph(run):
    graph = run.Graph()
    names = [node.name for node in graph.node]
    assert len(names) == len(set(names)) > 20, "names of nodes"
    known = set(names)
    assert all(source in known for node in graph.node
               for source in node.input), "an input without a node"
    kinds = {node.op for node in graph.node}
    assert {"conv2d", "parameter", "input"} <= kinds, kinds
    conv = next(node for node in graph.node if node.op == "conv2d")
    shape = conv.attr["_output_shapes"].list.shape[0]
    assert len(shape.dim) == 4 and all(dim.size > 0 for dim in shape.dim), "the shape of an edge"
    weight = next(source for source in conv.input if source.endswith("/weight"))
    assert next(node for node in graph.node if node.name == weight).op == "parameter"


def check_pictures(run, prefix):
    tags = [tag for tag in run.Tags()["images"] if tag.startswith(prefix)]
    assert tags, f"no pictures {prefix}"
    for tag in tags:
        for event in run.Images(tag):
            data = event.encoded_image_string
            assert jpeg_size(data) == (event.height, event.width), tag
    return tags


def check_histograms(run, path, step):
    tags = run.Tags()["histograms"]
    seen = 0
    for name, values in weights(path):
        tag = f"weights/{name}"
        if tag not in tags or values.size > 1 << 16:
            continue
        (event,) = [e for e in run.Histograms(tag) if e.step == step]
        h = event.histogram_value
        assert h.num == values.size and sum(h.bucket) == values.size, tag
        assert math.isclose(h.sum, values.sum(), rel_tol=1e-9, abs_tol=1e-9), (
            tag, h.sum, values.sum())
        assert math.isclose(h.sum_squares, (values * values).sum(), rel_tol=1e-9), tag
        assert h.min == values.min() and h.max == values.max(), tag
        below = 0
        for limit, count in zip(h.bucket_limit, h.bucket):
            below += count
            assert (values < limit).sum() <= below <= (values <= limit).sum(), (tag, limit)
        assert f"gradients/{name}" in tags, "no gradients"
        seen += 1
    assert seen > 5, "no histograms"


def session(run):
    data = plugin_data_pb2.HParamsPluginData.FromString(
        run.SummaryMetadata("_hparams_/session_start_info").plugin_data.content)
    return data.session_start_info


def main(events, checkpoint, step, train_tags, eval_tags):
    train, scored = load(f"{events}/train"), load(f"{events}/eval")
    for run, tags in (train, train_tags), (scored, eval_tags):
        missing = set(tags.split(",")) - set(run.Tags()["scalars"])
        assert not missing, f"no scalars {missing}"
        assert all(math.isfinite(e.value) for tag in tags.split(",") for e in run.Scalars(tag))
    (flags,) = [e.tensor_proto.string_val[0].decode() for e in train.Tensors("flags")]
    assert "| --model |" in flags, flags
    check_graph(train)
    check_pictures(train, "batch/")
    check_pictures(scored, "pictures/")
    check_histograms(train, checkpoint, int(step))
    one, other = session(train), session(scored)
    assert one.group_name == other.group_name != "", "two rows of settings"
    assert one.hparams["model"].string_value and one.hparams["seed"].number_value == 1
    print("TensorBoard reads all of", events)


main(*sys.argv[1:])
