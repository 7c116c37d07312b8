"""Makes the wheel of the package in sdk/: python3 sdk_wheel.py VERSION SDK LICENSE FOLDER

It follows sdk/pyproject.toml, without a build backend, which would have to be fetched. VERSION has
to be the version in that file. The same input gives the same bytes."""
import pathlib
import sys
import tomllib

import wheel_file


def main(version, sdk, licence, folder):
    sdk = pathlib.Path(sdk)
    settings = tomllib.loads((sdk / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    if project["version"] != version:
        sys.exit(f"sdk/pyproject.toml: the version is {project['version']}, "
                 f"and the release's is {version}")
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {wanted}" for wanted in project["dependencies"]]
    lines += ["Description-Content-Type: text/markdown", "",
              (sdk / project["readme"]).read_text(encoding="utf-8")]
    name = project["name"].replace("-", "_")
    files = [(path.relative_to(sdk).as_posix(), path.read_bytes(), 0o644)
             for package in settings["tool"]["setuptools"]["packages"]
             for path in sorted((sdk / package).rglob("*"))
             if path.is_file() and "__pycache__" not in path.parts]
    files.append((f"{name}-{version}.dist-info/LICENSE", pathlib.Path(licence).read_bytes(), 0o644))
    print(wheel_file.write(folder, name, version, "any", "\n".join(lines), files))


if len(sys.argv) != 5:
    sys.exit(__doc__)
main(*sys.argv[1:])
