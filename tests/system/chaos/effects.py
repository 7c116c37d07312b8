"""What the faults of a history did to its hosts, as far as the rules of oracle.py need to know.

Silence is counted for each link between a host and the first one. Two outages count as one if the
pause between them is too short for a heartbeat to get through. An outage is short if it is shorter
than the lease by at least BEAT: the last heartbeat before it is up to half a second old, and the
connection has to be made again."""

BEAT = 1500
JOINS = 2000
STANDS = {"stop-first", "freeze"}
CUTS = {"cut", "success-alone", "mute", "deafen", "mute-control", "deafen-control", "lossy"}
KILLS = {"kill-container", "kill-first", "anew"}
STRIKES = {"kill-rank", "kill-shim", "kill-daemon", "kill-mpirun"}
LIMITS = {"few-files", "few-processes", "little-memory"}
LOSS_HARMLESS = 10  # percent


def merged(spans):
    """Returns the spans of silence in order; those too close to each other are joined."""
    found = []
    for begin, end in sorted(spans):
        if found and begin - found[-1][1] < JOINS:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


class Effects:
    def __init__(self, history):
        plan = history["plan"]
        self.plan, self.settings = plan, plan["settings"]
        self.dead = self.settings["DEAD_SECONDS"] * 1000
        self.count = len(plan["slots"])
        self.over = history["began"] + history["took"]
        self.began = min([mark["begin"] for mark in history["marks"]], default=None)
        self.joined = history["moments"].get("joined")
        self.faults = [dict(fault, **fate)
                       for fault, fate in zip(plan["faults"], history["faults"]) if fate["hit"]]
        self.silent = {host: [] for host in range(1, self.count + 1)}
        self.stood, self.gone, self.unsure = set(), {}, set()
        self.stands = {host: [] for host in range(1, self.count + 1)}
        for fault in self.faults:
            self.take(fault)
        self.apart = self.hosts_apart()
        self.limited = {fault["host"] for fault in self.faults if fault["kind"] in LIMITS}
        self.stopped = any(fault["kind"] in ("term", "term-twice") for fault in self.faults)
        self.anew = {fault["host"] for fault in self.faults if fault["kind"] == "anew"}
        self.late = self.hosts_late(history)

    def take(self, fault):
        kind, span = fault["kind"], (fault["begun"], fault["over"] or self.over)
        if (kind in STANDS or kind in CUTS) and fault.get("percent", 100) > LOSS_HARMLESS:
            self.silent[fault["host"]].append(span)
        if kind in STANDS:
            self.stood.add(fault["host"])
            self.stands[fault["host"]].append(span)
        if kind in KILLS:
            self.gone.setdefault(fault["host"], fault["begun"])
        if kind == "reset":
            self.unsure.add(fault["host"])
        if kind == "part":
            self.take_part(set(fault["hosts"]), span)

    def take_part(self, side, span):
        """Records a network partition: the hosts that cannot reach the first one are silent.

        With failover, another host may lead the job, so that either side may count as lost."""
        everyone = set(range(1, self.count + 1))
        for host in everyone - side if 1 in side else side:
            self.silent[host].append(span)
        if self.settings.get("FAILOVER") and span[1] - span[0] > self.dead - BEAT:
            self.unsure |= everyone

    def is_long(self, spans):
        return any(end - begin > self.dead - BEAT for begin, end in merged(spans))

    def hosts_apart(self):
        """Returns the hosts that may count as lost though they live."""
        apart = set(self.unsure) | {host for host, spans in self.silent.items()
                                    if self.is_long(spans)}
        for host in range(2, self.count + 1):
            if self.is_long(self.silent[host] + self.silent[1]) and not {host, 1} & apart:
                apart.update((host, 1))
        return apart

    def hosts_late(self, history):
        """Returns the hosts that were started after the end of the job, or shortly before it."""
        late = set()
        for fault in self.faults:
            if fault["kind"] == "late":
                ends = [life["ended"] for host, lives in history["hosts"].items() for life in lives
                        if life["ended"] and int(host) != fault["host"]]
                if fault["length"] > self.settings["READY_SECONDS"] - 5 \
                        or any(end < fault["over"] + 2000 for end in ends):
                    late.add(fault["host"])
        return late

    def touched(self):
        return self.apart | set(self.gone) | self.limited | self.late

    def losses(self):
        """Returns the hosts that the job may lose."""
        return self.apart | set(self.gone) | self.late

    def first_trouble(self, host):
        """Returns when the first fault of the host began."""
        return min([begin for begin, _ in self.silent[host]] + [self.gone.get(host, self.over)]
                   + [fault["begun"] for fault in self.faults if fault["host"] == host])

    def before_the_begin(self):
        """Returns whether a lost host was in trouble before the first rank ran, or soon after."""
        return bool(self.losses()) and (self.began is None or any(
            self.first_trouble(host) < self.began + 500 for host in self.losses()))

    def leader_torn(self, since, stood=True):
        """Returns whether the host that led the job was lost at its end.

        Which hosts have received the verdict is then left to chance. Without STOOD, a host that was
        paused does not count: when it goes on, it can ask the others."""
        lost = self.losses()
        leaders = {1} | {host for host in lost if all(other in lost for other in range(1, host))}
        ends = [self.gone[host] for host in leaders if host in self.gone]
        ends += [span[1] for host in leaders & self.apart for span in self.silent[host]
                 if stood or span not in self.stands[host]]
        if leaders & self.unsure:
            return True
        return any(end > since - 2000 for end in ends)

    def goes_on_without(self):
        """Returns whether a first host that has lost others may go on without them."""
        return bool(self.settings.get("SHRINK") or self.settings.get("SPARES"))

    def outlive(self):
        """Returns the hosts with ranks that may live into the next attempt.

        Without failover these are the paused hosts and those with some packets that get through; a
        host that is cut off has ended its ranks by then."""
        if self.settings.get("FAILOVER"):
            return set(self.stood)
        lossy = {fault["host"] for fault in self.faults if fault["kind"] == "lossy"}
        everyone = set(range(1, self.count + 1))
        return everyone if 1 in lossy | self.stood | self.unsure \
            else lossy | self.stood | self.unsure | self.limited

    # --- the outcomes that are possible ---
    def program_codes(self):
        program = self.plan["program"]
        if program["kind"] == "exit":
            return {1 if program["code"] == 130 else program["code"]}
        if program["kind"] in ("crash", "daemon", "tidy") and program["code"]:
            return {128 + program["code"]}
        return set()

    def strikes(self):
        return [fault for fault in self.faults if fault["kind"] in STRIKES]

    def codes(self):
        """Returns the exit codes other than 0 for which there is a cause."""
        codes = self.program_codes()
        if self.strikes():
            codes.add(137)
        if self.losses():
            codes.add(73)
            if self.before_the_begin():
                codes.add(69)
        if self.stopped:
            codes.add(143)
        return codes

    def failures_at_most(self):
        """Returns how many attempts may have failed, each for another cause; None if unknown."""
        program = self.plan["program"]
        count = len(self.strikes()) + len(self.losses())
        if self.program_codes():
            count += program["until"]
        return None if self.unsure or self.limited else count

    def all_is_tried_again(self):
        """Returns whether the rules of restarts promise that the job goes on after each cause."""
        failures, losses = self.failures_at_most(), self.losses()
        if failures is None or failures > self.settings["RESTARTS"] or self.stopped or self.late:
            return False
        if self.plan["program"]["kind"] in ("exit", "hang", "stubborn"):
            return False
        if not losses:
            return True
        has_spares = len(losses) <= self.settings.get("SPARES", 0)
        if not (self.settings.get("SHRINK") or has_spares) or self.before_the_begin():
            return False
        if 1 in losses and not self.settings.get("FAILOVER"):
            return False
        return 2 * len(losses) < self.count if self.settings.get("FAILOVER") else True
