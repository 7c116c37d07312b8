"""Compares answers of `ringtrain serve` with those of onnxruntime and torchvision, for
test_serve_peers.sh.

    serve_peers.py HOST:PORT MODEL.onnx MODEL.safetensors NAME PICTURE...

16 clients at once send each picture twice: as it is, and prepared by Pillow as a PNG of the
network's own size, which serve does not resize (--resize is that size). The answers to prepared
pictures agree with the peers' to 1e-5 in every probability. The decoders may round pixels of the
others differently: these agree to 1e-2, and a peer's best class is serve's best one or, to 1e-2, as
probable.
"""
import concurrent.futures
import http.client
import io
import json
import struct
import sys

import numpy as np
import onnx
import onnxruntime
from PIL import Image

SERVER, MODEL, WEIGHTS, NAME = sys.argv[1:5]
PATHS = sys.argv[5:]
notes = {p.key: json.loads(p.value) for p in onnx.load(MODEL).metadata_props}
SIDE, NAMES = notes["image_size"], notes["classes"]
MEAN, STD = (np.array(notes[k], np.float32) for k in ("mean", "std"))


def prepare(path):
    picture = Image.open(path).convert("RGB")
    scale = SIDE / min(picture.size)
    picture = picture.resize([round(s * scale) for s in picture.size], Image.Resampling.BILINEAR)
    left, top = ((s - SIDE) // 2 for s in picture.size)
    return picture.crop((left, top, left + SIDE, top + SIDE))


def png(picture):
    out = io.BytesIO()
    picture.save(out, "png")
    return out.getvalue()


def ask(body):
    connection = http.client.HTTPConnection(SERVER, timeout=120)
    connection.request("POST", "/invocations", body, {"Content-Type": "application/octet-stream"})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, (answer.status, text)
    (prediction,) = json.loads(text)["predictions"]
    shares = np.zeros(len(NAMES))
    for c in prediction["classes"]:
        assert NAMES[c["index"]] == c["name"]
        shares[c["index"]] = c["probability"]
    return shares


def served(bodies):
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        return np.stack(list(clients.map(ask, bodies)))


def softmax(logits):
    shares = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def by_onnxruntime(inputs):
    session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    return softmax(session.run(["logits"], {session.get_inputs()[0].name: inputs})[0])


TYPES = {"F32": np.float32, "I64": np.int64}


def tensors(path):
    """Returns the tensors of a safetensors file by name."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {n: np.frombuffer(data[slice(*t["data_offsets"])], TYPES[t["dtype"]]).reshape(t["shape"])
            for n, t in header.items()}


def by_torchvision(inputs):
    import torch
    import torchvision

    network = torchvision.models.get_model(NAME, num_classes=len(NAMES))
    network.load_state_dict({n: torch.from_numpy(a.copy()) for n, a in tensors(WEIGHTS).items()})
    with torch.no_grad():
        return softmax(network.eval()(torch.from_numpy(inputs)).numpy())


pictures = [prepare(path) for path in PATHS]
inputs = ((np.stack([np.asarray(p) for p in pictures]).astype(np.float32) / 255 - MEAN)
          / STD).transpose(0, 3, 1, 2)
inputs = np.ascontiguousarray(inputs)
exact = served([png(p) for p in pictures])
whole = served([open(path, "rb").read() for path in PATHS])
peers = {"onnxruntime": by_onnxruntime(inputs)}
try:
    peers["torchvision"] = by_torchvision(inputs)
except ImportError as e:
    print("without torchvision:", e)
assert exact.max(axis=1).std() > 0, "one answer for all pictures"
for peer, expected in peers.items():
    off = np.abs(exact - expected).max()
    assert off < 1e-5, (peer, off)
    rough = np.abs(whole - expected).max(axis=1)
    best = expected.argmax(axis=1)
    gap = whole.max(axis=1) - whole[np.arange(len(best)), best]
    assert rough.max() < 1e-2 and gap.max() < 1e-2, (peer, rough.max(), gap.max())
    print(f"{len(PATHS)} pictures as {peer} has them: off by {off:.1e}, "
          f"as JPEGs by {rough.max():.1e}")
