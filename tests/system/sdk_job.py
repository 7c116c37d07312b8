"""Runs a job in the local mode of SageMaker's own SDK, on two containers, with its code on S3.

    sdk_job.py CASE ENDPOINT FOLDER IMAGE

The second version of the SDK uploads the code itself; for the third, which would run it without
Ringmaster's entry point, this script uploads it. CASE is good, fail, stop or many
(hyperparameters). The last line printed is the SDK's result of the job."""
import io
import os
import sys
import tarfile

import boto3

case, endpoint, folder, image = sys.argv[1:]
code = f"{folder}/code"
hyperparameters = ({f"p{i:03d}": i for i in range(100)} if case == "many"
                   else {"lr": 0.1, "name": "a b", "flag": True})
variables = {"MODE": case}


def second():
    from sagemaker.estimator import Estimator
    from sagemaker.local import LocalSession

    session = LocalSession()
    session.config = {"local": {"local_code": False, "container_root": f"{folder}/root"}}
    Estimator(image_uri=image, role="arn:aws:iam::123456789012:role/job", instance_count=2,
              instance_type="local", entry_point="train.py", source_dir=code,
              code_location=f"s3://jobs/second-{case}", output_path=f"file://{folder}/out",
              hyperparameters=hyperparameters, sagemaker_session=session,
              environment=variables).fit()


def third(trainer):
    from sagemaker.train.configs import Compute
    from sagemaker.train.model_trainer import Mode

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(code, ".")
    boto3.client("s3", endpoint_url=endpoint).put_object(
        Bucket="jobs", Key=f"third-{case}/sourcedir.tar.gz", Body=packed.getvalue())
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    trainer(training_mode=Mode.LOCAL_CONTAINER, training_image=image,
            compute=Compute(instance_type="local_cpu", instance_count=2), base_job_name="third",
            local_container_root=f"{folder}/root",
            hyperparameters=hyperparameters | {
                "sagemaker_program": "train.py",
                "sagemaker_submit_directory": f"s3://jobs/third-{case}/sourcedir.tar.gz"},
            environment=variables | {"AWS_ENDPOINT_URL_S3": endpoint, "AWS_REGION": "us-east-1"}
            | {name: os.environ[name] for name in names}).train()


for each in ("root", "out"):
    os.makedirs(f"{folder}/{each}", exist_ok=True)
boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="jobs")
try:
    try:
        from sagemaker.train import ModelTrainer
    except ImportError:
        second()
    else:
        third(ModelTrainer)
except RuntimeError as why:
    print("the SDK says:", str(why)[-200:])
else:
    print("the SDK says: success")
