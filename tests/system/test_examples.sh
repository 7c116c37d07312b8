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
    for job in "$sagemaker"/create-*.json; do
        every "$(basename "$job")"
    done
}

# By the service's own description of its requests, as its library has it, and what that does not say:
# who mounts a file system needs a network that reaches it, and hosts copy nothing of it.
requests_are_the_service_s() {
    python=
    for each in python3 "$top/build/moto/bin/python"; do
        "$each" -c 'import botocore.session' 2>/dev/null && python=$each && break
    done
    [ -n "$python" ] || { skip_case "no Python with botocore"; return; }
    check "requests are well-formed" "$python" - "$sagemaker"/create-*.json <<'END'
import json, pathlib, sys
import botocore.session, botocore.validate
service = botocore.session.get_session().get_service_model("sagemaker")
sources = set()
for path in sys.argv[1:]:
    request = json.loads(pathlib.Path(path).read_text())
    tuning = "HyperParameterTuningJobName" in request
    shape = service.operation_model("CreateHyperParameterTuningJob" if tuning else "CreateTrainingJob").input_shape
    report = botocore.validate.ParamValidator().validate(request, shape)
    assert not report.has_errors(), f"{path}: {report.generate_report()}"
    job = request.get("TrainingJobDefinition", request)
    for channel in job["InputDataConfig"]:
        (kind, source), = channel["DataSource"].items()
        sources.add(source.get("FileSystemType", "S3"))
        known = service.shape_for("FileSystemType").enum + service.shape_for("FileSystemAccessMode").enum
        if kind == "FileSystemDataSource":
            assert job.get("VpcConfig"), f"{path}: a file system without a network"
            assert source["FileSystemType"] in known and source["FileSystemAccessMode"] in known, path
            assert source["DirectoryPath"].startswith("/"), path
            assert job["AlgorithmSpecification"]["TrainingInputMode"] == "File", path
assert sources == {"S3", "EFS", "FSxLustre"}, sources
END
}

scripts_read_what_the_job_has() {
    for script in estimator model_trainer; do
        check "$script.py compiles" python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' \
            "$sagemaker/$script.py"
    done
}

# The dashboard is JSON, shows metrics that are there, of the examples' job and tuning, and among them
# what the tuning is after.
dashboard() {
    check "the dashboard is whole" python3 - "$sagemaker" "$work" <<'END'
import json, pathlib, re, sys
sagemaker, work = map(pathlib.Path, sys.argv[1:])
stack = (sagemaker / "stack.yaml").read_text()
parameters = dict(re.findall(r"^  (\w+):\n    Type: String\n    Default: (\S+)$", stack, re.M))
body = re.search(r"DashboardBody: !Sub \|\n(.*?)^\w", stack, re.M | re.S).group(1)
body = re.sub(r"\$\{(\w+)\}", lambda m: parameters[m.group(1)], body.replace("${AWS::Region}", "us-east-1"))
ours = {m["Name"] for m in json.loads((work / "metrics.json").read_text())}
shown, searched = set(), set()
for widget in json.loads(body)["widgets"]:
    for metric in widget["properties"]["metrics"]:
        if isinstance(metric[0], dict):
            name, tuning = re.search(r'MetricName="([^"]+)" (\S+)\'', metric[0]["expression"]).groups()
            searched.add((name, tuning))
        else:
            name = metric[1]
            shown.add((name, metric[3]))
        assert name in ours, f"{name} is no metric"
read = lambda name: json.loads((sagemaker / name).read_text())
job, tuning = read("create-training-job.json"), read("create-tuning-job.json")
assert {j for _, j in shown} == {job["TrainingJobName"]}, shown
objective = tuning["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]["MetricName"]
assert (objective, tuning["HyperParameterTuningJobName"]) in searched, searched
END
}

CASES=${CASES:-jobs_and_tuning requests_are_the_service_s scripts_read_what_the_job_has dashboard}
run_cases
finish
