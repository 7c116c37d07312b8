"""Checks that no function, struct or file of the product has an old word in its name: a word of the
table "Old words" in docs/glossary.md, alone or between underscores, also in the plural. If the
table names folders, the word is only old in these, as it has another sense elsewhere."""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
GLOSSARY = TOP / "docs/glossary.md"
PRODUCT = ("common", "entrypoint", "trainer")
LEAST = 40  # rows of the table; fewer are a sign that it is not found any more
SKIPPED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
                     re.S | re.M)
TYPE = re.compile(r"^(?:typedef )?(?:struct|union|enum) (\w+) \{", re.M)
# The name before the parameters of a declaration or definition, which begins a line.
FUNCTION = re.compile(r"^(?!(?:typedef|return|else)\b)[A-Za-z_][\w \t*]*?[ *](\w+)\([^;{}]*\)\s*[;{]",
                      re.M)


def old_words():
    """Yields each old word, the word that replaces it and the folders in which it is old."""
    rows = GLOSSARY.read_text(encoding="utf-8").partition("\n## Old words\n")[2].split("\n\n|")[1]
    for cells in re.findall(r"^\| (`[^|]*) \| ([^|]*?) \| ([^|]*?) *\|$", rows, re.M):
        for word in re.findall(r"`(\w+)`", cells[0]):
            yield word, cells[1], tuple(re.findall(r"`([\w/]+)`", cells[2]))


def names(path):
    """Yields the names that the file at PATH declares, and its own."""
    yield path.name
    source = SKIPPED.sub(" ", path.read_text(encoding="utf-8"))
    yield from (f"{match}()" for match in FUNCTION.findall(source))
    yield from (f"struct {match}" for match in TYPE.findall(source))


tracked = subprocess.run(["git", "ls-files", *PRODUCT], cwd=TOP, capture_output=True, text=True,
                         check=False)
if tracked.returncode != 0:
    print("skipped: not a git work tree")
    sys.exit(77)
words = [(re.compile(rf"(?:^|_|\b){word}s?(?:_|\b)"), word, new, folders)
         for word, new, folders in old_words()]
found = set()
for name in tracked.stdout.split("\n"):
    file = TOP / name
    if file.suffix not in (".c", ".h", ".cu", ".cuh", ".def") or not file.is_file():
        continue
    declared = set(names(file))
    for pattern, word, new, folders in words:
        if not folders or name.startswith(folders):
            found |= {f'{name}: {each}: "{word}" is an old word; now: {new}'
                      for each in declared if pattern.search(each)}
if len(words) < LEAST:
    found.add(f"docs/glossary.md: {len(words)} old words, expected are {LEAST} or more")
print("\n".join(sorted(found)))
sys.exit(1 if found else 0)
