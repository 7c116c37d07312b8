"""The copy of the working tree where mutants are built, and the tests that run in it."""

import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time

CACHE = pathlib.Path(".cache/mutate").absolute()
TREE = CACHE / "tree"
BUILD = TREE / "build" / "mutate"
SANITIZED = TREE / "build" / "sanitized"
CODES = CACHE / "codes.json"
OBJECTS = CACHE / "objects"  # object files of this run's mutants
BOX = CACHE / "box"
# How much longer a test may take with a mutant than without: in wall-clock time, and in CPU time of
# each of its processes.
TIMES_MAX = 4
SECONDS_MORE = 10
CPU_SECONDS_MORE = 1
FIRST_SECONDS_MAX = 300
TIMES_BUSY = 2  # a limit below this many times the test's duration without a mutant is raised
RUNS_MAX = 3
MEMORY_MAX = "34359738368"  # bytes of address space
# Neither uses the flags of the build's release or debug types: debug information would take longer
# than everything else.
KINDS = (("release", BUILD, "-O2 -DNDEBUG -D_FORTIFY_SOURCE=2"), ("asan", SANITIZED, "-O0"))
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def synchronize():
    """Makes the copy equal to the working tree; equal files keep their modification time."""
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
    """Configures both builds; raises if CMake or the compiler fails. In a configured folder Ninja
    decides whether CMake has to run again."""
    env = dict(os.environ)
    onednn = pathlib.Path(".cache/onednn").absolute()
    if onednn.is_dir():
        env.setdefault("ONEDNN_ROOT", str(onednn))
    for preset, folder, flags in KINDS:
        command = ["cmake", "--preset", preset, "-B", str(folder), "-G", "Ninja",
                   "-DCMAKE_BUILD_TYPE=Mutant", f"-DCMAKE_C_FLAGS_MUTANT={flags}"]
        done = folder / "configured"
        if done.is_file() and done.read_text() == str(command):
            command = ["ninja", "-C", str(folder), "build.ninja"]
        else:
            shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(command, cwd=TREE, env=env, check=True, stdout=subprocess.DEVNULL)
        if command[0] == "cmake":
            done.write_text(str(command))
    shutil.rmtree(OBJECTS, ignore_errors=True)
    OBJECTS.mkdir()
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-o", str(BOX),
                    "tests/mutation/box.c"], cwd=TREE, check=True)


def build(targets, jobs, folder=BUILD):
    """Builds what is out of date of TARGETS; returns whether that succeeded."""
    command = ["cmake", "--build", str(folder), "--parallel", str(jobs),
               "--target", *sorted(targets)]
    return subprocess.run(command, **QUIET).returncode == 0


class Compiler:
    """Compiles a source as the build does, but to an object file outside the build."""

    def __init__(self):
        self.commands = {}
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            if os.path.basename(words[0]) == "ccache":
                words = words[1:]  # ccache does not cache failures, which most mutants are
            if "-o" in words and entry["file"].startswith(str(TREE)):
                self.commands.setdefault(os.path.relpath(entry["file"], TREE), []).append(words)
        self.known = json.loads(CODES.read_text()) if CODES.is_file() else {}

    def key(self, name, text):
        return hashlib.sha256(f"{self.commands[name]}{text}".encode()).hexdigest()

    def code(self, name, text):
        """Returns a hash of the machine code of all objects that a source with this text is
        compiled to, or None if it does not compile. Results are kept between runs. Several threads
        may call this at once, as the copy is not changed."""
        key = self.key(name, text)
        if key not in self.known:
            self.known[key] = self.compile(name, text)
        return self.known[key]

    def objects(self, name, text):
        """Returns the object files of a source with a text that compiles."""
        key = self.key(name, text)
        made = [OBJECTS / f"{key}-{at}.o" for at in range(len(self.commands[name]))]
        if not all(one.is_file() for one in made):
            self.compile(name, text)
        return made

    def compile(self, name, text):
        codes = hashlib.sha256()
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, os.path.basename(name))
            pathlib.Path(source).write_text(text)
            for at, words in enumerate(self.commands[name]):
                made = OBJECTS / f"{self.key(name, text)}-{at}.o"
                words = [source if word == str(TREE / name) else word for word in words]
                words[words.index("-o") + 1] = str(made)
                words += ["-iquote", str((TREE / name).parent)]
                if subprocess.run(words, cwd=BUILD, **QUIET).returncode != 0:
                    return None
                codes.update(made.read_bytes())
        return codes.hexdigest()

    def remember(self):
        CODES.write_text(json.dumps(self.known))


