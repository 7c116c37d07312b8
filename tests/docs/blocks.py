"""Runs the pages' examples of shell: fences of `sh`, `bash` and `console`. The line before each
fence is a comment that says how it is tested:

    <!-- run -->                        runs in an empty folder and must end with 0
    <!-- run with model coco=mine -->   the folder has these FIXTURES, `coco` by the name `mine`
    <!-- run short -->                  trainings and sets are made small
    <!-- run each -->                   each command has a folder of its own
    <!-- run by tests/train/test_x.sh --> that test runs it: it names the page, or what is started
    <!-- not run: needs Docker -->      a reason of at most eight words

Words of `run` may be combined, in this order. In a block of `console` the lines that begin with `$`
run, and must print the other lines first.

Usage: blocks.py BIN [PAGE...], the folder of the programs."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

from pages import Findings, TOP, pages

RUN = re.compile(r"run(?P<each> each)?(?P<short> short)?(?: with (?P<with>\S.*))?")
REASON_WORDS, LIMIT, LEAST = 8, 120, 30
CLASSIFIER = "--model resnet20 --batch-size 64 --steps 1 --threads 1"
DETECTOR = ("--model maskrcnn_tiny --short-side 64 --long-side 64 --batch-size 2 --steps 1 "
            "--threads 1")
# A file or folder: the fixtures that its command needs, and the command.
FIXTURES = {
    "pictures": ("", "ringtrain prepare shapes pictures --train 128 --validation 8 --classes 2"),
    "coco": ("", "ringtrain prepare shapes --coco coco --train 8 --validation 4 --side 64"),
    "photos": ("pictures", "cp -r pictures/val/circle photos"),
    "000000000139.jpg": ("photos", "cp photos/0000000.jpg 000000000139.jpg"),
    "shards": ("pictures", "ringtrain prepare folder pictures shards --shards 2"),
    "model": ("pictures", f"ringtrain train --data pictures {CLASSIFIER}"),
    "runs": ("model", "mkdir runs; cp -r model runs/a; cp -r model runs/b"),
    "run": ("coco", f"ringtrain train --data coco --recipe shapes {DETECTOR} --out run/found "
                    "--checkpoint-dir run/states --model-dir run/model"),
    "annotations.json": ("coco", "cp coco/annotations/instances_val.json annotations.json"),
    "detections.json": ("run", "cp run/found/detections.json detections.json"),
    "plan.json": ("", f"""cat >plan.json <<'END'
{{"flags": {{"data": "pictures", "model": "resnet20", "steps": 1, "batch-size": 2}},
 "grid": {{"lr": [0.1, 0.01]}}, "metric": "top1"}}
