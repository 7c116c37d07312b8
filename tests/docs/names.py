"""Checks that names in the pages exist, and that what exists is in a page: variables, flags,
metrics, SageMaker's hyperparameters and scripts of bench/. Files of the repository and tests that
pages name must exist.

Usage: names.py BIN, the folder of the programs."""
import fnmatch
import pathlib
import re
import subprocess
import sys
from pages import Findings, TOP, git, pages

binaries = pathlib.Path(sys.argv[1])
found = Findings()
for needed in ("ringmaster", "ringtrain"):
    if not (binaries / needed).exists():
        sys.exit(f"{binaries / needed} is not built: cmake --build {binaries.parent}")


def table(program, name):
    return subprocess.run([binaries / program, "docs", name], check=True, capture_output=True,
                          text=True).stdout


def help_of(*words):
    return subprocess.run([binaries / "ringtrain", *words, "--help"], check=True,
                          capture_output=True, text=True).stdout


FLAG = r"(?<![\w-])--([a-z][a-z0-9-]*)"
variables = set(re.findall(r"`(RINGMASTER_\w+|SAGEMAKER_BASE_DIR)`",
                           table("ringmaster", "variables")))
# Variables that are no settings of a job: those set for child processes (INNER), and those that
# scripts and the build read (scripts).
INNER = {"RINGMASTER_ATTEMPT", "RINGMASTER_RUN_ID", "RINGMASTER_PROGRESS", "RINGMASTER_SOCKET"}
source = git("grep", "-hoE", "RINGMASTER_[A-Z0-9_]+", "--", "docker", "tests", "bench", "cmake",
             "Dockerfile", "CMakeLists.txt", "trainer/room.cmake", "trainer/backend",
             "entrypoint/room.cmake")
scripts = set(source.split()) - variables
flags = set()
for command in ("train", "eval", "predict", "serve"):
    flags |= set(re.findall(FLAG, table("ringtrain", command)))
for command in ("inspect", "prepare", "draw", "report", "scaling", "trials", "export", "eval"):
    flags |= set(re.findall(FLAG, help_of(command)))
flags |= set(re.findall(FLAG, table("ringmaster", "commands")))
# Flags of other programs; the file groups them by program.
FOREIGN = set(re.sub(r"(?m)^#.*", "", (TOP / "tests/docs/foreign_flags.txt").read_text()).split())

# Flags of each command, for command lines in shell blocks. A bare `train` is the one of ringtrain.
of = {command: set(re.findall(FLAG, table("ringtrain", command)))
      for command in ("train", "eval", "predict", "serve")}
of["eval"] |= set(re.findall(FLAG, help_of("eval")))
of["train"].add("once-per-host")
of |= {command: set(re.findall(FLAG, help_of(command)))
       for command in ("inspect", "prepare", "draw", "report", "scaling", "trials", "export")}
lines = 0
for page in pages():
    for block in page.blocks:
        if block.kind != "code" or block.info != "sh":
            continue
        for line in re.sub(r"\\\n\s*", " ", block.text).split("\n"):
            words = re.sub(r"\s#.*", "", line)
            match = re.search(
                r"(?:^|\s)(?:ringtrain (\w+)|(?:IMAGE|ringmaster\S*|my-image|exec|plan) (train))"
                r"(\s.*|$)", words)
            if match and not words.startswith("cmake"):
                lines += 1
                command = match.group(1) or match.group(2)
                for name in (set(re.findall(FLAG, match.group(3).split(" -- ")[0]))
                             - of.get(command, set())):
                    found.say(page, block.line,
                              f"{command} has no flag --{name}: {line.strip()[:60]}")
if lines < 20:
    found.say("docs", 0, f"{lines} command lines: they are not found any more")

text, told, mentioned = "", "", set()
for page in pages():
    for line, words in enumerate(page.lines, 1):
        for name in re.findall(r"RINGMASTER_[A-Z0-9_]*[A-Z0-9]", words):
            channel = re.match(r"RINGMASTER_CHANNEL(_|$)", name)
            if name not in variables | INNER | scripts and not channel:
                found.say(page, line, f"there is no variable {name}")
        for name in [] if line in page.generated else re.findall(FLAG, words):
            mentioned.add(name)
            if name not in flags and name not in FOREIGN:
                found.say(page, line,
                          f"--{name} is no flag of ours, nor in tests/docs/foreign_flags.txt")
    text += page.text
    told += "\n".join(words for line, words in enumerate(page.lines, 1)
                      if line not in page.generated)
for name in sorted(FOREIGN - mentioned):
    found.say("tests/docs/foreign_flags.txt", 0, f"--{name} is in no page")

