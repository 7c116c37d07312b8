"""The copy of the working tree in which mutants are built, and the tests that run there."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time

CACHE = pathlib.Path(".cache/mutate").absolute()
TREE = CACHE / "tree"
BUILD = TREE / "build" / "mutate"
BOX = pathlib.Path("tests/mutation/box.sh").absolute()
# A test with a mutant may take so much longer than without (under load, too).
TIMES_MAX = 4
SECONDS_MORE = 10
FIRST_SECONDS_MAX = 300
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def synchronize():
    """The copy becomes what the working tree is; what is the same keeps its time of change."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True).stdout.decode().split("\0")
    wanted = {name for name in listed if name and os.path.isfile(name)}
    for name in wanted:
        source, copy = pathlib.Path(name), TREE / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    for folder, folders, files in os.walk(TREE):
        if pathlib.Path(folder) == TREE and "build" in folders:
            folders.remove("build")
        for name in files:
            path = pathlib.Path(folder) / name
            if str(path.relative_to(TREE)) not in wanted:
                path.unlink()


def configure():
    """Raises where CMake fails."""
    env = dict(os.environ)
    onednn = pathlib.Path(".cache/onednn").absolute()
    if onednn.is_dir():
        env.setdefault("ONEDNN_ROOT", str(onednn))
    subprocess.run(["cmake", "--preset", "release", "-B", str(BUILD)], cwd=TREE, env=env, check=True,
                   stdout=subprocess.DEVNULL)


def build(targets, jobs):
    """Whether they build; only what is older than its sources is made."""
    command = ["cmake", "--build", str(BUILD), "--parallel", str(jobs), "--target", *sorted(targets)]
    return subprocess.run(command, **QUIET).returncode == 0


class Compiler:
    """Compiles a source as the build does, but to an object that is only looked at."""

    def __init__(self):
        self.commands = {}
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            if "-o" in words and entry["file"].startswith(str(TREE)):
                self.commands.setdefault(os.path.relpath(entry["file"], TREE), []).append(words)

    def code(self, name):
        """Machine code of each object that a source is compiled to, without what debuggers want;
        None where it does not compile."""
        codes = []
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "object.o")
            for words in self.commands[name]:
                words = list(words)
                words[words.index("-o") + 1] = made
                if subprocess.run(words, cwd=BUILD, **QUIET).returncode != 0:
                    return None
                subprocess.run(["objcopy", "--strip-debug", made], check=True)
                codes.append(pathlib.Path(made).read_bytes())
        return codes


class Test:
    """One test of the build: how it is run, where its source lies, what has to be built for it."""

    def __init__(self, name, command, environment, source, targets):
        self.name = name
        self.command = command
        self.environment = environment
        self.source = source  # "" of a script
        self.targets = targets
        self.seconds = None   # with the sources as they are; None where it does not pass
        self.text = (TREE / source).read_text() if source else ""

    def run(self, limit, stop=None):
        """"passed", "skipped", "failed", "late", or "left" where STOP was set meanwhile."""
        begun = time.monotonic()
        process = subprocess.Popen(["sh", str(BOX), *self.command], cwd=BUILD,
                                   env={**os.environ, **self.environment}, **QUIET)
        try:
            while True:
                try:
                    code = process.wait(0.2 if stop else limit)
                    break
                except subprocess.TimeoutExpired:
                    if stop and stop.is_set():
                        return "left"
                    if time.monotonic() - begun > limit:
                        return "late"
        finally:
            # With it goes whatever else runs in the box.
            process.kill()
            process.wait()
        return {0: "passed", 77: "skipped"}.get(code, "failed")

    def time_it(self):
        begun = time.monotonic()
        if self.run(FIRST_SECONDS_MAX) == "passed":
            self.seconds = time.monotonic() - begun

    def limit(self):
        return TIMES_MAX * self.seconds + SECONDS_MORE


def all_tests():
    """Every test of the build by its name."""
    sources = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        name = os.path.relpath(entry["file"], TREE)
        words = shlex.split(entry["command"])
        if name.startswith("tests/") and "-o" in words:
            for part in words[words.index("-o") + 1].split("/"):
                if part.endswith(".dir"):
                    sources.setdefault(part[:-4], name)
    shown = subprocess.run(["ctest", "--test-dir", str(BUILD), "--show-only=json-v1"], check=True,
                           capture_output=True).stdout
    # ctest keeps the command of a test to itself while its program is not built.
    written = (BUILD / "CTestTestfile.cmake").read_text()
    commands = {name: shlex.split(words) for name, words in
                re.findall(r"^add_test\((?:\[=\[)?(\w+)(?:\]=\])? (.*)\)$", written, re.MULTILINE)}
    tests = {}
    for test in json.loads(shown)["tests"]:
        properties = {one["name"]: one["value"] for one in test["properties"]}
        command = commands[test["name"]]
        program = os.path.basename(command[0])
        targets = [program] if program in sources else ["ringtrain", "weights_compare"]
        environment = dict(one.split("=", 1) for one in properties.get("ENVIRONMENT", []))
        tests[test["name"]] = Test(test["name"], command, environment, sources.get(program, ""), targets)
    return tests


def first_to_fail(tests, jobs):
    """Runs tests, JOBS at a time, until one does not pass: that one and how; else (None, "passed")."""
    stop = threading.Event()

    def one(test):
        return "left" if stop.is_set() else test.run(test.limit(), stop)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(one, test): test for test in tests}
        try:
            for done in concurrent.futures.as_completed(runs):
                if done.result() in ("failed", "late"):
                    stop.set()
                    return runs[done].name, done.result()
        finally:
            stop.set()
    return None, "passed"
