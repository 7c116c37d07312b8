"""What every guest prints at its end: its rank as the framework reports it, and the sum of rank + 1
over all ranks, which is right only if all of them are in one job."""
import os


def say(name, version, rank, size, total):
    place = tuple(int(os.environ[n]) for n in ("RANK", "WORLD_SIZE"))
    assert (rank, size) == place, f"{name}: rank {rank} of {size}, in the environment {place}"
    print(f"guest {name} {version}: rank {rank} of {size}, local {os.environ['LOCAL_RANK']}, "
          f"sum {int(total)}", flush=True)
