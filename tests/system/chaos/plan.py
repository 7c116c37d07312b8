"""Draws a random job and its faults from a seed, and prints them as a readable script of events.

A plan is a dictionary of plain values, so that it can be written to a file, reduced and run again:

    slots      the number of ranks of each host, host 1 first
    settings   RINGMASTER_* variables without their prefix, the same on all hosts
    program    kind, seconds, code, who, until, stagger: the arguments of rank.c
    root       whether the hosts run as root
    engine     whether the network of a host is removed as soon as its first process has ended, as
               container engines do
    faults     a list of dictionaries: kind, host, when, delay, and what the kind needs besides

A fault begins `delay` seconds after the moment that `when` names (MOMENTS). Times are seconds. To
add a kind of fault, add a row to KINDS, its effect to acts.py, and what it excuses to effects.py.
"""

import random

MOMENTS = {
    "start": "after the first host was started",
    "joined": "after all hosts have joined",
    "launched": "after the first rank has begun",
    "running": "after all ranks run",
    "again": "after the first rank of a second attempt has begun",
    "end": "after the first rank has ended",
    "verdict": "after the first host has printed the verdict",
}

READY = 20
NO_LENGTH = 0


def outage(draw, plan):
    """Draws how long a host is silent: safely shorter than the lease, about as long, or longer."""
    dead = plan["settings"]["DEAD_SECONDS"]
    kind = draw.random()
    if kind < 0.5:
        return draw.uniform(0.5, dead - 1.5)
    if kind < 0.6:
        return draw.uniform(dead - 1.5, dead + 1.5)
    return draw.uniform(dead + 1.5, dead + 10)


def brief(draw, _plan):
    return draw.uniform(0.3, 4)


def none(_draw, _plan):
    return NO_LENGTH


# kind: weight, how long it lasts, its sentence, what else is drawn
KINDS = {
    "kill-container": (5, none, "{host} is killed with its network", {}),
    "kill-first": (4, none, "the first process of {host} is killed", {}),
    "kill-rank": (4, none, "the program of a rank on {host} is killed", {}),
    "kill-shim": (3, none, "a rank's launcher process on {host} is killed", {}),
    "kill-daemon": (3, none, "orted on {host} is killed", {}),
    "kill-mpirun": (3, none, "mpirun is killed", {}),
    "stop-first": (7, outage, "the first process of {host} stands still for {length} s", {}),
    "freeze": (6, outage, "all processes of {host} stand still for {length} s", {}),
    "stop-mpirun": (2, brief, "mpirun stands still for {length} s", {}),
    "stop-rank": (2, brief, "the program of a rank on {host} stands still for {length} s", {}),
    "cut": (9, outage, "{host} is cut off for {length} s", {}),
    "mute": (5, outage, "what {host} sends is lost for {length} s", {}),
    "deafen": (5, outage, "what is sent to {host} is lost for {length} s", {}),
    "mute-control": (3, outage, "control packets that {host} sends are lost for {length} s", {}),
    "deafen-control": (3, outage, "control packets that are sent to {host} are lost for {length} s",
                       {}),
    "part": (3, outage, "{hosts} see only each other for {length} s", {}),
    "lossy": (4, outage, "{host} loses {percent} % of its packets for {length} s",
              {"percent": (5, 10, 20, 50)}),
    "reset": (2, outage, "connections of {host} are reset for {length} s", {}),
    "term": (5, none, "{host} gets SIGTERM", {}),
    "term-twice": (2, brief, "{host} gets SIGTERM, and again {length} s later", {}),
    "clock": (4, brief, "the clock of {host} is set by {seconds} s, and back {length} s later",
              {"seconds": (-86400, -3600, -5, 5, 3600, 86400)}),
    "slow-log": (2, none, "the log of {host} is read at {rate} bytes/s",
                 {"rate": (2000, 16000, 200000)}),
    "stopped-log": (2, outage, "nobody reads the log of {host} for {length} s", {}),
    "full-log": (3, brief, "the disk under the log of {host} is full for {length} s", {}),
    "full-output": (2, brief, "the disk under /opt/ml/output of {host} is full for {length} s", {}),
    "few-files": (1, none, "{host} has {count} descriptors", {"count": (16, 24, 40, 64, 128)}),
    "few-processes": (1, none, "{host} may have {count} processes", {"count": (2, 6, 12, 24)}),
    "little-memory": (1, none, "{host} has {count} MiB of memory", {"count": (4, 16, 64)}),
    "anew": (4, brief, "the container of {host} is killed and started anew {length} s later", {}),
    "late": (3, outage, "{host} is started {length} s late", {}),
    "junk": (3, outage, "strangers send junk to the control port of {host} for {length} s", {}),
    # Only draw_more draws this kind.
    "success-alone": (0, outage,
                      "{host} is cut off for {length} s, in which its first rank succeeds", {}),
}
# The kinds that are in effect from the host's start on.
FROM_START = {"slow-log", "few-files", "few-processes", "little-memory", "late"}
# The kinds that apply to the host that mpirun runs on.
OF_MASTER = {"kill-mpirun", "stop-mpirun"}

