"""Carries out one plan on a ring of hosts and records what happened as a history, which oracle.py
judges.

A history is a dictionary of plain values. Times are ms of the machine's monotonic clock.

    plan      the plan that was carried out
    began     when the first host was started
    took      how long the round took
    hosts     for each host its lives, of which the last one counts: started, ended, code, killed,
              lines (what the launcher printed), alarms (lines of sanitizers and of the C library),
              failure (the file's bytes as Latin-1, or null), leftovers
    faults    for each fault of the plan: hit, begun, over
    marks     the records that the programs' processes wrote (rank.c)
    moments   when each moment came (plan.MOMENTS)
    longest   the longest time for which the machine stalled
    hung      hosts that had not ended when the time was up, with their processes
"""

import os
import re
import signal
import threading
import time

import acts
import plan as plans
from ring import BIN, Ring, now_ms, read

TURN = 0.02
LAUNCHERS = re.compile(r"^20\d\d-\d\d-\d\dT[\d:.]+Z (?:debug|info|warning|error)")
ALARMS = re.compile(
    r"Sanitizer|runtime error:|stack smashing|double free|corrupted|malloc\(\)"
    r"|Assertion .* failed|core dumped")
MARK = re.compile(r"begin=(\d+) alive=(\d+) end=(\d+) code=(-?\d+) asked=(\d) world=(\w+)")
LINES_MOST = 400
SEEK_MS = 700


class Log:
    """The log of a host: a file, a pipe that is read slowly or not at all, or a file on a small
    disk."""

    def __init__(self, ring, host, faults):
        self.path = ring.folder(host) + "/log"
        self.kept = self.path
        self.pipe, self.rate, self.paused, self.last = None, None, False, now_ms()
        kinds = {fault["kind"]: fault for fault in faults if fault["host"] == host}
        if "slow-log" in kinds or "stopped-log" in kinds:
            self.rate = kinds.get("slow-log", {}).get("rate")
            self.kept = self.path + ".read"
            os.mkfifo(self.path + ".pipe")
            os.symlink(self.path + ".pipe", self.path)
            self.pipe = os.open(self.path + ".pipe", os.O_RDWR | os.O_NONBLOCK)
        elif "full-log" in kinds:
            ring.mount(ring.folder(host) + "/disk", 1)
            os.symlink(ring.folder(host) + "/disk/log", self.path)

    def turn(self, final=False):
        if self.pipe is None or (self.paused and not final):
            return
        size = 1 << 20
        if self.rate and not final:
            size = self.rate * (now_ms() - self.last) // 1000
            if size < 200:
                return
        self.last = now_ms()
        try:
            got = os.read(self.pipe, size)
        except OSError:
            return
        with open(self.kept, "ab") as file:
            file.write(got)

    def drain(self):
        for _ in range(64):
            self.turn(final=True)


