"""Marks its steps as README.md shows, without waiting for anybody; rank 1 makes a quarter of them."""
import mmap
import os
import struct
import time

slot = mmap.mmap(os.open(os.environ["RINGMASTER_PROGRESS"], os.O_RDWR), 64)
pause = float(os.environ["TEST_PAUSE"]) * (4 if os.environ["RANK"] == "1" else 1)
for step in range(1, 100000):
    time.sleep(pause)
    slot[:24] = struct.pack("=QQQ", step, step, 300)
