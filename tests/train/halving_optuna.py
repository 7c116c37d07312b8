"""Compares halving_keep with Optuna's SuccessiveHalvingPruner on complete rungs.

    halving_optuna.py PROGRAM

PROGRAM is halving_keep: it reads lines "FACTOR min|max SCORE..." and prints for each the indices of
the scores that it keeps."""
import random
import subprocess
import sys

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

optuna.logging.set_verbosity(optuna.logging.ERROR)
RUNG = "completed_rung_0"


def kept_by_optuna(scores, factor, direction):
    """Returns the indices of the scores that Optuna keeps, each reported last in its rung."""
    kept = []
    for number, score in enumerate(scores):
        pruner = optuna.pruners.SuccessiveHalvingPruner(
            min_resource=1, reduction_factor=factor, min_early_stopping_rate=0)
        study = optuna.create_study(direction=direction, pruner=pruner)
        for other, value in enumerate(scores):
            if other != number:
                study.add_trial(create_trial(
                    state=TrialState.PRUNED, params={"x": 0.5},
                    distributions={"x": FloatDistribution(0, 1)},
                    intermediate_values={1: value}, system_attrs={RUNG: value}))
        trial = study.ask()
        trial.report(score, 1)
        if not trial.should_prune():
            kept.append(number)
    return sorted(kept)


generator = random.Random(7)
cases = []
for count in (1, 2, 3, 5, 8, 9, 16, 27):
    for factor in (2, 3, 4):
        for direction in ("maximize", "minimize"):
            cases.append((factor, direction, generator.sample(range(1000), count)))
lines = "".join(f"{factor} {direction[:3]} {' '.join(map(str, scores))}\n"
                for factor, direction, scores in cases)
answer = subprocess.run([sys.argv[1]], input=lines, check=True, capture_output=True,
                        text=True).stdout.splitlines()
assert len(answer) == len(cases)
for (factor, direction, scores), line in zip(cases, answer):
    ours = sorted(map(int, line.split()))
    theirs = kept_by_optuna(scores, factor, direction)
    if ours != theirs:
        sys.exit(f"factor {factor}, {direction}, {scores}: {ours}; Optuna keeps {theirs}")
print(f"{len(cases)} rungs: the same configurations go on")
