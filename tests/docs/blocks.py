"""Runs the examples of shell in the pages: fences of `sh`, `bash` and `console`. The line before
each fence is a comment that says how it is tested:

    <!-- run -->                        it runs in an empty folder and must end with 0
    <!-- run each -->                   each command runs in a folder of its own
    <!-- run short -->                  trainings and drawn sets are made small
    <!-- run with model coco=mine -->   the folder has these FIXTURES, `coco` by the name `mine`
    <!-- run by tests/train/test_x.sh -->   that test runs it
    <!-- not run: needs Docker -->      the reason, in at most eight words

`each`, `short` and `with` may be combined, in this order. In a block of `console` the lines that
begin with `$` run, and the block's other lines must be the first that they print.

Usage: blocks.py BIN [PAGE...]. BIN is the folder of the programs; the default are all pages."""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from pages import Findings, TOP, pages

RUN = re.compile(r"run(?P<each> each)?(?P<short> short)?(?: with (?P<with>\S.*))?")
REASON_WORDS, LEAST = 8, 30
LIMIT, SHOWN = 120, 1500  # seconds of a block, characters of what a failed one printed
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
    "out": ("output model", "mkdir -p out/checkpoints; mv output out; cp -r model out/model; "
                            "mv model out/checkpoints/best"),
    "trials": ("pictures plan.json", "ringtrain trials plan.json --slots 2"),
    "train.py": ("", "echo 'for step in range(12): print(\"images_per_second=100\")' >train.py"),
    "output": ("pictures", f"ringmaster train --data pictures {CLASSIFIER}; "
                           "mv opt-ml/output output"),
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
    """A temporary folder with fixtures, which are made when they are first needed, and a folder for
    each block that runs."""

    def __init__(self, binaries, top):
        self.top = top
        wrappers = top / "bin"
        wrappers.mkdir()
        for program in binaries.iterdir():
            if program.is_file():
                (wrappers / program.name).write_text(WRAPPER.format(
                    program=program, classifier=CLASSIFIER, detector=DETECTOR))
                (wrappers / program.name).chmod(0o755)
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("RINGMASTER_", "SM_", "OMPI_"))}
        # Other tests run jobs at the same time, with ports of their own (tests/train/lib.sh).
        self.environment |= {
            "PATH": f"{wrappers}:{self.environment['PATH']}", "LC_ALL": "C.UTF-8",
            "RINGMASTER_PORT": str(20000 + os.getpid() % 12000),
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def shell(self, text, folder, short=False, shell="sh"):
        """Runs TEXT in FOLDER; returns its exit code and what it printed."""
        environment = self.environment | {"SHORT": "1" if short else "", "HOME": str(folder),
                                          "SAGEMAKER_BASE_DIR": str(folder / "opt-ml")}
        with subprocess.Popen([shell, "-e", "-c", text], cwd=folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as running:
            try:
                printed, _ = running.communicate(timeout=LIMIT)
                return running.returncode, printed
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                return 124, f"not done after {LIMIT} s"

    def fixture(self, name):
        folder = self.top / "fixtures" / name
        if not folder.exists():
            folder.mkdir(parents=True)
            needs, text = FIXTURES[name]
            self.lay_out(needs, folder)
            code, printed = self.shell(text, folder)
            if code != 0:
                found.say("tests/docs/blocks.py", 0, f"fixture {name}: {printed[-SHOWN:]}")
                (folder / name).mkdir(exist_ok=True)
        return folder / name

    def lay_out(self, names, folder):
        for name in names.split():
            name, _, alias = name.partition("=")
            subprocess.run(["cp", "-r", self.fixture(name), folder / (alias or name)], check=True)

    def run(self, block, how):
        """Returns what is wrong with the BLOCK, or an empty string."""
        text, shell, first = block.text, "bash" if block.info == "bash" else "sh", ""
        if block.info == "console":
            text = "\n".join(re.findall(r"^\$ (.*)", block.text, re.M))
            first = re.sub(r"^\$ .*\n?", "", block.text, flags=re.M)
        for commands in single_commands(text) if how["each"] else [text]:
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.top))
            self.lay_out(how["with"] or "", folder)
            code, printed = self.shell(commands, folder, bool(how["short"]), shell)
            if code != 0:
                return f"ends with {code}: {printed[-SHOWN:]}"
            if not printed.startswith(first):
                return f"prints other lines: {printed[:len(first)]}"
        return ""


def single_commands(text):
    lines = text.replace("\\\n", " ").split("\n")
    return [line for line in lines if line.strip() and not line.startswith("#")]


def other_test_problem(page, block, path):
    """A test that runs a block names its page, or the script or file of this tree that it starts."""
    names = [page.name] + re.findall(r"(?:examples|docker)/[\w./-]+\w", block.text)
    test = TOP / path
    if not test.is_file():
        return f"{path} does not exist"
    text = test.read_text(encoding="utf-8")
    return "" if any(name in text for name in names) else f"{path} has none of {', '.join(names)}"


def mark_problem(page, block, networks):
    """Returns what is wrong with the mark of BLOCK, or an empty string."""
    mark = page.mark(block)
    if not mark:
        return "no mark before this block of shell: see tests/docs/blocks.py"
    if reason := re.fullmatch(r"not run: (.*)", mark):
        words = len(reason[1].split())
        good = 2 <= words <= REASON_WORDS
        return "" if good else f"a reason of {words} words, expected 2 to {REASON_WORDS}"
    if by := re.fullmatch(r"run by (\S+)", mark):
        return other_test_problem(page, block, by[1])
    how = RUN.fullmatch(mark)
    if not how:
        return f'unknown mark "{mark}": see tests/docs/blocks.py'
    for name in (how["with"] or "").split():
        if name.split("=")[0] not in FIXTURES:
            return f"unknown fixture {name}, expected one of {', '.join(FIXTURES)}"
    # A short training is one of another network, which would hide a wrong name.
    for name in re.findall(r"--model (\S+)", block.text):
        if name not in networks:
            return f"unknown network {name}"
    return ""


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    binaries, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    if pathlib.Path("/opt/ml").exists():
        print("skipped: the examples would write to /opt/ml, which exists here")
        sys.exit(77)
    ringtrain = binaries / "ringtrain"
    networks = re.findall(r"\w+", output_of(ringtrain, "inspect", "plan", "--help"))
    has_mpi = shutil.which("mpirun") and "MPI: Open MPI" in output_of(ringtrain, "version")
    blocks = [(page, block) for page in pages() if not wanted or page.name in wanted
              for block in page.blocks
              if block.kind == "code" and block.info in ("sh", "bash", "console")]
    ran, without_mpi = 0, 0
    with tempfile.TemporaryDirectory() as top:
        workshop = Workshop(binaries, pathlib.Path(top))
        for page, block in blocks:
            problem = mark_problem(page, block, networks)
            how = RUN.fullmatch(page.mark(block))
            if not problem and how:
                if not has_mpi and re.search(r"ringmaster (train|scaling)|mpirun", block.text):
                    without_mpi += 1
                    continue
                ran += 1
                problem = workshop.run(block, how)
            if problem:
                found.say(page, block.line, problem)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{ran} of {len(blocks)} blocks ran, in {used.ru_utime + used.ru_stime:.1f} s of CPU time"
          f"{f'; {without_mpi} need Open MPI, which is missing' if without_mpi else ''}")
    if not wanted and ran + without_mpi < LEAST:
        found.say("docs", 0, f"only {ran + without_mpi} blocks run, expected at least {LEAST}")
    found.finish()


main()
