"""A program that marks its steps as docs/guides/your-program.md shows, without communication.

Rank 1 is four times slower than the others. If TEST_REST names a file, the program pauses after 80
steps until that file exists, and ends after ten more."""
import mmap
import os
import struct
import time

slot = mmap.mmap(os.open(os.environ["RINGMASTER_PROGRESS"], os.O_RDWR), 64)
pause = float(os.environ["TEST_PAUSE"]) * (4 if os.environ["RANK"] == "1" else 1)
rest = os.environ.get("TEST_REST")
for step in range(1, 91 if rest else 100000):
    time.sleep(pause)
    while rest and step == 81 and not os.path.exists(rest):
        time.sleep(0.1)
    slot[:24] = struct.pack("=QQQ", step, step, 3600)
