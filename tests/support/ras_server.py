"""A stand-in for NCCL RAS in tests, which answers as MODE says.

    ras_server.py PORT MODE [FOLDER]

    stuck      rank 2 of four has always started one AllReduce less than the others
    text       the same in the format of NCCL 2.26, without JSON
    moving     the same difference, with other numbers each time
    equal      all counts are equal
    dead       rank 3 does not answer
    garbage    the listener is not RAS
    half       the answer ends in the middle
    slow       the answer comes at one byte per second
    endless    the answer has no end
    later      equal until FOLDER/hang exists, then stuck
    part       the second rank of a communicator of two has started one AllReduce less

If the file FOLDER/process-RANK exists, it holds the "PID HOST" that are reported for the rank's
process; `part` uses those of ranks 1 and 3.
"""
import json
import os
import socket
import sys
import threading
import time

port, mode = int(sys.argv[1]), sys.argv[2]
folder = sys.argv[3] if len(sys.argv) > 3 else ""
asked = 0


def process(number):
    try:
        with open(f"{folder}/process-{number}", encoding="ascii") as told:
            pid, host = told.read().split()
            return {"host": host, "pid": int(pid)}
    except OSError:
        return {"host": f"127.0.0.{number + 1}", "pid": 1000 + number}


def rank(number, count, of=None):
    return {"rank": number, **process(of if of is not None else number), "cuda_dev": number,
            "nvml_dev": number,
            "status": {"init_state": 0, "async_error": 0, "finalize_called": False,
                       "destroy_flag": False, "abort_flag": False},
            "collective_counts": {"Broadcast": 3, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0,
                                  "AllReduce": count}}


def answer(kind):
    ahead = 41 + (asked if kind == "moving" else 0)
    if kind == "part":
        return report(2, [rank(0, 41, of=1), rank(1, 40, of=3)], [])
    late = {"stuck": [2], "moving": [2]}.get(kind, [])
    missing = [3] if kind == "dead" else []
    ranks = [rank(i, ahead - (i in late)) for i in range(4) if i not in missing]
    absent = [{"rank": i, "host": f"127.0.0.{i + 1}", "pid": 1000 + i, "cuda_dev": i, "nvml_dev": i,
               "status": {"unresponsive": True, "considered_dead": False}} for i in missing]
    return report(4, ranks, absent)


def report(size, ranks, absent):
    return json.dumps({"nccl_version": "2.29.1", "communicators_count": 1, "communicators": [
        {"hash": "0xae94423cfbb2ef4a", "secondary_hash": "0x1:0x2", "size": size,
         "ranks_count": len(ranks), "missing_ranks_count": len(absent), "ranks": ranks,
         "missing_ranks": absent}],
        "ras": {"collection_time_sec": 0.0, "timeouts_count": 0}}, indent=2) + "\n"


TEXT = """Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          1            1          4        4

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         1         4         4   RUNNING  MISMATCH

Warnings
========

#0-0 (ae94423cfbb2ef4a) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 41
  Rank 2 has launched up to operation 40 -- GPU 2 managed by process 1002 on node 127.0.0.3

"""


def serve(connection):
    global asked
    kind = mode
    if kind == "later":
        kind = "stuck" if os.path.exists(f"{folder}/hang") else "equal"
    with connection, connection.makefile("r") as lines:
        for line in lines:
            word = line.strip().upper()
            if kind == "garbage":
                connection.sendall(b"220 mail ready\r\n")
            elif word.startswith("CLIENT PROTOCOL"):
                connection.sendall(b"SERVER PROTOCOL 2\n")
            elif word.startswith("TIMEOUT"):
                connection.sendall(b"OK\n")
            elif word.startswith("SET FORMAT"):
                connection.sendall(b"ERROR: Unknown command\n" if kind == "text" else b"OK\n")
            elif word.endswith("STATUS"):
                asked += 1
                if kind == "text" or word.startswith("VERBOSE"):
                    connection.sendall(TEXT.encode())
                elif kind == "half":
                    connection.sendall(answer("stuck")[:200].encode())
                elif kind == "slow":
                    for byte in answer("stuck").encode():
                        connection.sendall(bytes([byte]))
                        time.sleep(1)
                elif kind == "endless":
                    while True:
                        connection.sendall(b"x" * 65536)
                else:
                    connection.sendall(answer(kind).encode())
                return


def hold(connection):
    try:
        serve(connection)
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", port))
print("ready", flush=True)
while True:
    threading.Thread(target=hold, args=(listener.accept()[0],), daemon=True).start()
