"""Accelerate on CPUs."""
import accelerate
import torch
from accelerate import Accelerator

from place import say

accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
data = torch.utils.data.DataLoader(torch.randn(64, 8), batch_size=4)
model, optimizer, data = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=0.05), data)
for _ in range(5):
    for batch in data:
        loss = (model(batch) - batch.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
total = accelerator.reduce(torch.tensor([accelerator.process_index + 1.0]), "sum")
say("accelerate", accelerate.__version__, accelerator.process_index, accelerator.num_processes,
    total.item())
accelerator.end_training()
