"""Reduces a plan that fails to fewer faults, hosts and settings, as long as one of a few tries
breaks the same promise."""

import copy
import json
import time

import oracle
import plan as plans

TRIES = 3


def without_fault(plan, index):
    del plan["faults"][index]
    return plan


def without_host(plan, host):
    """Returns the plan without a host, or None if a fault needs it. Later hosts move up."""
    for fault in plan["faults"]:
        if host == fault["host"] or host in fault.get("hosts", []):
            return None
    first = sum(plan["slots"][:host - 1])
    del plan["slots"][host - 1]
    for fault in plan["faults"]:
        fault["host"] -= fault["host"] > host
        if "hosts" in fault:
            fault["hosts"] = [other - (other > host) for other in fault["hosts"]]
    who = plan["program"]["who"]
    plan["program"]["who"] = min(max(0, who - (who >= first)), sum(plan["slots"]) - 1)
    if len(plan["slots"]) - plan["settings"].get("SPARES", 0) < 2:
        return None
    plan["program"]["who"] %= plans.ranks_of(plan)
    return plan


def with_good_program(plan):
    if plan["program"]["kind"] == "good":
        return None
    plan["program"].update(kind="good", code=0)
    return plan


def with_one_rank_each(plan):
    if max(plan["slots"]) == 1:
        return None
    plan["slots"] = [1] * len(plan["slots"])
    plan["program"]["who"] %= plans.ranks_of(plan)
    return plan


def without_setting(plan, name):
    if not plan["settings"].get(name):
        return None
    if name == "RESTARTS":
        plan["settings"][name] = 0
        plan["settings"].pop("SHRINK", None)
        plan["settings"].pop("FAILOVER", None)
        plan["settings"].pop("SPARES", None)
        return plan
    del plan["settings"][name]
    if name == "SHRINK":
        plan["settings"].pop("FAILOVER", None)
    return plan


def smaller(plan):
    """Yields all plans that are one step smaller."""
    steps = [lambda p, i=i: without_fault(p, i) for i in range(len(plan["faults"]))]
    steps += [lambda p, host=host: without_host(p, host)
              for host in range(len(plan["slots"]), 0, -1)]
    steps += [with_good_program, with_one_rank_each]
    steps += [lambda p, name=name: without_setting(p, name)
              for name in ("RESTARTS", "FAILOVER", "SHRINK", "SPARES", "LAUNCHER", "LOGS",
                           "EVENTS")]
    for step in steps:
        made = step(copy.deepcopy(plan))
        if made is not None:
            yield made


def fails(rounds, plan, names):
    """Returns whether one of a few tries breaks one of those promises again."""
    again = False
    for _, history, _ in rounds.results([plan] * TRIES):
        again = again or (history is not None
                          and bool(names & {name for name, _ in oracle.judge(history)}))
    return again


def minimise(rounds, plan, found):
    names = {name for name, _ in found}
    end = time.monotonic() + rounds.options.minimise * 60
    print(f"reducing the plan of seed {plan['seed']} while it breaks {sorted(names)}", flush=True)
    reduced = True
    while reduced and time.monotonic() < end:
        reduced = False
        for less in smaller(plan):
            if time.monotonic() > end:
                break
            if fails(rounds, less, names):
                plan, reduced = less, True
                break
    print("the smallest plan that fails:")
    print(plans.plan_text(plan))
    print(f"as a file for --plan: {json.dumps(plan)}", flush=True)
    return plan
