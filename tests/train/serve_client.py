"""Clients of `ringtrain serve`, for test_serve.sh: serve_client.py HOST:PORT WHAT ARGUMENTS.

    wait                          waits until the server answers /ping
    equal PREDICTIONS TOLERANCE   answers equal predict's, for single pictures and for several in
                                  one JSON body
    close PREDICTIONS TOLERANCE   each class's probability is near that of predict in another type
    wrong PICTURE                 malformed requests get the right statuses
    slow SECONDS                  clients that send too slowly lose their connections
    load PID SECONDS CLIENTS PICTURE
                                  many clients at once, next to malformed requests and slow clients,
                                  are all answered, and memory does not grow
    stop PID CLIENTS PICTURE      no answer that was begun is lost after SIGTERM
"""
import base64
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time

HOST, PORT = sys.argv[1].split(":")
JPEG = {"Content-Type": "image/jpeg"}


def connect(timeout=120):
    return http.client.HTTPConnection(HOST, int(PORT), timeout=timeout)


def ask(method, path, body=None, headers=None, connection=None):
    own = connection or connect()
    own.request(method, path, body, headers or {})
    answer = own.getresponse()
    text = answer.read()
    if connection is None:
        own.close()
    return answer.status, text, answer


def connected(timeout=120):
    return socket.create_connection((HOST, int(PORT)), timeout=timeout)


def raw(data, timeout=120):
    """Sends bytes as they are; returns what the server sends until it closes the connection."""
    with connected(timeout) as s:
        s.sendall(data)
        got = b""
        while part := s.recv(65536):
            got += part
        return got


def leave(data):
    """Sends bytes as they are, and closes the connection without waiting for an answer."""
    with connected() as s:
        s.sendall(data)


def wait():
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            status, text, _ = ask("GET", "/ping")
            assert status == 200 and json.loads(text), (status, text)
            return
        except ConnectionError:
            time.sleep(0.1)
    sys.exit("no server after 120 s")


def near(a, b, tolerance):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k], tolerance) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b))
    return a == b or (isinstance(a, float) and abs(a - b) <= tolerance)


def expected_of(path):
    """Returns [(file, the prediction that serve should answer with)] from predict's output."""
    with open(path, encoding="utf-8") as f:
        predicted = json.load(f)
    return [(p["file_name"], {"classes": p["classes"]}) for p in predicted["pictures"]]


def equal(path, tolerance):
    tolerance = float(tolerance)
    pictures = []
    one = connect()
    for name, expected in expected_of(path):
        with open(name, "rb") as f:
            data = f.read()
        status, text, _ = ask("POST", "/invocations", data, JPEG, one)
        assert status == 200, (status, text)
        got = json.loads(text)["predictions"]
        assert near(got, [expected], tolerance), (name, got, expected)
        pictures.append((data, expected))
    for at in range(0, len(pictures), 7):
        part = pictures[at : at + 7]
        body = json.dumps({"instances": [{"b64": base64.b64encode(d).decode()} for d, _ in part]})
        status, text, _ = ask("POST", "/invocations", body, {"Content-Type": "application/json"},
                              one)
        assert status == 200, (status, text)
        got = json.loads(text)["predictions"]
        assert near(got, [e for _, e in part], tolerance), (got, part)
    print(len(pictures), "pictures as predict has them")


def shares(prediction):
    return {c["index"]: c["probability"] for c in prediction["classes"]}


def close(path, tolerance):
    """Compares probabilities by class; the answers list all classes, in any order."""
    for name, expected in expected_of(path):
        with open(name, "rb") as f:
            status, text, _ = ask("POST", "/invocations", f.read(), JPEG)
        assert status == 200, (status, text)
        got, want = shares(json.loads(text)["predictions"][0]), shares(expected)
        assert near(got, want, float(tolerance)), (name, got, want)
    print("probabilities within", tolerance)