END"""),
    "trials": ("pictures plan.json", "ringtrain trials plan.json --slots 2"),
    "train.py": ("", "echo 'for step in range(12): print(\"images_per_second=100\")' >train.py"),
    "output": ("pictures", f"ringmaster train --data pictures {CLASSIFIER}; mv opt-ml/output output"),
}
# Adds flags to a command that a block may shorten.
WRAPPER = """#!/bin/sh
case "$1$SHORT $*" in
train1*coco* | train1*shapes* | train1*mine*) set -- "$@" {detector} ;;
train1*) set -- "$@" {classifier} ;;
prepare1*shapes*) set -- "$@" --train 16 --validation 4 ;;
esac
exec {program} "$@"
"""
found = Findings()


class Workshop:
    """A temporary folder: the fixtures that were made, and folders in which blocks run."""

    def __init__(self, binaries, top):
        self.top = top
        self.networks = subprocess.run([binaries / "ringtrain", "inspect", "plan", "--help"],
                                       capture_output=True, text=True, check=True).stdout
        wrappers = top / "bin"
        wrappers.mkdir()
        for program in binaries.iterdir():
            if program.is_file():
                (wrappers / program.name).write_text(WRAPPER.format(
                    program=program, classifier=CLASSIFIER, detector=DETECTOR))
                (wrappers / program.name).chmod(0o755)
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("RINGMASTER_", "SM_", "OMPI_"))}
        self.environment.update(
            PATH=f"{wrappers}:{self.environment['PATH']}", LC_ALL="C.UTF-8",
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1")

    def shell(self, text, folder, short=False, shell="sh"):
        environment = self.environment | {
            "SHORT": "1" if short else "", "HOME": str(folder),
            "SAGEMAKER_BASE_DIR": str(folder / "opt-ml")}
        try:
            return subprocess.run([shell, "-e", "-c", text], cwd=folder, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(late.cmd, 124, f"not done after {LIMIT} s")

    def fixture(self, name):
        place = self.top / "fixtures" / name
        if not place.exists():
            place.mkdir(parents=True)
            needs, text = FIXTURES[name]
            self.lay_out(needs, place)
            done = self.shell(text, place)
            if done.returncode != 0:
                found.say("tests/docs/blocks.py", 0, f"fixture {name}: {done.stdout[-800:]}")
                (place / name).mkdir(exist_ok=True)
        return place / name

    def lay_out(self, names, folder):
        for name in names.split():
            name, _, alias = name.partition("=")
            subprocess.run(["cp", "-r", self.fixture(name), folder / (alias or name)], check=True)

    def run(self, commands, how, shell):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        self.lay_out(how["with"] or "", folder)
        return self.shell(commands, folder, bool(how["short"]), shell)


def mark_of(page, block):
    comment = re.fullmatch(r"\s*<!-- (.*) -->", page.lines[block.line - 2])
    return comment.group(1).strip() if comment else ""


def single_commands(text):
    return [one for one in re.sub(r"\\\n", " ", text).split("\n")
            if one.strip() and not one.strip().startswith("#")]


def check_other_test(page, block, path):
    test = TOP / path
    if not test.is_file():
        return f"{path} does not exist"
    names = [page.name] + re.findall(r"(?:examples|docker|bench)/[\w./-]+\w", block.text)
    text = test.read_text(encoding="utf-8")
    if not any(name in text for name in names):
        return f"{path} names none of {', '.join(names)}"
    return ""


def problem_of(workshop, page, block):
    """Returns what is wrong with BLOCK, and whether it ran."""
    mark = mark_of(page, block)
    if not mark:
        return "no mark before this block of shell: see tests/docs/blocks.py", False
    if mark.startswith("not run: "):
        words = len(mark.split()) - 2
        if not 2 <= words <= REASON_WORDS:
            return f"a reason of {words} words, want 2 to {REASON_WORDS}", False
        return "", False
    if by := re.fullmatch(r"run by (\S+)", mark):
        return check_other_test(page, block, by.group(1)), False
    how = RUN.fullmatch(mark)
    if how and how["short"]:
        # A short training replaces the network, so that a wrong name would go unnoticed.
        for network in re.findall(r"--model (\S+)", block.text):
            if not re.search(rf"\b{re.escape(network)}\b", workshop.networks):
                return f"{network} is no network", False
    if not how or not {name.split("=")[0] for name in (how["with"] or "").split()} <= set(FIXTURES):
        return f"the mark \"{mark}\" is unknown, or one of its fixtures is", False
    console = block.info == "console"
    text = block.text
    if console:
        text = "\n".join(re.findall(r"^\$ (.*)", block.text, re.M))
    shell = "bash" if block.info == "bash" else "sh"
    for commands in single_commands(text) if how["each"] else [text]:
        done = workshop.run(commands, how, shell)
        if done.returncode != 0:
            return f"ended with {done.returncode}: {done.stdout[-1500:]}", True
        expected = "\n".join(line for line in block.text.split("\n") if not line.startswith("$ "))
        if console and not done.stdout.startswith(expected):
            return f"printed this instead: {done.stdout[:len(expected)]}", True
    return "", True


def main():
    binaries, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    if pathlib.Path("/opt/ml").exists():
        print("skipped: the examples would write to /opt/ml, which exists here")
        sys.exit(77)
    version = subprocess.run([binaries / "ringtrain", "version"], capture_output=True, text=True,
                             check=True).stdout
    ranks = shutil.which("mpirun") and "MPI: Open MPI" in version
    ran, count, without_ranks = 0, 0, 0
    with tempfile.TemporaryDirectory() as top:
        workshop = Workshop(binaries, pathlib.Path(top))
        for page in pages():
            for block in page.blocks:
                if block.kind != "code" or block.info not in ("sh", "bash", "console"):
                    continue
                if wanted and page.name not in wanted:
                    continue
                count += 1
                if not ranks and re.search(r"\bringmaster train|mpirun", block.text):
                    without_ranks += 1
                    continue
                problem, has_run = problem_of(workshop, page, block)
                ran += has_run
                if problem:
                    found.say(page, block.line, problem)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{ran} of {count} blocks ran here, in {used.ru_utime + used.ru_stime:.1f} s of CPU time; "
          f"{without_ranks} need Open MPI, which is missing")
    if not wanted and ran + without_ranks < LEAST:
        found.say("docs", 0, f"only {ran} blocks run, want at least {LEAST}")
    found.finish()


main()
