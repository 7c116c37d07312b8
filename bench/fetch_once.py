"""Measures what hosts gain if only the first one fetches and they pass the data on. A local server
limits the total rate of all its connections, and HOSTS child processes stand in for the hosts, each
with a folder of its own.

    python3 bench/fetch_once.py [BIN] [MIB] [MIB_PER_SECOND] [HOSTS]

prints how long it takes until the last host has all of the same 64 objects, if each host fetches
them itself and if they pass them on (RINGMASTER_FETCH_ONCE), with the bytes that the server has
sent. Compare ratios of one run only."""
import fcntl
import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BIN = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"
MIB = int(sys.argv[2]) if len(sys.argv) > 2 else 64
RATE = float(sys.argv[3]) if len(sys.argv) > 3 else 10
HOSTS = int(sys.argv[4]) if len(sys.argv) > 4 else 4
OBJECTS = 64
CHUNK = 1 << 16
DATA = os.urandom(1 << 20) * (MIB // OBJECTS)
SUM = hashlib.md5(DATA).hexdigest()


class Line:
    """The server's link, which all connections share: each sender waits for its turn."""

    def __init__(self):
        self.lock = threading.Lock()
        self.free = 0.0
        self.sent = 0

    def take(self, size):
        with self.lock:
            begin = max(self.free, time.monotonic())
            self.free = begin + size / (RATE * (1 << 20))
            self.sent += size
        time.sleep(max(self.free - time.monotonic(), 0))


LINE = Line()


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        body, etag = DATA, SUM
        if "list-type" in self.path:
            page = "".join(
                f"<Contents><Key>set/{i:02}</Key><Size>{len(DATA)}</Size>"
                f"<ETag>&quot;{SUM}&quot;</ETag>"
                "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                for i in range(OBJECTS))
            body, etag = ("<ListBucketResult><IsTruncated>false</IsTruncated>"
                          f"{page}</ListBucketResult>").encode(), "page"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.send_header("etag", f'"{etag}"')
        self.end_headers()
        for at in range(0, len(body), CHUNK):
            LINE.take(len(body[at:at + CHUNK]))
            self.wfile.write(body[at:at + CHUNK])


def start(port, folder, sharing):
    """Starts ringmaster-transfer as a host's PID 1 does; SHARING is that part of the order."""
    order = {"seconds": 600, "environment": [
        f"AWS_ENDPOINT_URL_S3=http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID=AKID",
        "AWS_SECRET_ACCESS_KEY=bench", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true"],
        "tasks": [{"what": "train", "from": "s3://bucket/set", "to": folder, "pass": True}]}
    keep = []
    if sharing:
        order["sharing"] = sharing
        keep.append(sharing["listener"])
    fd = os.memfd_create("order", os.MFD_ALLOW_SEALING)
    os.write(fd, json.dumps(order).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS,
                fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    child = subprocess.Popen([f"{BIN}/ringmaster-transfer", str(fd)], pass_fds=[fd, *keep],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(fd)
    return child


def sharing_parts():
    """Yields each host's listener and part of the order: host N asks host (N - 1) / 2."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(HOSTS)]
    key = secrets.token_hex(48)
    for i, listener in enumerate(listeners):
        sharing = {"listener": listener.fileno(), "key": key}
        if i > 0:
            asked = listeners[(i - 1) // 2].getsockname()[1]
            sharing |= {"from": f"https://127.0.0.1:{asked}", "name": f"host-{(i - 1) // 2}",
                        "patience": 10}
        yield listener, sharing


def all_here(child):
    """Waits until CHILD reports that it has everything, or ends."""
    for line in child.stdout:
        if line == "all is here\n":
            return
    assert child.wait() == 0, child.stderr.read()


def measure(port, what, pairs):
    LINE.sent = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        begun = time.monotonic()
        children = [start(port, f"{folder}/{i}", sharing) for i, (_, sharing) in enumerate(pairs)]
        for child in children:
            all_here(child)
        took = time.monotonic() - begun
        for child in children:
            child.kill()
            child.wait()
        for i in range(HOSTS):
            for j in range(OBJECTS):
                with open(f"{folder}/{i}/{j:02}", "rb") as file:
                    assert hashlib.md5(file.read()).hexdigest() == SUM
    print(f"  {what:50} {took:6.2f} s, {LINE.sent / (1 << 20):7.1f} MiB sent by the source",
          flush=True)
    return took


def main():
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.request_queue_size = 256
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    print(f"{HOSTS} hosts, {MIB} MiB in {OBJECTS} objects, a source of {RATE:g} MiB/s:")
    each = measure(port, "each host fetches", [(None, None)] * HOSTS)
    once = measure(port, "the first one fetches, and they pass on", list(sharing_parts()))
    print(f"  that each fetches takes {each / once:.2f} times as long")


main()
