"""Checks that comments and messages are plain English: words for persons used of things ("who",
"whom", "whose"), words for space used of order ("in front of", "behind") and comments that are a
fragment ("Of the sample.", "Where it lies.") stay below a rate per thousand words. The rates only
ever go down, and are nowhere above 0.2."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
PATTERNS = [
    # Allowed are words about persons, a parameter of that name, and a member of log lines.
    r"(?<!people )(?<!those )(?<!user )(?<!user, )(?<!level, )"
    r"\b(?:[Ww]ho|whom|[Ww]hose|[Ww]hoever)\b(?!\\)",
    r"\b(in front of|behind)\b",
    r"^(Of|Whether|With|By|So|Where) [^.:;]*[.]?$",
]
LIMITS = {  # per thousand words of comments and messages, in the order of PATTERNS
    ("common", "entrypoint"): (0.05, 0.14, 0.02),
    ("trainer",): (0.05, 0.03, 0.03),
    ("tests", "bench", "docker", "examples", "cmake", ".ci"): (0.2, 0.19, 0.2),
}
STRINGS_OF = ("common", "entrypoint", "trainer")
TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


SCRIPT_COMMENT = re.compile(r"(?:^[ \t]*#(?!!)[^\n]*\n)+", re.M)


def comments(path):
    """Yields line and words of each comment of PATH, and of each string of the product's sources."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in (".c", ".h", ".cu", ".cuh", ".def"):
        pattern, edge = TEXT, r"\s*\n\s*\*?\s*"
        strings = path.relative_to(TOP).parts[0] in STRINGS_OF
    else:
        pattern, edge, strings = SCRIPT_COMMENT, r"\s*\n\s*#?\s*", False
    for match in pattern.finditer(source):
        if strings or not match.group(0).startswith('"'):
            text = re.sub(edge, " ", match.group(0).strip('"/*# \t\n'))
            yield source.count("\n", 0, match.start()) + 1, text


def texts(folders):
    """Yields the place and the words of each comment and string in FOLDERS."""
    for folder in folders:
        for path in sorted((TOP / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cu", ".cuh", ".def", ".sh", ".py", ".cmake"):
                for line, text in comments(path):
                    yield f"{path.relative_to(TOP)}:{line}", text


def check(folders, limits):
    """Prints the rates of FOLDERS; returns how many are above their limit."""
    words, failed = 0, 0
    hits = {pattern: [] for pattern in PATTERNS}
    for place, text in texts(folders):
        words += len(text.split())
        for pattern in PATTERNS:
            hits[pattern] += [f"{place}: {text[:90]}"] * len(re.findall(pattern, text))
    for pattern, limit in zip(PATTERNS, limits):
        rate = 1000 * len(hits[pattern]) / words
        print(f"{' '.join(folders)}: {rate:.2f} of {limit} per thousand words: {pattern}")
        if rate > limit or "-v" in sys.argv:
            failed += rate > limit
            print("\n".join(hits[pattern]))
    return failed


sys.exit(1 if sum(check(folders, limits) for folders, limits in LIMITS.items()) else 0)
