"""Data-parallel training with PyTorch that resumes from its last checkpoint. When the job is
stopped, it saves a checkpoint and exits.

The process group is made from the environment: nothing in this file depends on Ringmaster."""
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

STEPS = int(os.environ.get("STEPS", "100"))
CHECKPOINT = os.environ.get("CHECKPOINT", "/opt/ml/checkpoints/last.pt")


stopping = False


def stop(*_):
    global stopping
    stopping = True


def all_stop(device):
    """Returns whether any rank was asked to stop, so that all leave after the same step."""
    asked = torch.tensor([float(stopping)], device=device)
    dist.all_reduce(asked)
    return asked.item() > 0


def batch_of(step, rank, device):
    """Returns 64 numbers and their sines, which differ for each step and rank."""
    generator = torch.Generator().manual_seed(step * 1000 + rank)
    x = torch.rand(64, 1, generator=generator) * 6
    return x.to(device), x.sin().to(device)


def save(model, optimizer, step):
    state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    os.makedirs(os.path.dirname(CHECKPOINT), exist_ok=True)
    torch.save(state, CHECKPOINT + ".new")
    os.replace(CHECKPOINT + ".new", CHECKPOINT)


@record  # writes an exception to the failure file, with its line
def main():
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    signal.signal(signal.SIGTERM, stop)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    model = DistributedDataParallel(net.to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step = 0
    # Only the first rank's host has the file.
    state = [torch.load(CHECKPOINT) if rank == 0 and os.path.exists(CHECKPOINT) else None]
    dist.broadcast_object_list(state)
    if state[0] is not None:
        model.module.load_state_dict(state[0]["model"])
        optimizer.load_state_dict(state[0]["optimizer"])
        step = state[0]["step"]
    print(f"rank {rank} of {dist.get_world_size()} begins at step {step}")
    while step < STEPS:
        x, y = batch_of(step, rank, device)
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        leaving = all_stop(device)
        if rank == 0 and (leaving or step % 20 == 0):
            print(f"train step={step} loss={loss.item():.4f}")
            save(model, optimizer, step)
        if leaving:
            sys.exit(143)
    dist.destroy_process_group()


main()
