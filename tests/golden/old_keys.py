#!/usr/bin/env python3
"""Makes tests/golden/maskrcnn/old_keys.txt: the weights of torchvision's maskrcnn_resnet50_fpn that
had other names before version 0.12, one per line, the new name first.

    python3 tests/golden/old_keys.py tests/golden/maskrcnn/old_keys.txt

Needs torchvision (PyPI); stored with torchvision 0.29.2. Torchvision itself confirms the names: its
model loads a state without version numbers under the old names, and misses nothing.
tests/unit/trainer/models/test_detector_names.c reads the list.
"""
import re
import sys

import torch
from torchvision.models.detection import maskrcnn_resnet50_fpn

REWRITES = [(r"^(backbone\.fpn\.(?:inner|layer)_blocks\.\d)\.0\.", r"\1."),
            (r"^rpn\.head\.conv\.0\.0\.", "rpn.head.conv."),
            (r"^roi_heads\.mask_head\.(\d)\.0\.",
             lambda m: f"roi_heads.mask_head.mask_fcn{int(m[1]) + 1}.")]


def main():
    model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    state, lines = {}, []
    for name, value in model.state_dict().items():
        old = name
        for pattern, new in REWRITES:
            old = re.sub(pattern, new, old)
        state[old] = torch.full_like(value, 2)
        if old != name:
            lines.append(f"{name} {old}\n")
    model.load_state_dict(state, strict=True)
    assert all(bool((value == 2).all()) for value in model.state_dict().values())
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.writelines(lines)


main()
