"""Runs the job of create-training-job.json through the third version of SageMaker's SDK, or the job
of another JSON file that is named, such as the one for data on EFS or FSx for Lustre.

    pip install sagemaker-train && python3 examples/sagemaker/model_trainer.py
    python3 examples/sagemaker/model_trainer.py create-file-system-job.json

Put role, buckets and image into the JSON first. No source_code is given, as it would replace the
image's own entrypoint. This script has not been run against the service.
"""
import json
import pathlib
import sys

from sagemaker.core.shapes import MetricDefinition
from sagemaker.core.training.configs import (
    CheckpointConfig,
    Compute,
    FileSystemDataSource,
    InputData,
    Networking,
    OutputDataConfig,
    StoppingCondition,
)
from sagemaker.train.model_trainer import ModelTrainer


def source_of(source):
    if "S3DataSource" in source:
        return source["S3DataSource"]["S3Uri"]
    files = source["FileSystemDataSource"]
    return FileSystemDataSource(
        file_system_id=files["FileSystemId"],
        file_system_type=files["FileSystemType"],
        directory_path=files["DirectoryPath"],
        file_system_access_mode=files["FileSystemAccessMode"],
    )


name = sys.argv[1] if len(sys.argv) > 1 else "create-training-job.json"
job = json.loads(pathlib.Path(__file__).with_name(name).read_text())
algorithm = job["AlgorithmSpecification"]
resources = job["ResourceConfig"]
network = job.get("VpcConfig")

trainer = ModelTrainer(
    training_image=algorithm["TrainingImage"],
    role=job["RoleArn"],
    training_input_mode=algorithm["TrainingInputMode"],
    compute=Compute(
        instance_type=resources["InstanceType"],
        instance_count=resources["InstanceCount"],
        volume_size_in_gb=resources["VolumeSizeInGB"],
    ),
    networking=network
    and Networking(subnets=network["Subnets"], security_group_ids=network["SecurityGroupIds"]),
    stopping_condition=StoppingCondition(
        max_runtime_in_seconds=job["StoppingCondition"]["MaxRuntimeInSeconds"]
    ),
    output_data_config=OutputDataConfig(s3_output_path=job["OutputDataConfig"]["S3OutputPath"]),
    checkpoint_config=CheckpointConfig(s3_uri=job["CheckpointConfig"]["S3Uri"]),
    hyperparameters=job["HyperParameters"],
).with_metric_definitions(
    [
        MetricDefinition(name=metric["Name"], regex=metric["Regex"])
        for metric in algorithm["MetricDefinitions"]
    ]
)
trainer.train(
    input_data_config=[
        InputData(
            channel_name=channel["ChannelName"],
            data_source=source_of(channel["DataSource"]),
        )
        for channel in job["InputDataConfig"]
    ]
)
