#!/usr/bin/env python3
"""Writes a Mask R-CNN trained by ringtrain as an ONNX file, by way of torchvision.

    python3 maskrcnn_onnx.py MODEL_DIR FILE.onnx

MODEL_DIR is the output of `ringtrain train --model maskrcnn_resnet50_fpn` with preset tv. Needs
torch, torchvision and onnx (2.15.0, 0.29.2 and 1.23.2 were tried). torchvision's network takes the
weights, each by its name, and PyTorch traces it.

The model's input is `image`, f32 [3, height, width] of any size, RGB from 0 to 1; it scales and
normalizes the picture itself. Its outputs are `boxes` [n, 4] in pixels (x1, y1, x2, y2), `labels`
[n] counted from 1 in the order of config.json's classes, `scores` [n], and `masks`
[n, 1, height, width] of probabilities.
"""
import json
import struct
import sys

import torch
from torchvision.models.detection import MaskRCNN, maskrcnn_resnet50_fpn
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.models.resnet import resnet50
from torchvision.ops import FrozenBatchNorm2d

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}
OPSET, SIDES = 17, (240, 320)
# Numbers that config.json has under `rules`, and torchvision's names for them.
RULES = {"rpn_pre_nms_top_n": "rpn_pre_nms_top_n_test",
         "rpn_post_nms_top_n": "rpn_post_nms_top_n_test"}
RULES.update({name: name for name in ("rpn_nms_thresh", "box_score_thresh", "box_nms_thresh",
                                      "box_detections_per_img")})


def read_weights(path):
    """Returns the tensors of a safetensors file by their names."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(bytearray(data[slice(*entry["data_offsets"])]),
                                   dtype=TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}


def model_of(config, state):
    """Returns torchvision's network for these weights, with frozen norms if those of STATE are."""
    if config["preset"] != "tv":
        raise SystemExit(f"preset {config['preset']} is not torchvision's")
    kept = config.get("rules", {})
    rules = {theirs: kept[ours] for ours, theirs in RULES.items() if ours in kept}
    rules.update(min_size=config["short_side"], max_size=config["long_side"],
                 image_mean=config["mean"], image_std=config["std"])
    classes = len(config["classes"]) + 1
    if any(name.endswith("num_batches_tracked") for name in state):
        model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=classes,
                                      **rules)
    else:
        body = resnet50(weights=None, norm_layer=FrozenBatchNorm2d)
        model = MaskRCNN(_resnet_fpn_extractor(body, 3), num_classes=classes, **rules)
    model.load_state_dict(state, strict=True)
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = kept.get("norm_epsilon", module.eps)
    return model.eval()


def read_model(folder):
    """Returns torchvision's network with the weights that ringtrain has written to FOLDER."""
    with open(f"{folder}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    return model_of(config, read_weights(f"{folder}/model.safetensors"))


def export(model, path):
    """Writes MODEL to PATH, traced with noise; the number of boxes and the picture's size stay
    free."""
    picture = torch.rand(3, *SIDES, generator=torch.Generator().manual_seed(0))
    axes = {"image": {1: "height", 2: "width"}, "masks": {0: "n", 2: "height", 3: "width"}}
    axes.update({name: {0: "n"} for name in ("boxes", "labels", "scores")})
    torch.onnx.export(model, ([picture],), path, opset_version=OPSET, dynamo=False,
                      input_names=["image"], output_names=["boxes", "labels", "scores", "masks"],
                      dynamic_axes=axes)


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: maskrcnn_onnx.py MODEL_DIR FILE.onnx")
    export(read_model(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    main()
