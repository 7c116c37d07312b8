"""Reads tests/mutation/equivalent.txt: the mutants that change nothing that a test could see.

Records are separated by an empty line. This is one:
    common/file/file.c
    ^ the line above
    - the line as it is
    + the line as the mutant has it
    = why nobody can tell
Lines are compared without the blanks around them, so a record stays valid when its line moves."""

import pathlib

LIST = pathlib.Path("tests/mutation/equivalent.txt")


def read():
    """Returns (file, line above, line, line of the mutant) of each record; raises ValueError at a
    malformed one."""
    known = set()
    for record in LIST.read_text().split("\n\n"):
        lines = [line for line in record.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        marks = [line[:2] for line in lines[1:]]
        if marks[:4] != ["^ ", "- ", "+ ", "= "] or marks[4:] != ["= "] * len(marks[4:]):
            raise ValueError(f"{LIST}: not a record: {' / '.join(lines)}")
        known.add((lines[0], *(line[2:].strip() for line in lines[1:4])))
    return known


def stale(known):
    """Returns the records with lines that are no longer in their file."""
    gone = []
    for name, above, before, _ in sorted(known):
        path = pathlib.Path(name)
        text = path.read_text().splitlines() if path.is_file() else []
        lines = [line.strip() for line in text]
        if (above, before) not in zip(lines, lines[1:]):
            gone.append(f"{name}: {before}")
    return gone
