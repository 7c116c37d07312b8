"""Tests jobs in pods that Kubeflow Trainer has told where to report their status: a server in this
script receives the reports.

    python3 trainer_status.py BIN FOLDER

prints a line per case, and exits with 0 if each ended as it should."""
import calendar
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import certificates

BIN, FOLDER = (os.path.abspath(path) for path in sys.argv[1:3])
TOKENS = "aaaa-first-token", "bbbb-second-token"
# The program of docs/guides/your-program.md: it reports steps and their total for TEST_SECONDS
# seconds.
PROGRAM = """
import mmap, os, struct, time
slot = mmap.mmap(os.open(os.environ["RINGMASTER_PROGRESS"], os.O_RDWR), 64)
seconds = int(os.environ["TEST_SECONDS"])
slot[40:48] = struct.pack("=Q", 10 * seconds)
for step in range(1, 10 * seconds + 1):
    slot[:24] = struct.pack("=QQQ", step, step, 3600)
    time.sleep(0.1)
print("the program is over at", time.monotonic(), flush=True)
"""
REPORTS = []


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        REPORTS.append({"at": time.monotonic(), "path": self.path,
                        "type": self.headers["content-type"],
                        "token": self.headers["authorization"],
                        "status": json.loads(body)["trainerStatus"]})
        put_token(TOKENS[1])  # the token is renewed while the job runs
        if self.path == "/silent":
            time.sleep(60)
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("content-length", "0")
        self.end_headers()


def put_token(token):
    with open(f"{FOLDER}/token.new", "w", encoding="ascii") as file:
        file.write(token + "\n")
    os.rename(f"{FOLDER}/token.new", f"{FOLDER}/token")


def run(seconds, path, authority="own", code=0, **variables):
    """Returns the job's log, and how long it took after its program."""
    REPORTS.clear()
    put_token(TOKENS[0])
    environment = {"PATH": os.environ["PATH"], "SAGEMAKER_BASE_DIR": f"{FOLDER}/ml",
                   "TEST_SECONDS": str(seconds),
                   "KUBEFLOW_TRAINER_SERVER_URL": f"https://localhost:{PORT}{path}",
                   "KUBEFLOW_TRAINER_SERVER_CA_CERT": f"{FOLDER}/{authority}.pem",
                   "KUBEFLOW_TRAINER_SERVER_TOKEN": f"{FOLDER}/token", **variables}
    environment = {name: value for name, value in environment.items() if value is not None}
    done = subprocess.run([f"{BIN}/train", "--", sys.executable, "-c", PROGRAM], env=environment,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == code, done.stdout
    for token in TOKENS:
        assert token not in done.stdout, f"the log has the token: {done.stdout}"
    over = time.monotonic()
    told = re.search(r"the program is over at ([0-9.]+)", done.stdout)
    assert told, done.stdout
    return done.stdout, over - float(told[1])


def is_warned(log, *words):
    lines = [line for line in log.splitlines() if "TrainJob" in line]
    assert len(lines) == 1 and all(word in lines[0] for word in words), log
    return lines[0]


for name in "own", "other":
    certificates.authority(FOLDER, name)
certificates.certificate(FOLDER, "good", "localhost", 2)
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer.handle_error = lambda *_: None  # a client that distrusts the server leaves
server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{FOLDER}/good.pem", f"{FOLDER}/good.key")
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
PORT = server.server_address[1]

log, _ = run(24, "/apis/status")
assert "TrainJob" not in log, log
assert len(REPORTS) >= 2, f"{len(REPORTS)} reports\n{log}"
for report, token in zip(REPORTS, (TOKENS[0],) + TOKENS[1:] * len(REPORTS)):
    assert (report["path"], report["type"]) == ("/apis/status", "application/json"), report
    assert report["token"] == f"Bearer {token}", report
    written = calendar.timegm(time.strptime(report["status"]["lastUpdatedTime"],
                                            "%Y-%m-%dT%H:%M:%SZ"))
    assert abs(written - time.time()) < 120, report
    metrics = {metric["name"]: metric["value"] for metric in report["status"]["metrics"]}
    assert metrics["total_steps"] == "240" and re.fullmatch("[0-9]+", metrics["step"]), report
    assert report["status"]["progressPercentage"] == int(metrics["step"]) * 100 // 240, report
for before, after in zip(REPORTS, REPORTS[1:-1]):
    assert after["at"] - before["at"] >= 5, "more often than once in 5 s"
# The first report may come before the pace is known, and the last but one when all steps are done.
left = [r["status"]["estimatedRemainingSeconds"] for r in REPORTS
        if "estimatedRemainingSeconds" in r["status"]]
assert len(left) >= 2 and all(a > b or a == b == 0 for a, b in zip(left, left[1:])), \
    f"the time that is left: {left}"
last = REPORTS[-1]["status"]
assert (last["progressPercentage"], last["estimatedRemainingSeconds"]) == (100, 0), last
print(f"ok progress is reported: {len(REPORTS)} reports, "
      f"the first {json.dumps(REPORTS[0]['status'])}", flush=True)

log, took = run(12, "/silent")
assert took < 8, f"a server that does not answer took {took:.1f} s of the job"
print(f"ok a server that does not answer holds nothing up: {took:.1f} s after the program",
      flush=True)

log, _ = run(12, "/broken")
print(f"ok a server that fails: {is_warned(log, 'is not reported', '500')}", flush=True)

log, _ = run(12, "/apis/status", authority="other")
assert not REPORTS, "it was sent to a server that nobody vouches for"
print(f"ok another authority: {is_warned(log, 'is not reported', 'certificate')}", flush=True)

log, _ = run(1, "/apis/status", KUBEFLOW_TRAINER_SERVER_TOKEN=None)
is_warned(log, "KUBEFLOW_TRAINER_SERVER_TOKEN is not")
log, _ = run(1, "/apis/status", KUBEFLOW_TRAINER_SERVER_URL=f"http://localhost:{PORT}/")
is_warned(log, "does not begin with https://")
log, _ = run(1, "/apis/status", KUBEFLOW_TRAINER_SERVER_URL=None)
assert "TrainJob" not in log and not REPORTS, log
print("ok without the variables nothing is reported", flush=True)
