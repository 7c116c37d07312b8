"""Reads TensorBoard's event files of a folder, and of the runs in its subfolders, as TensorBoard
does: file by file, record by record; a session log with status START drops earlier events of its
step and of later steps. Prints a line for each value: its run, its tag and its steps.

    python3 tests/train/tfevents.py FOLDER
"""
import os
import struct
import sys

STEP, SUMMARY, SESSION = 2, 5, 7  # field numbers of Event
STATUS, START = 1, 1  # field number and value of SessionLog


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = varint(data, at)
            value = data[at : at + size]
            at += size
        yield key >> 3, value


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at + 12 <= len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        if at + 16 + size > len(data):
            return  # the record is cut off: its writer was killed
        yield data[at + 12 : at + 12 + size]
        at += 16 + size


def read(folder, prefix):
    scalars = {}
    for name in sorted(os.listdir(folder)):
        if os.path.isdir(os.path.join(folder, name)):
            continue
        for record in records(os.path.join(folder, name)):
            event = list(fields(record))
            step = dict(event).get(STEP, 0)
            for field, value in event:
                if field == SESSION and dict(fields(value)).get(STATUS) == START:
                    for steps in scalars.values():
                        steps[:] = [s for s in steps if s < step]
                elif field == SUMMARY:
                    for _, entry in fields(value):
                        tag = dict(fields(entry))[1].decode()
                        scalars.setdefault(tag, []).append(step)
    for tag, steps in sorted(scalars.items()):
        print(prefix + tag, *steps)


read(sys.argv[1], "")
for run in sorted(os.listdir(sys.argv[1])):
    if os.path.isdir(os.path.join(sys.argv[1], run)):
        read(os.path.join(sys.argv[1], run), run + "/")
