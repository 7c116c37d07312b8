"""Writes what the third version of SageMaker's SDK passes to the containers of a job with
source_code and Ringmaster, or a command, as its local mode would mount it. The SDK makes all of it;
no container is started.

    source_code.py FOLDER CODE HYPERPARAMETERS [NAME=VALUE]...

CODE is the folder with train.py, HYPERPARAMETERS is JSON, and NAME=VALUE are fields of Ringmaster
as JSON, or command=WORDS, which replaces Ringmaster. FOLDER receives data/CHANNEL/...,
hyperparameters.json and command (one word per line)."""
import json
import os
import shutil
import sys
import tempfile

from ringmaster_sagemaker import Ringmaster
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, SourceCode
from sagemaker.train.local.local_container import _LocalContainer
from sagemaker.train.model_trainer import Mode

folder, code, hyperparameters, *fields = sys.argv[1:]
given = dict(field.split("=", 1) for field in fields)
command = given.pop("command", None)


def capture(container, wait):
    del wait
    for channel in container.input_data_config:
        shutil.copytree(channel.data_source.file_system_data_source.directory_path,
                        f"{folder}/data/{channel.channel_name}")
    with open(f"{folder}/hyperparameters.json", "w", encoding="utf-8") as file:
        json.dump(container.hyper_parameters, file)
    with open(f"{folder}/command", "w", encoding="utf-8") as file:
        file.write("\n".join(container.container_entrypoint + container.container_arguments) + "\n")


_LocalContainer.train = capture
os.makedirs(folder, exist_ok=True)
with tempfile.TemporaryDirectory() as root:
    ModelTrainer(training_mode=Mode.LOCAL_CONTAINER, training_image="none",
                 compute=Compute(instance_type="local_cpu", instance_count=2),
                 base_job_name="job", local_container_root=root,
                 hyperparameters=json.loads(hyperparameters),
                 source_code=SourceCode(source_dir=code, command=command,
                                        entry_script=None if command else "train.py"),
                 distributed=None if command else Ringmaster(
                     **{name: json.loads(value) for name, value in given.items()})).train()
