"""Measures the gain from fetching one large object in parallel pieces, from a local server that
first limits the rate of each connection, as object stores do, and then does not.

    python3 bench/ranges.py [BIN] [MIB] [MIB_PER_SECOND]

prints how long ringmaster-transfer takes for one object, which it fetches in pieces, and for the
same bytes in 16 objects, which are as many streams; and how long a client in this script takes for
the one object in one stream, with the MD5 computed on the way. Compare ratios of one run only."""
import fcntl
import hashlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BIN = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"
MIB = int(sys.argv[2]) if len(sys.argv) > 2 else 256
RATE = float(sys.argv[3]) if len(sys.argv) > 3 else 40
OBJECTS = 16
CHUNK = 1 << 18
DATA = os.urandom(1 << 20) * MIB
PIECE = len(DATA) // OBJECTS


def objects(bucket):
    """Returns the objects in BUCKET: the bytes of each by name."""
    if bucket.startswith("one"):
        return {"set/all": memoryview(DATA)}
    return {f"set/{i:02}": memoryview(DATA)[i * PIECE:(i + 1) * PIECE] for i in range(OBJECTS)}


SUMS = {bucket: {key: hashlib.md5(part).hexdigest() for key, part in objects(bucket).items()}
        for bucket in ("one", "many")}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def start(self, code, size, etag, part):
        self.send_response(code)
        if part:
            self.send_header("content-range", f"bytes {part}")
        self.send_header("content-length", str(size))
        self.send_header("etag", f'"{etag}"')
        self.end_headers()

    def do_HEAD(self):
        bucket, _, key = self.path.lstrip("/").partition("/")
        kind = bucket.partition("-")[0]
        self.start(200, len(objects(kind)[key]), SUMS[kind][key], "")

    def do_GET(self):
        path, _, query = self.path.partition("?")
        bucket, _, key = path.lstrip("/").partition("/")
        kind, _, limit = bucket.partition("-")
        if "list-type" in query:
            page = "".join(
                f"<Contents><Key>{name}</Key><Size>{len(part)}</Size>"
                f"<ETag>&quot;{SUMS[kind][name]}&quot;</ETag>"
                "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                for name, part in objects(kind).items())
            page = ("<ListBucketResult><IsTruncated>false</IsTruncated>"
                    f"{page}</ListBucketResult>").encode()
            self.start(200, len(page), "page", "")
            self.wfile.write(page)
            return
        part, told = objects(kind)[key], ""
        if "range" in self.headers:
            first, last = (int(word) for word in self.headers["range"][6:].split("-"))
            told = f"{first}-{last}/{len(part)}"
            part = part[first:last + 1]
        self.start(206 if told else 200, len(part), SUMS[kind][key], told)
        begun = time.monotonic()
        for at in range(0, len(part), CHUNK):
            self.wfile.write(part[at:at + CHUNK])
            if limit:
                left = begun + (at + CHUNK) / (RATE * (1 << 20)) - time.monotonic()
                time.sleep(max(left, 0))


def transfer(port, bucket, folder):
    """Fetches BUCKET with ringmaster-transfer, started as a host's PID 1 starts it."""
    order = {"seconds": 600, "environment": [
        f"AWS_ENDPOINT_URL_S3=http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID=AKID",
        "AWS_SECRET_ACCESS_KEY=bench", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true"],
        "tasks": [{"what": "train", "from": f"s3://{bucket}/set", "to": folder}]}
    fd = os.memfd_create("order", os.MFD_ALLOW_SEALING)
    os.write(fd, json.dumps(order).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS,
                fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    subprocess.run([f"{BIN}/ringmaster-transfer", str(fd)], pass_fds=[fd], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(fd)


def stream(port, bucket, folder):
    """Fetches the one object in BUCKET by this script, in one stream."""
    link, md5, room = http.client.HTTPConnection("127.0.0.1", port), hashlib.md5(), bytearray(CHUNK)
    link.request("GET", f"/{bucket}/set/all")
    answer = link.getresponse()
    with open(f"{folder}/all", "wb") as file:
        while size := answer.readinto(room):
            file.write(memoryview(room)[:size])
            md5.update(memoryview(room)[:size])
    assert md5.hexdigest() == SUMS["one"]["set/all"]


def measure(port, what, bucket, client):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        begun = time.monotonic()
        client(port, bucket, folder)
        took = time.monotonic() - begun
    print(f"  {what:50} {took:6.2f} s  {MIB / took:7.1f} MiB/s", flush=True)
    return took


def main():
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.request_queue_size = 64
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    port = server.server_address[1]
    child = os.fork()
    if child == 0:
        server.serve_forever()
        os._exit(0)
    try:
        for limit, words in (("-limited", f"{RATE:g} MiB/s a connection"), ("", "no limit")):
            print(f"{MIB} MiB, {words}:")
            one = measure(port, "one object in one stream, by this script", f"one{limit}", stream)
            pieces = measure(port, "ringmaster-transfer, one object in pieces", f"one{limit}",
                             transfer)
            measure(port, f"ringmaster-transfer, {OBJECTS} objects", f"many{limit}", transfer)
            print(f"  one stream takes {one / pieces:.2f} times as long as pieces")
    finally:
        os.kill(child, 15)
        os.waitpid(child, 0)


main()
