"""Starts ringmaster in a container of SageMaker's SDK, version 3. The SDK's train script runs this
driver twice: `prepare` checks that nothing is missing and reports what is, `run` becomes
ringmaster.

It is installed with the SDK's own drivers and makes flags of hyperparameters as they do.
"""

import json
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BROUGHT = Path("/tmp/ringmaster-launcher/ringmaster")
BASH = "/proc/1/comm"

sys.path.insert(0, str(HERE.parent))


def fail(code, text):
    """Writes the reason of a failure to the log and the failure file, and exits with CODE."""
    print(f"ringmaster_driver: {text}", file=sys.stderr, flush=True)
    path = os.environ.get("SM_OUTPUT_FAILURE", "/opt/ml/output/failure")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        print(f"ringmaster_driver: {path}: {error.strerror}", file=sys.stderr, flush=True)
    sys.exit(code)


def launcher():
    """Returns the program that the user uploaded with the driver, else the image's."""
    if (HERE / "ringmaster").exists():
        return str(BROUGHT)
    found = shutil.which("ringmaster")
    if found is None:
        fail(127, "there is no ringmaster in PATH: copy it into the image (COPY ringmaster "
                  "/usr/local/bin/), or name the file in Ringmaster(launcher=...)")
    return found


def bring():
    """Copies an uploaded launcher to a folder where it can run: channels keep no file modes, and
    may be mounted where nothing can be executed."""
    if not (HERE / "ringmaster").exists():
        return
    BROUGHT.parent.mkdir(mode=0o755, exist_ok=True)
    fresh = BROUGHT.with_suffix(".new")
    shutil.copyfile(HERE / "ringmaster", fresh)
    fresh.chmod(0o755)
    fresh.rename(BROUGHT)


def warn_of_bash():
    """Warns of a bash before 5.1, which stays the parent process of the train script."""
    try:
        first = Path(BASH).read_text(encoding="utf-8").strip()
    except OSError:
        return
    if first in ("bash", "sh") and os.getppid() != 1:
        print("ringmaster_driver: warning: this image's bash stays process 1 and passes no stop "
              f"requests on; set BASH_ENV={HERE}/stop.sh in ModelTrainer(environment=...)",
              file=sys.stderr, flush=True)


def program(environment):
    """Returns the command line of the user's program, with flags as the SDK's own drivers make
    them."""
    from common.utils import hyperparameters_to_cli_args

    script = environment.get("SM_ENTRY_SCRIPT", "")
    own = {name: value for name, value in json.loads(environment.get("SM_HPS", "{}")).items()
           if not name.startswith("sagemaker_")}
    if script.endswith(".py"):
        words = [sys.executable, script]
    elif script.endswith(".sh"):
        words = ["sh", script]
    else:
        fail(65, f"the entry script {script!r} is neither a .py nor a .sh file")
    return words + hyperparameters_to_cli_args(own)


def settings(environment):
    """Returns the variables for ringmaster; what the user has set is kept."""
    told = dict(environment)
    config = json.loads(environment.get("SM_DISTRIBUTED_CONFIG") or "{}")
    if config.get("process_count_per_node") and not told.get("RINGMASTER_RANKS_PER_HOST"):
        told["RINGMASTER_RANKS_PER_HOST"] = str(config["process_count_per_node"])
    if not told.get("RINGMASTER_KEY_FILE") and not told.get("RINGMASTER_KEY"):
        told["RINGMASTER_KEY"] = (HERE / "ringmaster_key").read_text("ascii").strip()
    told.pop("BASH_ENV", None)
    return told


def main(words):
    if words == ["prepare"]:
        bring()
        program(os.environ)
        print(f"ringmaster_driver: {launcher()} starts the ranks", flush=True)
        warn_of_bash()
    elif words == ["run"]:
        path = launcher()
        arguments = [path, "train", "--"] + program(os.environ)
        os.execve(path, arguments, settings(os.environ))
    else:
        sys.exit(f"ringmaster_driver: {words}: expected prepare or run")


if __name__ == "__main__":
    main(sys.argv[1:])
