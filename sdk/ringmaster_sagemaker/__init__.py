"""`ModelTrainer(source_code=..., distributed=Ringmaster())` of SageMaker's SDK, version 3.

The SDK runs its own train script in the container, under bash as PID 1. The line for the
distributed driver in it is made from `driver_script`: the driver first prepares the start, and
`ringmaster` then replaces the shell, so that stop requests reach it.
"""

import atexit
import os
import secrets
import shutil
import tempfile
from typing import Optional

from pydantic import PrivateAttr, field_validator
from sagemaker.train.distributed import DistributedConfig

__all__ = ["Ringmaster"]

DRIVER = "ringmaster_driver.py"
IN_CONTAINER = "/opt/ml/input/data/sm_drivers/distributed_drivers"


class Ringmaster(DistributedConfig):
    """Has Ringmaster start the ranks of a job.

    Parameters:
        process_count_per_node (Optional[int]):
            The number of ranks on each instance. Will default to the number of GPUs of the
            instance, or one.
        launcher (Optional[str]):
            The path of the static `ringmaster` program, which is uploaded with the driver. Will
            default to the one in the image.
    """

    process_count_per_node: Optional[int] = None
    launcher: Optional[str] = None
    # Not a field: fields are written to the container's log.
    _dir: Optional[str] = PrivateAttr(default=None)

    @field_validator("process_count_per_node")
    @classmethod
    def _count(cls, count):
        if count is not None and not 1 <= count <= 256:
            raise ValueError(f"process_count_per_node is {count}; 1 to 256 ranks are possible")
        return count

    @field_validator("launcher")
    @classmethod
    def _elf(cls, path):
        if path is None:
            return path
        try:
            with open(path, "rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise ValueError(f"launcher: {path}: {error.strerror}") from error
        if magic != b"\x7fELF":
            raise ValueError(
                f"launcher: {path} is not a program for Linux; docker/static.sh builds one"
            )
        return path

    @property
    def driver_dir(self) -> str:
        """A folder with the driver, a fresh key for the hosts of the job, and the launcher."""
        if self._dir is None:
            self._dir = tempfile.mkdtemp(prefix="ringmaster-driver-")
            atexit.register(shutil.rmtree, self._dir, ignore_errors=True)
        source = os.path.join(os.path.dirname(__file__), "driver")
        for name in (DRIVER, "stop.sh"):
            shutil.copy(os.path.join(source, name), self._dir)
        with open(os.path.join(self._dir, "ringmaster_key"), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(24))
        if self.launcher is not None:
            shutil.copy(self.launcher, os.path.join(self._dir, "ringmaster"))
        return self._dir

    @property
    def driver_script(self) -> str:
        """The text after the interpreter and the folder in the line of the train script."""
        return f'{DRIVER} prepare\nexec "$SM_PYTHON_CMD" {IN_CONTAINER}/{DRIVER} run'
