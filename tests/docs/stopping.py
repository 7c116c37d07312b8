"""Checks the table of docs/guides/stopping.md: every platform that is known to leave a time to stop
has its row with this time, and what Ringmaster takes of it.

The times come from docs/reference/platforms.md, which is generated from the platform table, and for
SageMaker from its source."""
import re
from pages import Findings, TOP, Page

# Of the time a sixth is left, and at least 2 s; where none is known, it is 120 s.
PART, LEAST, USUAL = 6, 2, 120
found = Findings()


def rows(name, columns):
    """Yields line and cells of the rows of the first table in page NAME that has COLUMNS."""
    page = Page(TOP / name)
    for block in page.blocks:
        lines = block.text.split("\n") if block.kind == "table" else []
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        if cells and set(columns) <= set(cells[0]):
            chosen = [cells[0].index(column) for column in columns]
            yield from ((block.line + number, [row[i] for i in chosen])
                        for number, row in enumerate(cells) if number > 1)
            return
    found.say(page, 0, f"no table with the columns {columns}")


def seconds(text):
    number = re.fullmatch(r"(\d+) s", text)
    return int(number.group(1)) if number else None


known = {name.strip("`"): seconds(time)
         for _, (name, time) in rows("docs/reference/platforms.md", ["platform", "time to stop"])}
known = {name: time for name, time in known.items() if time}
source = (TOP / "entrypoint/job/cluster/platform_sagemaker.c").read_text()
for name, constant in (("sagemaker", "GRACE"), ("sagemaker's-local-mode", "GRACE_LOCAL")):
    value = re.search(rf"\b{constant} = (\d+)", source)
    known[name] = int(value.group(1)) if value else None

table = "docs/guides/stopping.md"
listed = set()
for line, (platforms, gives, takes) in rows(table, ["platform", "what it gives",
                                                    "what Ringmaster takes"]):
    time = seconds(gives) or USUAL
    if seconds(takes) != time - max(time // PART, LEAST):
        found.say(table, line, f"of {time} s Ringmaster takes {time - max(time // PART, LEAST)} s, "
                               f"not {takes}")
    for platform in platforms.split(", "):
        name = platform.lower().replace(" ", "-")
        listed.add(name)
        if known.get(name) != seconds(gives):
            found.say(table, line, f"{platform} gives {known.get(name)} s, not {gives}")
for name in sorted(set(known) - listed):
    found.say(table, 0, f"{name} gives {known[name]} s and has no row")
found.finish()
