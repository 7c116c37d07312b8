#!/usr/bin/env python3
"""Golden values of the full Mask R-CNN at 800 px, stage by stage: the results of torchvision's
maskrcnn_resnet50_fpn in f64 on a picture of COCO128, and how far those in f32 are from them.

    python3 tests/golden/maskrcnn_full.py COCO128 FOLDER >tests/golden/maskrcnn/full.txt

Needs torch and torchvision (2.15.0 and 0.29.2 made the stored file). COCO128 is the unpacked set.
The file holds sizes, losses, what was sampled, every parameter's gradient (golden.h describes the
lines) and the error of torch's f32 in each stage. FOLDER gets what else
tests/golden/test_maskrcnn_full.c reads. That is 260 MB, too much to keep with the sources, and the
test looks for it in RINGMASTER_DATA/maskrcnn_full:

    NAME.f32            output of a stage and input of the next: f64 rounded to f32, channels last
    relu.bits           one bit per output of each ReLU, in running order: is it above 0?
    image.u8, masks.u8  the picture, and the masks of its objects

In f64 as in f32, every stage gets the f64 values of the stage before it, rounded to f32. So an
error is that stage's own, and the choices do not depend on earlier rounding. The weights are those
of maskrcnn_torch.py.
"""
import contextlib
import json
import os
import sys

import numpy as np
import torch
from PIL import Image
from pycocotools import mask as mask_utils
from torch import nn
from torchvision.models.detection import MaskRCNN, roi_heads
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.models.resnet import resnet50
from torchvision.ops import FrozenBatchNorm2d

from hashed import products
from maskrcnn_torch import KeySampler, start_value

PICTURE, CLASSES, SEED = 9, 80, 1
LOSSES = ("loss_classifier", "loss_box_reg", "loss_mask", "loss_objectness", "loss_rpn_box_reg")


class Forced(torch.autograd.Function):
    """Replaces the values on the way forward; passes the gradient through on the way back."""

    @staticmethod
    def forward(context, values, forced):
        return forced.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient, None


class Stages:
    """The outputs of stages: recorded in the f64 run, and put in place of the f32 run's own."""

    def __init__(self, exact=None):
        self.exact, self.values, self.errors, self.bits, self.flips = exact, {}, {}, [], 0

    def __call__(self, name, tensor):
        if self.exact is None:
            self.values[name] = tensor.detach().float()
            return Forced.apply(tensor, self.values[name].to(tensor.dtype))
        wanted = self.exact.values[name]
        apart = (tensor.detach().double() - wanted.double()).norm() / wanted.double().norm()
        self.errors[name] = apart.item()
        return Forced.apply(tensor, wanted.to(tensor.dtype))

    def relu(self, tensor):
        """Records which outputs of a ReLU are above 0, with a map's channels last."""
        tensor = tensor.detach()
        bits = np.packbits(
            ((tensor.permute(0, 2, 3, 1) if tensor.dim() == 4 else tensor) > 0).numpy())
        if self.exact is not None:
            self.flips += int(np.unpackbits(bits ^ self.exact.bits[len(self.bits)]).sum())
        self.bits.append(bits)


