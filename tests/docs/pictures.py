"""Checks the pictures of docs/pictures/: each is small and shown in a page with words in its place,
and docs/terminal_svg.py draws what a terminal shows."""
import re
import sys
from xml.etree import ElementTree
from pages import Findings, TOP, pages

sys.path.insert(0, str(TOP / "docs"))
sys.dont_write_bytecode = True
import terminal_svg  # noqa: E402, of docs/

BYTES, WORDS = 60 * 1024, 5
found = Findings()

shown = {}
for page in pages():
    for words, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", page.text):
        shown[(page.path.parent / target).resolve()] = words
for picture in sorted((TOP / "docs/pictures").iterdir()):
    name = str(picture.relative_to(TOP))
    if picture.stat().st_size > BYTES:
        found.say(name, 0, f"{picture.stat().st_size} bytes, at most {BYTES}")
    if len(shown.get(picture, "").split()) < WORDS:
        found.say(name, 0, f"is in no page with at least {WORDS} words that tell what it shows")
    if picture.suffix == ".svg":
        ElementTree.parse(picture)

# What is fed, and the lines that a terminal then shows.
CASES = [
    (["one\r\ntwo\r\n"], ["one", "two", ""]),
    (["step 9\r\x1b[Kdone\r\n"], ["done", ""]),
    (["long line\rshort"], ["shortline"]),
    (["\x1b[36m=", ">\x1b[0", "m ]"], ["=> ]"]),
    (["x\r\n" * 40], ["x"] * (terminal_svg.ROWS - 1) + [""]),
]
for pieces, expected in CASES:
    screen = terminal_svg.Screen()
    for piece in pieces:
        screen.feed(piece)
    got = [terminal_svg.text_of(row) for row in screen.rows()]
    if got != expected:
        found.say("docs/terminal_svg.py", 0, f"{pieces} shows {got}, expected {expected}")

screen = terminal_svg.Screen()
screen.feed("\x1b[2m12:00 \x1b[0m<a & b>\x1b[1;31m error")
drawing = ElementTree.fromstring(terminal_svg.svg(screen.rows(), "a & b"))
spans = [(span.text, span.get("fill"), span.get("font-weight"))
         for span in drawing.iter("{http://www.w3.org/2000/svg}tspan")]
# Blanks that no renderer drops.
expected = [("12:00\u00a0", terminal_svg.DIM, None), ("<a\u00a0&\u00a0b>", None, None),
            ("\u00a0error", terminal_svg.COLOURS[31], "bold")]
if spans != expected:
    found.say("docs/terminal_svg.py", 0, f"draws {spans}, expected {expected}")
found.finish()
