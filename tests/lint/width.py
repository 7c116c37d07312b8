"""Lines are at most 100 columns wide. A line may be wider where one word or one string alone is 70
columns or more, which nothing can break. Tables, addresses and generated data are left out."""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
COLUMNS, UNBREAKABLE = 100, 70
# Markdown has rules of its own (tests/docs/form.py).
LEFT_OUT = re.compile(
    r"^(LICENSE|.*\.(md|json|lock|svg|png|jpe?g)|tests/golden/.*(?<!\.py)|tests/fuzz/corpus/.*"
    r"|tests/mutation/.*\.txt)$")
WORD = re.compile(r"""[^\s"']*(?:"(?:\\.|[^"\\])*"|'[^']*')|\S+""")


def lines(path):
    """Yields the lines of PATH; a file that is not text has none."""
    try:
        return (TOP / path).read_text(encoding="utf-8").split("\n")
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return []


def wide(path):
    """Yields the numbers of lines of PATH that are too wide."""
    for number, line in enumerate(lines(path), 1):
        if len(line) > COLUMNS and max(map(len, WORD.findall(line))) < UNBREAKABLE:
            yield number


tracked = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True, check=False)
if tracked.returncode != 0:
    print("skipped: not a git work tree")
    sys.exit(77)
found = [f"{path}:{number}: more than {COLUMNS} columns"
         for path in tracked.stdout.split("\n") if path and not LEFT_OUT.match(path)
         for number in wide(path)]
print("\n".join(found))
sys.exit(1 if found else 0)
