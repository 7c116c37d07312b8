"""PyTorch's side of bench/resnet_cpu.sh: training steps of torchvision's ResNet.

    resnet_torch.py MODEL f32|bf16 BATCH SIZE THREADS

Works like bench/resnet_step.c: for each line on stdin with a number of steps it prints a line with
their seconds; for "profile" it prints milliseconds of one step by kind of operator, each the best
of a few steps, without the operators that it calls. A convolution's gradients are one operator.
PyTorch runs as its documentation advises for CPUs: channels_last, bf16 autocast around forward and
loss.
"""

import sys
import time

import torch
import torchvision

PROFILE_STEPS = 5


def profile(step):
    best, calls = {}, {}
    for _ in range(PROFILE_STEPS):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as run:
            step()
        for kind in run.key_averages():
            took = kind.self_cpu_time_total / 1e3
            best[kind.key] = min(took, best.get(kind.key, took))
            calls[kind.key] = kind.count
    total = sum(best.values())
    shown = sorted((kind for kind in best if best[kind] >= total / 500), key=best.get, reverse=True)
    for kind in shown:
        print(f"{kind[:34]:<34} {calls[kind]:4d} {best[kind]:9.2f} ms")
    print(f"{'all others':<34}      {total - sum(best[kind] for kind in shown):9.2f} ms")
    print(f"{'sum':<34}      {total:9.2f} ms", flush=True)


def main():
    model_name, dtype, batch, size, threads = sys.argv[1:6]
    batch, size = int(batch), int(size)
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    model = getattr(torchvision.models, model_name)(num_classes=1000)
    model = model.to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, nesterov=True
    )
    criterion = torch.nn.CrossEntropyLoss()
    image = torch.randn(batch, 3, size, size).contiguous(memory_format=torch.channels_last)
    label = torch.arange(batch) * 37 % 1000

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
            loss = criterion(model(image), label)
        loss.backward()
        optimizer.step()

    for line in sys.stdin:
        if line.strip() == "version":
            print(torch.__version__, flush=True)
            continue
        if line.strip() == "profile":
            profile(step)
            continue
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - start)
        print(" ".join(f"{value:.6f}" for value in seconds), flush=True)


main()
