"""What ranks of torch learn together, and how each of them knows that they did.

Each rank learns from numbers of its own; DistributedDataParallel averages what they learn over Gloo. The weights at
the end are those of one process that has seen all the numbers, and every rank says so."""
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def data_of(rank):
    generator = torch.Generator().manual_seed(rank)
    inputs = torch.randn(32, 8, generator=generator, dtype=torch.float64)
    return inputs, inputs.sum(1, keepdim=True).sin()


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).double()


def learn(net, steps, parts):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in steps:
        optimizer.zero_grad()
        loss = sum(torch.nn.functional.mse_loss(net(x), y) for x, y in parts) / len(parts)
        loss.backward()
        optimizer.step()


def learn_from_all(steps):
    """In a group of processes that is there: STEPS is what is gone through, step by step."""
    rank, size = dist.get_rank(), dist.get_world_size()
    ours, alone = DistributedDataParallel(model()), model()
    learn(ours, steps, [data_of(rank)])
    learn(alone, range(len(steps)), [data_of(r) for r in range(size)])
    apart = max((a - b).abs().max().item() for a, b in zip(ours.parameters(), alone.parameters()))
    dist.destroy_process_group()
    if not apart < 1e-12:
        sys.exit(f"the weights are {apart} from those of one process")
    print(f"rank {rank} of {size} has learnt from all in {len(steps)} steps", flush=True)