def picture_of(data):
    """Returns the picture and its objects' boxes, labels and masks."""
    with open(f"{data}/annotations/instances_train2017.json", encoding="utf-8") as file:
        coco = json.load(file)
    image = next(i for i in coco["images"] if i["id"] == PICTURE)
    numbers = {c["id"]: i + 1
               for i, c in enumerate(sorted(coco["categories"], key=lambda c: c["id"]))}
    own = [a for a in coco["annotations"] if a["image_id"] == PICTURE and not a["iscrowd"]]
    pixels = np.asarray(Image.open(f"{data}/train2017/{image['file_name']}").convert("RGB"))
    size = pixels.shape[:2]
    # Boxes in whole pixels are the same in f32 and f64, and contain their masks.
    masks, boxes = [], []
    for annotation in own:
        mask = mask_utils.decode(
            mask_utils.merge(mask_utils.frPyObjects(annotation["segmentation"], *size)))
        rows, columns = np.nonzero(mask.any(1))[0], np.nonzero(mask.any(0))[0]
        masks.append(mask)
        boxes.append([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
    return pixels, np.array(boxes), [numbers[a["category_id"]] for a in own], np.stack(masks)


def make(seed, dtype):
    body = resnet50(weights=None, norm_layer=FrozenBatchNorm2d)
    model = MaskRCNN(_resnet_fpn_extractor(body, 5), num_classes=CLASSES + 1)
    model.load_state_dict({key: start_value(key, value.shape, seed)
                           for key, value in model.state_dict().items()})
    model.rpn.fg_bg_sampler = KeySampler("rpn", seed, 256, 128)
    model.roi_heads.fg_bg_sampler = KeySampler("roi", seed, 512, 128)
    return model.to(dtype)


class Run:
    """A training step on one picture."""

    def __init__(self, seed, dtype, data, exact=None):
        self.stages, self.seen = Stages(exact and exact.stages), {}
        self.model = make(seed, dtype)
        self.exact = exact
        with contextlib.ExitStack() as undone:
            self.hook_body()
            self.hook_heads(undone)
            self.step(data, dtype)
        self.gradients = {k: v.grad.double().clone() for k, v in self.model.named_parameters()}
        self.model.zero_grad()

    def hook_body(self):
        stages, model = self.stages, self.model
        model.transform.register_forward_hook(self.resized)
        for module in model.backbone.body.modules():
            if isinstance(module, nn.ReLU):
                module.register_forward_hook(lambda m, i, y: stages.relu(y))
        for number in range(4):
            model.backbone.body[f"layer{number + 1}"].register_forward_hook(
                lambda m, i, y, number=number: stages(f"c{number + 2}", y))
        model.backbone.fpn.register_forward_hook(self.pyramid)
        model.rpn.head.conv[0][1].register_forward_hook(lambda m, i, y: stages.relu(y))
        model.rpn.head.register_forward_hook(lambda m, i, y: tuple(
            [stages(f"{kind}{level + 2}", t) for level, t in enumerate(y[k])]
            for k, kind in enumerate(("logits", "deltas"))))

    def resized(self, module, inputs, outputs):
        images, targets = outputs
        images.tensors = self.stages("image", images.tensors)
        self.seen["resized"] = list(images.image_sizes[0])
        return images, targets

    def pyramid(self, module, inputs, outputs):
        for level, key in enumerate("0123"):
            outputs[key] = self.stages(f"p{level + 2}", outputs[key])
        # P6 is made from P5 as the next stage gets it.
        outputs["pool"] = outputs["3"][:, :, ::2, ::2]
        return outputs

    def hook_heads(self, undone):
        stages, heads = self.stages, self.model.roi_heads
        select, project = heads.select_training_samples, roi_heads.project_masks_on_boxes

        def selected(proposals, targets):
            own = proposals[0].detach().float()
            if self.exact is not None:
                self.seen["missed"] = missed(self.exact.proposals, own)
                own = self.exact.proposals
            self.proposals = own
            result = select([own.to(proposals[0].dtype)], targets)
            # Rows are in the order of our implementation: those with an object come first.
            order = torch.argsort((result[2][0] == 0).int(), stable=True)
            self.order = order
            self.seen["labels"] = result[2][0][order].tolist()
            self.seen["matches"] = [int(m) if l > 0 else -1
                                    for m, l in zip(result[1][0][order], self.seen["labels"])]
            stages("rois", result[0][0][order])
            return tuple([part[0][order]] for part in result)

        def projected(masks, boxes, matched, side):
            return stages("mask_targets", project(masks, boxes, matched, side))

        heads.select_training_samples = selected
        roi_heads.project_masks_on_boxes = projected
        undone.callback(setattr, roi_heads, "project_masks_on_boxes", project)
        heads.box_roi_pool.register_forward_hook(lambda m, i, y: stages("box_features", y))
        for layer in (heads.box_head.fc6, heads.box_head.fc7):
            layer.register_forward_hook(lambda m, i, y: stages.relu(y))
        heads.box_head.register_forward_hook(lambda m, i, y: stages("hidden", y))
        heads.box_predictor.register_forward_hook(
            lambda m, i, y: (stages("class_logits", y[0]), stages("box_deltas", y[1])))
        heads.mask_roi_pool.register_forward_hook(lambda m, i, y: stages("mask_features", y))
        for module in [*heads.mask_head.modules(), heads.mask_predictor.relu]:
            if isinstance(module, nn.ReLU):
                module.register_forward_hook(lambda m, i, y: stages.relu(y))
        heads.mask_head.register_forward_hook(lambda m, i, y: stages("mask_hidden", y))
        heads.mask_predictor.register_forward_hook(self.own_logits)

    def own_logits(self, module, inputs, logits):
        """Keeps each region's logits of its own class, which are all that the loss uses."""
        labels = torch.tensor([label for label in self.seen["labels"] if label > 0])
        self.stages("mask_logits", logits[torch.arange(len(labels)), labels])

    def step(self, data, dtype):
        pixels, boxes, labels, masks = data
        truth = {"boxes": torch.tensor(boxes, dtype=dtype), "labels": torch.tensor(labels),
                 "masks": torch.from_numpy(masks)}
        self.model.train()
        losses = self.model([torch.from_numpy(pixels.copy()).permute(2, 0, 1).to(dtype) / 255],
                            [truth])
        self.losses = torch.stack([losses[name] for name in LOSSES]).double().detach()
        sum(losses.values()).backward()
        self.seen["rpn"] = self.model.rpn.fg_bg_sampler.seen


def missed(wanted, found):
    """Returns how many of the boxes in WANTED have none of FOUND within 0.01 px."""
    return sum(1 for part in wanted.split(100) if len(part)
               for near in ((part[:, None] - found[None]).abs().amax(2).amin(1)
                            < 1e-2).logical_not() if near)


def write(folder, name, values):
    values = values.permute(0, 2, 3, 1) if values.dim() == 4 else values
    np.ascontiguousarray(values.numpy()).tofile(f"{folder}/{name}.f32")


def numbers(values):
    return " ".join(repr(float(v)) for v in values)


def text(seed, data, exact, rounded):
    """Yields the lines of full.txt."""
    pixels, boxes, labels, masks = data
    yield f"# torch {torch.__version__}"
    yield f"case maskrcnn_resnet50_fpn {seed} {CLASSES} {len(labels)} {exact.order.numel()}"
    yield f"size 4 {pixels.shape[0]} {pixels.shape[1]} {' '.join(map(str, exact.seen['resized']))}"
    for box, label in zip(boxes.tolist(), labels):
        yield f"object 5 {' '.join(map(str, box))} {label}"
    yield f"proposals {len(exact.proposals)} {rounded.seen['missed']}"
    yield (f"anchors {len(sum(exact.seen['rpn'][0], []))} "
           + " ".join(map(str, sum(exact.seen["rpn"][0], []))))
    for name in ("labels", "matches"):
        yield f"{name} {len(exact.seen[name])} " + " ".join(map(str, exact.seen[name]))
    yield f"masks 1 {sum(label > 0 for label in exact.seen['labels'])}"
    yield f"flips 1 {rounded.stages.flips}"
    for name, error in rounded.stages.errors.items():
        yield f"stage {name} {error!r}"
    own = ((rounded.losses - exact.losses).abs() / exact.losses).tolist()
    for name, loss, error in zip(LOSSES, exact.losses.tolist(), own):
        yield f"loss {name} {error!r} {loss!r}"
    for name, gradient in exact.gradients.items():
        norm, wanted = gradient.norm().item(), products(name, gradient)
        other = rounded.gradients[name]
        worst = max(abs(a - b) for a, b in zip([norm, *wanted],
                                               [other.norm().item(), *products(name, other)]))
        yield f"gradient {name} {norm!r} {worst / norm!r} {numbers(wanted)}"


def main():
    data, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    picture = picture_of(data)
    exact = Run(SEED, torch.float64, picture)
    print(f"f64: losses {exact.losses.tolist()}", file=sys.stderr, flush=True)
    for name, values in exact.stages.values.items():
        write(folder, name, values)
    write(folder, "proposals", exact.proposals)
    np.concatenate(exact.stages.bits).tofile(f"{folder}/relu.bits")
    picture[0].tofile(f"{folder}/image.u8")
    picture[3].tofile(f"{folder}/masks.u8")
    rounded = Run(SEED, torch.float32, picture, exact)
    print(f"f32: losses {rounded.losses.tolist()}", file=sys.stderr, flush=True)
    for line in text(SEED, picture, exact, rounded):
        print(line)


if __name__ == "__main__":
    main()
