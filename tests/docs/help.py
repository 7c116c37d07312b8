"""Checks that every command of both programs has a help in 79 columns, with an example that only
uses flags of the help, and that `ringmaster explain` prints no wider lines. Commands are the rows
of the programs' own lists.

Usage: help.py BIN, the folder of the programs."""
import pathlib
import re
import subprocess
import sys

binaries = pathlib.Path(sys.argv[1])
found = []
FLAG = r"(?<![\w-])--([a-z][a-z0-9-]*)"


def help_of(program, *words):
    done = subprocess.run([binaries / program, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        found.append(f"{program} {' '.join(words)}: ends with {done.returncode}")
    for line in done.stdout.split("\n"):
        if len(line) > 79:
            found.append(f"{program} {' '.join(words)}: {len(line)} columns: {line[:60]}...")
    return done.stdout


def check(program, command):
    text = help_of(program, command, "--help")
    examples = re.search(r"^examples:\n((?:  .*\n)+)", text, re.M | re.I)
    if not examples:
        found.append(f"{program} {command} --help: no example")
        return
    before = text[:examples.start()]
    for line in examples.group(1).splitlines():
        if not re.search(rf"\b{program} {command}\b", line) and command != "completion":
            found.append(f"{program} {command} --help: an example of another command: {line}")
        own = re.search(rf"\b{program} .*", line)
        flags = re.findall(FLAG, own.group(0).split(" -- ")[0]) if own else []
        for flag in flags:
            # Flags of ringmaster's train are ringtrain's.
            if f"--{flag}" not in before + (help_of("ringtrain", "train", "--help")
                                            if program == "ringmaster" else ""):
                found.append(f"{program} {command} --help: an example with an unknown --{flag}")


commands = re.findall(r"^  ([a-z]+)  +\S", help_of("ringtrain", "--help").split("\nexit codes")[0],
                      re.M)
if len(commands) < 8:
    found.append(f"ringtrain --help lists {commands}")
for name in commands:
    check("ringtrain", name)
table = subprocess.run([binaries / "ringmaster", "docs", "variables"], capture_output=True,
                       text=True, check=False).stdout
variables = re.findall(r"^\| `(RINGMASTER_\w+)`", table, re.M)
if len(variables) < 30:
    found.append(f"ringmaster docs variables lists {variables}")
for name in variables:
    if not re.search(rf"^  {name} +\S", help_of("ringmaster", "help"), re.M):
        found.append(f"ringmaster help: no blank between {name} and its meaning")
own = re.findall(r"^  ringmaster ([a-z]+)", help_of("ringmaster", "help"), re.M)
if len(set(own)) < 9:
    found.append(f"ringmaster help lists {own}")
for name in dict.fromkeys(own):
    check("ringmaster", name)
# The explanations are for people as well; all of them, and some by their kinds of name.
for name in ("", "137", "oom", "signal"):
    help_of("ringmaster", "explain", *name.split())
print("\n".join(found))
sys.exit(1 if found else 0)
