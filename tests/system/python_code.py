"""python_code.py FOLDER: makes Python packages for tests/system/test_python_code.sh.

FOLDER/wheels gets a wheel of the package answer, which has one number. FOLDER/package gets a
package that builds itself without an index; its backend waits for WAIT seconds first."""
import os
import sys
import zipfile

folder = sys.argv[1]
META = "Metadata-Version: 2.1\nName: {0}\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

os.makedirs(f"{folder}/wheels")
with zipfile.ZipFile(f"{folder}/wheels/answer-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("answer.py", "NUMBER = 42\n")
    wheel.writestr("answer-1.0.dist-info/METADATA", META.format("answer"))
    wheel.writestr("answer-1.0.dist-info/WHEEL", WHEEL)
    wheel.writestr("answer-1.0.dist-info/RECORD", "")

BACKEND = f'''"""Builds the wheel of the package job, which depends on answer."""
import os
import time
import zipfile


def build_wheel(directory, settings=None, metadata=None):
    print("the backend runs", flush=True)
    time.sleep(float(os.environ.get("WAIT", 0)))
    name = "job-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.write("job/main.py", "job/main.py")
        wheel.writestr("job/__init__.py", "")
        wheel.writestr("job/built_by", str(os.getuid()))
        wheel.writestr("job-1.0.dist-info/METADATA",
                       {META.format("job")!r} + "Requires-Dist: answer\\n")
        wheel.writestr("job-1.0.dist-info/WHEEL", {WHEEL!r})
        wheel.writestr("job-1.0.dist-info/RECORD", "")
    return name
'''
os.makedirs(f"{folder}/package/job")
for name, text in {
        "backend.py": BACKEND,
        "pyproject.toml": '[project]\nname = "job"\nversion = "1.0"\n\n'
                          '[build-system]\nrequires = []\n'
                          'build-backend = "backend"\nbackend-path = ["."]\n',
        "job/main.py": 'import sys\n\nimport answer\n\n'
                       'print("module", __name__, answer.NUMBER, sys.argv[1:])\n',
}.items():
    with open(f"{folder}/package/{name}", "w", encoding="utf-8") as file:
        file.write(text)
