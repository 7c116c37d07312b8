"""Judges the history of a round: it returns the promises that were broken, each with what was seen.

The rules are those of the documentation. A host is untouched if nothing has happened to it that
may make the others count it as lost (effects.py). Untouched hosts must keep all rules, the others
fewer. To add a rule, write a function that yields (name, words), add it to RULES, and add a history
that breaks it to test_oracle.py."""

from effects import LIMITS, Effects
from plan import ranks_of

STORY_MOST = 1024
TOGETHER_MS = 15000
FAILURE_MS = 3000
BACK_MS = 12000
HARMLESS = {"clock", "slow-log", "stopped-log", "full-log", "full-output", "junk"}
VERDICTS = ("done: ", "; leaving with ")


def limit_ms(plan):
    """Returns the time after which all hosts of such a plan must have ended."""
    settings = plan["settings"]
    attempts = settings["RESTARTS"] + 1
    lengths = sum(fault.get("length", 0) for fault in plan["faults"])
    delays = max([fault["delay"] for fault in plan["faults"]], default=0)
    attempt = plan["program"]["seconds"] + plan["program"]["stagger"] * sum(plan["slots"]) \
        + 2 * settings["DEAD_SECONDS"] + 12
    if any(fault["kind"] in LIMITS for fault in plan["faults"]):
        attempt += 62  # a launch is given up after a minute
    return int(1000 * (2 * settings["READY_SECONDS"] + lengths + delays + attempts * attempt
                       + 2 ** settings["RESTARTS"] + settings["STOP_SECONDS"] + 100))


class Case:
    def __init__(self, history):
        self.history, self.plan = history, history["plan"]
        self.effects = Effects(history)
        self.deaf = set()
        self.last = {int(host): lives[-1] for host, lives in history["hosts"].items()}
        self.marks = [mark for mark in history["marks"] if mark["role"] == "rank"]
        self.living = {host: life for host, life in self.last.items()
                       if life["code"] is not None and not life["killed"]}
        self.untouched = {host: life for host, life in self.living.items()
                          if host not in self.effects.touched()}
        self.leave_out_the_deaf()
        self.codes = {host: life["code"] for host, life in self.untouched.items()}
        ends = [mark["end"] for mark in self.marks if mark["end"]]
        self.end = max(ends, default=self.effects.over)

    def leave_out_the_deaf(self):
        """Moves the hosts that could not receive a failure from the untouched to the deaf ones.

        The hosts have two seconds to learn of a failure; one that is silent then ends by itself."""
        ends = [life["ended"] for life in self.untouched.values()]
        if not any(life["code"] for life in self.untouched.values()):
            return
        for host in list(self.untouched):
            if any(begin < max(ends) and end > min(ends) - FAILURE_MS
                   for begin, end in self.effects.silent[host]) \
                    and 0 not in {life["code"] for life in self.living.values()}:
                self.deaf.add(host)
                del self.untouched[host]

    def last_attempt(self):
        """Returns the marks of the last attempt of the last run."""
        if not self.marks:
            return []
        run = self.marks[-1]["run"]
        number = max(mark["attempt"] for mark in self.marks if mark["run"] == run)
        return [mark for mark in self.marks if mark["run"] == run and mark["attempt"] == number]

    def kinds(self, host):
        return {fault["kind"] for fault in self.effects.faults if fault["host"] == host}


def hung(case):
    """Finds hosts that have not ended.

    A program that never ends waits for a stop. With SHRINK, the job goes on without a host that was
    stopped while it was cut off from the first one."""
    effects = case.effects
    stops = {fault["host"] for fault in effects.faults if fault["kind"] in ("term", "term-twice")}
    lost = {host for host in stops
            if host != 1 and effects.apart & {1, host} and str(host) not in case.history["hung"]}
    if case.plan["program"]["kind"] in ("hang", "stubborn") and effects.goes_on_without() \
            and stops and stops == lost:
        return
    for host, processes in case.history["hung"].items():
        yield "hung", \
            f"algo-{host} has not ended after {case.history['took'] // 1000} s: {processes[:4]}"


def codes_differ(case):
    values = set(case.codes.values())
    if len(values) < 2:
        return
    if values <= {0, 73} and case.effects.leader_torn(case.end):
        return
    if values <= {69, 73, 143} and 1 in case.effects.touched() and case.effects.before_the_begin():
        return
    yield "codes-differ", f"untouched hosts ended with {case.codes}"


def success_alone(case):
    """Finds a success that untouched hosts do not know of.

    With SHRINK, a first host that was cut off for too long goes on with the hosts that are left,
    and those that it has lost end with 73."""
    if case.effects.goes_on_without() and 1 in case.effects.apart \
            and set(case.codes.values()) == {73}:
        return
    if 0 in case.codes.values() or not any(case.codes.values()) \
            or case.effects.leader_torn(case.end, stood=False):
        return
    for host, life in case.living.items():
        if life["code"] == 0:
            yield "success-alone", \
                f"algo-{host} ended with 0, the untouched hosts with {case.codes}"


