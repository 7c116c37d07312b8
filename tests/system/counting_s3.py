"""counting_s3.py ADDRESS PORT NOTES: a server with as much of S3 as a download needs.

It records which objects are fetched: NOTES gets a line when it begins to send one. Each bucket has
set/00 to set/11, tree/deep/file and code.tar.gz, which contains a program."""
import hashlib
import io
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def archive():
    room, script = io.BytesIO(), b'#!/bin/sh\necho "has $(cat "$SM_CHANNEL_TRAIN"/* | cksum)"\n'
    with tarfile.open(fileobj=room, mode="w:gz") as tar:
        entry = tarfile.TarInfo("program.sh")
        entry.size, entry.mode = len(script), 0o755
        tar.addfile(entry, io.BytesIO(script))
    return room.getvalue()


OBJECTS = {f"set/{i:02}": bytes([65 + i]) * (i * 300000) for i in range(12)} | {
    "tree/deep/file": b"deep", "code.tar.gz": archive()}
NOTES, LOCK = open(sys.argv[3], "a", encoding="ascii"), threading.Lock()


def etag(body):
    return hashlib.md5(body).hexdigest()


def listing(prefix):
    entries = "".join(
        f"<Contents><Key>{key}</Key><Size>{len(body)}</Size><ETag>&quot;{etag(body)}&quot;</ETag>"
        "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        for key, body in sorted(OBJECTS.items()) if key.startswith(prefix))
    return (f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}"
            "</ListBucketResult>").encode()


class Counting(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, _, query = self.path.partition("?")
        key = path.lstrip("/").partition("/")[2]
        if "list-type" in query:
            body = listing(dict(pair.split("=") for pair in query.split("&"))["prefix"]
                           .replace("%2F", "/"))
        else:
            body = OBJECTS[key]
            with LOCK:
                print(key, file=NOTES, flush=True)
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.send_header("etag", f'"{etag(body)}"')
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:  # the client has disconnected
            self.close_connection = True


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Counting).serve_forever()
