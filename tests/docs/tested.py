"""Checks docs/tested.md: each row of the first table says since when which tests hold its claim.
Each of these tests is a file of the repository, in the folder of the one before if it names
none."""
import datetime
import re
from pages import Findings, TOP, Page

COLUMNS = ["claim", "where", "by", "since", "machine"]
page = Page(TOP / "docs/tested.md")
found = Findings()


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def check(line, row):
    claim, where, by, since, _ = row
    for name, cell in (("claim", claim), ("where", where)):
        if not cell:
            found.say(page, line, f"no {name}")
    tests = re.findall(r"`([^`]+)`", by)
    if not tests:
        found.say(page, line, f"{claim}: no test; what none shows belongs to Not tested")
    folder = ""
    for test in tests:
        if "/" in test:
            folder, test = test.rsplit("/", 1)
        if not re.match(r"(tests|bench)(/|$)", folder) or not (TOP / folder / test).is_file():
            found.say(page, line, f"{claim}: there is no test {folder}/{test}")
    try:
        if datetime.date.fromisoformat(since[:10]) > datetime.date.today():
            found.say(page, line, f"{since} is in the future")
    except ValueError:
        found.say(page, line, f'since "{since}": expected is a day, as in 2026-11-21')


tables = [block for block in page.blocks if block.kind == "table"]
rows = [cells(row) for row in tables[0].text.split("\n")] if tables else [[]]
if rows[0] != COLUMNS or len(rows) < 20:
    found.say(page, 1, f"the first table has {len(rows)} rows of {rows[0]}; expected are at least "
                       f"20 of {COLUMNS}")
else:
    for number, row in enumerate(rows[2:], tables[0].line + 2):
        if len(row) == len(COLUMNS):
            check(number, row)
        else:
            found.say(page, number, f"{len(row)} cells, expected are {len(COLUMNS)}")
found.finish()
