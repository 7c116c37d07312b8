"""The copy of the working tree in which mutants are built, and the tests that run there."""

import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import tempfile
import threading
import time

CACHE = pathlib.Path(".cache/mutate").absolute()
TREE = CACHE / "tree"
BUILD = TREE / "build" / "mutate"
SANITIZED = TREE / "build" / "sanitized"
CODES = CACHE / "codes.json"
BOX = TREE / "tests" / "mutation" / "box.sh"  # the copy's: the working tree may change meanwhile
# A test with a mutant may take so much longer than without: by the clock, with the machine's load in mind,
# and of the processor's time, each process of it.
TIMES_MAX = 4
SECONDS_MORE = 10
CPU_SECONDS_MORE = 1
FIRST_SECONDS_MAX = 300
MEMORY_MAX = "34359738368"  # bytes of addresses
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
    # Without what debuggers want: that takes longer than all else.
    for preset, folder, flags in (("release", BUILD, "RELWITHDEBINFO=-O2 -DNDEBUG"), ("asan", SANITIZED, "DEBUG=-O0")):
        subprocess.run(["cmake", "--preset", preset, "-B", str(folder), "-G", "Ninja", f"-DCMAKE_C_FLAGS_{flags}"],
                       cwd=TREE, env=env, check=True, stdout=subprocess.DEVNULL)


def build(targets, jobs, folder=BUILD):
    """Whether they build; only what is older than its sources is made."""
    command = ["cmake", "--build", str(folder), "--parallel", str(jobs), "--target", *sorted(targets)]
    return subprocess.run(command, **QUIET).returncode == 0


class Compiler:
    """Compiles a source as the build does, but to an object that is only looked at."""

    def __init__(self):
        self.commands = {}
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            if os.path.basename(words[0]) == "ccache":
                words = words[1:]  # what does not compile it does not remember, and that is most
            if "-o" in words and entry["file"].startswith(str(TREE)):
                self.commands.setdefault(os.path.relpath(entry["file"], TREE), []).append(words)
        self.known = json.loads(CODES.read_text()) if CODES.is_file() else {}

    def code(self, name, text):
        """What the machine code of each object that a source with this text is compiled to comes to, without
        what debuggers want; None where it does not compile. Remembered from one run to the next. Threads may
        ask at once: the copy stays as it is."""
        key = hashlib.sha256(f"{self.commands[name]}{text}".encode()).hexdigest()
        if key not in self.known:
            self.known[key] = self.compile(name, text)
        return self.known[key]

    def compile(self, name, text):
        codes = hashlib.sha256()
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "object.o")
            source = os.path.join(folder, os.path.basename(name))
            pathlib.Path(source).write_text(text)
            for words in self.commands[name]:
                words = [source if word == str(TREE / name) else word for word in words]
                words[words.index("-o") + 1] = made
                words += ["-iquote", str((TREE / name).parent)]
                if subprocess.run(words, cwd=BUILD, **QUIET).returncode != 0:
                    return None
                subprocess.run(["objcopy", "--strip-debug", made], check=True)
                codes.update(pathlib.Path(made).read_bytes())
        return codes.hexdigest()

    def remember(self):
        CODES.write_text(json.dumps(self.known))


class Test:
    """One test of the build: how it is run, where its source lies, what has to be built for it."""

    def __init__(self, name, command, environment, source, targets):
        self.name = name
        self.command = command
        self.environment = environment
        self.source = source  # "" of a script
        self.targets = targets
        self.tried = False
        self.seconds = None   # with the sources as they are; None where it does not pass
        self.cpu_seconds = FIRST_SECONDS_MAX
        self.text = (TREE / source).read_text() if source else ""
        self.folder = BUILD
        self.memory = MEMORY_MAX
        self.under_asan = None

    def sanitized(self):
        """The same under AddressSanitizer, which sees what only costs memory, too."""
        if self.under_asan is not None:
            return self.under_asan
        command = [word.replace(str(BUILD), str(SANITIZED)) for word in self.command]
        suppressed = f"suppressions={TREE}/tests/support/lsan.supp:print_suppressions=0"
        environment = {**self.environment, "ASAN_OPTIONS": "detect_leaks=1", "LSAN_OPTIONS": suppressed}
        test = Test(f"{self.name} (asan)", command, environment, self.source, self.targets)
        test.folder, test.memory = SANITIZED, "unlimited"
        self.under_asan = test
        return test

    def run(self, limit, stop=None):
        """"passed", "skipped", "failed", "late", or "left" where STOP was set meanwhile."""
        begun = time.monotonic()
        cpu = str(math.ceil(TIMES_MAX * self.cpu_seconds) + CPU_SECONDS_MORE)
        process = subprocess.Popen(["sh", str(BOX), cpu, self.memory, *self.command], cwd=self.folder,
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
        self.tried = True
        begun, used = time.monotonic(), cpu_of_children()
        if self.run(FIRST_SECONDS_MAX) in ("passed", "skipped"):  # a part of it, mostly
            self.seconds = time.monotonic() - begun
            self.cpu_seconds = cpu_of_children() - used

    def limit(self):
        return TIMES_MAX * self.seconds + SECONDS_MORE


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
        """What is late by the clock alone may have had no processor: it gets more time once."""
        how = "left" if stop.is_set() else test.run(test.limit(), stop)
        return test.run(TIMES_MAX * test.limit(), stop) if how == "late" else how

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
