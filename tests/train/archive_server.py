"""HTTP servers of archives that misbehave on request, for test_prepare_addresses.sh.

    python3 archive_server.py FILES FOLDER

makes certificates in FOLDER and serves FILES until it is killed: two servers use TLS and one does
not, and a file of FOLDER holds the port of each. Each request is logged as a line of
FOLDER/requests: METHOD PATH RANGE AUTHORIZATION. The first part of a path selects the behaviour:

    plain       a normal answer
    login       user and password are required
    cut         each answer breaks off; cut-once: only the first for a path
    held        two parts of 16 MiB come whole, the first MiB of the others, and then nothing
    weak        no ranges and no ETag
    no-head     HEAD is refused
    away        a redirect to the other TLS server
    longer      HEAD reports a size that is one byte too large
"""
import base64
import os
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import certificates  # noqa: E402

FILES, FOLDER = sys.argv[1:3]
LOGIN = "Basic " + base64.b64encode(b"somebody:a-password-for-tests").decode()
LOCK = threading.Lock()
CUT = set()
PORTS = {}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self):
        with LOCK, open(f"{FOLDER}/requests", "a", encoding="ascii") as file:
            told = self.headers.get("authorization")
            print(self.command, self.path, self.headers.get("range", "-").replace(" ", ""),
                  "none" if told is None else "right" if told == LOGIN else "wrong", file=file)

    def refuse(self, code, *headers):
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()

    def answer(self, how, path, whole):
        if how == "away":
            return self.refuse(
                302, ("location", f"https://localhost:{PORTS['other']}/plain/{path}"))
        if how == "login" and self.headers.get("authorization") != LOGIN:
            return self.refuse(401, ("www-authenticate", 'Basic realm="archives"'))
        if how == "no-head" and not whole:
            return self.refuse(405)
        if not os.path.isfile(f"{FILES}/{path}"):
            return self.refuse(404)
        return self.send(how, path, whole)

    def send(self, how, path, whole):
        with open(f"{FILES}/{path}", "rb") as file:
            body = memoryview(file.read())
        part, code, first = body, 200, 0
        if "range" in self.headers and how != "weak":
            low, high = self.headers["range"][6:].split("-")
            first, last = int(low), int(high) if high else len(body) - 1
            part, code = body[first:last + 1], 206
        self.send_response(code)
        if code == 206:
            self.send_header("content-range", f"bytes {first}-{first + len(part) - 1}/{len(body)}")
        self.send_header("content-length", str(len(part) + (how == "longer" and not whole)))
        if how != "weak":
            self.send_header("etag", f'"{len(body)}"')
        self.end_headers()
        if whole:
            self.give(how, path, part, first)
        return None

    def give(self, how, path, part, first):
        with LOCK:
            cut = how == "cut" or (how == "cut-once" and path not in CUT)
            if cut:
                CUT.add(path)
        if cut:
            part = part[:len(part) // 2]
            self.close_connection = True
        if how == "held" and first >= 2 << 24:
            self.wfile.write(part[:1 << 20])
            threading.Event().wait()
        self.wfile.write(part)

    def reply(self, whole):
        self.note()
        how, _, path = self.path.split("?")[0].lstrip("/").partition("/")
        self.answer(how, path, whole)

    def do_GET(self):
        self.reply(True)

    def do_HEAD(self):
        self.reply(False)


def serve(name, certificate=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{FOLDER}/{certificate}.pem", f"{FOLDER}/{certificate}.key")
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    PORTS[name] = server.server_address[1]
    with open(f"{FOLDER}/{name}.new", "w", encoding="ascii") as file:
        print(PORTS[name], file=file)
    os.rename(f"{FOLDER}/{name}.new", f"{FOLDER}/{name}.port")
    threading.Thread(target=server.serve_forever, daemon=True).start()


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer.handle_error = lambda *_: None  # clients that disconnect are part of the test
certificates.authority(FOLDER, "own")
certificates.certificate(FOLDER, "good", "localhost", 2)
serve("other", "good")
serve("plain")
serve("tls", "good")
print("serving", flush=True)
while True:
    time.sleep(60)
