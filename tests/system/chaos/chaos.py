"""Runs random jobs with random faults and checks that they keep Ringmaster's promises.

    python3 chaos.py [OPTIONS] SEED|FIRST-LAST|new:COUNT...

    --jobs N        run N rounds at a time (3)
    --minutes N     begin no round after N minutes (600)
    --minimise N    minutes to reduce the first plan that fails to fewer faults and hosts (0)
    --keep FOLDER   where histories of rounds with violations go (build/chaos)
    --show          print each plan, and each history's last lines
    --plan FILE     run this plan (JSON) instead of seeds
    --times N       run each seed, or the plan, N times (1)

A seed always draws the same plan, but two runs of a plan differ a little. The exit code is 0 if no
round broke a promise, 1 if one did, and 77 if the machine stalled in so many rounds that nothing
was tested."""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time

import minimise
import oracle
import perform
import plan as plans
from ring import TOP

PAUSE_MS = 700
GRACE_S = 90


def is_void(history):
    """Returns whether the machine stalled for so long that promises in seconds mean nothing."""
    return history["longest"] > PAUSE_MS


def lateness(history):
    return f"the machine stood still for {history['longest']} ms at most"


def summary(history):
    kinds = [fault["kind"]
             for fault, fate in zip(history["plan"]["faults"], history["faults"]) if fate["hit"]]
    codes = [str(lives[-1]["code"]) for lives in history["hosts"].values()]
    attempts = max([mark["attempt"] for mark in history["marks"]], default=0)
    return f"{history['plan']['program']['kind']}, {', '.join(kinds) or 'no fault'}: " \
        f"codes {' '.join(codes)}, {attempts} attempts, {history['took'] / 1000:.1f} s"


def seeds_of(words):
    for word in words:
        if word.startswith("new:"):
            for _ in range(int(word[4:])):
                yield secrets.randbelow(10 ** 9)
        elif "-" in word:
            first, last = word.split("-")
            yield from range(int(first), int(last) + 1)
        else:
            yield int(word)


class Rounds:
    """Runs each plan in a process of its own, a few at a time."""

    def __init__(self, options):
        self.options = options
        self.running = []
        self.folder = tempfile.mkdtemp(prefix="chaos-")

    def begin(self, plan):
        place = tempfile.mkdtemp(dir=self.folder)
        with open(place + "/plan.json", "w", encoding="utf-8") as file:
            json.dump(plan, file)
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--one", place],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=open(place + "/words", "wb"))
        self.running.append((process, place, plan,
                             time.monotonic() + oracle.limit_ms(plan) / 1000 + GRACE_S))

    def ended(self):
        """Returns the rounds that ended since the last call: (plan, history or None, words)."""
        over = []
        for entry in list(self.running):
            process, place, plan, deadline = entry
            if process.poll() is None and time.monotonic() > deadline:
                process.terminate()
                process.wait(timeout=60)
            if process.poll() is not None:
                self.running.remove(entry)
                try:
                    with open(place + "/history.json", encoding="utf-8") as file:
                        over.append((plan, json.load(file), ""))
                except (OSError, ValueError):
                    with open(place + "/words", encoding="utf-8", errors="replace") as file:
                        over.append((plan, None, file.read()))
        return over

    def results(self, all_plans):
        """Runs all plans and yields each result as it comes."""
        end = time.monotonic() + self.options.minutes * 60
        coming = iter(all_plans)
        more = True
        while more or self.running:
            while more and len(self.running) < self.options.jobs:
                plan = next(coming, None) if time.monotonic() < end else None
                if plan is None:
                    more = False
                else:
                    self.begin(plan)
            yield from self.ended()
            time.sleep(0.05)

    def close(self):
        for process, _, _, _ in self.running:
            process.terminate()
        for process, _, _, _ in self.running:
            process.wait(timeout=60)
        subprocess.run(["rm", "-rf", self.folder], check=False)


def one(place):
    """Runs the round of PLACE/plan.json and writes PLACE/history.json."""
    with open(place + "/plan.json", encoding="utf-8") as file:
        plan = json.load(file)
    history = perform.perform(plan, oracle.limit_ms(plan))
    with open(place + "/history.part", "w", encoding="utf-8") as file:
        json.dump(history, file, indent=1)
    os.rename(place + "/history.part", place + "/history.json")


def show(history):
    for host, lives in history["hosts"].items():
        for life in lives:
            print(f"    algo-{host}: code {life['code']}{', killed' if life['killed'] else ''}, "
                  f"ended after {((life['ended'] or 0) - history['began']) / 1000:.1f} s")
            for line in life["lines"][-6:]:
                print(f"      | {line[:200]}")
    for fault, fate in zip(history["plan"]["faults"], history["faults"]):
        when = f"at {(fate['begun'] - history['began']) / 1000:.1f} s" if fate["hit"] \
            else "did not happen"
        print(f"    {when}: {plans.fault_text(fault)}")


def tell(plan, history, found, options):
    os.makedirs(options.keep, exist_ok=True)
    path = f"{options.keep}/{plan['seed']}-{found[0][0]}.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(history, file, indent=1)
    print(f"VIOLATIONS with seed {plan['seed']} (the history is in {path}; {lateness(history)}):")
    print("\n".join(f"  {name}: {words}" for name, words in found))
    print(plans.plan_text(plan))
    show(history)


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="*")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--minimise", type=float, default=0)
    parser.add_argument("--keep", default=TOP + "/build/chaos")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--plan")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def planned(options):
    if options.plan:
        with open(options.plan, encoding="utf-8") as file:
            plan = json.load(file)
        return [plan.get("plan", plan)] * options.times
    return [plans.draw_plan(seed) for seed in seeds_of(options.seeds) for _ in range(options.times)]


def main():
    options = options_of(sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGHUP):  # the hosts must be removed in any case
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    if options.one:
        return one(options.one)
    rounds = Rounds(options)
    counts = {"ok": 0, "void": 0, "bad": 0, "faults": 0, "again": 0}
    first_bad = None
    try:
        for plan, history, words in rounds.results(planned(options)):
            if history is None:
                print(f"seed {plan['seed']}: no history: {words[-1500:]}\n{plans.plan_text(plan)}",
                      flush=True)
                counts["bad"] += 1
                continue
            counts["faults"] += sum(fate["hit"] for fate in history["faults"])
            counts["again"] += "again" in history["moments"]
            found = oracle.judge(history)
            if options.show:
                print(plans.plan_text(plan))
                show(history)
            if found and is_void(history):
                counts["void"] += 1
                print(f"void: seed {plan['seed']}: {lateness(history)}; {found[0]}")
            elif found:
                counts["bad"] += 1
                first_bad = first_bad or (plan, found)
                tell(plan, history, found, options)
            else:
                counts["ok"] += 1
                print(f"ok seed {plan['seed']}: {summary(history)}")
            sys.stdout.flush()
        if first_bad and options.minimise:
            minimise.minimise(rounds, *first_bad)
    finally:
        rounds.close()
    total = counts["ok"] + counts["void"] + counts["bad"]
    print(f"{total} rounds: {counts['ok']} kept all promises, {counts['bad']} did not, "
          f"{counts['void']} void as the machine stood still; {counts['faults']} faults, "
          f"{counts['again']} rounds with another attempt")
    if counts["bad"]:
        return 1
    return 0 if counts["ok"] >= max(1, total // 2) else 77


if __name__ == "__main__":
    sys.exit(main())