# kind: weight, the codes that it may have
PROGRAMS = {
    "good": (50, (0,)),
    "exit": (6, (1, 7, 42, 130, 255)),
    "crash": (12, (6, 9, 11)),
    "hang": (3, (0,)),
    "stubborn": (3, (0,)),
    "deaf": (4, (0,)),
    "flood": (6, (0,)),
    "daemon": (8, (0, 9, 11)),
    "tidy": (6, (0, 11)),
}


def ranks_of(plan):
    """Returns the number of ranks. The last hosts may be spares, which have none."""
    return sum(plan["slots"][:len(plan["slots"]) - plan["settings"].get("SPARES", 0)])


def weighted(draw, table):
    names = list(table)
    return draw.choices(names, [table[name][0] for name in names])[0]


def draw_settings(draw):
    restarts = draw.choices((0, 1, 2, 3, 5), (25, 25, 22, 20, 8))[0]
    settings = {"RESTARTS": restarts, "DEAD_SECONDS": draw.choice((5, 6, 8, 10)),
                "STOP_SECONDS": draw.choice((2, 4, 8)), "READY_SECONDS": READY}
    if restarts and draw.random() < 0.7:
        settings["SHRINK"] = 1
        if draw.random() < 0.6:
            settings["FAILOVER"] = 1
    if draw.random() < 0.15:
        settings["LOGS"] = "master"
    if draw.random() < 0.1:
        settings["EVENTS"] = 0
    return settings


def draw_program(draw, ranks):
    kind = weighted(draw, PROGRAMS)
    # Lost hosts come back during an attempt only if it takes longer than a lease.
    longest = 25 if draw.random() < 0.12 else 7
    return {"kind": kind, "seconds": round(draw.uniform(1.5, longest), 1),
            "code": draw.choice(PROGRAMS[kind][1]), "who": draw.randrange(ranks),
            "until": draw.choice((1, 1, 2, 100)), "stagger": draw.choice((0, 0, 0.1, 0.3))}


def draw_moment(draw, plan):
    seconds = plan["program"]["seconds"]
    moments = {"start": 8, "joined": 7, "launched": 10, "running": 26, "before-end": 22, "end": 20,
               "verdict": 5}
    if plan["settings"]["RESTARTS"]:
        moments["again"] = 8
    when = draw.choices(list(moments), list(moments.values()))[0]
    if when == "before-end":
        return "running", round(max(0.0, seconds - draw.uniform(0, 1.5)), 2)
    end = 0.1 + plan["program"]["stagger"] * sum(plan["slots"])
    longest = {"start": 1.0, "joined": 0.3, "launched": 0.3, "running": seconds, "again": 3.0,
               "end": end, "verdict": 0.05}
    return when, round(draw.uniform(0, longest[when]), 2)


