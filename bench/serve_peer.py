"""A server with onnxruntime in plain Python, for bench/serve.sh.

    serve_peer.py PORT MODEL.onnx THREADS

The model takes u8 pictures (ringtrain export --input u8). Pillow decodes and resizes them as the
model's metadata says. Each request has a thread of its own, without batching.
"""
import io
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import onnx
import onnxruntime
from PIL import Image

PORT, MODEL, THREADS = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
notes = {p.key: json.loads(p.value)
         for p in onnx.load(MODEL, load_external_data=False).metadata_props}
SIDE, RESIZE, NAMES = notes["image_size"], notes["resize_side"], notes["classes"]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = THREADS
session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])


def prepare(data):
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    scale = RESIZE / min(picture.size)
    picture = picture.resize([round(s * scale) for s in picture.size], Image.Resampling.BILINEAR)
    left, top = ((s - SIDE) // 2 for s in picture.size)
    return np.asarray(picture.crop((left, top, left + SIDE, top + SIDE)))[None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One write per answer: with several the peer would wait for an acknowledgement.
    wbufsize = -1

    def answer(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.answer({})

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        logits = session.run(["logits"], {"image": prepare(data)})[0][0]
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        best = np.argsort(-shares)[:5]
        self.answer({
            "predictions": [{
                "classes": [
                    {"name": NAMES[i], "index": int(i), "probability": float(shares[i])}
                    for i in best
                ]
            }]
        })

    def log_message(self, *words):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


Server(("127.0.0.1", PORT), Handler).serve_forever()
