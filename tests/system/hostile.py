"""hostile.py PARAMETERS WORDS: writes 64 values that shells, formats and parsers may mishandle.

PARAMETERS gets them as SageMaker's hyperparameters, and WORDS the arguments that a program must get
from them, each followed by a NUL. None is valid JSON, which would be parsed."""

import json
import sys

MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
ODD = [
    "$(touch /opt/ml/model/owned)", "`touch /opt/ml/model/owned`", "; touch /opt/ml/model/owned",
    "| touch /opt/ml/model/owned", "&& touch /opt/ml/model/owned", "\ntouch /opt/ml/model/owned\n",
    "' ; touch /opt/ml/model/owned ; '", 'x" ; touch /opt/ml/model/owned ; "', "${HOME}",
    "$IFS$9", "~root", "*", "/opt/ml/../../etc/passwd", "%s%n%x", "\\x24\\x28id\\x29", "--", "-x",
    "--config=/etc/passwd", " ", "\t", "\r\n", "\x01\x7f", "\u2028", "\u202eexe.txt",
    "\U0001f4a9", "a\u0301", "=", "x=y", "{a,b}", "[1", "\\", "x" * 2000,
]


def main():
    values = [f"a{mark} {mark}b" for mark in MARKS] + ODD
    assert len(values) == 64
    parameters = {f"h{number:02}": value for number, value in enumerate(values)}
    words = [word for name, value in sorted(parameters.items()) for word in (f"--{name}", value)]
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump({**parameters, "sagemaker_program": "program.sh"}, file)
    with open(sys.argv[2], "wb") as file:
        file.write(b"".join(word.encode() + b"\0" for word in words))


main()
