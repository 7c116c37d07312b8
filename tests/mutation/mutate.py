"""The program that tests/mutation/run.sh runs from the repository's root; see its usage there."""

import concurrent.futures
import contextlib
import hashlib
import io
import os
import pathlib
import re
import sys
import threading
import time

import equivalent
import scratch
from universalmutator import mutator

RULES = ["universal.rules", "c_like.rules", "c.rules"]
TRIES_A_LINE = 5  # mutants of a line that may fail to count before another line is taken
# Tests that also cover the sources of a house or room, beyond the room's own tests.
MORE_TESTS = {
    "graph": "ops_graph_.*[^2]$", "models": "ops_", "ref": "ops_", "cpu": "ops_.*[^2]$",
    "kernels": "ops_",
    "app": "train_(commands|files|inspect_data|bad_samples)$|unit_app_command_command_train$",
    "host": "unit_master_", "eval": "unit_data_coco_coco_golden$",
    "common": "unit_(data_coco_coco|checkpoint_safetensors|telemetry)_",
}
WHOLE_JOBS = {"app": "train_", "comm": "train_ranks", "mpi": "train_ranks"}
ELSEWHERE = pathlib.Path("tests/mutation/elsewhere.txt")
PREPARING = threading.Lock()
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')


def words_alone(before, after):
    """Returns whether only text meant for people differs: string literals that contain a blank."""
    if LITERAL.sub("", before) != LITERAL.sub("", after):
        return False
    pairs = list(zip(LITERAL.findall(before), LITERAL.findall(after)))
    return all(" " in old for old, new in pairs if old != new)


def failure_alone(before, after):
    """Returns whether only the number differs by which a function reports a failure."""
    return re.search(r"(return|:) -1;$", before.strip()) and \
        re.sub(r"-\(1\+1\)|\+?\b1\b", "-1", after) == re.sub(r"-1\b", "-1", before)


class Mutant:
    def __init__(self, name, number, above, before, after):
        self.name = name
        self.above = above.strip()
        self.number = number  # of the line, from 1
        self.before = before.strip()
        self.after = re.sub(r"\s*\n\s*", " ", after.strip())
        self.text = after
        self.rest = []  # tests that need a build, as linking the mutant's object is not enough
        self.verdict = ""
        self.killer = ""

    def __str__(self):
        return f"{self.name}:{self.number} {self.verdict} {self.killer}".strip()

    def kill(self, test, how):
        self.verdict, self.killer = "killed", test if how == "failed" else f"{test} ({how})"

    def key(self):
        return self.name, self.above, self.before, self.after


class Source:
    """A file of the copy; mutants are put into it and taken out again."""

    def __init__(self, name):
        self.name = name
        self.path = scratch.TREE / name
        self.lines = self.path.read_text().splitlines(keepends=True)

    def text(self, mutant=None):
        lines = list(self.lines)
        if mutant is not None:
            lines[mutant.number - 1] = mutant.text
        return "".join(lines)

    def put(self, mutant):
        self.path.write_text(self.text(mutant))

    def restore(self):
        self.path.write_text(self.text())

    def mutant(self, number, after):
        above = self.lines[number - 2] if number > 1 else ""
        return Mutant(self.name, number, above, self.lines[number - 1], after)

    def asks_for_zero(self, number):
        """Returns whether a line belongs to a static function with callers that only check whether
        its result is 0."""
        heads = [line for line in self.lines[:number] if re.match(r"\w.*\(", line)]
        if not heads or "static" not in heads[-1].split():
            return False
        name = re.search(r"(\w+)\(", heads[-1])[1]
        text = "".join(self.lines)
        for call in re.finditer(rf"\b{name}\(", text):
            end, depth = call.end(), 1
            while depth > 0:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            # { and ; follow the function's own definition and declaration.
            if not re.match(r"\s*([!=]= 0\b|[{;])", text[end:]):
                return False
        return True

    def mutants(self):
        """Returns the mutants of each line by its number. Left out are those that only change text
        meant for people, or a failure's number where callers only check whether it is 0."""
        with contextlib.redirect_stdout(io.StringIO()):
            found = mutator.mutants_regexp(self.lines, ruleFiles=RULES, ignorePatterns=[])
        lines = {}
        for number, after, *_ in found:
            before = self.lines[number - 1]
            if not words_alone(before, after) and \
                    not (failure_alone(before, after) and self.asks_for_zero(number)):
                lines.setdefault(number, []).append(self.mutant(number, after))
        return lines


