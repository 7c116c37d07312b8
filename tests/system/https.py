"""Tests https sources over real TLS, with servers of its own and its own certificate authorities.

    python3 https.py BIN FOLDER

It prints a line for each case and exits with 0 if all are as they should be: files come from a
server with a trusted certificate, large ones in pieces, and not one byte comes from any other."""
import fcntl
import hashlib
import json
import os
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import certificates

BIN, FOLDER = sys.argv[1:3]
FILES = {"small": b"small", "large": hashlib.sha256(b"large").digest() * (65 << 15)}
ASKED = []


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, whole):
        ASKED.append((self.command, self.path, self.headers.get("range")))
        if self.path.startswith("/leads/"):
            self.send_response(302)
            self.send_header("location", f"http://127.0.0.1:{PLAIN}/small")
            self.send_header("content-length", "0")
            self.end_headers()
            return
        body = FILES[self.path.strip("/")]
        part, code = memoryview(body), 200
        if "range" in self.headers:
            first, last = (int(word) for word in self.headers["range"][6:].split("-"))
            part, code = part[first:last + 1], 206
        self.send_response(code)
        if code == 206:
            self.send_header("content-range", f"bytes {first}-{last}/{len(body)}")
        self.send_header("content-length", str(len(part)))
        self.send_header("etag", f'"{len(body)}"')
        self.end_headers()
        if whole:
            self.wfile.write(part)

    def do_GET(self):
        self.reply(True)

    def do_HEAD(self):
        self.reply(False)


def serve(name=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    if name:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{FOLDER}/{name}.pem", f"{FOLDER}/{name}.key")
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def fetch(url, bundle, folder):
    """Fetches as a host's first process does. Returns the exit code and the output."""
    order = {"seconds": 60, "environment": ["AWS_EC2_METADATA_DISABLED=true"],
             "tasks": [{"what": "train", "from": url, "to": folder}]}
    if bundle:
        order["environment"].append(f"AWS_CA_BUNDLE={FOLDER}/{bundle}.pem")
    fd = os.memfd_create("order", os.MFD_ALLOW_SEALING)
    os.write(fd, json.dumps(order).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS,
                fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    done = subprocess.run([f"{BIN}/ringmaster-transfer", str(fd)], pass_fds=[fd], check=False,
                          text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(fd)
    return done.returncode, done.stderr


def fetched(what, port, bundle, path):
    ASKED.clear()
    folder = f"{FOLDER}/{what.replace(' ', '-')}"
    code, words = fetch(f"https://localhost:{port}/{path}", bundle, folder)
    assert code == 0, words
    with open(f"{folder}/{path}", "rb") as file:
        assert file.read() == FILES[path], "other bytes"
    print(f"ok {what}: {len(ASKED)} requests", flush=True)


def refused(what, url, bundle, expected):
    ASKED.clear()
    folder, begun = f"{FOLDER}/{what.replace(' ', '-')}", time.monotonic()
    code, words = fetch(url, bundle, folder)
    took = time.monotonic() - begun
    assert code == 66, f"{what}: {code}, {words}"
    assert any(word in words for word in expected), f"{what}: {words}"
    assert not os.listdir(folder), f"{what}: something came"
    assert took < 30, f"{what}: it was tried for {took:.1f} s, of 60"
    print(f"ok {what}: {words.strip()}", flush=True)


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer.handle_error = lambda *_: None  # clients that distrust a server disconnect
for name in "own", "other":
    certificates.authority(FOLDER, name)
certificates.certificate(FOLDER, "good", "localhost", 2)
certificates.certificate(FOLDER, "expired", "localhost", -1)
certificates.certificate(FOLDER, "elsewhere", "elsewhere.example", 2)
PLAIN = serve()
GOOD = serve("good")

fetched("an authority of ones own", GOOD, "own", "small")
fetched("a large file in pieces", GOOD, "own", "large")
assert sum(1 for method, _, part in ASKED if method == "GET" and part) == 5, ASKED
distrust = ("certificate", "SSL")
refused("an authority that nobody knows", f"https://localhost:{GOOD}/small", None, distrust)
assert not ASKED, "it was asked for something"
refused("another authority", f"https://localhost:{GOOD}/small", "other", distrust)
assert not ASKED, "it was asked for something"
refused("an expired certificate", f"https://localhost:{serve('expired')}/small", "own",
        ("expired",))
refused("another hosts certificate", f"https://localhost:{serve('elsewhere')}/small", "own",
        ("does not match", "no alternative certificate subject name"))
assert not ASKED, "it was asked for something"
refused("a redirect that leaves TLS", f"https://localhost:{GOOD}/leads/small", "own",
        ("not supported", "disabled"))
assert all(path.startswith("/leads/") for _, path, _ in ASKED), "it was followed"
