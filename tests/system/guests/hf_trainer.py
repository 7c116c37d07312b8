"""The Trainer of Hugging Face's transformers, on a tiny model with random weights, without any
download."""
import tempfile

import torch
import torch.distributed as dist
import transformers
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from place import say

torch.manual_seed(0)
config = BertConfig(vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                    intermediate_size=16, num_labels=2)
samples = [{"input_ids": torch.full((8,), i % 2 + 1), "labels": i % 2} for i in range(64)]
arguments = TrainingArguments(output_dir=tempfile.mkdtemp(), use_cpu=True, max_steps=4,
                              logging_steps=2, per_device_train_batch_size=4, report_to=[],
                              save_strategy="no")
trainer = Trainer(model=BertForSequenceClassification(config), args=arguments,
                  train_dataset=samples)
assert trainer.train().global_step == 4
total = torch.tensor([arguments.process_index + 1.0])
dist.all_reduce(total)
say("trainer", transformers.__version__, arguments.process_index, arguments.world_size,
    total.item())
dist.destroy_process_group()
