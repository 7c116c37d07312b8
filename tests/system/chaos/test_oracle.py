"""Tests the oracle on histories made by hand: in a good one it finds no violation, and in each bad
one the right violation.

Also tests that a seed always draws the same plan and that a reduced plan can still be run."""

import copy
import json
import unittest

import minimise
import oracle
import plan as plans

HOSTS, BEGAN, END = 3, 1000, 9000
GOOD, FAILED = \
    "algo-1: done: all 3 ranks ended with 0", "algo-1: signal: algo-2 rank 1; leaving with 137"


def mark(attempt, rank, begin, alive, code=0, **more):
    ended = alive if code is not None else None
    return dict({"run": "r", "attempt": attempt, "rank": rank, "host": rank + 1, "role": "rank",
                 "begin": begin, "alive": alive, "end": ended, "code": -1 if code is None else code,
                 "asked": False, "world": HOSTS}, **more)


def life(code, ended=END + 500, **more):
    stories = {42: "program: algo-2 rank 1: exited with 42",
               73: "host-lost: algo-2: lost: no heartbeat for 10 s"}
    failure = None if code == 0 else \
        stories.get(code, "signal: algo-2 rank 1: killed by signal 9") + "\n"
    return dict({"started": 0, "ended": ended, "code": code, "killed": False,
                 "lines": [GOOD if code == 0 else FAILED], "alarms": [], "failure": failure,
                 "leftovers": []}, **more)


def history(**settings):
    """Returns a history in which all ranks return 0 and all hosts end with 0."""
    plan = {"seed": 0, "slots": [1] * HOSTS, "root": False, "engine": False, "faults": [],
            "settings": dict({"RESTARTS": 0, "DEAD_SECONDS": 10, "STOP_SECONDS": 4,
                              "READY_SECONDS": 20}, **settings),
            "program": {"kind": "good", "seconds": 5, "code": 0, "who": 0, "until": 1,
                        "stagger": 0}}
    return {"plan": plan, "began": 0, "took": 10000, "longest": 0, "hung": {}, "faults": [],
            "hosts": {str(host): [life(0)] for host in range(1, HOSTS + 1)},
            "marks": [mark(1, rank, BEGAN, END) for rank in range(HOSTS)],
            "moments": {"start": 0, "joined": 500, "launched": BEGAN, "running": BEGAN, "end": END}}


def with_fault(told, kind, host, begun, over=None, **more):
    told["plan"]["faults"].append(
        dict({"kind": kind, "host": host, "when": "running", "delay": 0}, **more))
    told["faults"].append({"hit": True, "begun": begun, "over": over})
    return told


def ended(told, **codes):
    """Sets exit codes of hosts: ended(told, h1=0, h2=73)."""
    for name, code in codes.items():
        told["hosts"][name[1:]] = [life(code)]
    return told


def all_ended(told, code):
    return ended(told, h1=code, h2=code, h3=code)


def attempts(told, *codes):
    """Sets one attempt for each code. The code is that of rank 1 (None: it was killed).

    The other ranks return 0 if rank 1 does, and are killed otherwise."""
    told["marks"] = []
    for number, code in enumerate(codes):
        begin = BEGAN + 3000 * number
        told["marks"] += [
            mark(number + 1, rank, begin, begin + 2000, code if rank == 1 or code == 0 else None)
            for rank in range(HOSTS)]
    return told


