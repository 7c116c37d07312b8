"""Writes wheels (PyPA's binary distribution format); the same input gives the same bytes."""
import base64
import hashlib
import os
import time
import zipfile


def write(folder, name, version, tags, metadata, files):
    """Writes NAME-VERSION-py3-none-TAGS.whl with FILES, (path, bytes, mode) each; returns its path.

    TAGS are platform tags, joined by dots, or "any" for a wheel without machine code. File times
    are SOURCE_DATE_EPOCH, but not before 1980."""
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    info = f"{name}-{version}.dist-info"
    wheel = ("Wheel-Version: 1.0\nGenerator: ringmaster\n"
             f"Root-Is-Purelib: {str(tags == 'any').lower()}\n")
    wheel += "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    files = files + [(f"{info}/METADATA", metadata.encode(), 0o644),
                     (f"{info}/WHEEL", wheel.encode(), 0o644)]
    rows = []
    for path, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(data)}\n")
    files.append((f"{info}/RECORD", ("".join(rows) + f"{info}/RECORD,,\n").encode(), 0o644))
    made = os.path.join(folder, f"{name}-{version}-py3-none-{tags}.whl")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data, mode in files:
            entry = zipfile.ZipInfo(path, when)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return made
