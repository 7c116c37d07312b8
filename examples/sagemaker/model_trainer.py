"""The job of create-training-job.json through the third version of SageMaker's SDK.

    pip install sagemaker-train && python3 examples/sagemaker/model_trainer.py

Put role, buckets and image into the JSON first. No source_code is given: it would replace the image's
own start. Not run against the service.
"""
import json
import pathlib

from sagemaker.core.shapes import MetricDefinition
from sagemaker.core.training.configs import (
    CheckpointConfig,
    Compute,
    InputData,
    OutputDataConfig,
    StoppingCondition,
)
from sagemaker.train.model_trainer import ModelTrainer

job = json.loads(pathlib.Path(__file__).with_name("create-training-job.json").read_text())
algorithm = job["AlgorithmSpecification"]
resources = job["ResourceConfig"]

trainer = ModelTrainer(
    training_image=algorithm["TrainingImage"],
    role=job["RoleArn"],
    training_input_mode=algorithm["TrainingInputMode"],
    compute=Compute(
        instance_type=resources["InstanceType"],
        instance_count=resources["InstanceCount"],
        volume_size_in_gb=resources["VolumeSizeInGB"],
    ),
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
            data_source=channel["DataSource"]["S3DataSource"]["S3Uri"],
        )
        for channel in job["InputDataConfig"]
    ]
)