class Pauses(threading.Thread):
    """Measures the longest time for which this process, which repeats short sleeps, did not run."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest, self.over = 0, False

    def run(self):
        while not self.over:
            began = now_ms()
            time.sleep(TURN)
            self.longest = max(self.longest, now_ms() - began - int(TURN * 1000))


class Round:
    def __init__(self, plan, limit_ms):
        self.plan, self.limit = plan, limit_ms
        self.faults = [dict(fault) for fault in plan["faults"]]
        self.moments, self.lives, self.due, self.watched = {}, {}, [], {}

    # --- hosts ---
    def words(self):
        program = self.plan["program"]
        return [BIN + "/chaos_rank", self.ring.share + "/marks"] + \
            [str(program[name]) for name in ("kind", "seconds", "code", "who", "until", "stagger")]

    def start(self, host):
        self.lives.setdefault(host, []).append({"started": now_ms()})
        self.ring.start(host, acts.preparation(self.ring, host, self.faults), self.words())

    def end_life(self, host):
        """Records a life that is over, or that will not end."""
        life, ring = self.lives[host][-1], self.ring
        self.logs[host].drain()
        life["code"] = ring.code(host)
        life["ended"] = ring.ended_ms(host) if life["code"] is not None else None
        life["killed"] = os.path.exists(ring.folder(host) + "/killed")
        lines, alarms = [], []
        with open(self.logs[host].kept, "a+b") as file:
            file.seek(0)
            for raw in file:
                line = raw.decode("utf-8", "replace").rstrip("\n")
                if LAUNCHERS.match(line):
                    lines.append(line)
                elif ALARMS.search(line):
                    alarms.append(line)
        life["lines"] = lines if len(lines) < LINES_MOST \
            else lines[:100] + lines[-LINES_MOST + 100:]
        life["alarms"] = alarms[:20]
        path = ring.output(host) + "/failure"
        life["failure"] = read(path).decode("latin-1") if os.path.exists(path) else None
        life["leftovers"] = ring.leftovers(host)

    def take_networks(self):
        for host, lives in self.lives.items():
            if self.plan["engine"] and "cut" not in lives[-1] and self.ring.code(host) is not None:
                lives[-1]["cut"] = self.ring.link(host, None)

    # --- moments ---
    def marks(self):
        found = []
        for name in os.listdir(self.ring.share + "/marks"):
            match = MARK.match(read(f"{self.ring.share}/marks/{name}").decode("latin-1"))
            words = name.split(".")
            if match and len(words) == 6:
                run, attempt, rank, host, role, _ = words
                begin, alive, end, code, asked = (int(word) for word in match.groups()[:5])
                found.append({"run": run, "attempt": int(attempt), "rank": int(rank),
                              "host": int(host.split("-")[1]), "role": role, "begin": begin,
                              "alive": alive, "end": end or None, "code": code,
                              "asked": bool(asked), "world": int(match.group(6))})
        return sorted(found, key=lambda mark: mark["begin"])

    def log_of_first_has(self, text):
        """Returns whether TEXT is in what host 1 has printed since the last look."""
        try:
            with open(self.logs[1].kept, "rb") as file:
                file.seek(self.watched.get(text, 0))
                new = file.read(1 << 20)
        except OSError:
            return False
        if re.search(text, new):
            return True
        self.watched[text] = self.watched.get(text, 0) + max(0, len(new) - 200)
        return False

    def has_come(self, when):
        if when == "joined":
            return self.log_of_first_has(rb"all hosts are here")
        if when == "verdict":
            return self.log_of_first_has(rb"algo-1: done: |; leaving with \d") or \
                self.ring.code(1) is not None
        marks = [mark for mark in self.now_marks if mark["role"] == "rank"]
        if when == "launched":
            return bool(marks)
        if when == "running":
            return len([mark for mark in marks if mark["attempt"] == 1]) >= \
                plans.ranks_of(self.plan)
        if when == "again":
            return any(mark["attempt"] > 1 for mark in marks)
        return any(mark["end"] for mark in marks)

    def look(self):
        self.now_marks = self.marks()
        for when in plans.MOMENTS:
            if when not in self.moments and self.has_come(when):
                self.moments[when] = now_ms()
        for fault in self.faults:
            if fault["when"] in self.moments and "armed" not in fault:
                fault["armed"] = True
                self.due.append((self.moments[fault["when"]] + int(fault["delay"] * 1000),
                                 self.begin, fault))

    # --- faults ---
    def begin(self, fault):
        kind = fault["kind"]
        if kind == "late":
            return
        fault["begun"] = now_ms()
        fault["hit"] = acts.ACTS[kind][0](self.ring, fault)
        # The process to kill may be about to start.
        if not fault["hit"] and now_ms() - fault.setdefault("sought", now_ms()) < SEEK_MS:
            self.due.append((now_ms() + 10, self.begin, fault))
            return
        if kind == "stopped-log":
            self.logs[fault["host"]].paused = True
        if fault["hit"] and "length" in fault:
            over = self.start_anew if kind == "anew" else self.end
            self.due.append((now_ms() + int(fault["length"] * 1000), over, fault))

    def end(self, fault):
        acts.ACTS[fault["kind"]][1](self.ring, fault)
        fault["over"] = now_ms()
        if fault["kind"] == "stopped-log":
            self.logs[fault["host"]].paused = False

    def start_anew(self, fault):
        host = fault["host"]
        if self.ring.code(host) is None:
            self.due.append((now_ms() + 100, self.start_anew, fault))
            return
        self.end_life(host)
        self.lives[host][-1]["cut"] = True
        self.ring.link(host, "ring")
        open(self.logs[host].kept, "wb").close()
        fault["over"] = now_ms()
        self.start(host)

    def start_late(self, fault):
        fault["hit"], fault["begun"], fault["over"] = True, self.began, now_ms()
        self.start(fault["host"])

    # --- the round ---
    def is_over(self):
        coming = [due for due in self.due if due[1] in (self.start_anew, self.start_late)]
        return not coming and all(self.ring.code(host) is not None for host in self.lives)

    def run(self):
        plan = self.plan
        # A stop while the ring is being made would leave a part of it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP})
        self.ring, self.pauses = Ring(plan), Pauses()
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})
            ring = self.ring
            for fault in self.faults:
                if fault["kind"] == "full-output":
                    ring.mount(ring.folder(fault["host"]) + "/output", 1)
            everyone = range(1, ring.count + 1)
            self.logs = {host: Log(ring, host, self.faults) for host in everyone}
            self.began = self.moments["start"] = now_ms()
            self.pauses.start()
            late = {fault["host"]: fault for fault in self.faults if fault["kind"] == "late"}
            for host in everyone:
                if host in late:
                    self.due.append((self.began + int(late[host]["length"] * 1000),
                                     self.start_late, late[host]))
                else:
                    self.start(host)
            self.now_marks = []
            while not self.is_over() and now_ms() - self.began < self.limit:
                self.look()
                for due in sorted((due for due in self.due if due[0] <= now_ms()),
                                  key=lambda due: due[0]):
                    self.due.remove(due)
                    due[1](due[2])
                for log in self.logs.values():
                    log.turn()
                self.take_networks()
                time.sleep(TURN)
            return self.history()
        finally:
            for fault in self.faults:
                if "process" in fault:
                    acts.end_junk(self.ring, fault)
            self.ring.down()

    def history(self):
        ended = now_ms()
        self.pauses.over = True
        hung = {host: [b" ".join(words).decode("utf-8", "replace")[:120]
                       for words in self.ring.processes(host).values()]
                for host in self.lives if self.ring.code(host) is None}
        for host in self.lives:
            self.end_life(host)
        faults = [{"hit": bool(fault.get("hit")), "begun": fault.get("begun"),
                   "over": fault.get("over")} for fault in self.faults]
        return {"plan": self.plan, "began": self.began, "took": ended - self.began,
                "hosts": self.lives, "faults": faults, "marks": self.marks(),
                "moments": self.moments, "longest": self.pauses.longest, "hung": hung}


def perform(plan, limit_ms):
    return Round(plan, limit_ms).run()

