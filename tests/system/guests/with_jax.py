"""JAX on CPUs: a process for each rank, and a sum over all of them."""
import os

import jax
import jax.numpy as jnp
from jax.experimental.multihost_utils import process_allgather

from place import say

jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                           process_id=int(os.environ["JAX_PROCESS_ID"]),
                           cluster_detection_method="deactivate")
total = process_allgather(jnp.array([jax.process_index() + 1.0])).sum()
say("jax", jax.__version__, jax.process_index(), jax.process_count(), total)
jax.distributed.shutdown()
