"""Makes the wheel ringmaster-launcher: python3 wheel.py VERSION PROGRAM LICENSE TAGS FOLDER

`pip install` of it puts the program PROGRAM as `ringmaster` on PATH, and `train`, with which containers are
started. TAGS are platform tags, joined by dots. The same input gives the same bytes."""
import base64
import hashlib
import os
import sys
import time
import zipfile

NAME = "ringmaster_launcher"
TRAIN = b"""#!python
import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))
os.execv(os.path.join(folder, "ringmaster"), ["train"] + sys.argv[1:])
"""
METADATA = """Metadata-Version: 2.1
Name: ringmaster-launcher
Version: {version}
Summary: Turns a set of identical containers into one training job
License: Apache-2.0
Requires-Python: >=3.6
Description-Content-Type: text/markdown

# ringmaster-launcher

`ringmaster` is the first process of every container of a job: it finds the others, starts all ranks, watches
them and ends the job with one story and one exit code. `train` is its short name, which Amazon SageMaker
starts containers with.

```sh
train -- python3 train.py
```
"""


def main(version, program, licence, tags, folder):
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    info = f"{NAME}-{version}.dist-info"
    scripts = f"{NAME}-{version}.data/scripts"
    with open(program, "rb") as file:
        launcher = file.read()
    with open(licence, "rb") as file:
        text = file.read()
    wheel = "Wheel-Version: 1.0\nGenerator: ringmaster\nRoot-Is-Purelib: false\n"
    wheel += "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    files = [(f"{scripts}/ringmaster", launcher, 0o755), (f"{scripts}/train", TRAIN, 0o755),
             (f"{info}/METADATA", METADATA.format(version=version).encode(), 0o644),
             (f"{info}/WHEEL", wheel.encode(), 0o644), (f"{info}/LICENSE", text, 0o644)]
    rows = []
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    files.append((f"{info}/RECORD", ("".join(rows) + f"{info}/RECORD,,\n").encode(), 0o644))
    path = os.path.join(folder, f"{NAME}-{version}-py3-none-{tags}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(path)


if len(sys.argv) != 6:
    sys.exit(__doc__)
main(*sys.argv[1:])
