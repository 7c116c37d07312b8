"""Writes the commands of docs/trainer/walk.md for tests/train/test_walk.sh.

    python3 tests/docs/walk.py FOLDER

Each block whose mark says that this test runs it (tests/docs/blocks.py) becomes FOLDER/LINE.sh, in
the order of the page. The path of each file is printed.
"""
import pathlib
import sys
from pages import TOP, Page

folder = pathlib.Path(sys.argv[1])
walk = Page(TOP / "docs/trainer/walk.md")
for block in walk.blocks:
    if block.kind == "code" and walk.mark(block) == "run by tests/train/test_walk.sh":
        path = folder / f"{block.line:03}.sh"
        path.write_text(block.text + "\n", encoding="utf-8")
        print(path)
