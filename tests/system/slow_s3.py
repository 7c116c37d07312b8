"""slow_s3.py ADDRESS PORT NOTE GO: a slow server with as much of S3 as a download needs.

Each bucket has set/a and set/b, in the order in which two hosts get their shares. The bucket's name
says which object is sent slowly (a byte every fifth of a second) or stops in its middle:
first-drips, second-drips, second-stands. When it stops, NOTE gets the time: "PID MS". What is in
first-waits and second-waits is sent at once if the file GO is there, else a byte a second until it
is."""
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SIZE = 45
SLOW = {"first-drips": "a", "first-waits": "a", "second-drips": "b", "second-waits": "b",
        "second-stands": "b"}


def listing():
    entries = "".join(
        f"<Contents><Key>set/{name}</Key><Size>{SIZE}</Size><ETag>&quot;{name}-1&quot;</ETag>"
        "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>" for name in "ab")
    return (f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}"
            "</ListBucketResult>").encode()


def wait_for_go(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not os.path.exists(sys.argv[4]):
        time.sleep(.05)


class Slow(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, size, etag):
        self.send_response(200)
        self.send_header("content-length", str(size))
        self.send_header("etag", f'"{etag}"')
        self.end_headers()

    def do_GET(self):
        try:
            self.serve()
        except ConnectionError:  # the client has disconnected
            self.close_connection = True

    def serve(self):
        path, _, query = self.path.partition("?")
        bucket, _, key = path.lstrip("/").partition("/")
        if "list-type" in query:
            page = listing()
            self.answer(len(page), "page")
            self.wfile.write(page)
            return
        name = key[-1:]
        self.answer(SIZE, f"{name}-1")
        if SLOW.get(bucket) != name:
            self.wfile.write(b"x" * SIZE)
            return
        for at in range(SIZE):
            if bucket.endswith("stands") and at == SIZE // 2:
                threading.Event().wait()
            self.wfile.write(b"x")
            if at == SIZE // 2 - 1 and bucket.endswith("stands"):
                with open(sys.argv[3], "w", encoding="ascii") as note:
                    note.write(f"{os.getpid()} {time.time_ns() // 1000000}\n")
            if bucket.endswith("waits"):
                wait_for_go(1)
            else:
                time.sleep(.2)


Slow.timeout = 600
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Slow).serve_forever()
