"""Data-parallel training with JAX: the batch is split over the devices of all processes.

JAX reads the coordinator's address and this process's devices from the environment by itself."""
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STEPS = int(os.environ.get("STEPS", "100"))
EACH = 64  # numbers per device and step


def loss_of(weights, x, y):
    hidden = jnp.tanh(x @ weights["in"] + weights["bias"])
    return jnp.mean((hidden @ weights["out"] - y) ** 2)


@jax.jit
def train_step(weights, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradient), loss


def main():
    jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                               process_id=int(os.environ["JAX_PROCESS_ID"]),
                               cluster_detection_method="deactivate")
    print(f"process {jax.process_index()} of {jax.process_count()}: "
          f"{jax.local_device_count()} of {jax.device_count()} devices")
    mesh = Mesh(np.array(jax.devices()), ("data",))
    split = NamedSharding(mesh, PartitionSpec("data"))
    whole = NamedSharding(mesh, PartitionSpec())
    numbers = np.random.default_rng(0)  # the same weights everywhere
    shapes = {"in": (1, 32), "bias": (32,), "out": (32, 1)}
    weights = jax.device_put({name: numbers.normal(0, 0.5, shape).astype(np.float32)
                              for name, shape in shapes.items()}, whole)
    own = np.random.default_rng(jax.process_index())
    for step in range(1, STEPS + 1):
        x = own.uniform(0, 6, (EACH * jax.local_device_count(), 1)).astype(np.float32)
        weights, loss = train_step(weights, jax.make_array_from_process_local_data(split, x),
                                   jax.make_array_from_process_local_data(split, np.sin(x)))
        if jax.process_index() == 0 and step % 20 == 0:
            print(f"train step={step} loss={float(loss):.4f}")


main()