def sources_of(argument):
    """Returns the sources that a ROOM or FILE names."""
    if os.path.isfile(argument):
        return [os.path.relpath(argument)]
    for top in ("", "trainer/", "trainer/backend/"):
        folder = pathlib.Path(top + argument.rstrip("/"))
        if folder.is_dir():
            return sorted(str(path) for path in folder.rglob("*.c"))
    sys.exit(f"mutation/run.sh: neither a room nor a file: {argument}")


def leave_out_elsewhere(names, tests):
    """Returns NAMES without the sources that no test of this build reaches (ELSEWHERE)."""
    built = {test.source for test in tests.values()}
    for line in ELSEWHERE.read_text().splitlines():
        source, _, test = line.partition(" ")
        if source in names and test not in built:
            print(f"left out, its tests are not in the preset release: {source} ({test})",
                  flush=True)
            names = [name for name in names if name != source]
    return names


def tests_for(name, tests):
    """Returns the tests to run with a mutant of a source, in four rings."""
    path = pathlib.Path(name)
    def house_of(folders):
        return [part for part in folders if part not in ("trainer", "backend")][:1]

    house = house_of(path.parent.parts)
    twin, near, rest = [], [], []
    for test in tests.values():
        folders = pathlib.Path(test.source).parent.parts
        ours = folders[:2] == ("tests", "unit") and house_of(folders[2:]) == house
        if test.source == f"tests/unit/{path.parent}/test_{path.stem}.c":
            twin.append(test)
        elif ours and f'"{path.with_suffix(".h")}"' in test.text:
            near.append(test)
        elif test.source and folders[:2] != ("tests", "unit") and \
                test.name.endswith(f"_{path.stem}"):
            near.append(test)  # a unit test of this name in another house is another source's twin
        elif ours and folders[-1] in path.parent.parts:  # tests of the rooms around the source
            rest.append(test)
        elif any(re.match(MORE_TESTS.get(part, "$"), test.name) for part in path.parent.parts):
            rest.append(test)
        elif test.name == "train_" + path.stem.removeprefix("command_"):
            rest.append(test)  # a script that tests only this source
        elif os.environ.get("WHOLE_JOBS") and re.match(WHOLE_JOBS.get(house[0], "$"), test.name):
            rest.append(test)
    return [twin, near, rest, [test.sanitized() for test in twin + near or rest if test.source]]


def lot(seed, mutant, *more):
    """Returns a mutant's key in the order of drawing, which stays when other lines change."""
    return hashlib.sha256(
        "\0".join((seed, mutant.name, mutant.above, mutant.before, *more)).encode()).digest()


def first_that_counts(mutants, source, compiler, seed):
    """Returns the first of one line's mutants that counts, or None; how many before it did not
    compile; and how many resulted in the same machine code."""
    broken = same = 0
    original = compiler.code(source.name, source.text())
    for mutant in sorted(mutants, key=lambda one: lot(seed, one, one.after))[:TRIES_A_LINE]:
        code = compiler.code(source.name, source.text(mutant))
        if code not in (None, original):
            return mutant, broken, same
        broken += code is None
        same += code == original
    return None, broken, same


