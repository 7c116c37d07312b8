"""junk.py ADDRESS PORT SEED: connects to a control port as strangers do, until it is killed.

It sends random bytes, the beginning of a TLS handshake, an HTTP request or nothing, and closes some
connections with a reset."""

import random
import socket
import struct
import sys
import time


def main():
    address, port, draw = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
    kept = []
    while True:
        stranger = socket.socket()
        stranger.settimeout(1)
        try:
            stranger.connect((address, port))
            stranger.send(draw.choice((
                draw.randbytes(200),
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + draw.randbytes(30),
                b"GET / HTTP/1.0\r\n\r\n", b"")))
            if draw.random() < 0.3:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                stranger.close()
        except OSError:
            pass
        kept = (kept + [stranger])[-50:]
        time.sleep(0.02)


main()