def wrong(picture, quiet=False):
    with open(picture, "rb") as f:
        data = f.read()
    js = {"Content-Type": "application/json"}
    rows = [
        ("POST", "/invocations", b"", JPEG, 400, "empty"),
        ("POST", "/invocations", b"no picture at all", JPEG, 400, ""),
        ("POST", "/invocations", data[: len(data) // 3], {"Content-Type": "image/png"}, 400, ""),
        ("POST", "/invocations", data, {}, 415, "Content-Type is missing"),
        ("POST", "/invocations", data, {"Content-Type": "text/csv"}, 415, "'text/csv'"),
        ("POST", "/invocations", data, {**JPEG, "Accept": "text/csv"}, 406, "Accept"),
        ("POST", "/invocations", b"{", js, 400, "expected"),
        ("POST", "/invocations", b'{"instances":[{"b64":"!"}]}', js, 400, "instance 0"),
        ("POST", "/invocations", b'{"a":' + b"[" * 100000, js, 400, ""),
        ("GET", "/invocations", None, {}, 405, "POST"),
        ("PUT", "/ping", b"x", {}, 405, "GET"),
        ("OPTIONS", "/invocations", None, {}, 405, "POST"),
        ("GET", "/", None, {}, 404, "/ping"),
        ("GET", "/../etc/passwd", None, {}, 404, "no such path"),
    ]
    for method, path, body, headers, status, words in rows:
        got, text, _ = ask(method, path, body, headers)
        assert got == status, (method, path, headers, got, text)
        assert words in json.loads(text)["error"], (method, path, text)
    # A Content-Length above the limit is refused before the body is sent.
    head = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: image/jpeg\r\n"
    got = raw(head + b"Content-Length: 1099511627776\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 413"), got
    # The body's length is given twice.
    for more in (b"Content-Length: 3\r\nContent-Length: 4\r\n",
                 b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"):
        got = raw(head + more + b"\r\nabc")
        assert got.startswith(b"HTTP/1.1 400"), (more, got)
    # Chunks without an end: the server refuses the request at its size limit.
    chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    try:
        got = raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 4)
        assert not got.startswith(b"HTTP/1.1 200"), got
    except ConnectionError:
        pass
    # A header without an end, an incomplete body, and bytes that are not HTTP.
    try:
        assert not raw(b"GET /ping HTTP/1.1\r\nX: " + b"x" * 1000000).startswith(b"HTTP/1.1 200")
    except ConnectionError:
        pass
    leave(head + b"Content-Length: 1000\r\n\r\nabc")
    leave(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    # Two pipelined requests on one connection, and one with Expect: 100-continue.
    request = head + b"Content-Length: %d\r\n\r\n" % len(data) + data
    last = request.replace(b"Host: x\r\n", b"Host: x\r\nConnection: close\r\n", 1)
    got = raw(request + last)
    assert got.count(b"HTTP/1.1 200") == 2, got
    got = raw(head + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
              % len(data) + data)
    assert b"HTTP/1.1 100" in got and b"HTTP/1.1 200" in got, got
    status, text, _ = ask("GET", "/execution-parameters")
    assert status == 200 and json.loads(text)["BatchStrategy"] == "SINGLE_RECORD", text
    status, text, _ = ask("GET", "/metrics")
    assert status == 200 and b'ringtrain_requests_total{code="413"} ' in text, text
    wait()
    if not quiet:
        print(len(rows) + 12, "odd requests")


def closes_within(sock, begun, seconds):
    sock.settimeout(seconds)
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        pass
    return time.monotonic() - begun


def slow(seconds):
    seconds = float(seconds)
    head = (b"POST /invocations HTTP/1.1\r\nHost: x\r\n"
            b"Content-Type: image/jpeg\r\nContent-Length: 100000\r\n\r\n")
    socks = [connected() for _ in range(3)]
    begun = time.monotonic()
    ended = [None] * len(socks)

    def drip(i, text):
        try:
            for byte in text:
                socks[i].sendall(bytes([byte]))
                time.sleep(0.2)
                assert time.monotonic() - begun < 4 * seconds + 60, "still open"
        except OSError:
            ended[i] = time.monotonic() - begun

    def idle():
        ended[2] = closes_within(socks[2], begun, 4 * seconds + 60)

    socks[1].sendall(head)
    threads = [
        threading.Thread(target=drip, args=(0, b"GET /ping HTTP/1.1\r\nX: " + b"x" * 10000)),
        threading.Thread(target=drip, args=(1, bytes(10000))),
        threading.Thread(target=idle),
    ]
    for t in threads:
        t.start()
    wait()  # other clients are served meanwhile
    for t in threads:
        t.join()
    assert all(e is not None and e < 4 * seconds + 60 for e in ended), ended
    print("slow clients lost their connections after", [round(e, 1) for e in ended], "s")


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


class Clients:
    """Clients that each send the same picture again and again."""

    def __init__(self, count, picture):
        with open(picture, "rb") as f:
            self.data = f.read()
        status, self.text, _ = ask("POST", "/invocations", self.data, JPEG)
        assert status == 200, self.text
        self.lock = threading.Lock()
        self.counts = {200: 0, 503: 0, "wrong": 0, "lost": 0, "unbegun": 0}
        self.over = False
        self.threads = [threading.Thread(target=self.run) for _ in range(count)]
        for t in self.threads:
            t.start()

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def run(self):
        connection = connect()
        while not self.over:
            try:
                connection.request("POST", "/invocations", self.data, JPEG)
            except OSError:
                # No answer was begun: the server had closed the connection before.
                self.count("unbegun")
                return
            try:
                answer = connection.getresponse()
            except ConnectionError:
                self.count("unbegun")
                return
            except (OSError, http.client.HTTPException):
                self.count("lost")
                return
            try:
                text = answer.read()
            except (OSError, http.client.HTTPException):
                self.count("lost")
                return
            if answer.status == 200 and not near(json.loads(text), json.loads(self.text), 1e-5):
                self.count("wrong")
            else:
                self.count(answer.status)

    def end(self):
        self.over = True
        for t in self.threads:
            t.join()
        return self.counts


class Bystanders:
    """One client that sends malformed requests, and slow clients that send a byte now and then."""

    def __init__(self, picture, slow_ones=4):
        self.over = threading.Event()
        self.rounds, self.wrong = 0, None
        self.threads = [threading.Thread(target=self.malformed, args=(picture,))]
        self.threads += [threading.Thread(target=self.drip) for _ in range(slow_ones)]
        for t in self.threads:
            t.start()

    def malformed(self, picture):
        try:
            while not self.over.is_set():
                wrong(picture, quiet=True)
                self.rounds += 1
        except Exception as e:  # end() raises it in the main thread
            self.wrong = e

    def drip(self):
        head = (b"POST /invocations HTTP/1.1\r\nHost: x\r\n"
                b"Content-Type: image/jpeg\r\nContent-Length: 100000\r\n\r\n")
        while not self.over.is_set():
            with connected() as s:
                s.sendall(head)
                try:
                    while not self.over.wait(0.5):
                        s.sendall(b"x")
                except OSError:
                    continue

    def end(self):
        self.over.set()
        for t in self.threads:
            t.join()
        if self.wrong is not None:
            raise self.wrong
        assert self.rounds > 0
        return self.rounds


def load(pid, seconds, clients, picture):
    bystanders = Bystanders(picture)
    clients = Clients(int(clients), picture)
    time.sleep(float(seconds) / 3)
    while bystanders.rounds == 0 and bystanders.wrong is None:  # until all kinds of requests came
        time.sleep(0.1)
    before = memory(pid)
    time.sleep(2 * float(seconds) / 3)
    counts = clients.end()
    after = memory(pid)
    rounds = bystanders.end()
    assert counts[200] > 0 and counts["wrong"] == counts["lost"] == counts["unbegun"] == 0, counts
    assert after < 1.1 * before + 8192, (before, after)
    print(counts, "beside", rounds, "rounds of malformed requests, memory", before, "->", after,
          "KiB")


def metric(name):
    _, text, _ = ask("GET", "/metrics")
    return next(float(line.split()[-1]) for line in text.decode().splitlines()
                if line.startswith(name + " "))


def stop(pid, clients, picture):
    clients = Clients(int(clients), picture)
    while metric("ringtrain_pictures_total") < 4 * len(clients.threads):
        time.sleep(0.05)
    # A request with half of its body received when the signal comes.
    half = connected()
    head = (b"POST /invocations HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            b"Content-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n")
    half.sendall(head % len(clients.data))
    begun = b""
    while not begun.endswith(b"\r\n\r\n"):  # the server has begun the request
        part = half.recv(1)
        assert part, begun
        begun += part
    assert begun.startswith(b"HTTP/1.1 100"), begun
    half.sendall(clients.data[:50])
    os.kill(int(pid), signal.SIGTERM)
    while ask("GET", "/ping")[0] == 200:  # until the server knows that it has to stop
        time.sleep(0.01)
    half.sendall(clients.data[50:])
    got = b""
    while part := half.recv(65536):
        got += part
    assert got.startswith(b"HTTP/1.1 200"), got
    assert near(json.loads(got.split(b"\r\n\r\n", 1)[1]), json.loads(clients.text), 1e-5), got
    counts = clients.end()
    assert counts["wrong"] == counts["lost"] == 0, counts
    print(counts)


globals()[sys.argv[2]](*sys.argv[3:])