class Test:
    """One test of the build: how it is run, where its source is, what has to be built for it."""

    def __init__(self, name, command, environment, source, targets):
        self.name = name
        self.command = command
        self.environment = environment
        self.source = source  # "" for a script
        self.targets = targets
        self.tried = False
        self.seconds = None   # duration without a mutant; None if it does not pass
        self.cpu_seconds = FIRST_SECONDS_MAX
        self.text = (TREE / source).read_text() if source else ""
        self.folder = BUILD
        self.memory = MEMORY_MAX
        self.under_asan = None
        self.linking = None

    def sanitized(self):
        """Returns the same test under AddressSanitizer, which also detects memory leaks."""
        if self.under_asan is not None:
            return self.under_asan
        command = [word.replace(str(BUILD), str(SANITIZED)) for word in self.command]
        suppressed = f"suppressions={TREE}/tests/support/lsan.supp:print_suppressions=0"
        environment = {**self.environment, "ASAN_OPTIONS": "detect_leaks=1",
                       "LSAN_OPTIONS": suppressed}
        test = Test(f"{self.name} (asan)", command, environment, self.source, self.targets)
        test.folder, test.memory = SANITIZED, "0"
        self.under_asan = test
        return test

    def link(self, objects):
        """Returns the test's program linked with OBJECTS in place of the room's own, or None where
        that takes a build. The linker prefers an object given before the libraries to the one with
        the same functions in them."""
        if not self.source or self.folder != BUILD:
            return None
        if self.linking is None:
            made = os.path.relpath(self.command[0], BUILD)
            shown = subprocess.run(
                ["ninja", "-C", str(BUILD), "--quiet", "-t", "commands", "-s", made],
                capture_output=True, check=True).stdout.decode().strip()
            one = re.fullmatch(r": && ((?:(?!&&|\|).)*) && :", shown)
            self.linking = shlex.split(one[1]) if one else []
        if "-o" not in self.linking:
            return None
        at = self.linking.index("-o") + 1
        program = f"{self.command[0]}.{self.name}.{objects[0].stem[:16]}"
        words = [*self.linking[:at], program, *map(str, objects), *self.linking[at + 1:],
                 "-fno-use-linker-plugin"]
        return program if subprocess.run(words, cwd=BUILD, **QUIET).returncode == 0 else None

    def measure(self, limit, stop=None, program=None):
        """Runs the test; returns "passed", "skipped", "failed", "late", or "left" if STOP was set
        meanwhile, and the CPU seconds of all its processes that were waited for."""
        begun, how = time.monotonic(), None
        cpu = str(math.ceil(TIMES_MAX * self.cpu_seconds) + CPU_SECONDS_MORE)
        command = [program or self.command[0], *self.command[1:]]
        process = subprocess.Popen([str(BOX), cpu, self.memory, *command], cwd=self.folder,
                                   env={**os.environ, **self.environment}, **QUIET)
        ended, watch = os.pidfd_open(process.pid), select.poll()
        watch.register(ended, select.POLLIN)
        while how is None and not watch.poll(200):
            if stop and stop.is_set():
                how = "left"
            elif time.monotonic() - begun > limit:
                how = "late"
        os.close(ended)
        if how:
            os.kill(process.pid, signal.SIGKILL)  # this ends everything else in the box as well
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return (how or {0: "passed", 77: "skipped"}.get(process.returncode, "failed"),
                used.ru_utime + used.ru_stime)

    def run(self, limit, stop=None, program=None):
        return self.measure(limit, stop, program)[0]

    def time_it(self):
        self.tried = True
        begun = time.monotonic()
        how, cpu_seconds = self.measure(FIRST_SECONDS_MAX)
        if how in ("passed", "skipped"):  # mostly only a part of it is skipped
            self.seconds, self.cpu_seconds = time.monotonic() - begun, cpu_seconds

    def limit(self):
        return TIMES_MAX * self.seconds + SECONDS_MORE

    def judge(self, program, stop):
        """Runs the test as run() does. Without PROGRAM, the test as it is built gets more time once
        if it is late, as the machine may be busy. PROGRAM, linked with a mutant, has failed only if
        the test without the mutant passes right afterwards, when the machine is as busy."""
        limit = self.limit()
        if program is None:
            how = self.run(limit, stop)
            return self.run(TIMES_MAX * limit, stop) if how == "late" else how
        for _ in range(RUNS_MAX):
            how = self.run(limit, stop, program)
            if how not in ("failed", "late"):
                return how
            begun = time.monotonic()
            without, took = self.run(limit, stop), time.monotonic() - begun
            if without in ("passed", "skipped") and \
                    (how == "failed" or limit > TIMES_BUSY * took):
                return how
            limit = max(limit, TIMES_MAX * took + SECONDS_MORE)
        return "left"


