"""Prints the headers of the product for docs/internals/headers.md, room by room: each with the noun
phrase that it opens with (tests/lint/comments.py). docs/generate.sh calls it."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
OPENING = re.compile(r"/\*\s*(.*?)(?:[.:;](?=\s)|\*/)", re.S)


def opening(path):
    """Returns the words of PATH's first comment up to a full stop, colon or semicolon."""
    match = OPENING.match(path.read_text(encoding="utf-8"))
    if not match:
        sys.exit(f"{path.relative_to(TOP)}: it does not open with a comment that says what it is")
    words = " ".join(match.group(1).replace("\n *", " ").split())
    words = re.sub(r" \([^)]*$", "", words)  # a parenthesis that goes on
    return re.sub(r"([*<|_])", r"\\\1", words)


rooms = {}
for program in ("common", "entrypoint", "trainer"):
    for path in sorted((TOP / program).rglob("*")):
        if path.suffix in (".h", ".cuh"):
            rooms.setdefault(path.parent, []).append(path)
first = True
for room in sorted(rooms):
    print(("" if first else "\n") + f"## {room.relative_to(TOP)}\n\n| header | what it is |")
    print("| --- | --- |")
    first = False
    for path in rooms[room]:
        print(f"| [{path.name}](../../{path.relative_to(TOP)}) | {opening(path)} |")