class GoodHistories(unittest.TestCase):
    def keeps_all(self, told):
        self.assertEqual(oracle.judge(told), [])

    def test_a_spare_takes_a_lost_hosts_place(self):
        told = with_fault(history(RESTARTS=2, SPARES=1), "kill-first", 2, 3000)
        told["hosts"]["2"] = [life(137, killed=True)]
        told["marks"] = [mark(1, rank, BEGAN, 3000, None, world=2) for rank in range(2)]
        told["marks"] += [mark(2, 0, 6000, END, world=2), mark(2, 1, 6000, END, world=2, host=3)]
        self.keeps_all(told)

    def test_all_end_well(self):
        self.keeps_all(history())

    def test_a_flood_leaves_no_room_for_the_verdict_on_a_small_disk(self):
        told = with_fault(history(), "full-log", 2, 2000, 4000)
        told["plan"]["program"].update(kind="flood", who=1)
        told["hosts"]["2"][0]["lines"] = ["joined"]
        self.keeps_all(told)

    def test_a_rank_that_exits_ends_the_job_with_its_code(self):
        told = attempts(all_ended(history(), 42), 42)
        told["plan"]["program"].update(kind="exit", code=42, who=1)
        self.keeps_all(told)

    def test_a_killed_rank_is_tried_again(self):
        self.keeps_all(attempts(with_fault(history(RESTARTS=1), "kill-rank", 2, 2000), None, 0))

    def test_a_killed_worker_without_shrinking_is_a_lost_host(self):
        told = with_fault(ended(history(), h1=73, h3=73), "kill-first", 2, 3000)
        told["hosts"]["2"] = [life(137, killed=True)]
        told["marks"] = [mark(1, rank, BEGAN, 4000, None) for rank in range(HOSTS)]
        self.keeps_all(told)

    def test_a_host_cut_off_for_longer_than_the_lease_may_end_alone(self):
        told = with_fault(history(RESTARTS=2, SHRINK=1), "cut", 3, 2000, 22000)
        told["marks"] = [mark(1, rank, BEGAN, 12000, None) for rank in range(HOSTS)] + \
            [mark(2, rank, 15000, 20000, world=2) for rank in range(2)]
        self.keeps_all(ended(told, h3=73))

    def test_a_shrinking_job_goes_on_without_the_hosts_it_was_cut_off_from(self):
        told = attempts(history(RESTARTS=1, DEAD_SECONDS=5, SHRINK=1), None, 0)
        told["marks"] = [mark for mark in told["marks"]
                         if mark["attempt"] == 1 or mark["rank"] == 0]
        told["marks"][-1].update(begin=7000, alive=12000, end=12000, world=1)
        self.keeps_all(with_fault(ended(told, h2=73, h3=73), "cut", 1, 1100, 8000))

    def stopped_while_cut_off(self, host):
        told = history(RESTARTS=1, SHRINK=1)
        told["plan"]["program"]["kind"] = "stubborn"
        told["marks"] = [mark(1, rank, BEGAN, 12000, None) for rank in range(HOSTS)]
        told["hung"] = {"1": ["chaos_rank"]}
        return with_fault(with_fault(ended(told, h2=73, h3=73), "cut", 1, 1100, 14000),
                          "term", host, 3000)

    def test_a_job_that_waits_for_a_stop_does_not_hear_of_one_on_a_host_that_is_cut_off(self):
        self.assertNotIn("hung", dict(oracle.judge(self.stopped_while_cut_off(2))))
        self.assertIn("hung", dict(oracle.judge(self.stopped_while_cut_off(1))))

    def test_a_stopped_job_ends_with_143(self):
        told = all_ended(with_fault(history(), "term", 2, 3000), 143)
        for each in told["marks"]:
            each["asked"] = True
        self.keeps_all(told)

    def test_a_failure_waits_for_no_host_that_is_silent_then(self):
        told = ended(attempts(with_fault(history(), "kill-rank", 2, 2000), None),
                     h1=137, h2=137, h3=73)
        self.keeps_all(with_fault(told, "mute", 3, 8000, 12000))

    def test_a_first_host_killed_at_the_verdict_leaves_it_to_chance(self):
        told = with_fault(ended(history(), h2=73), "kill-container", 1, END + 20)
        told["hosts"]["1"] = [life(137, killed=True)]
        self.keeps_all(told)


