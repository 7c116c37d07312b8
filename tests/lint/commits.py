"""Checks what a change adds to the history.

Usage: commits.py BASE..HEAD   each commit of a change, as in .github/workflows/ci.yml
       commits.py FILE         the message of one commit, as the commit-msg hook of pre-commit

A subject is `area: imperative`, at most 72 columns. A change of files in BEHAVIOUR has a line in
CHANGELOG.md; a commit without an effect that users can see says so with the trailer
`No-changelog: REASON`."""
import pathlib
import re
import subprocess
import sys

COLUMNS = 72
BEHAVIOUR = ("entrypoint/", "trainer/", "docker/")
CHANGELOG = "CHANGELOG.md"
SUBJECT = re.compile(r"[a-z0-9_.-][a-z0-9_/., -]*: (\S+)")
# Git's own subjects. Those of fixups are for commits that a rebase joins with others.
FOREIGN = re.compile(r"(Merge|Revert) ")
JOINED = re.compile(r"(fixup|squash|amend)! ")
INDICATIVE = re.compile(
    r"(add|allow|change|check|correct|document|fix|improve|introduce|make|mend|move|refactor"
    r"|rename|remove|replace|support|test|update|use|write)(s|es|d|ed|ing)", re.I)
REASON = re.compile(r"^No-changelog: *\S", re.M)


def faults(subject):
    """Yields what is wrong with SUBJECT."""
    if FOREIGN.match(subject):
        return
    form = SUBJECT.match(subject)
    if not form:
        yield "no area; write `area: imperative`, such as `wire: refuse frames without a kind`"
    elif INDICATIVE.fullmatch(form.group(1)):
        yield f'"{form.group(1)}" is no imperative; say what the commit is to do, such as "add"'
    if len(subject) > COLUMNS:
        yield f"{len(subject)} columns, at most {COLUMNS}; move the rest to the body"
    if subject.endswith("."):
        yield "a full stop at the end; leave it out"


def git(*words):
    """Returns what git prints; what it refuses ends the program."""
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def check(commits):
    """Yields what is wrong with the range COMMITS."""
    silent = []
    for commit in git("rev-list", "--reverse", "--no-merges", commits).split():
        message = git("log", "-1", "--format=%B", commit)
        subject = message.split("\n")[0]
        if JOINED.match(subject):
            yield f"{commit[:8]} {subject}: to be joined with its commit; run git rebase --autosquash"
            continue
        yield from (f"{commit[:8]} {subject}: {fault}" for fault in faults(subject))
        paths = git("show", "--format=", "--name-only", commit).split("\n")
        if any(path.startswith(BEHAVIOUR) for path in paths) and not REASON.search(message):
            silent.append(f"{commit[:8]} {subject}")
    base, _, head = commits.partition("..")
    changed = git("diff", "--name-only", f"{base}...{head or 'HEAD'}").split("\n")
    if silent and CHANGELOG not in changed:
        yield (f"{CHANGELOG}: no line about {len(silent)} commits in {', '.join(BEHAVIOUR)}: "
               f"{'; '.join(silent)}; add one, or the trailer `No-changelog: REASON` to each commit "
               "without an effect that users can see")


if len(sys.argv) != 2:
    sys.exit(__doc__)
if ".." in sys.argv[1] and not pathlib.Path(sys.argv[1]).is_file():
    found = list(check(sys.argv[1]))
else:
    first = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").split("\n")[0]
    found = [] if JOINED.match(first) else [f"{first}: {fault}" for fault in faults(first)]
print("\n".join(found))
sys.exit(1 if found else 0)
