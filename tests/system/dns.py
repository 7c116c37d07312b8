"""A name server for tests: python3 dns.py ADDRESS NAME=ADDRESS...

It answers A queries for these names and no others, over UDP and TCP on port 53. Over UDP every
answer is marked as truncated, so that clients must retry over TCP, as with the many addresses of a
headless service."""
import socket
import struct
import sys
import threading

HERE = sys.argv[1]
NAMES = dict(pair.split("=") for pair in sys.argv[2:])
A, NO_ERROR, NO_SUCH_NAME = 1, 0, 3


def question(message):
    """Returns the queried name, the type, and the bytes of the question."""
    at, labels = 12, []
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode().lower())
        at += 1 + message[at]
    kind = struct.unpack(">H", message[at + 1:at + 3])[0]
    return ".".join(labels), kind, message[12:at + 5]


def answer(message, cut):
    name, kind, asked = question(message)
    found = NAMES.get(name)
    data = b""
    if found and kind == A and not cut:
        data = b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 1, 4) + socket.inet_aton(found)
    flags = 0x8180 | (NO_ERROR if found else NO_SUCH_NAME)
    if found and cut:
        flags |= 0x0200
    print(f"{'cut' if cut else 'whole'} {name} {found or 'unknown'}", flush=True)
    return message[:2] + struct.pack(">HHHHH", flags, 1, 1 if data else 0, 0, 0) + asked + data


def serve_tcp(listener):
    while True:
        peer, _ = listener.accept()
        with peer:
            size = struct.unpack(">H", peer.recv(2, socket.MSG_WAITALL))[0]
            reply = answer(peer.recv(size, socket.MSG_WAITALL), False)
            peer.sendall(struct.pack(">H", len(reply)) + reply)


udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind((HERE, 53))
tcp = socket.create_server((HERE, 53))
threading.Thread(target=serve_tcp, args=(tcp,), daemon=True).start()
print("ready", flush=True)
while True:
    text, sender = udp.recvfrom(4096)
    udp.sendto(answer(text, True), sender)
