"""Computes pi with all ranks of an MPI program: each sums a share of the area under
4 / (1 + x^2)."""
import os

from mpi4py import MPI

PARTS = int(os.environ.get("PARTS", "1000000"))


def main():
    world = MPI.COMM_WORLD
    middles = ((i + 0.5) / PARTS for i in range(world.rank, PARTS, world.size))
    area = world.allreduce(sum(4 / (1 + x * x) for x in middles) / PARTS)
    print(f"rank {world.rank} of {world.size} on {MPI.Get_processor_name()}: pi is {area:.10f}")


main()
