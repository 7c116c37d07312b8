"""Checks how the product's C files are explained. A file of more than 150 lines has comments on 15
to 25 % of them (a header may have more). A header opens with a noun phrase of 4 to 12 words, to
search for."""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
LONG, LEAST, MOST, FEWEST, WORDS = 150, 0.15, 0.25, 4, 12
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
OPENING = re.compile(r"/\*\s*(.*?)(?:[.:;](?=\s)|\*/)", re.S)
QUESTION = re.compile(r"(What|How|Where|Which|Whether|When|Why|That|If|To|As)\b")


def share(source):
    """Returns how many lines SOURCE has, and on what share of them there is a comment."""
    commented = set()
    for token in TOKEN.finditer(source):
        if token.group(0)[0] == "/":
            first = source.count("\n", 0, token.start())
            commented.update(range(first, first + token.group(0).count("\n") + 1))
    count = source.count("\n")
    return count, len(commented) / max(count, 1)


def findings(path):
    """Yields what is wrong with the comments of the file at PATH."""
    source = (TOP / path).read_text(encoding="utf-8")
    header = path.endswith((".h", ".cuh"))
    count, part = share(source)
    if count > LONG and (part < LEAST or (part > MOST and not header)):
        yield (f"comments on {100 * part:.1f} % of {count} lines; expected are {100 * LEAST:.0f} to "
               f"{100 * MOST:.0f} %")
    if header:
        opening = OPENING.match(source)
        words = opening.group(1).replace("\n *", " ").split() if opening else []
        if not words:
            yield "it does not open with a comment that says what it is"
        elif not FEWEST <= len(words) <= WORDS or QUESTION.match(words[0]):
            yield (f'"{" ".join(words)}": a header opens with a noun phrase of {FEWEST} to {WORDS} '
                   "words up to the first full stop, colon or semicolon")


tracked = subprocess.run(["git", "ls-files", "common", "entrypoint", "trainer"], cwd=TOP,
                         capture_output=True, text=True, check=False)
if tracked.returncode != 0:
    print("skipped: not a git work tree")
    sys.exit(77)
found = [f"{path}: {finding}" for path in tracked.stdout.split("\n")
         if path.endswith((".c", ".h", ".cu", ".cuh", ".def")) and (TOP / path).is_file()
         for finding in findings(path)]
print("\n".join(found))
sys.exit(1 if found else 0)
