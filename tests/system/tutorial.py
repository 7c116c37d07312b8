"""Runs examples/sagemaker/tutorial.ipynb against the services' own models.

    tutorial.py TOP METRICS

Every call is validated against botocore's description of its request, and every answer, which this
script makes up, against that of the response, so that the notebook asks for and reads only what
exists. Nothing is sent.
"""
import contextlib
import datetime
import io
import itertools
import json
import os
import pathlib
import sys
import types
import urllib.request

import botocore.session
import botocore.validate
from botocore import xform_name
from cfnlint.decode.cfn_yaml import load

top, metrics = (pathlib.Path(p) for p in sys.argv[1:])
examples = top / "examples/sagemaker"
session = botocore.session.get_session()
WEIGHTS = "s3://the-bucket/output/one/output/model.tar.gz"
PICTURE = "tests/golden/pictures/cmyk_adobe.jpg"
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)


def fits(values, shape, what):
    report = botocore.validate.ParamValidator().validate(values, shape)
    assert not report.has_errors(), f"{what}: {report.generate_report()}"
    unknown = set(values) - set(shape.members)
    assert not unknown, f"{what}: {unknown} is not among {sorted(shape.members)}"


def outputs_of(stack, file_systems):
    """Returns the outputs of a stack with these file systems, with values made from their names."""
    holds = {"Efs": file_systems in ("efs", "both"), "Fsx": file_systems in ("fsx", "both")}
    named = {"Subnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
             "FileSystemSubnet": "subnet-0123456789abcdef0", "FsxDirectory": "/abcdefgh/data",
             "EfsId": "fs-0123456789abcdef0", "FsxId": "fs-0123456789abcdef1",
             "SecurityGroup": "sg-0123456789abcdef0",
             "Role": "arn:aws:iam::123456789012:role/ringmaster-Role",
             "FillEfsTask": "arn:aws:datasync:us-east-1:123456789012:task/task-0123456789abcdef0",
             "Repository": "123456789012.dkr.ecr.us-east-1.amazonaws.com/ringmaster"}
    return [{"OutputKey": key, "OutputValue": named.get(key, f"the-{key.lower()}")}
            for key, value in stack["Outputs"].items()
            if holds.get(value.get("Condition"), "Condition" not in value)]


class Services:
    """Stands in for boto3 in one run of the notebook."""

    def __init__(self, outputs):
        self.outputs = outputs
        self.calls = []
        self.archives = {}
        self.polls = itertools.count()

    def answer(self, operation, asked):
        execution = asked.get("TaskArn", "") + "/execution/exec-0123456789abcdef0"
        last = next(self.polls) % 2 == 1  # each loop runs twice
        return {
            "DescribeStacks": lambda: {"Stacks": [{
                "StackName": asked["StackName"], "CreationTime": NOW,
                "StackStatus": "CREATE_COMPLETE", "Outputs": self.outputs}]},
            "ListObjectsV2": lambda: {"Contents": [{"Key": asked["Prefix"] + "val2017.zip"}]},
            "CreateProcessingJob": lambda: {"ProcessingJobArn": "arn:aws:sagemaker:us-east-1:"
                                            "123456789012:processing-job/one"},
            "DescribeProcessingJob": lambda: {"ProcessingJobStatus": "Completed"},
            "StartTaskExecution": lambda: {"TaskExecutionArn": execution},
            "DescribeTaskExecution": lambda: {
                "Status": "SUCCESS" if last else "TRANSFERRING", "FilesTransferred": 7},
            "CreateTrainingJob": lambda: {"TrainingJobArn": "arn:aws:sagemaker:us-east-1:"
                                          "123456789012:training-job/one"},
            "DescribeTrainingJob": lambda: {
                "TrainingJobStatus": "Completed" if last else "InProgress",
                "SecondaryStatus": "Completed" if last else "Training", "TrainingStartTime": NOW,
                "ModelArtifacts": {"S3ModelArtifacts": WEIGHTS},
                "FinalMetricDataList": [{"MetricName": m["Name"], "Value": 0.25}
                                        for m in self.definitions()]},
            "CreateModel": lambda: {"ModelArn": "arn:aws:sagemaker:us-east-1:"
                                    "123456789012:model/one"},
            "CreateEndpointConfig": lambda: {"EndpointConfigArn": "arn:aws:sagemaker:us-east-1:"
                                             "123456789012:endpoint-config/one"},
            "CreateEndpoint": lambda: {"EndpointArn": "arn:aws:sagemaker:us-east-1:"
                                       "123456789012:endpoint/one"},
            "InvokeEndpoint": lambda: {
                "ContentType": "application/json",
                "Body": io.BytesIO(json.dumps({"predictions": [{"classes": [
                    {"name": "rose", "index": 2, "probability": 0.93}]}]}).encode())},
            "DeleteEndpoint": dict, "DeleteEndpointConfig": dict, "DeleteModel": dict,
            "GetMetricData": lambda: {"MetricDataResults": [
                {"Id": q["Id"], "Label": q["Label"], "Timestamps": [NOW], "Values": [0.25]}
                for q in asked["MetricDataQueries"]]},
        }[operation]()

    def definitions(self):
        job = next(asked for name, asked in self.calls if name == "CreateTrainingJob")
        return job["AlgorithmSpecification"]["MetricDefinitions"]

    def client(self, service):
        model = session.get_service_model(service)
        waiters = session.get_waiter_model(service) if service == "sagemaker" else None

        def call(operation, asked):
            fits(asked, operation.input_shape, operation.name)
            self.calls.append((operation.name, asked))
            answer = self.answer(operation.name, asked)
            shape = operation.output_shape
            for key in set(answer) - set(shape.members if shape is not None else ()):
                raise AssertionError(f"{operation.name} answers no {key}")
            return answer

        def waiter(name):
            names = {xform_name(n): n for n in waiters.waiter_names}
            operation = model.operation_model(waiters.get_waiter(names[name]).operation)
            return types.SimpleNamespace(
                wait=lambda **asked: fits(asked, operation.input_shape, name))

        def upload(body, bucket, key):
            self.archives[key] = body.read()
            fits({"Bucket": bucket, "Key": key},
                 model.operation_model("PutObject").input_shape, "upload_fileobj")

        made = types.SimpleNamespace(get_waiter=waiter, upload_fileobj=upload)
        for name in model.operation_names:
            operation = model.operation_model(name)
            setattr(made, xform_name(name), lambda _o=operation, **asked: call(_o, asked))
        return made


