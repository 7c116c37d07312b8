"""What every guest says at its end: which rank it is by the framework's own account, and the sum over all
ranks of rank + 1, which only one job of all of them can know."""
import os


def say(name, version, rank, size, total):
    place = tuple(int(os.environ[n]) for n in ("RANK", "WORLD_SIZE"))
    assert (rank, size) == place, f"{name}: rank {rank} of {size}, in the environment {place}"
    print(f"guest {name} {version}: rank {rank} of {size}, local {os.environ['LOCAL_RANK']}, sum {int(total)}",
          flush=True)
