"""Checks that links between pages lead to a page, and to a heading where they name one, and that
paths in backticks that begin with a folder of this repository exist.

Usage: links.py [--http]: with --http, links to other sites are tried, too."""
import re
import sys
import http_links
from pages import Findings, TOP, git, pages

found = Findings()
everything = pages()
anchors = {page.path: set(page.anchors()) for page in everything}
tracked = set(git("ls-files", "--cached", "--others", "--exclude-standard").split("\n"))
folders = {name.split("/")[0] for name in tracked if "/" in name}
inner = {"/".join(name.split("/")[i:]) for name in tracked for i in range(name.count("/") + 1)}
outside = {}  # address: the pages and lines that link to it

for page in everything:
    for line, target in page.links():
        if re.match(r"(https?|mailto):", target):
            if target.startswith("http"):
                outside.setdefault(target, []).append((page, line))
            continue
        path, _, anchor = target.partition("#")
        goal = (page.path.parent / path).resolve() if path else page.path
        if not goal.exists():
            found.say(page, line, f"{target} leads nowhere")
        elif anchor and anchor not in anchors.get(goal, ()):
            found.say(page, line, f"{target}: {path or page.name} has no such heading")
    fence = False
    for line, text in enumerate(page.lines, 1):
        fence ^= text.strip().startswith("```")
        for path in [] if fence else re.findall(
                r"`([\w./-]+/[\w.-]+\.(?:c|h|sh|py|cu|cuh|def|hpp|json|yaml|yml|txt|cmake))`",
                text):
            top = path.split("/")[0]
            if "NAME" in path or top in ("build", "opt", "output", "config") or \
                    path.startswith("/"):
                continue
            if not ((TOP / path).exists() if top in folders else path in inner):
                found.say(page, line, f"`{path}` is not there")
if "--http" in sys.argv[1:]:
    print(f"{len(outside)} addresses of other sites")
    for target, fault in http_links.dead(sorted(outside)).items():
        for page, line in outside[target]:
            found.say(page, line, f"{target}: {fault}")
found.finish()
