"""Load generator for bench/serve.sh: serve_load.py PORT PID CLIENTS SECONDS PICTURE...

Prints "p50_ms p99_ms pictures_a_second cpu_ms". Each client has a connection of its own and sends
the next picture as soon as it has its answer. cpu_ms is the processor time of the server PID per
picture, which depends less on other load on the machine.
"""
import http.client
import os
import sys
import threading
import time

PORT, PID, CLIENTS, SECONDS = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
pictures = [open(path, "rb").read() for path in sys.argv[5:]]


def used():
    """Returns the processor seconds that the server has used."""
    with open(f"/proc/{PID}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


end = time.monotonic() + SECONDS
times = []


def run(at):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    while True:
        begun = time.monotonic()
        if begun >= end:
            return
        connection.request("POST", "/invocations", pictures[at % len(pictures)],
                           {"Content-Type": "image/jpeg"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        times.append(time.monotonic() - begun)
        at += CLIENTS


begun, before = time.monotonic(), used()
threads = [threading.Thread(target=run, args=(i,)) for i in range(CLIENTS)]
for t in threads:
    t.start()
for t in threads:
    t.join()
took, spent = time.monotonic() - begun, used() - before
times.sort()
print(f"{1000 * times[len(times) // 2]:.1f} {1000 * times[len(times) * 99 // 100]:.1f} "
      f"{len(times) / took:.2f} {1000 * spent / len(times):.1f}")
