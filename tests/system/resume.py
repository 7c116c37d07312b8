"""Tests that a transfer that is killed and started again resumes.

    python3 resume.py download|upload BIN FOLDER

It is itself the server, with as much of S3 as the transfers use, and prints how many bytes each
start transferred. It exits with 0 if the bytes are right and no start repeated what an earlier one
had finished."""
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 16 << 20
WIDTH = 8  # the pieces of one file that are transferred at the same time
MIB = 256
KILLS = (160 << 20, 112 << 20)  # the bytes after which a start is killed
CHUNK = 1 << 18
DATA = b"".join(hashlib.sha256(bytes([i % 256, i // 256])).digest() * (1 << 15) for i in range(MIB))
ETAG = hashlib.md5(DATA).hexdigest()
KEY = "set/large"


class Line:
    """Counts the bytes that a start transfers, and kills it at the limit."""

    def __init__(self):
        self.lock, self.moved, self.limit, self.child = threading.Lock(), 0, None, None

    def begin(self, limit, *words):
        """Starts a transfer; its requests wait until the child is known here."""
        with self.lock:
            self.moved, self.limit, self.child = 0, limit, start(*words)
            return self.child

    def heard(self):
        """Tells the child that the files to upload are complete."""
        with self.lock:
            if self.child is not None:
                self.child.send_signal(signal.SIGUSR1)

    def move(self, size):
        with self.lock:
            self.moved += size
            if self.limit is not None and self.moved >= self.limit and self.child is not None:
                self.child.send_signal(signal.SIGKILL)
                self.child = None


LINE = Line()


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def head(self, code, size, *fields):
        self.send_response(code)
        self.send_header("content-length", str(size))
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()

    def do_HEAD(self):
        self.head(200, len(DATA), ("etag", f'"{ETAG}"'))

    def do_GET(self):
        if "list-type" in self.path:
            page = (f"<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>{KEY}</Key>"
                    f"<Size>{len(DATA)}</Size><ETag>&quot;{ETAG}&quot;</ETag></Contents>"
                    "</ListBucketResult>").encode()
            self.head(200, len(page))
            self.wfile.write(page)
            return
        first, last = 0, len(DATA) - 1
        if "range" in self.headers:
            first, last = (int(word) for word in self.headers["range"][6:].split("-"))
        self.head(206 if "range" in self.headers else 200, last + 1 - first, ("etag", f'"{ETAG}"'),
                  ("content-range", f"bytes {first}-{last}/{len(DATA)}"))
        try:
            for at in range(first, last + 1, CHUNK):
                size = min(CHUNK, last + 1 - at)
                self.wfile.write(memoryview(DATA)[at:at + size])
                LINE.move(size)
        except ConnectionError:  # the child was killed
            self.close_connection = True


def start(binary, port, order):
    """Starts a transfer as a host's first process does."""
    order |= {"seconds": 300, "environment": [
        f"AWS_ENDPOINT_URL_S3=http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID=AKID",
        "AWS_SECRET_ACCESS_KEY=canary", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true"]}
    fd = os.memfd_create("order", os.MFD_ALLOW_SEALING)
    os.write(fd, json.dumps(order).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS,
                fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    child = subprocess.Popen([f"{binary}/ringmaster-transfer", str(fd)], pass_fds=[fd],
                             stdout=subprocess.DEVNULL)
    os.close(fd)
    return child


def download(binary, port, folder):
    left = len(DATA)
    for limit in (*KILLS, None):
        child = LINE.begin(limit, binary, port, {
            "tasks": [{"what": "train", "from": "s3://bucket/set", "to": folder}]})
        code = child.wait()
        print(f"a start that ended with {code} brought {LINE.moved >> 20} MiB "
              f"of {left >> 20} that were left", flush=True)
        assert code == (0 if limit is None else -signal.SIGKILL)
        # A kill costs only the pieces that were in transfer.
        assert LINE.moved <= left + CHUNK * WIDTH, "it asked for what it had"
        left -= max(LINE.moved - PIECE * WIDTH, 0) // PIECE * PIECE
    with open(f"{folder}/large", "rb") as file:
        assert file.read() == DATA, "other bytes"
    assert os.listdir(folder) == ["large"], "something is left over"


class Bucket(Server):
    """Answers multipart uploads; of the parts it keeps only their MD5s and sizes."""
    parts, objects, begun = {}, [], 0

    def words(self, text, *fields):
        self.head(200, len(text), *fields)
        self.wfile.write(text.encode())

    def query(self):
        return dict(pair.partition("=")[::2] for pair in self.path.partition("?")[2].split("&"))

    def do_GET(self):
        query = self.query()
        if "uploads" in query:
            self.words("<ListMultipartUploadsResult>" + "".join(
                f"<Upload><Key>states/large</Key><UploadId>{name}</UploadId></Upload>"
                for name in Bucket.parts) + "</ListMultipartUploadsResult>")
        elif "uploadId" in query:
            self.words("<ListPartsResult><IsTruncated>false</IsTruncated>" + "".join(
                f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{etag}&quot;</ETag>"
                f"<Size>{size}</Size></Part>"
                for number, (etag, size) in sorted(Bucket.parts[query["uploadId"]].items()))
                + "</ListPartsResult>")
        else:
            self.words("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
        LINE.heard()

    def do_PUT(self):
        query, size, md5 = self.query(), int(self.headers["content-length"]), hashlib.md5()
        left = size
        while left > 0:
            block = self.rfile.read(min(CHUNK, left))
            if not block:
                return
            left -= len(block)
            md5.update(block)
            LINE.move(len(block))
        Bucket.parts[query["uploadId"]][int(query["partNumber"])] = (md5.hexdigest(), size)
        self.head(200, 0, ("etag", f'"{md5.hexdigest()}"'))

    def do_POST(self):
        query = self.query()
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if "uploads" in query:
            Bucket.begun += 1
            Bucket.parts[f"upload-{Bucket.begun}"] = {}
            self.words(f"<InitiateMultipartUploadResult><UploadId>upload-{Bucket.begun}</UploadId>"
                       "</InitiateMultipartUploadResult>")
            return
        parts = Bucket.parts.pop(query["uploadId"])
        whole = hashlib.md5(b"".join(
            bytes.fromhex(etag) for _, (etag, _) in sorted(parts.items()))).hexdigest()
        Bucket.objects.append(sum(size for _, size in parts.values()))
        self.words(f"<CompleteMultipartUploadResult><ETag>&quot;{whole}-{len(parts)}&quot;</ETag>"
                   "</CompleteMultipartUploadResult>")

    def do_DELETE(self):
        Bucket.parts.pop(self.query()["uploadId"], None)
        self.head(204, 0)


def upload(binary, port, folder):
    parts, wide = 48, 16
    size = parts * PIECE
    with open(f"{folder}/large", "wb") as file:
        for i in range(parts):
            os.pwrite(file.fileno(), bytes([i]) * 64, i * PIECE)
        file.truncate(size)
    left = size
    for limit in (size * 2 // 3, None):
        child = LINE.begin(limit, binary, port, {"uploads": [
            {"what": "checkpoints", "from": folder, "to": "s3://bucket/states/", "live": True}]})
        code = child.wait()
        print(f"a start that ended with {code} sent {LINE.moved >> 20} MiB "
              f"of {left >> 20} that were left", flush=True)
        assert code == (0 if limit is None else -signal.SIGKILL)
        assert LINE.moved <= left, "it sent what was there"
        left -= LINE.moved - PIECE * wide
    assert Bucket.objects == [size] and Bucket.begun == 1 and not Bucket.parts, \
        "it is not one object"


def main():
    what, binary, folder = sys.argv[1:4]
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.handle_error = lambda *_: None  # a killed child breaks its connections
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bucket if what == "upload" else Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    globals()[what](binary, server.server_address[1], folder)


main()
