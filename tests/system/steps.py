"""Marks its steps as docs/guides/your-program.md shows, without waiting for anybody; rank 1 makes a quarter of them. Where TEST_REST
names a file it rests after 80 of them until that is there, and has done its work ten later."""
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