def success_is_true(case):
    good = [host for host, life in case.living.items() if life["code"] == 0]
    marks = case.last_attempt()
    if not good:
        return
    world = marks[0]["world"] if marks else 0
    done = {mark["rank"] for mark in marks if mark["end"] and mark["code"] == 0}
    if not marks or done != set(range(world)):
        yield "false-success", \
            f"hosts {good} ended with 0; of {world} ranks {sorted(done)} returned 0"
    elif all(mark["asked"] for mark in marks) and case.effects.stopped:
        yield "stop-ignored", f"hosts {good} ended with 0 though all ranks were stopped"


def stop_is_unheard(case):
    """A stop that comes while all ranks run, before any other fault, ends the job with 143."""
    faults = [fault for fault in case.effects.faults if fault["kind"] not in HARMLESS]
    stops = [fault["begun"] for fault in faults if fault["kind"] in ("term", "term-twice")]
    if not stops or case.effects.program_codes() or case.effects.limited:
        return
    first = min(stops)
    others = [fault["begun"] for fault in faults if fault["kind"] not in ("term", "term-twice")]
    running = [mark for mark in case.marks
               if mark["begin"] < first and (not mark["end"] or mark["end"] > first + 500)]
    if len(running) < ranks_of(case.plan) or any(begun < first + 3000 for begun in others):
        return
    for host, code in case.codes.items():
        if code != 143:
            yield "stop-unheard", \
                f"algo-{host} ended with {code} though a stop came while all ranks ran"
            return


def good_job_fails(case):
    if case.effects.all_is_tried_again():
        for host, code in case.codes.items():
            if code != 0:
                if case.effects.leader_torn(case.end) and code == 73:
                    continue
                failures = case.effects.failures_at_most()
                yield "good-job-failed", \
                    f"algo-{host} ended with {code}; {failures} failures at most, " \
                    f"{case.plan['settings']['RESTARTS']} restarts: " \
                    f"{case.untouched[host]['failure']!r:.200}"
                return


def restart_is_missing(case):
    """Finds a job that ended with a failure that the rules retry, though attempts were left."""
    effects = case.effects
    if not case.codes or effects.stopped or effects.limited or effects.losses() or not case.marks:
        return
    attempts = max(mark["attempt"] for mark in case.marks)
    code = max(case.codes.values())
    if code in (73, 74, 134, 137, 139) and attempts <= case.plan["settings"]["RESTARTS"]:
        if case.plan["program"]["kind"] != "exit":
            yield "restart-missing", \
                f"ended with {code} in attempt {attempts} of " \
                f"{case.plan['settings']['RESTARTS'] + 1}"


def internal(case):
    for host, life in case.living.items():
        if life["code"] == 70 and host not in case.effects.limited:
            if not case.effects.limited:
                yield "internal", f"algo-{host}: {life['failure']!r:.200}"


def code_without_cause(case):
    allowed = case.effects.codes() | {0, 70}
    if case.effects.limited:
        return
    for host, life in case.living.items():
        mine = allowed | ({69, 73} if host in case.effects.touched() | case.deaf else set())
        if life["code"] not in mine:
            yield "code-without-cause", \
                f"algo-{host} ended with {life['code']}, {sorted(mine)} expected: " \
                f"{life['failure']!r:.200}"


def overlaps(case):
    """Finds an attempt that lives into the next one of its run, and two runs at once."""
    effects = case.effects
    excused = effects.outlive()
    all_marks = case.history["marks"]
    for mark in all_marks:
        for next_mark in case.marks:
            later = next_mark["run"] == mark["run"] and next_mark["attempt"] > mark["attempt"]
            other = next_mark["run"] != mark["run"] and next_mark["begin"] >= mark["begin"]
            if not (later or other) or mark["alive"] <= next_mark["begin"] \
                    or mark["host"] in excused:
                continue
            name = "two-attempts" if later else "two-runs"
            yield name, \
                f"{mark['role']} {mark['rank']} of attempt {mark['attempt']} " \
                f"on algo-{mark['host']} was alive {mark['alive'] - next_mark['begin']} ms " \
                f"after attempt {next_mark['attempt']} had begun on algo-{next_mark['host']}"
            return
    for attempt in {(mark["run"], mark["attempt"], mark["rank"]) for mark in case.marks}:
        found = [mark for mark in case.marks
                 if (mark["run"], mark["attempt"], mark["rank"]) == attempt]
        if len(found) > 1:
            yield "rank-twice", \
                f"rank {attempt[2]} of attempt {attempt[1]} began {len(found)} times"
    if len({mark["run"] for mark in case.marks}) > 1 and not effects.anew:
        yield "two-runs", "there are two runs, and no host was started anew"


def left_alone(case):
    """Finds hosts that were back in time but ended with another exit code than the others.

    A lost host that is reachable again long before the end of a job that takes it back must end
    like the others."""
    effects, settings = case.effects, case.plan["settings"]
    # With failover, a host that is back first asks each possible leader, for twenty seconds each.
    if not settings.get("SHRINK") or settings.get("FAILOVER") or 1 not in case.untouched \
            or effects.stopped or len(set(case.codes.values())) != 1:
        return
    if max((mark["attempt"] for mark in case.marks), default=0) > settings["RESTARTS"]:
        return
    for host in effects.apart - set(effects.gone) - effects.unsure - effects.limited - effects.late:
        back = max(end for _, end in effects.silent[host])
        if host in case.living and back + BACK_MS < case.untouched[1]["ended"] \
                and case.living[host]["code"] != case.codes[1] and not effects.before_the_begin():
            yield "left-alone", \
                f"algo-{host} was back {case.untouched[1]['ended'] - back} ms before the end " \
                f"and ended with {case.living[host]['code']}, the others with {case.codes[1]}"


