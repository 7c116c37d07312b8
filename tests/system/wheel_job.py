"""Runs a job of two containers in the local mode of SageMaker's own SDK, with an image that has the
launcher from its wheel.

    wheel_job.py MODE FOLDER IMAGE CODE

With version 2 of the SDK the image's `train` starts CODE/train.py; with version 3 source_code does,
through the package in sdk/. Either way each container has two ranks. MODE is for the program: good,
fail or stop. The last line is the outcome that the SDK reports."""
import os
import sys

mode, folder, image, code = sys.argv[1:]
hyperparameters = {"lr": 0.1, "name": "a b"}
variables = {"MODE": mode}


def second():
    from sagemaker.estimator import Estimator
    from sagemaker.local import LocalSession

    session = LocalSession()
    session.config = {"local": {"local_code": True, "container_root": f"{folder}/root"}}
    # The image has no seed, and this SDK passes no key.
    key = {"RINGMASTER_KEY": os.urandom(24).hex(), "RINGMASTER_RANKS_PER_HOST": "2"}
    Estimator(image_uri=image, role="arn:aws:iam::123456789012:role/job", instance_count=2,
              instance_type="local", entry_point="train.py", source_dir=code,
              output_path=f"file://{folder}/out", hyperparameters=hyperparameters,
              sagemaker_session=session, environment=variables | key).fit()


def third(trainer):
    from ringmaster_sagemaker import Ringmaster
    from sagemaker.train.configs import Compute, SourceCode
    from sagemaker.train.model_trainer import Mode

    trainer(training_mode=Mode.LOCAL_CONTAINER, training_image=image,
            compute=Compute(instance_type="local_cpu", instance_count=2), base_job_name="wheel",
            local_container_root=f"{folder}/root", hyperparameters=hyperparameters,
            source_code=SourceCode(source_dir=code, entry_script="train.py"),
            distributed=Ringmaster(process_count_per_node=2), environment=variables).train()


for each in ("root", "out"):
    os.makedirs(f"{folder}/{each}", exist_ok=True)
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
