"""Tests of the class Ringmaster and its driver with the third version of SageMaker's SDK."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import pydantic
from ringmaster_sagemaker import DRIVER, Ringmaster
from sagemaker.train import container_drivers

HERE = pathlib.Path(__file__).resolve().parent


def write_program(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


class Config(unittest.TestCase):
    def test_number_of_ranks(self):
        self.assertIsNone(Ringmaster().process_count_per_node)
        self.assertEqual(Ringmaster(process_count_per_node=256).process_count_per_node, 256)
        for count in (0, -1, 257):
            with self.assertRaisesRegex(pydantic.ValidationError, "1 to 256 ranks"):
                Ringmaster(process_count_per_node=count)

    def test_misspelt_field(self):
        with self.assertRaises(pydantic.ValidationError):
            Ringmaster(process_per_node=2)

    def test_launcher_must_be_a_program(self):
        with self.assertRaisesRegex(pydantic.ValidationError, "No such file"):
            Ringmaster(launcher="/nowhere/ringmaster")
        with self.assertRaisesRegex(pydantic.ValidationError, "is not a program for Linux"):
            Ringmaster(launcher=__file__)

    def test_each_job_has_a_key_of_its_own(self):
        config = Ringmaster()
        keys = []
        for _ in range(2):
            keys.append(pathlib.Path(config.driver_dir, "ringmaster_key").read_text("ascii"))
        self.assertEqual(len(keys[0]), 48)
        self.assertNotEqual(keys[0], keys[1])
        self.assertNotIn(keys[1], json.dumps(config.model_dump()))
        self.assertFalse(os.path.exists(f"{config.driver_dir}/ringmaster"))

    def test_launcher_goes_along(self):
        config = Ringmaster(launcher=os.path.realpath(sys.executable))
        size = os.path.getsize(f"{config.driver_dir}/ringmaster")
        self.assertEqual(size, os.path.getsize(os.path.realpath(sys.executable)))

    def test_train_script_of_the_sdk(self):
        with tempfile.TemporaryDirectory() as work:
            pathlib.Path(work, "code").mkdir()
            pathlib.Path(work, "code/train.py").touch()
            subprocess.run([sys.executable, HERE / "source_code.py", f"{work}/made", f"{work}/code",
                            "{}"], check=True, capture_output=True)
            lines = pathlib.Path(work, "made/data/sm_drivers/sm_train.sh").read_text("utf-8")
            command = pathlib.Path(work, "made/command").read_text("utf-8").splitlines()
        drivers = "/opt/ml/input/data/sm_drivers"
        self.assertIn(f"$SM_PYTHON_CMD {drivers}/distributed_drivers/{DRIVER} prepare\n"
                      f'exec "$SM_PYTHON_CMD" {drivers}/distributed_drivers/{DRIVER} run\n', lines)
        # driver/stop.sh looks for this command.
        self.assertEqual(command[:2], ["/bin/bash", "-c"])
        self.assertTrue(command[2].endswith("sm_drivers/sm_train.sh"))


class Driver(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        os.symlink(f"{container_drivers.__path__[0]}/common", self.work / "common")
        os.rename(Ringmaster().driver_dir, self.work / "distributed_drivers")
        self.driver = self.work / "distributed_drivers" / DRIVER
        (self.work / "bin").mkdir()
        self.environment = {"PATH": f"{self.work}/bin:/usr/bin:/bin", "SM_ENTRY_SCRIPT": "train.py",
                            "SM_OUTPUT_FAILURE": f"{self.work}/failure"}

    def run_driver(self, word, **variables):
        return subprocess.run([sys.executable, self.driver, word], check=False, text=True,
                              env=self.environment | variables, capture_output=True)

    def install(self):
        write_program(self.work / "bin/ringmaster", "#!/bin/sh\nenv\nprintf 'word %s\\n' \"$@\"\n")

    def test_without_a_launcher(self):
        ended = self.run_driver("prepare")
        self.assertEqual(ended.returncode, 127)
        self.assertIn("there is no ringmaster in PATH", ended.stderr)
        self.assertIn("there is no ringmaster in PATH", (self.work / "failure").read_text("utf-8"))

    def test_hyperparameters_are_flags_as_the_sdk_makes_them(self):
        self.install()
        given = {"lr": 0.1, "name": "a b", "on": True, "list": [1, "x"], "sagemaker_program": "x"}
        ended = self.run_driver("run", SM_HPS=json.dumps(given))
        words = [line[5:] for line in ended.stdout.splitlines() if line.startswith("word ")]
        self.assertEqual(words, ["train", "--", sys.executable, "train.py", "--lr", "0.1", "--name",
                                 "a b", "--on", "true", "--list", '[1, "x"]'])

    def test_shell_script(self):
        self.install()
        ended = self.run_driver("run", SM_ENTRY_SCRIPT="go.sh", SM_HPS='{"n": 1}')
        self.assertIn("word sh\nword go.sh\nword --n\nword 1\n", ended.stdout)

    def test_another_entry_script(self):
        self.install()
        ended = self.run_driver("prepare", SM_ENTRY_SCRIPT="go.rb")
        self.assertEqual(ended.returncode, 65)
        self.assertIn("'go.rb' is neither a .py nor a .sh file", ended.stderr)

    def test_settings(self):
        self.install()
        config = '{"process_count_per_node": 2, "launcher": null}'
        key = (self.driver.parent / "ringmaster_key").read_text("ascii")
        ended = self.run_driver("run", SM_DISTRIBUTED_CONFIG=config, BASH_ENV="/x/stop.sh")
        self.assertIn(f"RINGMASTER_KEY={key}\n", ended.stdout)
        self.assertIn("RINGMASTER_RANKS_PER_HOST=2\n", ended.stdout)
        self.assertNotIn("BASH_ENV", ended.stdout)
        ended = self.run_driver("run", SM_DISTRIBUTED_CONFIG='{"process_count_per_node": null}')
        self.assertNotIn("RINGMASTER_RANKS_PER_HOST", ended.stdout)

    def test_settings_of_the_user_stay(self):
        self.install()
        ended = self.run_driver("run", SM_DISTRIBUTED_CONFIG='{"process_count_per_node": 2}',
                                RINGMASTER_RANKS_PER_HOST="4", RINGMASTER_KEY_FILE="/run/secret")
        self.assertIn("RINGMASTER_RANKS_PER_HOST=4\n", ended.stdout)
        self.assertNotIn("RINGMASTER_KEY=", ended.stdout)

    def test_unknown_word(self):
        self.assertIn("expected prepare or run", self.run_driver("start").stderr)


if __name__ == "__main__":
    unittest.main()
