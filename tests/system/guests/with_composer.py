"""MosaicML's Composer on CPUs."""
import composer
import torch
from composer import Trainer
from composer.models import ComposerClassifier
from composer.utils import dist

from place import say

torch.manual_seed(0)
samples = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
sampler = dist.get_sampler(samples)
Trainer(model=ComposerClassifier(torch.nn.Linear(8, 2), num_classes=2),
        train_dataloader=torch.utils.data.DataLoader(samples, batch_size=4, sampler=sampler),
        max_duration="2ba", device="cpu", progress_bar=False).fit()
total = torch.tensor([dist.get_global_rank() + 1.0])
dist.all_reduce(total)
say("composer", composer.__version__, dist.get_global_rank(), dist.get_world_size(), total.item())
