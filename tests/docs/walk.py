"""Writes the commands of docs/trainer/walk.md that run anywhere, for tests/train/test_walk.sh.

    python3 tests/docs/walk.py FOLDER

Each block of shell becomes FOLDER/LINE.sh, in the order of the page, unless it starts containers,
asks a server or needs packages. The path of each file is printed.
"""
import pathlib
import re
import sys
from pages import TOP, Page

ELSEWHERE = r"\bdocker\b|https://|\bpip\b"
folder = pathlib.Path(sys.argv[1])
for block in Page(TOP / "docs/trainer/walk.md").blocks:
    if block.kind == "code" and block.info == "sh" and not re.search(ELSEWHERE, block.text):
        path = folder / f"{block.line:03}.sh"
        path.write_text(block.text + "\n", encoding="utf-8")
        print(path)
