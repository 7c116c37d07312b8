"""Trains with PyTorch's DDP over gloo until one rank hangs: the others wait for its gradients.

    hang_ddp.py FOLDER RANK

Every rank prints now and then that it has met the others. RANK hangs as soon as FOLDER has a file
`hang`."""
import faulthandler
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

folder, rank_left_out = sys.argv[1], int(sys.argv[2])


def left_out():
    time.sleep(1000)


faulthandler.register(signal.SIGUSR2)
dist.init_process_group("gloo")
torch.set_num_threads(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    step += 1
    if dist.get_rank() == rank_left_out and os.path.exists(f"{folder}/hang"):
        left_out()
    optimizer.zero_grad()
    model(torch.ones(4, 8)).square().mean().backward()
    optimizer.step()
    if step % 10 == 1:
        print(f"step {step}: all have met", flush=True)
    time.sleep(0.05)