def failure_file(case):
    stories = {}
    for host, life in case.living.items():
        text = life["failure"]
        if text is None:
            if host in case.untouched and life["code"] != 0 \
                    and "full-output" not in case.kinds(host):
                yield "no-failure-file", f"algo-{host} ended with {life['code']} and left none"
            continue
        if life["code"] == 0:
            yield "failure-file", f"algo-{host} ended with 0 and left a failure file: {text!r:.100}"
        try:
            story = text.encode("latin-1").decode("utf-8")
        except UnicodeDecodeError:
            yield "failure-file", f"algo-{host}: no valid UTF-8: {text!r:.200}"
            continue
        if len(story) > STORY_MOST:
            yield "failure-file", f"algo-{host}: {len(story)} characters"
        if host in case.untouched and "full-output" not in case.kinds(host):
            stories[host] = story
    if 1 in case.untouched and len(set(case.codes.values())) == 1 \
            and len(set(stories.values())) > 1:
        yield "stories-differ", " / ".join(
            f"algo-{host}: {story.splitlines()[:1]}" for host, story in stories.items())


def cause(case):
    """Returns the words that a failure file must have and one that it must not have.

    Only where there is exactly one cause is anything required."""
    effects, program = case.effects, case.plan["program"]
    if effects.stopped or effects.unsure or effects.limited or \
            len(effects.strikes()) + len(effects.losses()) + bool(effects.program_codes()) != 1:
        return [], None
    for fault in effects.strikes():
        host = f"algo-{fault['host']}"
        return {
            "kill-mpirun": (["mpirun"], " rank "),
            "kill-daemon": ([host, "orted"], " rank "),
        }.get(fault["kind"], ([f"{host} rank"], None))
    for host in effects.losses():
        return ([f"algo-{host}"], None) \
            if 1 in case.untouched and not effects.before_the_begin() else ([], None)
    return [f" rank {program['who']}:"], None


def wrong_culprit(case):
    words, other = cause(case)
    for host, life in case.untouched.items():
        first = (life["failure"] or "").split("\n")[0]
        if life["code"] != 0 and first and "full-output" not in case.kinds(host):
            if any(word not in first for word in words) or (other and other in first):
                yield "wrong-culprit", f"algo-{host} tells {first!r}; {words} expected"
                return


def leftovers(case):
    for host, life in case.untouched.items():
        if life["leftovers"]:
            yield "leftovers", f"algo-{host} left {life['leftovers'][:4]}"


def has_verdict(life):
    return any(word in line for line in life["lines"] for word in VERDICTS)


def crash(case):
    for host, lives in case.history["hosts"].items():
        for life in lives:
            if life["alarms"]:
                yield "crash", f"algo-{host}: {life['alarms'][:3]}"
    for host, life in case.living.items():
        # A host with too few resources to start may end without a verdict.
        if life["code"] >= 128 and not has_verdict(life) and life["failure"] is None \
                and host not in case.effects.limited:
            yield "crash", f"algo-{host} ended with {life['code']} without a verdict"


def verdict_in_log(case):
    for host, life in case.untouched.items():
        slow = [fault for fault in case.effects.faults if fault["host"] == host and fault["kind"] in
                ("slow-log", "stopped-log", "full-log") and fault.get("rate", 0) < 16000
                and (fault["over"] or case.effects.over) > life["ended"] - 3000]
        # The disk of a full-log fault is so small that the output of a flood keeps it full.
        flooded = case.plan["program"]["kind"] == "flood" and any(
            fault["host"] == host and fault["kind"] == "full-log" for fault in case.effects.faults)
        if not slow and not flooded and not has_verdict(life):
            yield "no-verdict-in-log", \
                f"algo-{host} ended with {life['code']}; its last line: {life['lines'][-1:]}"


def together(case):
    ends = [life["ended"] for life in case.untouched.values()]
    if len(set(case.codes.values())) == 1 and ends:
        allowed = TOGETHER_MS + case.effects.dead
        if 1 in case.effects.touched():
            allowed += 70000  # the others look for a first host for a minute
        if max(ends) - min(ends) > allowed:
            yield "not-together", f"untouched hosts ended {max(ends) - min(ends)} ms apart"


RULES = (hung, codes_differ, success_alone, success_is_true, stop_is_unheard, good_job_fails,
         restart_is_missing, internal, code_without_cause, overlaps, left_alone, failure_file,
         wrong_culprit, leftovers, crash, verdict_in_log, together)


def judge(history):
    """Returns the violations of a history, as (name, words)."""
    case = Case(history)
    return [found for rule in RULES for found in rule(case)]

