"""Checks the files for editors and services: they are YAML, the scripts that hooks, jobs and
containers run exist, and the Makefile's help lists its targets."""
import json
import re
import subprocess
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

TOP = Path(__file__).resolve().parents[2]
found = []


def say(path, text):
    found.append(f"{path}: {text}")


def read(path):
    try:
        return (TOP / path).read_text()
    except OSError as error:
        say(path, error.strerror)
        return ""


def check_scripts(path):
    """Checks that `sh SCRIPT` and `python3 SCRIPT` in PATH run files of the tree."""
    scripts = re.findall(r"\b(?:sh|python3) ((?:\.?[\w-]+/)+[\w.-]+)", read(path))
    if not scripts:
        say(path, "runs no script of the tree")
    for script in scripts:
        if not (TOP / script).is_file():
            say(path, f"{script} is not there")


workflows = sorted(str(p.relative_to(TOP)) for p in TOP.glob(".github/workflows/*.yml"))
for path in [".pre-commit-config.yaml", ".devcontainer/devcontainer.json",
             ".devcontainer/Dockerfile", "Makefile", *workflows]:
    if path.endswith("Dockerfile"):
        for source in re.findall(r"^COPY (\S+) ", read(path), re.M):
            if not (TOP / source).exists():
                say(path, f"{source} is not there")
    else:
        check_scripts(path)

for path in [".pre-commit-config.yaml", *workflows] if yaml else []:
    try:
        yaml.safe_load(read(path))
    except yaml.YAMLError as error:
        say(path, f"no YAML: {error}")

try:
    container = json.loads(read(".devcontainer/devcontainer.json"))
    if not (TOP / ".devcontainer" / container["build"]["dockerfile"]).is_file():
        say(".devcontainer/devcontainer.json", "its Dockerfile is not there")
except (ValueError, KeyError) as error:
    say(".devcontainer/devcontainer.json", repr(error))

makefile = read("Makefile")
names = set(re.findall(r"^([a-z]+):", makefile, re.M))
listed = subprocess.run(["make", "-s", "-C", str(TOP), "help"], capture_output=True, text=True,
                        check=False).stdout
for name in sorted(names):
    if not re.search(rf"^make {name} +\S", listed, re.M):
        say("Makefile", f"help does not list {name}")
    if subprocess.run(["make", "-n", "-C", str(TOP), name, "T=x"], capture_output=True,
                      check=False).returncode != 0:
        say("Makefile", f"make -n {name} fails")

print("\n".join(found))
sys.exit(1 if found else 0)
