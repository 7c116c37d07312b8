"""Lightning on CPUs: with_lightning.py HOSTS RANKS_PER_HOST [without].

With "without", mpi4py cannot be imported, as if it were not installed."""
import sys

if sys.argv[3:] == ["without"]:
    sys.modules["mpi4py"] = None

import lightning
import torch

from place import say


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        return (self.layer(batch) - batch.sum(1, keepdim=True)).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


trainer = lightning.Trainer(accelerator="cpu", num_nodes=int(sys.argv[1]),
                            devices=int(sys.argv[2]), strategy="ddp", max_epochs=2, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(Model(), torch.utils.data.DataLoader(torch.randn(64, 8), batch_size=4))
total = trainer.strategy.reduce(torch.tensor([trainer.global_rank + 1.0]), reduce_op="sum")
print("environment", type(trainer.strategy.cluster_environment).__name__, flush=True)
say("lightning", lightning.__version__, trainer.global_rank, trainer.world_size, total.item())
torch.distributed.destroy_process_group()
