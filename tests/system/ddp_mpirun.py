"""A script for torch.distributed that was written for mpirun: it gets its rank from Open MPI's
variables and the address of the rendezvous as an argument."""
import argparse
import os

import torch.distributed as dist

import ddp_learning

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, required=True)
parser.add_argument("--dist-url", required=True)
args = parser.parse_args()
rank, size, local_rank, local_size = (
    int(os.environ[f"OMPI_COMM_WORLD_{name}"])
    for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"))
print(f"rank {rank} is {local_rank} of {local_size} here", flush=True)
dist.init_process_group("gloo", init_method=args.dist_url, rank=rank, world_size=size)
ddp_learning.learn_from_all(range(args.steps))