class BadHistories(unittest.TestCase):
    def breaks(self, name, told):
        self.assertIn(name, {found for found, _ in oracle.judge(told)})

    def test_a_host_that_has_not_ended(self):
        told = history()
        told["hung"] = {"2": ["train"]}
        told["hosts"]["2"][0].update(code=None, ended=None)
        self.breaks("hung", told)

    def test_two_codes(self):
        self.breaks("codes-differ", ended(history(), h3=73))

    def test_two_codes_after_a_short_outage(self):
        self.breaks("codes-differ", with_fault(ended(history(), h3=73), "cut", 3, 8000, 11000))

    def test_success_of_a_woken_first_host_alone(self):
        told = with_fault(ended(history(), h2=73, h3=73), "stop-first", 1, 2000, END + 6000)
        self.breaks("success-alone", told)

    def test_success_though_a_rank_returned_something_else(self):
        told = history()
        told["marks"][1].update(code=3)
        self.breaks("false-success", told)

    def test_success_though_a_rank_never_ended(self):
        told = history()
        told["marks"][2].update(code=-1, end=None)
        self.breaks("false-success", told)

    def test_success_though_a_rank_never_began(self):
        told = history()
        del told["marks"][2]
        self.breaks("false-success", told)

    def test_success_by_an_earlier_attempt(self):
        told = attempts(with_fault(history(RESTARTS=1), "kill-rank", 2, 2000), 0, None)
        self.breaks("false-success", told)

    def test_success_though_all_were_stopped(self):
        told = with_fault(history(), "term", 2, 3000)
        for each in told["marks"]:
            each["asked"] = True
        self.breaks("stop-ignored", told)

    def test_a_stop_that_nobody_heard(self):
        self.breaks("stop-unheard", with_fault(history(), "term", 2, 3000))
        told = all_ended(with_fault(history(), "term", 2, 3000), 73)
        self.breaks("stop-unheard", with_fault(told, "cut", 3, 7000, 8000))

    def test_a_good_job_that_fails(self):
        self.breaks("good-job-failed", all_ended(history(), 73))

    def test_a_good_job_that_fails_after_a_short_outage(self):
        self.breaks("good-job-failed",
                    all_ended(with_fault(history(), "stop-first", 2, 4000, 8000), 73))

    def test_a_good_job_that_fails_as_a_clock_was_set(self):
        self.breaks("good-job-failed",
                    all_ended(with_fault(history(), "clock", 2, 4000, 8000, seconds=3600), 73))

    def test_a_killed_rank_that_is_not_tried_again(self):
        told = attempts(all_ended(with_fault(history(RESTARTS=1), "kill-rank", 2, 2000), 137), None)
        self.breaks("restart-missing", told)
        self.breaks("good-job-failed", told)

    def test_a_lost_worker_that_is_not_done_without(self):
        told = with_fault(ended(history(RESTARTS=1, SHRINK=1), h1=73, h3=73), "kill-first", 2, 3000)
        told["hosts"]["2"] = [life(137, killed=True)]
        told["marks"] = [mark(1, rank, BEGAN, 4000, None) for rank in range(HOSTS)]
        self.breaks("good-job-failed", told)

    def test_an_internal_error(self):
        self.breaks("internal", all_ended(with_fault(history(), "kill-daemon", 2, 2000), 70))

    def test_a_code_that_nothing_explains(self):
        self.breaks("code-without-cause",
                    all_ended(with_fault(history(), "kill-rank", 2, 2000), 65))

    def test_two_attempts_at_once(self):
        told = attempts(with_fault(history(RESTARTS=1), "kill-rank", 2, 2000), None, 0)
        told["marks"][0]["alive"] = told["marks"][3]["begin"] + 1
        self.breaks("two-attempts", told)

    def test_a_daemon_that_lives_into_the_next_attempt(self):
        told = attempts(with_fault(history(RESTARTS=1), "kill-rank", 2, 2000), None, 0)
        told["marks"].append(mark(1, 0, BEGAN, END, None, role="daemon"))
        self.breaks("two-attempts", told)

    def test_two_attempts_at_once_on_a_host_cut_off_under_failover(self):
        told = with_fault(history(RESTARTS=2, SHRINK=1, FAILOVER=1), "cut", 3, 2000, 22000)
        told["marks"] = [mark(1, rank, BEGAN, 15001, None) for rank in range(HOSTS)] + \
            [mark(2, rank, 15000, 20000, world=2) for rank in range(2)]
        self.breaks("two-attempts", ended(told, h3=73))

    def test_two_attempts_at_once_on_a_host_cut_off_without_failover(self):
        told = self.outlived("cut")
        self.breaks("two-attempts", told)
        self.assertEqual(oracle.judge(self.outlived("lossy", percent=50)), [])
        self.assertEqual(oracle.judge(self.outlived("freeze")), [])

    def outlived(self, kind, **more):
        told = with_fault(history(RESTARTS=2, SHRINK=1, LAUNCHER="direct"),
                          kind, 3, 2000, 22000, **more)
        told["marks"] = [mark(1, rank, BEGAN, 15001 if rank == 2 else 12000, None)
                         for rank in range(HOSTS)] + \
            [mark(2, rank, 15000, 20000, world=2) for rank in range(2)]
        return ended(told, h3=73)

    def test_a_success_alone_while_its_host_is_cut_off(self):
        told = with_fault(ended(history(), h1=73, h3=73), "success-alone", 2, 8500, 30000)
        self.breaks("success-alone", told)

    def test_a_spare_that_takes_no_place(self):
        told = with_fault(ended(history(RESTARTS=2, SPARES=1), h1=73, h3=73), "kill-first", 2, 3000)
        told["hosts"]["2"] = [life(137, killed=True)]
        told["marks"] = [mark(1, rank, BEGAN, 3000, None, world=2) for rank in range(2)]
        self.breaks("good-job-failed", told)

    def test_two_runs(self):
        told = history()
        told["marks"] += [mark(1, rank, BEGAN + 100, END, run="s") for rank in range(HOSTS)]
        self.breaks("two-runs", told)

    def test_a_rank_that_begins_twice(self):
        told = history()
        told["marks"].append(mark(1, 1, BEGAN + 10, END))
        self.breaks("rank-twice", told)

    def test_a_host_that_came_back_in_time_and_left_alone(self):
        told = with_fault(history(RESTARTS=2, SHRINK=1), "cut", 3, 2000, 14000)
        told["marks"] = [mark(1, rank, BEGAN, 12000, None) for rank in range(HOSTS)] + \
            [mark(2, rank, 15000, 40000, world=2) for rank in range(2)]
        ended(told, h1=0, h2=0, h3=73)
        for host in told["hosts"].values():
            host[0]["ended"] = 41000
        self.breaks("left-alone", told)

    def test_failure_files(self):
        for text in (None, "x" * 1025, "\xff", ):
            told = attempts(all_ended(with_fault(history(), "kill-rank", 2, 2000), 137), None)
            told["hosts"]["2"][0]["failure"] = text
            self.breaks("no-failure-file" if text is None else "failure-file", told)

    def test_a_failure_file_of_1024_characters_of_several_bytes_each(self):
        told = attempts(all_ended(with_fault(history(), "kill-rank", 2, 2000), 137), None)
        first = "algo-2 rank 1: "
        for host in told["hosts"].values():
            host[0]["failure"] = (first + "\u00e9" * (1024 - len(first))).encode().decode("latin-1")
        self.assertEqual(oracle.judge(told), [])

    def test_a_failure_file_of_a_good_job(self):
        told = history()
        told["hosts"]["2"][0]["failure"] = "signal: ..."
        self.breaks("failure-file", told)

    def test_two_stories(self):
        told = attempts(all_ended(with_fault(history(), "kill-rank", 2, 2000), 137), None)
        told["hosts"]["2"][0]["failure"] = "signal: algo-3 rank 2: killed by signal 9\n"
        self.breaks("stories-differ", told)

    def test_stories_that_name_somebody_else(self):
        for kind, host in (("kill-rank", 3), ("kill-shim", 1), ("kill-mpirun", 1),
                           ("kill-daemon", 2)):
            self.breaks(
                "wrong-culprit",
                attempts(all_ended(with_fault(history(), kind, host, 2000), 137), None))

    def test_leftovers(self):
        told = history()
        told["hosts"]["2"][0]["leftovers"] = ["shm/ringmaster-run-x"]
        self.breaks("leftovers", told)

    def test_crashes(self):
        told = history()
        told["hosts"]["2"][0]["alarms"] = ["==1==ERROR: AddressSanitizer: heap-use-after-free"]
        self.breaks("crash", told)
        told = ended(history(), h2=139)
        told["hosts"]["2"][0].update(lines=[], failure=None)
        self.breaks("crash", told)

    def test_a_log_without_a_verdict(self):
        told = history()
        told["hosts"]["2"][0]["lines"] = ["joined"]
        self.breaks("no-verdict-in-log", told)

    def test_hosts_that_end_long_after_each_other(self):
        told = history()
        told["hosts"]["2"][0]["ended"] = END + 60000
        self.breaks("not-together", told)


