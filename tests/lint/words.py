"""Comments and messages of common/ and entrypoint/ are plain English: relative pronouns without a
noun ("who", "whom", "whose"), space words for order ("in front of", "behind") and comments that are
a fragment ("Of the sample.") stay below a rate per thousand words. The rates only ever go down."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
LIMITS = {  # per thousand words of comments and messages
    r"\b(who|whom|whose|whoever)\b": 1.1,
    r"\b(in front of|behind)\b": 0.4,
    r"^(Of|Whether|With|By|So) [^.:;]*[.]?$": 0.1,
}
TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
words, hits = 0, {pattern: [] for pattern in LIMITS}
for folder in ("common", "entrypoint"):
    for path in sorted((TOP / folder).rglob("*.[ch]")):
        source = path.read_text(encoding="utf-8")
        for match in TEXT.finditer(source):
            text = re.sub(r"\s*\n\s*\*?\s*", " ", match.group(0).strip('"/* \n'))
            words += len(text.split())
            line = source.count("\n", 0, match.start()) + 1
            for pattern in LIMITS:
                hits[pattern] += [f"{path.relative_to(TOP)}:{line}: {text[:90]}"] * len(re.findall(pattern, text))
failed = 0
for pattern, limit in LIMITS.items():
    rate = 1000 * len(hits[pattern]) / words
    print(f"{rate:.2f} of {limit} per thousand words: {pattern}")
    if rate > limit or "-v" in sys.argv:
        failed += rate > limit
        print("\n".join(hits[pattern]))
sys.exit(1 if failed else 0)