def draw_fault(draw, plan):
    count = len(plan["slots"])
    kind = weighted(draw, KINDS)
    _, length, _, more = KINDS[kind]
    when, delay = draw_moment(draw, plan)
    fault = {"kind": kind, "host": 1 if draw.random() < 0.35 else draw.randint(1, count),
             "when": when, "delay": delay}
    if kind in OF_MASTER:
        fault["host"] = 1
    if kind in FROM_START:
        fault["when"], fault["delay"] = "start", 0
    seconds = length(draw, plan)
    if seconds != NO_LENGTH:
        fault["length"] = round(seconds, 1)
    for name, values in more.items():
        fault[name] = draw.choice(values)
    if kind == "part":
        some = draw.sample(range(1, count + 1), draw.randint(1, max(1, count // 2)))
        fault["hosts"] = sorted(some)
        fault["host"] = fault["hosts"][0]
    return fault


def draw_plan(seed):
    draw = random.Random(seed)
    count = draw.choices((2, 3, 4, 5, 6, 8), (32, 32, 14, 12, 5, 5))[0]
    plan = {"seed": seed, "slots": [draw.choice((1, 1, 2)) for _ in range(count)],
            "root": draw.random() < 0.3, "engine": draw.random() < 0.7}
    plan["settings"] = draw_settings(draw)
    plan["program"] = draw_program(draw, sum(plan["slots"]))
    faults = draw.choices((1, 2, 3, 4), (35, 35, 20, 10))[0]
    plan["faults"] = [draw_fault(draw, plan) for _ in range(faults)]
    # A launch that fails for lack of processes may take a minute each time.
    if any(fault["kind"] in ("few-processes", "little-memory") for fault in plan["faults"]):
        plan["settings"]["RESTARTS"] = min(1, plan["settings"]["RESTARTS"])
    # A program that never ends by itself gets a SIGTERM at some time.
    if plan["program"]["kind"] in ("hang", "stubborn"):
        plan["faults"].append({"kind": "term", "host": draw.randint(1, count), "when": "running",
                               "delay": round(draw.uniform(1, 12), 1)})
    draw_more(seed, plan)
    return plan


def draw_more(seed, plan):
    """Draws what plans have had only since seeds were first noted.

    It uses a generator of its own, so that those seeds still draw the rest as before."""
    draw, settings, program = random.Random(f"more {seed}"), plan["settings"], plan["program"]
    if draw.random() < 0.45:
        settings["LAUNCHER"] = "direct"
    if settings["RESTARTS"] and len(plan["slots"]) > 2 and draw.random() < 0.35:
        settings["SPARES"] = draw.choice((1, 1, 2)) if len(plan["slots"]) > 4 else 1
        program["who"] %= ranks_of(plan)
    if draw.random() < 0.12:
        host = draw.randint(1, len(plan["slots"]) - settings.get("SPARES", 0))
        ends = program["seconds"] + program["stagger"] * sum(plan["slots"][:host - 1])
        plan["faults"].append({"kind": "success-alone", "host": host, "when": "running",
                               "delay": round(max(0.0, ends - draw.uniform(0.1, 0.8)), 2),
                               "length": round(outage(draw, plan), 1)})


def fault_text(fault):
    words = dict(fault)
    words["host"] = f"algo-{fault['host']}"
    words["hosts"] = ", ".join(f"algo-{host}" for host in fault.get("hosts", []))
    sentence = KINDS[fault["kind"]][2].format(**words)
    if fault["kind"] in FROM_START:
        return sentence
    return f"{fault['delay']} s {MOMENTS[fault['when']]}: {sentence}"


def plan_text(plan):
    settings = " ".join(f"RINGMASTER_{name}={value}" for name, value in plan["settings"].items())
    program = plan["program"]
    lines = [f"seed {plan['seed']}: {len(plan['slots'])} hosts with {plan['slots']} ranks"
             f"{', as root' if plan['root'] else ''}"
             f"{', whose networks end with them' if plan['engine'] else ''}",
             f"  {settings}",
             f"  program: {program['kind']} of rank {program['who']} in attempts 1 to "
             f"{program['until']}, code {program['code']},"
             f" {program['seconds']} s and {program['stagger']} s for each rank"]
    return "\n".join(lines + [f"  - {fault_text(fault)}" for fault in plan["faults"]])
