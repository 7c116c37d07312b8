"""Compares exported networks in onnxruntime with what `ringtrain predict` says, for test_onnx.sh.

    onnx_compare.py pictures FROM TO SIDE    converts pictures to PNGs of SIDE x SIDE
    onnx_compare.py compare PREDICTIONS F32.onnx U8.onnx
"""
import json
import os
import sys

import numpy as np
from PIL import Image

TOLERANCE = 1e-5


def pictures(source, target, side):
    os.makedirs(target, exist_ok=True)
    side = int(side)
    count = 0
    for folder, _, names in sorted(os.walk(source)):
        for name in sorted(names):
            picture = Image.open(os.path.join(folder, name)).convert("RGB").resize((side, side))
            picture.save(os.path.join(target, f"{count:03}.png"))
            count += 1


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits = logits - logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def run(session, batch, values):
    name = session.get_inputs()[0].name
    parts = [session.run(["logits"], {name: values[i : i + batch]})[0]
             for i in range(0, len(values), batch)]
    return np.concatenate(parts)


def compare(predictions, f32, u8):
    import onnx
    import onnxruntime

    with open(predictions, encoding="utf-8") as f:
        predicted = json.load(f)["pictures"]
    assert predicted
    for path in (f32, u8):
        onnx.checker.check_model(path, full_check=True)
    notes = {p.key: json.loads(p.value) for p in onnx.load(f32).metadata_props}
    mean, std = (np.array(notes[k], np.float32) for k in ("mean", "std"))
    raw = np.stack([np.array(Image.open(p["file_name"])) for p in predicted])
    assert raw.dtype == np.uint8 and raw.shape[1:] == (notes["image_size"], notes["image_size"], 3)
    normal = ((raw.astype(np.float32) / 255 - mean) / std).transpose(0, 3, 1, 2)
    expected = np.full((len(predicted), len(notes["classes"])), -np.inf)
    for i, p in enumerate(predicted):
        for c in p["classes"]:
            assert notes["classes"][c["index"]] == c["name"]
            expected[i, c["index"]] = (np.log(c["probability"]) if c["probability"] > 1e-30
                                       else -np.inf)
    seen = np.isfinite(expected)
    assert seen.sum() >= 2 * len(predicted), expected
    for path, values in ((f32, normal), (u8, raw)):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        for batch in (1, 5):
            logits = run(session, batch, np.ascontiguousarray(values))
            scale = max(1.0, float(np.abs(logits).max()))
            worst = float(np.abs(log_softmax(logits) - expected)[seen].max()) / scale
            print(f"{os.path.basename(path)} batch {batch}: {worst:.2g} of the largest logit "
                  f"{scale:.3g}")
            assert worst < TOLERANCE, (path, batch, worst)


globals()[sys.argv[1]](*sys.argv[2:])
