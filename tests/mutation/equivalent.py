"""Mutants that change nothing that a test could see: tests/mutation/equivalent.txt.

A record, apart from others by an empty line:
    common/file.c
    - the line as it is
    + the line as the mutant has it
    = why nobody can tell
Lines are compared without the blanks around them, so that a record lives on when its line moves."""

import pathlib

LIST = pathlib.Path("tests/mutation/equivalent.txt")


def read():
    """(file, line, line of the mutant) of each record; raises ValueError at one that is none."""
    known = set()
    for record in LIST.read_text().split("\n\n"):
        lines = [line for line in record.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        marks = [line[:2] for line in lines[1:]]
        if marks[:3] != ["- ", "+ ", "= "] or marks[3:] != ["= "] * len(marks[3:]):
            raise ValueError(f"{LIST}: not a record: {' / '.join(lines)}")
        known.add((lines[0], lines[1][2:].strip(), lines[2][2:].strip()))
    return known


def stale(known):
    """The records whose line is no longer in its file."""
    gone = []
    for name, before, _ in sorted(known):
        path = pathlib.Path(name)
        lines = path.read_text().splitlines() if path.is_file() else []
        if before not in (line.strip() for line in lines):
            gone.append(f"{name}: {before}")
    return gone
