"""Tests http_links.py with a server on this machine."""
import http.server
import os
import socket
import sys
import threading

import http_links

os.environ["no_proxy"] = "*"  # the machine may have a proxy for other sites
asked = {}


class Server(http.server.BaseHTTPRequestHandler):
    def answer(self):
        """The path is the status of HEAD and of GET, then that of a second round, if there is one."""
        head, get, *later = self.path.strip("/").split("/")
        count = asked[self.path, self.command] = asked.get((self.path, self.command), 0) + 1
        self.send_response(int(later[0] if later and count > 1 else
                               head if self.command == "HEAD" else get))
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET = answer

    def log_message(self, *_):
        pass


def unused_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
top = f"http://127.0.0.1:{server.server_address[1]}"
nobody = f"http://127.0.0.1:{unused_port()}/"
good = [f"{top}/200/404", f"{top}/405/200", f"{top}/404/200", f"{top}/403/403", f"{top}/429/200",
        f"{top}/503/503/200"]
bad = {f"{top}/404/404": 404, f"{top}/410/200": 410, f"{top}/500/500": 500,
       f"{top}/503/503/502": 502}
found = http_links.dead(good + list(bad) + [nobody], pause=0)
server.shutdown()

refused = found.pop(nobody, None)
for address, expected, is_as_expected in [
        *((address, "none", address not in found) for address in good),
        *((address, fault, found.get(address) == fault) for address, fault in bad.items()),
        (nobody, "a reason", isinstance(refused, str) and refused != ""),
        ("an empty list", "none", http_links.dead([]) == {})]:
    if not is_as_expected:
        sys.exit(f"FAILED: {address}: {found.get(address, refused)}, expected {expected}")