def run(stack, source, gpus):
    services = Services(outputs_of(stack, "none" if source == "s3" else source))
    modules = {"boto3": types.SimpleNamespace(client=services.client)}
    drawn = []
    modules["matplotlib"] = types.ModuleType("matplotlib")
    modules["matplotlib.pyplot"] = plot = types.ModuleType("matplotlib.pyplot")
    modules["matplotlib"].pyplot = plot
    plot.plot = lambda *points, marker, label: drawn.append(label)
    plot.ylabel = plot.legend = lambda *_: None
    sys.modules.update(modules)
    urllib.request.urlopen = lambda address, timeout: contextlib.closing(io.BytesIO(b"zip"))
    names = {"time": None}
    notebook = json.loads((examples / "tutorial.ipynb").read_text())
    for cell in notebook["cells"]:
        assert not cell.get("outputs"), "a notebook is kept without outputs"
        text = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        for line, other in (('SOURCE = "s3"', f"SOURCE = {source!r}"),
                            ("GPUS = True", f"GPUS = {gpus}"),
                            ("CLASSIFIER = None", 'CLASSIFIER = "classifier"'),
                            ('PICTURE = "picture.jpg"', f"PICTURE = {PICTURE!r}")):
            text = text.replace(line, other)
        exec(compile(text, cell["id"], "exec"), names)
        if "time" in names and names["time"] is not None:
            names["time"].sleep = lambda seconds: None
    return services, drawn


def check(services, drawn, source, gpus):
    done = dict(services.calls)
    assert set(services.archives) == {"archives/coco/train2017.zip",
                                      "archives/coco/annotations_trainval2017.zip"}
    prepare = done["CreateProcessingJob"]["AppSpecification"]
    told = [pathlib.Path(a).name for a in prepare["ContainerArguments"]]
    assert prepare["ContainerEntrypoint"] == ["ringtrain", "prepare", "coco"], prepare
    assert {f"archives/coco/{n}" for n in told[:-1]} == {
        *services.archives, "archives/coco/val2017.zip"}, told
    assert ("StartTaskExecution" in done) == (source == "efs")
    job = done["CreateTrainingJob"]
    text = json.dumps(job)
    assert "your-bucket" not in text and "YourSageMakerRole" not in text, text
    assert job["AlgorithmSpecification"]["TrainingImage"].endswith(":cuda" if gpus else ":latest")
    (kind, place), = job["InputDataConfig"][0]["DataSource"].items()
    assert ("VpcConfig" in job) == (source != "s3"), job
    expected = {"s3": None, "efs": "/coco", "fsx": "/abcdefgh/data/coco"}[source]
    assert place.get("DirectoryPath") == expected and kind.startswith(
        "S3" if source == "s3" else "File")
    ours = {m["Name"] for m in json.loads(metrics.read_text())}
    assert drawn and set(drawn) <= ours & {m["Name"] for m in services.definitions()}, drawn
    model, config, endpoint = (done[f"Create{n}"] for n in ("Model", "EndpointConfig", "Endpoint"))
    assert model["PrimaryContainer"] == {
        "Image": prepare["ImageUri"], "ModelDataUrl": WEIGHTS}, model
    assert model["ExecutionRoleArn"] == job["RoleArn"]
    (variant,) = config["ProductionVariants"]
    assert variant["ModelName"] == model["ModelName"]
    assert endpoint["EndpointConfigName"] == config["EndpointConfigName"]
    asked = done["InvokeEndpoint"]
    assert (asked["EndpointName"] == endpoint["EndpointName"]
            == done["DeleteEndpoint"]["EndpointName"])
    assert asked["Body"] == pathlib.Path(PICTURE).read_bytes()
    assert {"DeleteEndpointConfig", "DeleteModel"} <= set(done)
    enum = lambda service, name: session.get_service_model(service).shape_for(name).enum
    assert {"Completed", "Failed", "Stopped"} <= set(enum("sagemaker", "TrainingJobStatus"))
    assert {"SUCCESS", "ERROR"} <= set(enum("datasync", "TaskExecutionStatus"))


def main():
    os.chdir(top)
    stack = load(str(examples / "stack.yaml"))
    known = set(stack["Outputs"])
    assert {"EfsId", "FsxId", "FsxDirectory", "FillEfsTask", "Subnets"} <= known, known
    for source, gpus in itertools.product(("s3", "efs", "fsx"), (True, False)):
        with contextlib.redirect_stdout(io.StringIO()):
            services, drawn = run(stack, source, gpus)
        check(services, drawn, source, gpus)
        print(f"{source}, {'GPUs' if gpus else 'CPUs'}: {len(services.calls)} calls")


main()
