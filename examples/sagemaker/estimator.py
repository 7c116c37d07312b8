"""Runs the job of create-training-job.json through the second version of SageMaker's SDK, or the
job of another JSON file that is named, such as the one for data on EFS or FSx for Lustre.

    pip install 'sagemaker<3' && python3 examples/sagemaker/estimator.py
    python3 examples/sagemaker/estimator.py create-file-system-job.json

Put role, buckets and image into the JSON first. No settings for MPI are needed: the image's
containers find each other. This script has not been run against the service.
"""
import json
import pathlib
import sys

from sagemaker.estimator import Estimator
from sagemaker.inputs import FileSystemInput, TrainingInput


def input_of(source):
    if "S3DataSource" in source:
        return TrainingInput(source["S3DataSource"]["S3Uri"])
    files = source["FileSystemDataSource"]
    return FileSystemInput(
        file_system_id=files["FileSystemId"],
        file_system_type=files["FileSystemType"],
        directory_path=files["DirectoryPath"],
        file_system_access_mode=files["FileSystemAccessMode"],
    )


name = sys.argv[1] if len(sys.argv) > 1 else "create-training-job.json"
job = json.loads(pathlib.Path(__file__).with_name(name).read_text())
algorithm = job["AlgorithmSpecification"]
resources = job["ResourceConfig"]
network = job.get("VpcConfig", {})

estimator = Estimator(
    image_uri=algorithm["TrainingImage"],
    role=job["RoleArn"],
    instance_count=resources["InstanceCount"],
    instance_type=resources["InstanceType"],
    volume_size=resources["VolumeSizeInGB"],
    max_run=job["StoppingCondition"]["MaxRuntimeInSeconds"],
    input_mode=algorithm["TrainingInputMode"],
    output_path=job["OutputDataConfig"]["S3OutputPath"],
    checkpoint_s3_uri=job["CheckpointConfig"]["S3Uri"],
    hyperparameters=job["HyperParameters"],
    metric_definitions=algorithm["MetricDefinitions"],
    subnets=network.get("Subnets"),
    security_group_ids=network.get("SecurityGroupIds"),
)
estimator.fit(
    {channel["ChannelName"]: input_of(channel["DataSource"]) for channel in job["InputDataConfig"]}
)
