"""Reads Markdown pages for the tests of this folder.

A page is a list of blocks. Tables, fenced code, headings and the output of docs/generate.sh are
distinguished from paragraphs and items of lists, as the rules of language only hold for those.
"""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
         ".github/CODE_OF_CONDUCT.md", ".github/SUPPORT.md")


class Block:
    def __init__(self, kind, line, text, info=""):
        self.kind, self.line, self.text, self.info = kind, line, text, info


class Page:
    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(TOP))
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.split("\n")
        self.generated = set()
        self.blocks = list(self._blocks())

    def _blocks(self):
        fence, inside, start, held, kind = None, False, 0, [], ""

        def take():
            nonlocal held
            block = Block(kind, start, "\n".join(held)) if held else None
            held = []
            return block

        for number, line in enumerate(self.lines, 1):
            if re.match(r"<!-- (begin|end) ", line):
                inside = line.startswith("<!-- begin ")
            if inside:
                self.generated.add(number)
            opening = re.match(r"\s*```(.*)", line)
            if fence is not None:
                if opening and not opening.group(1).strip():
                    yield Block("code", fence[0], "\n".join(fence[2]), fence[1])
                    fence = None
                else:
                    fence[2].append(line)
                continue
            if opening:
                if block := take():
                    yield block
                fence = (number, opening.group(1).strip(), [])
                continue
            now = self._kind(line, held, kind)
            if now != kind or now in ("heading", "item", "") or not held:
                if block := take():
                    yield block
            if now == "":
                kind = ""
                continue
            if now == "item" or not held:
                start = number
            kind = "text" if now == "item" else now
            held.append(line)
        if block := take():
            yield block

    @staticmethod
    def _kind(line, held, before):
        if not line.strip():
            return ""
        if line.startswith("#"):
            return "heading"
        if line.startswith("|"):
            return "table"
        if line.startswith("<!--"):
            return "comment"
        if re.match(r"\s*([-*]|\d+\.)\s", line):
            return "item"
        if line.startswith("    ") and not (held and before == "text"):
            return "code"
        return "text"

    def prose(self):
        """Yields paragraphs and items that people wrote, with code spans replaced by `x`."""
        for block in self.blocks:
            if block.kind == "text" and block.line not in self.generated:
                text = re.sub(r"^\s*([-*]|\d+\.)\s+", "", block.text)
                text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"\s+", " ", text))
                yield block.line, re.sub(r"[\[\]*]", "", re.sub(r"`[^`]*`", "`x`", text))

    def mark(self, block):
        """Returns the words of the comment on the line before BLOCK, or an empty string."""
        comment = re.fullmatch(r"\s*<!-- (.*) -->", self.lines[block.line - 2])
        return comment.group(1) if comment and block.line > 1 else ""

    def headings(self):
        return [block.text for block in self.blocks if block.kind == "heading"]

    def anchors(self):
        seen = {}
        for heading in self.headings():
            text = re.sub(r"`", "", heading.lstrip("#").strip().lower())
            name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = seen.get(name, 0)
            seen[name] = count + 1
            yield name if count == 0 else f"{name}-{count}"

    def links(self):
        fence = False
        for number, line in enumerate(self.lines, 1):
            if line.strip().startswith("```"):
                fence = not fence
            if not fence:
                for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                    yield number, target


def pages():
    paths = [TOP / name for name in ROOTS]
    paths += sorted((TOP / "docs").rglob("*.md")) + sorted((TOP / "examples").rglob("*.md"))
    return [Page(path) for path in paths]


def git(*words):
    done = subprocess.run(["git", "-C", str(TOP), *words], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"skipped: not a git work tree: {done.stderr.strip()[:80]}")
        sys.exit(77)
    return done.stdout


class Findings:
    def __init__(self):
        self.count = 0

    def say(self, page, line, text):
        print(f"{page.name if isinstance(page, Page) else page}:{line}: {text}")
        self.count += 1

    def finish(self):
        if self.count:
            print(f"{self.count} findings")
        sys.exit(1 if self.count else 0)
