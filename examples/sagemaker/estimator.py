"""The job of create-training-job.json through the second version of SageMaker's SDK.

    pip install 'sagemaker<3' && python3 examples/sagemaker/estimator.py

Put role, buckets and image into the JSON first. Nothing has to be said of MPI: the image's containers
find each other. Not run against the service.
"""
import json
import pathlib

from sagemaker.estimator import Estimator
from sagemaker.inputs import TrainingInput

job = json.loads(pathlib.Path(__file__).with_name("create-training-job.json").read_text())
algorithm = job["AlgorithmSpecification"]
resources = job["ResourceConfig"]

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
)
# On EFS or FSx for Lustre an input is a sagemaker.inputs.FileSystemInput, and the estimator wants
# subnets and security_group_ids that reach it.
estimator.fit(
    {
        channel["ChannelName"]: TrainingInput(channel["DataSource"]["S3DataSource"]["S3Uri"])
        for channel in job["InputDataConfig"]
    }
)
