"""mpi4py: a sum over all ranks."""
import mpi4py
from mpi4py import MPI

from place import say

world = MPI.COMM_WORLD
say("mpi4py", mpi4py.__version__, world.rank, world.size, world.allreduce(world.rank + 1))
