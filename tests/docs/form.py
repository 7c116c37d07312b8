"""Checks that pages are readable: lines have at most 100 columns (except tables and addresses),
paragraphs at most 90 words, sentences at most 35; a page has one title, at most 400 lines that are
not generated, and can be reached from docs/index.md. README.md has at most 230 lines and 12 KB.
Words are plain: see WORDS."""
import re
from pages import Findings, TOP, pages

COLUMNS, PARAGRAPH, SENTENCE, LINES = 100, 90, 35, 400
README_LINES, README_BYTES = 230, 12 * 1024
# Forbidden: relative clauses without a noun, words for space instead of order, and fragments.
WORDS = [
    (r"\b([Ww]ho|whom|[Ww]hose|[Ww]hoever)\b", "is for persons: say which process, host or person"),
    (r"\b(in front of|behind)\b", "is for space on a screen: before, after, below"),
    (r"^(Of|Whether|With|By|So|Where) (?!to )[^.:]*$", "is no sentence"),
    (r"^Where (?!to )", "opens no sentence: if, or the noun"),
]
found = Findings()
everything = {page.path: page for page in pages()}


def sentences(text):
    return re.split(r"(?<=[.!?:;])[\")]*\s+", text)


for page in everything.values():
    for line, text in enumerate(page.lines, 1):
        if line in page.generated or text.startswith("|") or re.search(r"https?://", text):
            continue
        if len(text) > COLUMNS:
            found.say(page, line, f"{len(text)} columns, at most {COLUMNS}")
    for line, text in page.prose():
        words = len(text.split())
        if words > PARAGRAPH:
            found.say(page, line, f"a paragraph of {words} words, at most {PARAGRAPH}")
        for sentence in sentences(text):
            if len(sentence.split()) > SENTENCE:
                found.say(page, line, f"a sentence of {len(sentence.split())} words, "
                                      f"at most {SENTENCE}: {sentence[:60]}...")
        for pattern, why in WORDS:
            if match := re.search(pattern, text):
                found.say(page, line, f'"{match.group(0)[:40]}" {why}')
    titles = [heading for heading in page.headings() if heading.startswith("# ")]
    if len(titles) != 1 or not page.lines[0].startswith("# "):
        found.say(page, 1, f"{len(titles)} titles, want one, on the first line")
    written = len(page.lines) - 1 - len(page.generated)
    if written > LINES:
        found.say(page, LINES, f"{written} lines, at most {LINES}")

readme = everything[TOP / "README.md"]
if len(readme.lines) - 1 > README_LINES or len(readme.text.encode()) > README_BYTES:
    found.say(readme, 1, f"{len(readme.lines) - 1} lines, {len(readme.text.encode())} bytes, "
                         f"at most {README_LINES} and {README_BYTES}")

reached, pages_left = set(), [TOP / "docs/index.md"]
while pages_left:
    path = pages_left.pop()
    if path in reached or path not in everything:
        continue
    reached.add(path)
    pages_left += [(path.parent / target.split("#")[0]).resolve()
                   for _, target in everything[path].links()
                   if target.split("#")[0].endswith(".md")]
for path, page in everything.items():
    if path not in reached and TOP / "docs" in path.parents:
        found.say(page, 1, "cannot be reached from docs/index.md")
found.finish()