# A generated table says what a variable is; a hand-written page says what it is for.
for name in sorted(variables):
    name = re.sub("(?<=_CHANNEL_)NAME$", "", name)
    if not re.search(rf"{name}(?!\w)" if not name.endswith("_") else name, told):
        found.say("docs", 0,
                  f"{name} stands in generated tables alone: mention it in the guide of its task")
for name in sorted(flags):
    if not re.search(rf"--{name}(?![\w-])", text):
        found.say("docs", 0, f"--{name} stands in no page")

# Each entry of the glossary is used in another page.
glossary = TOP / "docs/glossary.md"
others = "\n".join(page.text for page in pages() if page.path != glossary).lower()
for line, words in enumerate(glossary.read_text().split("\n"), 1):
    cell = re.match(r"\| ([a-z][a-z -]*?)(?: \(.*\))? \|", words)
    if cell and cell.group(1) not in ("word", "old word", "old type") and \
            not re.search(rf"(?<![a-z]){cell.group(1)}", others):
        found.say("docs/glossary.md", line, f'"{cell.group(1)}" is used in no other page')

# Pages name files and folders of the repository by their path or the end of it, with * as a
# wildcard.
tracked = git("ls-files").split()
tracked += sorted({str(parent) for name in tracked for parent in pathlib.PurePath(name).parents})
# These are the user's own files, and the results of measurements on a GPU.
OTHERS = {"train.py", "setup.py", "bench/results"}
FILE = r"[\w./*-]+\.(?:c|h|def|cu|cuh|hpp|sh|py|cmake)"
FOLDER = (r"(?:common|entrypoint|trainer|tests|bench|docker|cmake|examples|backend|graph|math"
          r"|models|data|app)/[\w./*-]+")


def exists(name):
    return any(fnmatch.fnmatchcase(path, name) or fnmatch.fnmatchcase(path, f"*/{name}")
               for path in tracked)


# Every script that measures has its row; those with a name in _env and priority.sh are sourced.
page = (TOP / "docs/contributing/benchmarks.md").read_text()
for name in git("ls-files", "bench/*.sh").split():
    if not re.search(r"_env\.sh$|/priority\.sh$", name) and f"| `{name}` |" not in page:
        found.say("docs/contributing/benchmarks.md", 0, f"{name} has no row")

# Each alternative in an argument of -R chooses a test of CTest.
listed = subprocess.run(["ctest", "--test-dir", binaries.parent, "-N"], capture_output=True,
                        text=True).stdout
tests = re.findall(r"Test +#\d+: (\S+)", listed)
for page in pages():
    if page.name == "CHANGELOG.md":
        continue
    for line, words in enumerate(page.lines, 1):
        for span in re.findall(r"`([^`]+)`", words):
            for word in span.split():
                name = word.rstrip("/")
                if re.fullmatch(f"{FILE}|{FOLDER}", name) and \
                        name not in OTHERS and not exists(name):
                    found.say(page, line, f"there is no file {name}")
        for name in re.findall(r"\bsh ((?:tests|docker|bench|examples|docs)/\S+\.sh)", words):
            if not exists(name):
                found.say(page, line, f"there is no file {name}")
        chosen = re.search(r"ctest .*-R (?:'([^']+)'|(\S+))", words)
        for part in (chosen.group(1) or chosen.group(2)).split("|") if chosen and tests else []:
            if not any(re.search(part, test) for test in tests):
                found.say(page, line, f"ctest has no test {part}")
        for case, script in re.findall(r"CASES=(\w+) .*?sh (tests/\S+\.sh)", words):
            if not re.search(rf"\b{case}\b", (TOP / script).read_text()):
                found.say(page, line, f"{script} has no case {case}")

known = set(re.findall(r'"(sagemaker_[a-z0-9_]+)"',
                       git("grep", "-h", "sagemaker_", "--", "entrypoint/job/*.c")))
page = (TOP / "docs/reference/hyperparameters.md").read_text()
listed = set(re.findall(r"`(sagemaker_[a-z0-9_]+[a-z0-9])`", page))
for name in sorted(known ^ listed):
    found.say("docs/reference/hyperparameters.md", 0,
              f"{name} is in {'the sources' if name in known else 'this page'} alone")

known = set(re.findall(r'"(ringmaster_[a-z_]+)"',
                       git("grep", "-hE", '"ringmaster_[a-z_]+"', "--", "entrypoint/master/*.c",
                           "entrypoint/host/**.c")))
page = (TOP / "docs/reference/metrics.md").read_text()
listed = set(re.findall(r"`(ringmaster_[a-z_]+[a-z])`", page))
for name in sorted(known ^ listed):
    found.say("docs/reference/metrics.md", 0,
              f"{name} is in {'the sources' if name in known else 'this page'} alone")
found.finish()
