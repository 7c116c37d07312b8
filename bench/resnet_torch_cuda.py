"""PyTorch's side of bench/resnet_cuda.sh: training steps of torchvision's ResNet on a GPU.

    resnet_torch_cuda.py MODEL SIZE SECONDS MODE BATCH...

MODE   eager     channels_last, f16 autocast, fused SGD
       graph     the same, the whole step as one CUDA graph
       compile   the same, the model through torch.compile(mode="max-autotune")

Prints a line for each batch size: images/s of the median round and of the best one. The pictures
are on the GPU from the start, and gradients are neither unscaled nor checked for overflow; both
favour PyTorch. The exit code is 77 if there is no device.
"""

import sys
import time

try:
    import torch
    import torchvision
except ImportError as error:
    print(f"no PyTorch: {error}")
    sys.exit(77)

ROUND_STEPS, WARM_UP, LOSS_SCALE = 10, 5, 1024


def make_step(model_name, size, mode, batch):
    torch.manual_seed(1)
    model = getattr(torchvision.models, model_name)(num_classes=1000).cuda()
    model = model.to(memory_format=torch.channels_last).train()
    sgd = torch.optim.SGD(model.parameters(), lr=1e-5, momentum=0.9, weight_decay=1e-4,
                          nesterov=True, fused=True)
    criterion = torch.nn.CrossEntropyLoss()
    image = torch.randn(batch, 3, size, size, device="cuda")
    image = image.contiguous(memory_format=torch.channels_last)
    label = torch.arange(batch, device="cuda") * 37 % 1000
    if mode == "compile":
        model = torch.compile(model, mode="max-autotune")

    def step():
        sgd.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=mode != "graph"):
            loss = criterion(model(image), label)
        (loss * LOSS_SCALE).backward()
        sgd.step()

    if mode != "graph":
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(step, batch, seconds):
    started = time.perf_counter()
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    warm = time.perf_counter() - started
    rounds, started = [], time.perf_counter()
    while len(rounds) < 3 or time.perf_counter() - started < seconds:
        begin = time.perf_counter()
        for _ in range(ROUND_STEPS):
            step()
        torch.cuda.synchronize()
        rounds.append(time.perf_counter() - begin)
    rounds.sort()
    images = batch * ROUND_STEPS
    return images / rounds[len(rounds) // 2], images / rounds[0], warm


def main():
    model_name, size, seconds, mode = sys.argv[1:5]
    if not torch.cuda.is_available():
        print("no device")
        sys.exit(77)
    torch.backends.cudnn.benchmark = True
    print(f"torch version={torch.__version__} cudnn={torch.backends.cudnn.version()}")
    for batch in map(int, sys.argv[5:]):
        try:
            step = make_step(model_name, int(size), mode, batch)
            median, best, warm = measure(step, batch, float(seconds))
            print(f"torch mode={mode} batch={batch} images_per_second={median:.1f} "
                  f"best={best:.1f} open_seconds={warm:.1f}", flush=True)
        except Exception as error:  # the other batch sizes still run
            print(f"torch mode={mode} batch={batch} failed: {error}".split("\n")[0], flush=True)
        step = None
        torch.cuda.empty_cache()


main()
