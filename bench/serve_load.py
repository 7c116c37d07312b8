"""Load for bench/serve.sh: serve_load.py PORT CLIENTS SECONDS PICTURE...; prints "p50_ms p99_ms pictures_a_second".

Each client has a connection of its own and asks for the next picture as soon as it has its answer.
"""
import http.client
import sys
import threading
import time

PORT, CLIENTS, SECONDS = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
pictures = [open(path, "rb").read() for path in sys.argv[4:]]
end = time.monotonic() + SECONDS
times = []


def run(at):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    while True:
        begun = time.monotonic()
        if begun >= end:
            return
        connection.request("POST", "/invocations", pictures[at % len(pictures)], {"Content-Type": "image/jpeg"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        times.append(time.monotonic() - begun)
        at += CLIENTS


begun = time.monotonic()
threads = [threading.Thread(target=run, args=(i,)) for i in range(CLIENTS)]
for t in threads:
    t.start()
for t in threads:
    t.join()
took = time.monotonic() - begun
times.sort()
print(f"{1000 * times[len(times) // 2]:.1f} {1000 * times[len(times) * 99 // 100]:.1f} {len(times) / took:.2f}")
