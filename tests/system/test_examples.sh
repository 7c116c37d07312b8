#!/bin/sh
# What examples/ says fits what the programs read and print: metric definitions, hyperparameters,
# names. Manifests run as jobs in test_platforms.sh.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"
sagemaker=$top/examples/sagemaker
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$RINGMASTER_BIN/ringmaster" metrics >"$work/metrics.json"
[ ! -x "$RINGMASTER_BIN/ringtrain" ] || "$RINGMASTER_BIN/ringtrain" train --help >"$work/flags"

# every FILE: its metric definitions are ours, and its hyperparameters are flags.
every() {
    check "$1 fits" python3 - "$sagemaker/$1" "$work" <<'END'
import json, pathlib, sys
job = json.loads(pathlib.Path(sys.argv[1]).read_text())
work = pathlib.Path(sys.argv[2])
ours = {m["Name"]: m["Regex"] for m in json.loads((work / "metrics.json").read_text())}
definition = job.get("TrainingJobDefinition", job)
metrics = {m["Name"]: m["Regex"] for m in definition["AlgorithmSpecification"]["MetricDefinitions"]}
assert metrics, "no metrics"
for name, regex in metrics.items():
    assert ours.get(name) == regex, f"{name}: {regex!r} is not ours"
names = list(definition.get("HyperParameters", definition.get("StaticHyperParameters")))
if definition is not job:
    tuning = job["HyperParameterTuningJobConfig"]
    assert tuning["HyperParameterTuningJobObjective"]["MetricName"] in metrics, "no such objective"
    ranges = tuning["ParameterRanges"]["ContinuousParameterRanges"]
    for r in ranges:
        assert float(r["MinValue"]) < float(r["MaxValue"]), r
        assert r["Name"] not in names, f"{r['Name']} is static, too"
    names += [r["Name"] for r in ranges]
flags = work / "flags"
known = flags.read_text() if flags.exists() else None
for name in names:
    assert known is None or f"--{name} " in known, f"--{name} is no flag"
END
}

jobs_and_tuning() {
    every create-training-job.json
    every create-tuning-job.json
    every create-maskrcnn-job.json
}

scripts_read_what_the_job_has() {
    for script in estimator model_trainer; do
        check "$script.py compiles" python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' \
            "$sagemaker/$script.py"
    done
}

# The dashboard shows metrics that are there.
dashboard() {
    for metric in $(grep -o '"[a-z]*:[a-z0-9_]*"' "$sagemaker/stack.yaml" | tr -d '"'); do
        check "$metric is a metric" grep -q "\"Name\": \"$metric\"" "$work/metrics.json"
    done
}

CASES=${CASES:-jobs_and_tuning scripts_read_what_the_job_has dashboard}
run_cases
finish
