"""Makes the wheel ringmaster-launcher: python3 wheel.py VERSION PROGRAM LICENSE TAGS FOLDER

`pip install` of it puts PROGRAM on PATH as `ringmaster`, and `train`, the command with which
containers start. TAGS are platform tags, joined by dots. The same input gives the same bytes."""
import sys

import wheel_file

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

`ringmaster` is the first process of every container of a job: it finds the others, \
starts all ranks, watches
them and ends the job with one story and one exit code. `train` is its short name, \
which Amazon SageMaker
starts containers with.

```sh
train -- python3 train.py
```
"""


def main(version, program, licence, tags, folder):
    with open(program, "rb") as file:
        launcher = file.read()
    with open(licence, "rb") as file:
        text = file.read()
    scripts = f"{NAME}-{version}.data/scripts"
    files = [(f"{scripts}/ringmaster", launcher, 0o755), (f"{scripts}/train", TRAIN, 0o755),
             (f"{NAME}-{version}.dist-info/LICENSE", text, 0o644)]
    print(wheel_file.write(folder, NAME, version, tags, METADATA.format(version=version), files))


if len(sys.argv) != 6:
    sys.exit(__doc__)
main(*sys.argv[1:])