def draw(sources, compiler, count, seed, jobs):
    """Returns COUNT mutants that count, at most one per line; how many did not compile; and how
    many resulted in the same machine code."""
    lines = [mutants for source in sources.values() for mutants in source.mutants().values()]
    lines.sort(key=lambda mutants: lot(seed, mutants[0]))
    drawn, broken, same = [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while lines and len(drawn) < count:
            some, lines = lines[:count - len(drawn)], lines[count - len(drawn):]
            found = pool.map(
                lambda mutants: first_that_counts(mutants, sources[mutants[0].name], compiler,
                                                  seed), some)
            for mutant, more_broken, more_same in found:
                drawn += [mutant] if mutant else []
                broken += more_broken
                same += more_same
    compiler.remember()
    return drawn, broken, same


def killed_last_time(results):
    """Returns the tests that killed mutants the last time, by mutant."""
    if not results.is_file():
        sys.exit(f"mutation/run.sh: no last time: {results}")
    rows = [row.split("\t") for row in results.read_text().splitlines()]
    return {(name, above, before, after): killer
            for verdict, name, _, above, before, after, killer in rows if verdict == "killed"}


def keep(results, mutants):
    """Writes the verdicts so far, for AGAIN=1: a run may be ended early."""
    results.parent.mkdir(parents=True, exist_ok=True)
    written = results.with_suffix(".part")
    written.write_text("".join(
        f"{m.verdict}\t{m.name}\t{m.number}\t{m.above}\t{m.before}\t{m.after}\t{m.killer}\n"
        for m in mutants))
    written.rename(results)


def prepare(tests, jobs):
    """Builds and times those of TESTS that are new, without a mutant; returns those that pass, the
    quickest first."""
    with PREPARING:
        new = [test for test in tests if not test.tried]
        if new and not scratch.build({target for test in new for target in test.targets}, jobs,
                                     new[0].folder):
            sys.exit(f"mutation/run.sh: the tests do not build (cmake --build {new[0].folder})")
        for test in new:
            test.time_it()
            if test.seconds is None:
                print(f"left out, it does not pass here without a mutant: {test.name}", flush=True)
    return sorted((test for test in tests if test.seconds is not None),
                  key=lambda test: test.seconds)


def judge_linked(mutant, source, rings, compiler, jobs):
    """Sets the mutant's verdict by the tests of the release build, which are only linked again;
    returns those where that is impossible. Several mutants may be judged at once, as the copy is
    not changed."""
    objects = compiler.objects(source.name, source.text(mutant))
    mutant.verdict, rest = "survived", []
    for tests in rings[:-1]:
        name, how, unlinked = scratch.first_to_fail_linked(prepare(tests, jobs), objects)
        if name:
            mutant.kill(name, how)
            return []
        rest += unlinked
    return rest


def judge_built(mutant, source, tests, jobs):
    """Sets the mutant's verdict by tests that are built with it, and then restores the build."""
    tests = prepare(tests, jobs)
    if not tests:
        return
    targets = {target for test in tests for target in test.targets}
    source.put(mutant)
    try:
        if not scratch.build(targets, jobs, tests[0].folder):
            mutant.kill("the build", "failed")
            return
        name, how = scratch.first_to_fail(tests, jobs)
        if name:
            mutant.kill(name, how)
    finally:
        source.restore()
        if tests[0].folder == scratch.BUILD:
            scratch.build(targets, jobs)


def judge(mutants, sources, rings, compiler, jobs, judged):
    """Sets the verdicts, JOBS mutants at a time, then runs the other tests with the survivors, one
    mutant at a time. Calls JUDGED after each."""
    def linked(mutant):
        begun = time.monotonic()
        rest = judge_linked(mutant, sources[mutant.name], rings[mutant.name], compiler, jobs)
        return rest, time.monotonic() - begun

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for at, (mutant, (rest, seconds)) in enumerate(zip(mutants, pool.map(linked, mutants)), 1):
            mutant.rest = rest
            print(f"{at}/{len(mutants)} {mutant} ({seconds:.1f} s)", flush=True)
            judged()
    for mutant in [mutant for mutant in mutants if mutant.verdict == "survived"]:
        for tests in (mutant.rest, rings[mutant.name][-1]):
            if mutant.verdict == "survived":
                judge_built(mutant, sources[mutant.name], tests, jobs)
        print(mutant if mutant.killer else f"{mutant}\n  - {mutant.before}\n  + {mutant.after}",
              flush=True)
        judged()


def run_room(argument, tests, compiler, known, options):
    """Tries one ROOM or FILE; returns its mutants, how many did not compile, and how many changed
    nothing."""
    names = leave_out_elsewhere(
        [name for name in sources_of(argument) if name in compiler.commands], tests)
    sources = {name: Source(name) for name in names}
    if not sources:
        sys.exit(f"mutation/run.sh: nothing of {argument} is compiled in the preset release, "
                 "or it has no tests there")
    results = (scratch.CACHE / "results"
               / f"{argument.strip('/').replace('/', '-')}.{options['seed']}.tsv")
    rings = {name: tests_for(name, tests) for name in sources}
    if not any(part for ring in rings.values() for part in ring):
        sys.exit("mutation/run.sh: no tests for this")
    killed = killed_last_time(results) if options["again"] else {}
    mutants, broken, same = draw(sources, compiler, options["count"], str(options["seed"]),
                                 options["jobs"])
    mutants.sort(key=lambda mutant: (mutant.name, mutant.number))
    for mutant in mutants:
        if mutant.key() in known:
            mutant.verdict = "equivalent"
        elif mutant.key() in killed:
            mutant.verdict, mutant.killer = "killed", killed[mutant.key()]
    keep(results, mutants)
    judge([mutant for mutant in mutants if not mutant.verdict], sources, rings, compiler,
          options["jobs"], lambda: keep(results, mutants))
    return mutants, broken, same


def number(name, default):
    text = os.environ.get(name, default)
    if not text.isdecimal() or int(text) == 0 and name != "SEED":
        sys.exit(f"mutation/run.sh: {name}={text} is not a number above 0")
    return int(text)


def main(arguments):
    options = {"seed": number("SEED", "1"), "count": number("COUNT", "60"),
               "jobs": number("JOBS", "2"), "again": bool(os.environ.get("AGAIN"))}
    known = equivalent.read()
    for one in equivalent.stale(known):
        print(f"{equivalent.LIST}: no such line any more: {one}")
    for argument in arguments:
        sources_of(argument)
    scratch.synchronize()
    scratch.configure()
    tests = scratch.all_tests()
    compiler = scratch.Compiler()
    table = []
    for argument in arguments:
        table.append((argument, *run_room(argument, tests, compiler, known, options)))
    print()
    for _, mutants, _, _ in table:
        for one in mutants:
            if one.verdict == "survived":
                print(f"{one.name}:{one.number}\n  - {one.before}\n  + {one.after}")
    print(f"\n{'room':24} {'seed':>5} {'mutants':>8} {'killed':>7} {'survived':>9}"
          f" {'equivalent':>11} {'score':>6}   (did not compile, same code)")
    for argument, mutants, broken, same in table:
        count = {word: sum(one.verdict == word for one in mutants)
                 for word in ("killed", "survived", "equivalent")}
        tried = count["killed"] + count["survived"]
        score = f"{100 * count['killed'] / tried:.0f} %" if tried else "-"
        print(f"{argument:24} {options['seed']:5} {len(mutants):8} {count['killed']:7}"
              f" {count['survived']:9} {count['equivalent']:11} {score:>6}   ({broken}, {same})")
        if count["equivalent"] * 10 > len(mutants):
            print(f"  more than one in ten of {argument} is marked as equivalent")
    return any(one.verdict == "survived" for _, mutants, _, _ in table for one in mutants)


sys.exit(main(sys.argv[1:] or ["common"]))
