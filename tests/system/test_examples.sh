#!/bin/sh
# Tests that examples/ fits what the programs read and print: metric definitions, hyperparameters,
# names. test_platforms.sh runs the manifests as jobs.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"
sagemaker=$top/examples/sagemaker
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$RINGMASTER_BIN/ringmaster" metrics >"$work/metrics.json"
[ ! -x "$RINGMASTER_BIN/ringtrain" ] || "$RINGMASTER_BIN/ringtrain" train --help >"$work/flags"

# every FILE: its metric definitions are those of ringmaster, and its hyperparameters are flags.
every() {
    check "$1 fits" python3 - "$sagemaker/$1" "$work" <<'END'
import json, pathlib, sys
job = json.loads(pathlib.Path(sys.argv[1]).read_text())
work = pathlib.Path(sys.argv[2])
ours = {m["Name"]: m["Regex"] for m in json.loads((work / "metrics.json").read_text())}
definition = job.get("TrainingJobDefinition", job)
metrics = {m["Name"]: m["Regex"]
           for m in definition["AlgorithmSpecification"]["MetricDefinitions"]}
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
    [ -e "$work/flags" ] ||
        skip_case "hyperparameters are held against no flags: ringtrain is not built"
    for job in "$sagemaker"/create-*.json; do
        every "$(basename "$job")"
    done
}

# The requests are valid by the service's own model in botocore. What that does not check: a job
# that mounts a file system needs a network that reaches it, and does not copy its contents.
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
    shape = service.operation_model(
        "CreateHyperParameterTuningJob" if tuning else "CreateTrainingJob").input_shape
    report = botocore.validate.ParamValidator().validate(request, shape)
    assert not report.has_errors(), f"{path}: {report.generate_report()}"
    job = request.get("TrainingJobDefinition", request)
    instances = service.shape_for("TrainingInstanceType").enum
    assert job["ResourceConfig"]["InstanceType"] in instances, f"{path}: no such instance type"
    for channel in job["InputDataConfig"]:
        (kind, source), = channel["DataSource"].items()
        sources.add(source.get("FileSystemType", "S3"))
        known = (service.shape_for("FileSystemType").enum
                 + service.shape_for("FileSystemAccessMode").enum)
        if kind == "FileSystemDataSource":
            assert job.get("VpcConfig"), f"{path}: a file system without a network"
            assert (source["FileSystemType"] in known
                    and source["FileSystemAccessMode"] in known), path
            assert source["DirectoryPath"].startswith("/"), path
            assert job["AlgorithmSpecification"]["TrainingInputMode"] == "File", path
assert sources == {"S3", "EFS", "FSxLustre"}, sources
END
    check "job definitions are well-formed" \
        "$python" - "$top"/examples/aws-batch/job-definition*.json <<'END'
import json, pathlib, sys
import botocore.session, botocore.validate
service = botocore.session.get_session().get_service_model("batch")
shape = service.operation_model("RegisterJobDefinition").input_shape
kinds = service.shape_for("ResourceType").enum
for path in sys.argv[1:]:
    request = json.loads(pathlib.Path(path).read_text())
    report = botocore.validate.ParamValidator().validate(request, shape)
    assert not report.has_errors(), f"{path}: {report.generate_report()}"
    for nodes in request["nodeProperties"]["nodeRangeProperties"]:
        for wanted in nodes["container"]["resourceRequirements"]:
            assert wanted["type"] in kinds, f"{path}: {wanted}"
END
}