def all_tests():
    """Returns every test of the build by its name."""
    sources = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        name = os.path.relpath(entry["file"], TREE)
        words = shlex.split(entry["command"])
        if name.startswith("tests/") and "-o" in words:
            for part in words[words.index("-o") + 1].split("/"):
                if part.endswith(".dir"):
                    sources.setdefault(part[:-4], []).append(name)
    shown = subprocess.run(["ctest", "--test-dir", str(BUILD), "--show-only=json-v1"], check=True,
                           capture_output=True).stdout
    # ctest does not list a test's command until its program is built.
    written = (BUILD / "CTestTestfile.cmake").read_text()
    commands = {name: shlex.split(words) for name, words in
                re.findall(r"^add_test\((?:\[=\[)?(\w+)(?:\]=\])? (.*)\)$", written, re.MULTILINE)}
    tests = {}
    for test in json.loads(shown)["tests"]:
        properties = {one["name"]: one["value"] for one in test["properties"]}
        command = commands[test["name"]]
        if command[0].endswith("nice"):
            command = command[3:]
        program = os.path.basename(command[0])
        targets = [program] if program in sources else ["ringtrain", "weights_compare"]
        environment = dict(one.split("=", 1) for one in properties.get("ENVIRONMENT", []))
        # A suite of a program is named after its source.
        made_of = sources.get(program, [""])
        named = [one for one in made_of if len(command) > 1 and one.endswith(f"/{command[1]}.c")]
        tests[test["name"]] = Test(test["name"], command, environment, (named or made_of)[0],
                                   targets)
    return tests


def first_to_fail(tests, jobs):
    """Runs tests, JOBS at a time, until one does not pass; returns its name and how it failed, or
    (None, "passed")."""
    stop = threading.Event()

    def one(test):
        return "left" if stop.is_set() else test.judge(None, stop)

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


def first_to_fail_linked(tests, objects):
    """Runs tests one after another, with the OBJECTS of a mutant, until one does not pass; returns
    what first_to_fail does, and the tests that cannot be linked that way."""
    unlinked = []
    for test in tests:
        program = test.link(objects)
        if program is None:
            unlinked.append(test)
            continue
        how = test.judge(program, None)
        os.unlink(program)
        if how in ("failed", "late"):
            return test.name, how, unlinked
    return None, "passed", unlinked
