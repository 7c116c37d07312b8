"""A script for torch.distributed that uses only env://, and a package of its requirements.txt."""
import argparse

import torch.distributed as dist
from tqdm import trange

import ddp_learning

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, required=True)
steps = parser.parse_args().steps
dist.init_process_group("gloo")
ddp_learning.learn_from_all(trange(steps, disable=None))