# Each request has a variant with GPUs: the same job except for its names, image, data types, batch
# sizes and machines. The guide's table states the number of ranks of each.
every_job_has_a_variant_with_gpus() {
    check "variants with GPUs" python3 - "$top" <<'END'
import json, pathlib, re, sys
top = pathlib.Path(sys.argv[1])
examples = top / "examples"

def leaves(value, place=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{place}[{i}]")
    else:
        yield place, value

MAY_DIFFER = re.compile(
    r"(JobName|jobDefinitionName|CheckpointConfig\.S3Uri|TrainingImage|InstanceType"
    r"|InstanceCount|HyperParameters\.(dtype|batch-size)|container\.(image|command\[\d+\]"
    r"|resourceRequirements\[\d+\]\.\w+|linuxParameters\.sharedMemorySize))$")

def compare(plain, variant):
    one, other = (dict(leaves(json.loads(p.read_text()))) for p in (plain, variant))
    for place in one.keys() | other.keys():
        same = one.get(place) == other.get(place)
        assert same or MAY_DIFFER.search(place), f"{variant.name}: {place} differs"
    image = [v for k, v in other.items() if k.endswith(("TrainingImage", "container.image"))]
    assert image and all(i.endswith("/ringmaster:cuda") for i in image), \
        f"{variant.name}: {image}"

plain = [p for p in sorted(examples.glob("sagemaker/create-*.json")) if not p.stem.endswith("-gpu")]
assert len(plain) == 4, plain
guide = (top / "docs/guides/gpus.md").read_text()
gpus = {t: int(n) for t, n in re.findall(r"^\| `(ml\.\S+)` \| (\d+) \|", guide, re.M)}
told = {f: (t, int(n), int(r)) for f, t, n, r in
        re.findall(r"^\| `(create-\S+-gpu\.json)` \| `(\S+)` \| (\d+) \| (\d+) \|$", guide, re.M)}
for path in plain:
    variant = path.with_name(f"{path.stem}-gpu.json")
    compare(path, variant)
    job = json.loads(variant.read_text())
    machines = job.get("TrainingJobDefinition", job)["ResourceConfig"]
    kind, count = machines["InstanceType"], machines["InstanceCount"]
    row = told.pop(variant.name)
    assert row == (kind, count, count * gpus[kind]), f"{variant.name}: {row} in the guide"
assert not told, f"the guide has rows without a request: {told}"

path = examples / "aws-batch/job-definition.json"
variant = path.with_name("job-definition-gpu.json")
compare(path, variant)
assert '{"type": "GPU", "value": "8"}' in variant.read_text()
END
}

# The `docker` of this case only prints its arguments.
several_machines_give_their_gpus() {
    mkdir -p "$work/bin"
    printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >"$work/bin/docker"
    chmod +x "$work/bin/docker"
    for gpus in '' all '"device=0,1"'; do
        (cd "$work" && GPUS=$gpus PATH="$work/bin:$PATH" \
            sh "$top/examples/several_machines.sh" a,b "$work" --model resnet18) >"$work/words"
        check "docker is called" equal $? 0
        check "its GPUs are '$gpus'" equal "$(sed -n '/^--gpus$/{n;p;}' "$work/words")" "$gpus"
        check "the rest is whole" equal "$(tail -n 5 "$work/words" | tr '\n' ' ')" \
            'train --data /data --model resnet18 '
    done
}

# When Compose reads both files, each container has a GPU of its own.
compose_gives_each_container_a_gpu() {
    for composer in 'docker compose' docker-compose ''; do
        [ -z "$composer" ] || $composer version >/dev/null 2>&1 && break
    done
    [ -n "$composer" ] || { skip_case "no compose"; return; }
    # shellcheck disable=SC2086  # two words
    $composer -f "$top/docker/compose.yml" -f "$top/docker/compose-gpu.yml" config \
        >"$work/composed" 2>&1
    check "compose reads both" equal $? 0
    check "three containers with a GPU each" equal \
        "$(grep -A 1 'device_ids:' "$work/composed" | tr -dc 0-9)" 012
}

# Both scripts run with each JSON file on an SDK that only records its calls: they use names that
# the SDKs' own classes have, and pass what the JSON file contains.
scripts_ask_for_what_the_job_has() {
    for script in estimator model_trainer; do
        for job in create-training-job create-file-system-job create-training-job-gpu; do
            check "$script.py asks for $job.json" \
                python3 - "$sagemaker/$script.py" "$job.json" <<'END'
import json, pathlib, runpy, sys, types

path, name = sys.argv[1:]
calls = {}

def recorder(called, *known):
    class Recorder:
        def __init__(self, *arguments, **named):
            assert len(arguments) <= 1, arguments
            assert set(named) <= set(known), f"{called} knows none of {set(named) - set(known)}"
            self.called, self.arguments, self.named = called, arguments, named
            calls[called] = self
        def with_metric_definitions(self, metrics):
            assert metrics
            return self
        def fit(self, inputs):
            calls["inputs"] = inputs
        def train(self, input_data_config):
            calls["inputs"] = {i.named["channel_name"]: i.named["data_source"]
                               for i in input_data_config}
    return Recorder

FILES = "file_system_id file_system_type directory_path file_system_access_mode".split()
classes = {
    "sagemaker.estimator": {
        "Estimator": "image_uri role instance_count instance_type volume_size max_run input_mode"
        " output_path checkpoint_s3_uri hyperparameters metric_definitions"
        " subnets security_group_ids".split()},
    "sagemaker.inputs": {"TrainingInput": ["s3_data"], "FileSystemInput": FILES},
    "sagemaker.core.shapes": {"MetricDefinition": ["name", "regex"]},
    "sagemaker.core.training.configs": {
        "CheckpointConfig": ["s3_uri"], "OutputDataConfig": ["s3_output_path"],
        "FileSystemDataSource": FILES,
        "Compute": ["instance_type", "instance_count", "volume_size_in_gb"],
        "InputData": ["channel_name", "data_source"],
        "Networking": ["subnets", "security_group_ids"],
        "StoppingCondition": ["max_runtime_in_seconds"]},
    "sagemaker.train.model_trainer": {
        "ModelTrainer": "training_image role training_input_mode compute networking"
        " stopping_condition output_data_config checkpoint_config hyperparameters".split()},
}
for module, content in classes.items():
    made = types.ModuleType(module)
    for called, known in content.items():
        setattr(made, called, recorder(called, *known))
    sys.modules[module] = made

sys.argv = [path, name] if name != "create-training-job.json" else [path]
runpy.run_path(path)
job = json.loads(pathlib.Path(path).with_name(name).read_text())
whole = calls.get("Estimator") or calls["ModelTrainer"]
assert whole.named["hyperparameters"] == job["HyperParameters"]
network = (whole.named if whole.called == "Estimator"
           else getattr(whole.named["networking"], "named", {}))
for key, theirs in ("subnets", "Subnets"), ("security_group_ids", "SecurityGroupIds"):
    assert network.get(key) == job.get("VpcConfig", {}).get(theirs), (key, network)
assert list(calls["inputs"]) == [c["ChannelName"] for c in job["InputDataConfig"]]
for channel in job["InputDataConfig"]:
    (kind, source), = channel["DataSource"].items()
    got = calls["inputs"][channel["ChannelName"]]
    if kind == "S3DataSource":
        assert (got.arguments[0] if whole.called == "Estimator" else got) == source["S3Uri"]
    else:
        assert got.named == dict(zip(FILES, (source[key] for key in (
            "FileSystemId", "FileSystemType", "DirectoryPath", "FileSystemAccessMode")))), got.named
END
        done
    done
}

# The role allows each action that docs/guides/uploads.md lists for uploads, on its resource.
the_role_may_do_what_uploads_need() {
    check "the stack's role may" \
        python3 - "$top/docs/guides/uploads.md" "$sagemaker/stack.yaml" <<'END'
import pathlib, re, sys
guide, stack = (pathlib.Path(p).read_text() for p in sys.argv[1:])
stack = stack.split("\n  Hosts:\n")[0]  # the jobs' role; others follow
named = set(re.findall(r"`(s3:\w+)`", guide))
assert {"s3:AbortMultipartUpload", "s3:ListMultipartUploadParts",
        "s3:ListBucketMultipartUploads"} <= named, named
of_objects, of_bucket = ("${Bucket.Arn}/*", "!GetAtt Bucket.Arn")
allowed = {}
for statement in stack.split("- Effect: Allow")[1:]:
    resource = re.search(r'Resource: (?:!Sub )?"?([^"\n]+)', statement)
    for action in re.findall(r"s3:\w+", statement):
        allowed[action] = resource.group(1)
assert named <= set(allowed), f"docs/guides/uploads.md names {named - set(allowed)}"
for action, resource in allowed.items():
    assert resource == (of_bucket if action.startswith("s3:ListBucket") else of_objects), \
        (action, resource)
END
}

# The dashboard is valid JSON and shows existing metrics of the examples' jobs and tuning, including
# the tuning's objective.
dashboard() {
    check "the dashboard is whole" python3 - "$sagemaker" "$work" <<'END'
import json, pathlib, re, sys
sagemaker, work = map(pathlib.Path, sys.argv[1:])
stack = (sagemaker / "stack.yaml").read_text()
parameters = dict(re.findall(r"^  (\w+):\n    Type: String\n    Default: (\S+)$", stack, re.M))
body = re.search(r"DashboardBody: !Sub \|\n(.*?)^\w", stack, re.M | re.S).group(1)
body = re.sub(r"\$\{(\w+)\}", lambda m: parameters[m.group(1)],
              body.replace("${AWS::Region}", "us-east-1"))
ours = {m["Name"] for m in json.loads((work / "metrics.json").read_text())}
shown, searched = set(), set()
for widget in json.loads(body)["widgets"]:
    for metric in widget["properties"]["metrics"]:
        if isinstance(metric[0], dict):
            name, tuning = re.search(r'MetricName="([^"]+)" (\S+)\'',
                                     metric[0]["expression"]).groups()
            searched.add((name, tuning))
        else:
            name = metric[1]
            shown.add((name, metric[3]))
        assert name in ours, f"{name} is no metric"
read = lambda name: json.loads((sagemaker / name).read_text())
jobs = [read("create-training-job.json"), read("create-maskrcnn-job.json")]
tuning = read("create-tuning-job.json")
assert {j for _, j in shown} == {job["TrainingJobName"] for job in jobs}, shown
for job in jobs:
    sent = {m["Name"] for m in job["AlgorithmSpecification"]["MetricDefinitions"]}
    assert {m for m, j in shown if j == job["TrainingJobName"]} <= sent, (shown, sent)
objective = tuning["HyperParameterTuningJobConfig"][
    "HyperParameterTuningJobObjective"]["MetricName"]
assert (objective, tuning["HyperParameterTuningJobName"]) in searched, searched
END
}

# The README's first Dockerfile is that of an example that test_frameworks.sh builds.
the_readme_shows_an_example() {
    check "it is PyTorch's" equal \
        "$(sed -n '/^```Dockerfile$/,/^```$/p' "$top/README.md" | sed '1d;/^```$/,$d')" \
        "$(cat "$top/examples/pytorch/Dockerfile")"
    for example in pytorch lightning jax mpi; do
        check "$example has five lines" equal "$(wc -l <"$top/examples/$example/Dockerfile")" 5
    done
}

CASES=${CASES:-the_readme_shows_an_example jobs_and_tuning requests_are_the_service_s
    every_job_has_a_variant_with_gpus several_machines_give_their_gpus
    compose_gives_each_container_a_gpu scripts_ask_for_what_the_job_has
    the_role_may_do_what_uploads_need dashboard}
run_cases
finish
