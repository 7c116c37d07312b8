"""DeepSpeed on CPUs: ZeRO stage 1 over gloo, without the extension for ranks that share a host, as
DeepSpeed would compile that for minutes at its first start."""
import deepspeed
import torch
import torch.distributed as dist

from place import say

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
deepspeed.init_distributed(dist_backend="gloo")
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
engine, _, _, _ = deepspeed.initialize(
    model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
    config={"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1},
            "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False})
for _ in range(5):
    batch = torch.randn(4, 8)
    engine.backward((engine(batch) - batch.sum(1, keepdim=True)).square().mean())
    engine.step()
total = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(total)
say("deepspeed", deepspeed.__version__, dist.get_rank(), dist.get_world_size(), total.item())
dist.destroy_process_group()
