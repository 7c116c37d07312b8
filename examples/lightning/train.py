"""Data-parallel training with Lightning, which takes its rank from the environment."""
import os

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset


class Sine(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(),
                                       torch.nn.Linear(32, 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


def main():
    lightning.seed_everything(0)
    x = torch.rand(4096, 1) * 6
    trainer = lightning.Trainer(
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]), devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        accelerator="auto", strategy="ddp", max_epochs=int(os.environ.get("EPOCHS", "2")),
        default_root_dir="/opt/ml/checkpoints", logger=False, enable_progress_bar=False)
    trainer.fit(Sine(), DataLoader(TensorDataset(x, x.sin()), batch_size=64, shuffle=True))
    print(f"rank {trainer.global_rank} of {trainer.world_size}: "
          f"loss {trainer.callback_metrics['loss']:.4f}")


main()
