"""The effects of faults: for each kind of plan.KINDS, a function that begins it and one that ends
it.

The first returns whether it found its target; a fault without one has no effect and excuses
nothing."""

import errno
import os
import signal
import subprocess
import sys

from ring import HERE, LIBRARIES, send

PORT = "7070"


def other(ring, host):
    """Returns another host, from which strangers connect."""
    return 1 if host != 1 else ring.count


def begin_kill(role):
    def begin(ring, fault):
        found = ring.named(fault["host"], role)
        fault["victims"] = len(found)
        return bool(found) and send(found[-1], signal.SIGKILL)
    return begin


def begin_container(ring, fault):
    if ring.first(fault["host"]) is None:
        return False
    ring.link(fault["host"], None)
    return ring.kill(fault["host"])


def begin_first(ring, fault):
    return ring.kill(fault["host"])


def stop_first(number):
    def act(ring, fault):
        first = ring.first(fault["host"])
        return first is not None and send(first, number)
    return act


def stop_all(number):
    return lambda ring, fault: ring.signal_all(fault["host"], number)


def stop_role(role):
    def act(ring, fault):
        fault["pids"] = ring.named(fault["host"], role)[-1:]
        return any([send(pid, signal.SIGSTOP) for pid in fault["pids"]])
    return act


def continue_role(ring, fault):
    return any([send(pid, signal.SIGCONT)
                for pid in fault["pids"] if pid in ring.processes(fault["host"])])


def begin_cut(ring, fault):
    return ring.link(fault["host"], None)


def end_cut(ring, fault):
    return ring.link(fault["host"], "ring")


def begin_part(ring, fault):
    ring.bridge("far")
    return all([ring.link(host, "far") for host in fault["hosts"]])


def end_part(ring, fault):
    return all([ring.link(host, "ring") for host in fault["hosts"]])


def rules(fault):
    kind = fault["kind"]
    control = [[direction, "-p", "tcp", port, PORT]
               for direction in ("OUTPUT", "INPUT") for port in ("--dport", "--sport")]
    if kind in ("mute", "deafen"):
        return [["OUTPUT", "-o", "eth0", "-j", "DROP"] if kind == "mute"
                else ["INPUT", "-i", "eth0", "-j", "DROP"]]
    if kind in ("mute-control", "deafen-control"):
        way = "OUTPUT" if kind == "mute-control" else "INPUT"
        return [rule + ["-j", "DROP"] for rule in control if rule[0] == way]
    if kind == "reset":
        return [["INPUT", "-i", "eth0", "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"]]
    chance = ["-m", "statistic", "--mode", "random", "--probability", str(fault["percent"] / 100)]
    return [["INPUT", "-i", "eth0", *chance, "-j", "DROP"]]


def begin_rules(ring, fault):
    return all([ring.rule(fault["host"], "-A", rule) for rule in rules(fault)])


def end_rules(ring, fault):
    return all([ring.rule(fault["host"], "-D", rule) for rule in rules(fault)])


def term(ring, fault):
    first = ring.first(fault["host"])
    return first is not None and send(first, signal.SIGTERM)


def set_clock(ring, fault, seconds):
    with open(f"{ring.folder(fault['host'])}/step.new", "w", encoding="ascii") as file:
        file.write(f"{seconds}\n")
    os.chmod(f"{ring.folder(fault['host'])}/step.new", 0o644)
    os.rename(f"{ring.folder(fault['host'])}/step.new", f"{ring.folder(fault['host'])}/step")
    return True


def begin_clock(ring, fault):
    return set_clock(ring, fault, fault["seconds"])


def end_clock(ring, fault):
    return set_clock(ring, fault, 0)


def disk(ring, fault):
    return ring.folder(fault["host"]) + ("/disk" if fault["kind"] == "full-log" else "/output")


def begin_full(ring, fault):
    if not os.path.ismount(disk(ring, fault)):  # the log is a pipe
        return False
    with open(disk(ring, fault) + "/fill", "wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 65536):
                pass
        except OSError as error:
            return error.errno == errno.ENOSPC
    return False


def end_full(ring, fault):
    os.unlink(disk(ring, fault) + "/fill")
    return True


def begin_junk(ring, fault):
    command = [sys.executable, HERE + "/junk.py", f"10.77.0.{fault['host']}", PORT,
               str(ring.plan["seed"])]
    fault["process"] = subprocess.Popen(ring.in_network(other(ring, fault["host"]), *command),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
    return True


def end_junk(_ring, fault):
    process = fault.pop("process")
    process.kill()
    process.wait()
    return True


def nothing(_ring, _fault):
    return True


ACTS = {
    "kill-container": (begin_container, None),
    "kill-first": (begin_first, None),
    "anew": (begin_container, None),
    "kill-rank": (begin_kill("rank"), None),
    "kill-shim": (begin_kill("shim"), None),
    "kill-daemon": (begin_kill("daemon"), None),
    "kill-mpirun": (begin_kill("mpirun"), None),
    "stop-first": (stop_first(signal.SIGSTOP), stop_first(signal.SIGCONT)),
    "freeze": (stop_all(signal.SIGSTOP), stop_all(signal.SIGCONT)),
    "stop-mpirun": (stop_role("mpirun"), continue_role),
    "stop-rank": (stop_role("rank"), continue_role),
    "cut": (begin_cut, end_cut),
    "success-alone": (begin_cut, end_cut),
    "part": (begin_part, end_part),
    "mute": (begin_rules, end_rules),
    "deafen": (begin_rules, end_rules),
    "mute-control": (begin_rules, end_rules),
    "deafen-control": (begin_rules, end_rules),
    "lossy": (begin_rules, end_rules),
    "reset": (begin_rules, end_rules),
    "term": (term, None),
    "term-twice": (term, term),
    "clock": (begin_clock, end_clock),
    "stopped-log": (nothing, nothing),
    "full-log": (begin_full, end_full),
    "full-output": (begin_full, end_full),
    "junk": (begin_junk, end_junk),
    "slow-log": (nothing, None),
    "few-files": (nothing, None),
    "few-processes": (nothing, None),
    "little-memory": (nothing, None),
    "late": (nothing, None),
}


def preparation(ring, host, faults):
    """Returns lines of script for the faults that are in effect from a host's first process on."""
    script = []
    for fault in faults:
        if fault["host"] != host:
            continue
        kind = fault["kind"]
        if kind == "clock":
            step = ring.folder(host) + "/step"
            set_clock(ring, fault, 0)
            script.append(f'set -- LD_PRELOAD={LIBRARIES}/clock.so CLOCK_STEP={step} "$@"')
        elif kind == "few-files":
            script.append(f"ulimit -n {fault['count']}")
        elif kind == "few-processes":
            script.append(ring.group(host, "pids", "pids.max", fault["count"]) or ":")
        elif kind == "little-memory":
            script.append(ring.group(host, "memory", "memory.limit_in_bytes", fault["count"] << 20)
                          or ":")
    return script


assert sys.version_info >= (3, 8), "Python 3.8 or later is needed"
