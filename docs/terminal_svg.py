"""Runs a command on a terminal and writes what the terminal shows as an SVG.

    python3 docs/terminal_svg.py OUT.svg TITLE PATTERN COMMAND...

The picture is of the first moment at which a line of the screen matches PATTERN; the command then
runs to its end, and a command that fails, or never shows such a line, makes no picture. Only what
our programs write is understood: colours, carriage return, and clearing to the end of a line.
"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import sys
import termios
from xml.sax.saxutils import escape

COLUMNS, ROWS = 100, 24
CELL, LINE, EDGE = 8.4, 18, 14  # pixels: a character of 14 px, a line, the margin
BAR = 28
COLOURS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 36: "#76e3ea"}
TEXT, DIM, BACK, HEAD = "#e6edf3", "#8b949e", "#0d1117", "#21262d"


class Screen:
    """Lines of (character, colour, bold) cells; the last line has the cursor."""

    def __init__(self):
        self.lines, self.column, self.colour, self.bold, self.left = [[]], 0, TEXT, False, ""

    def feed(self, text):
        """Takes output; a control sequence that TEXT cuts is kept for the next call."""
        text = self.left + text
        cut = re.search(r"\x1b(\[[0-9;]*)?$", text)
        self.left = cut.group(0) if cut else ""
        text = text[:len(text) - len(self.left)]
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.", text, re.S):
            if part == "\n":
                self.lines.append([])
            elif part == "\r":
                self.column = 0
            elif part == "\x1b[K":
                del self.lines[-1][self.column:]
            elif part.startswith("\x1b["):
                self.paint(part)
            else:
                line = self.lines[-1]
                line += [(" ", TEXT, False)] * (self.column + 1 - len(line))
                line[self.column] = (part, self.colour, self.bold)
                self.column += 1

    def paint(self, sequence):
        if not sequence.endswith("m"):
            sys.exit(f"terminal_svg.py: unknown control sequence {sequence!r}")
        for code in map(int, sequence[2:-1].split(";")):
            if code == 0:
                self.colour, self.bold = TEXT, False
            elif code == 1:
                self.bold = True
            else:
                self.colour = DIM if code == 2 else COLOURS[code]

    def rows(self):
        """Returns the lines that a terminal of ROWS lines shows."""
        return self.lines[-ROWS:]


def text_of(line):
    return "".join(character for character, _, _ in line)


def blanks(text):
    """Returns TEXT for SVG, with blanks that no renderer joins or drops. Chromium, for one, does
    not heed xml:space of the group around a text."""
    return escape(text).replace(" ", "\u00a0")


def svg(rows, title):
    """Returns the picture: a text per row, a span per run of cells that look the same."""
    width = round(COLUMNS * CELL + 2 * EDGE)
    height = BAR + ROWS * LINE + 2 * EDGE
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
           f' viewBox="0 0 {width} {height}" role="img">',
           f"<title>{escape(title)}</title>",
           f'<rect width="{width}" height="{height}" rx="8" fill="{BACK}"/>',
           f'<path d="M0 8a8 8 0 0 1 8-8h{width - 16}a8 8 0 0 1 8 8v{BAR - 8}H0z" fill="{HEAD}"/>',
           f'<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="14"'
           f' fill="{TEXT}">',
           f'<text x="{EDGE}" y="19" fill="{DIM}">{escape(title)}</text>']
    for number, row in enumerate(rows):
        spans, start = [], 0
        for end in range(1, len(row) + 1):
            if end < len(row) and row[end][1:] == row[start][1:]:
                continue
            text, (_, colour, bold) = text_of(row[start:end]), row[start]
            # A text's length is set, so that columns align in any font.
            if text.strip():
                look = ("" if colour == TEXT else f' fill="{colour}"') + \
                    (' font-weight="bold"' if bold else "")
                spans.append(f'<tspan x="{EDGE + start * CELL:.1f}"'
                             f' textLength="{len(text) * CELL:.1f}"{look}>{blanks(text)}</tspan>')
            start = end
        if spans:
            y = BAR + EDGE + number * LINE + 13
            out.append(f'<text y="{y}">{"".join(spans)}</text>')
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    path, title, pattern, *command = sys.argv[1:]
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    screen, shown = Screen(), None
    while True:
        try:
            output = os.read(terminal, 4096)
        except OSError:  # how Linux tells the end of a terminal's last process
            break
        if not output:
            break
        # One control character at a time, as a line of progress is only there for a moment.
        for piece in re.split(r"(?=\r)", output.decode("utf-8", "replace")):
            screen.feed(piece)
            if shown is None and re.search(pattern, text_of(screen.lines[-1])):
                shown = [list(row) for row in screen.rows()]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0 or shown is None:
        print("\n".join(map(text_of, screen.rows())))
        sys.exit(f"terminal_svg.py: exit code {status}, expected 0 and a line like {pattern}")
    pathlib.Path(path).write_text(svg(shown, title), encoding="utf-8")


if __name__ == "__main__":
    main()