class Plans(unittest.TestCase):
    def test_a_seed_always_draws_the_same(self):
        for seed in range(300):
            plan = plans.draw_plan(seed)
            self.assertEqual(plan, plans.draw_plan(seed))
            self.assertEqual(plan, json.loads(json.dumps(plan)))
            self.assertIn(f"seed {seed}", plans.plan_text(plan))
            self.assertTrue(all(1 <= fault["host"] <= len(plan["slots"])
                                for fault in plan["faults"]))
            self.assertLess(oracle.limit_ms(plan), 900000)

    def test_all_kinds_are_drawn(self):
        drawn = {fault["kind"] for seed in range(1000) for fault in plans.draw_plan(seed)["faults"]}
        self.assertEqual(drawn, set(plans.KINDS))

    def test_both_launchers_and_spares_are_drawn(self):
        drawn = [plans.draw_plan(seed) for seed in range(300)]
        self.assertEqual({plan["settings"].get("LAUNCHER") for plan in drawn}, {None, "direct"})
        self.assertEqual({plan["settings"].get("SPARES") for plan in drawn}, {None, 1, 2})
        for plan in drawn:
            self.assertLess(plan["program"]["who"], plans.ranks_of(plan))
            self.assertGreater(len(plan["slots"]), 1 + plan["settings"].get("SPARES", 0))

    def test_smaller_plans_are_smaller_and_complete(self):
        for seed in range(100):
            plan = plans.draw_plan(seed)
            before = copy.deepcopy(plan)
            for less in minimise.smaller(plan):
                self.assertNotEqual(less, plan)
                self.assertLess(less["program"]["who"], plans.ranks_of(less))
                for fault in less["faults"]:
                    self.assertLessEqual(max(fault.get("hosts", [fault["host"]])),
                                         len(less["slots"]))
                plans.plan_text(less)
            self.assertEqual(plan, before)


if __name__ == "__main__":
    unittest.main()
