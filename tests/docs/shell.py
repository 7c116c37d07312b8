"""Checks that blocks of shell in the pages parse: `sh` by sh, `bash` by bash."""
import subprocess
from pages import Findings, pages

found = Findings()
count = 0
for page in pages():
    for block in page.blocks:
        if block.kind == "code" and block.info in ("sh", "bash"):
            count += 1
            done = subprocess.run([block.info, "-n"], input=block.text, capture_output=True,
                                  text=True)
            if done.returncode != 0:
                found.say(page, block.line, done.stderr.strip())
if count < 20:
    found.say("docs", 0, f"{count} blocks of shell: they are not found any more")
found.finish()
