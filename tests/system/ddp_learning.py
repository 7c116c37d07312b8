"""Training with several ranks of PyTorch, which each rank compares with training in one process.

Each rank has its own data; DistributedDataParallel averages the gradients over Gloo. At the end
every rank checks that the weights are those of one process that has trained on all the data."""
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
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).double()


def learn(net, steps, parts):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in steps:
        optimizer.zero_grad()
        loss = sum(torch.nn.functional.mse_loss(net(x), y) for x, y in parts) / len(parts)
        loss.backward()
        optimizer.step()


def learn_from_all(steps):
    """Trains and compares, in the process group that is initialised. STEPS is iterated once."""
    rank, size = dist.get_rank(), dist.get_world_size()
    ours, alone = DistributedDataParallel(model()), model()
    learn(ours, steps, [data_of(rank)])
    learn(alone, range(len(steps)), [data_of(r) for r in range(size)])
    apart = max((a - b).abs().max().item() for a, b in zip(ours.parameters(), alone.parameters()))
    dist.destroy_process_group()
    if not apart < 1e-12:
        sys.exit(f"the weights are {apart} from those of one process")
    print(f"rank {rank} of {size} has learnt from all in {len(steps)} steps", flush=True)
