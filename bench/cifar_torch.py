"""PyTorch's side of bench/cifar.sh and bench/cifar_cuda.sh: the same ResNet-20 and recipe. All
cores decode the pictures once; they then stay on the device, which crops and mirrors them.

    cifar_torch.py DATA EPOCHS [cosine|he]

cosine   cifar_cuda.sh's recipe, in f16 on a GPU (the default)
he       He et al., arXiv 1512.03385, section 4.2, cut to EPOCHS epochs, in f32 on the CPU
"""

import glob
import math
import multiprocessing
import os
import sys
import time
import types

try:
    import numpy
    import torch
    from PIL import Image
    from torch import nn
except ImportError as error:
    print(f"no PyTorch: {error}")
    sys.exit(77)

RECIPES = {
    "cosine": types.SimpleNamespace(device="cuda", batch=256, peak=0.2, warm_epochs=2,
                                    nesterov=True, weight_decay=5e-4, label_smoothing=0.1),
    "he": types.SimpleNamespace(device="cpu", batch=128, peak=0.1, warm_epochs=0, nesterov=False,
                                weight_decay=1e-4, label_smoothing=0),
}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def decode(path):
    with Image.open(path) as picture:
        return numpy.asarray(picture.convert("RGB"))


def load(folder, device):
    classes = sorted(os.listdir(folder))
    paths = [(path, label) for label, name in enumerate(classes)
             for path in sorted(glob.glob(f"{folder}/{name}/*.jpg"))]
    with multiprocessing.Pool() as pool:
        pictures = pool.map(decode, [path for path, _ in paths], chunksize=256)
    images = torch.from_numpy(numpy.stack(pictures)).to(device).permute(0, 3, 1, 2).float()
    mean = torch.tensor(MEAN, device=device).view(1, 3, 1, 1)
    std = torch.tensor(STD, device=device).view(1, 3, 1, 1)
    images = ((images / 255 - mean) / std).contiguous(memory_format=torch.channels_last)
    if device == "cuda":
        images = images.half()
    return images, torch.tensor([label for _, label in paths], device=device)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.side = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.side = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                      nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.side(x))


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    inputs = 16
    for stage, channels in enumerate((16, 32, 64)):
        for block in range(3):
            layers.append(Block(inputs, channels, 2 if stage > 0 and block == 0 else 1))
            inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def crops(images, black):
    """Random crops and flips of pictures with four BLACK pixels on each side, as torchvision's
    RandomCrop(padding=4) makes them before it normalizes."""
    padded = nn.functional.pad(images - black, (4, 4, 4, 4)) + black
    device, count, size = images.device, images.shape[0], images.shape[-1]
    at = torch.randint(0, 9, (2, count, 1), device=device)
    rows = at[0] + torch.arange(size, device=device)
    columns = at[1] + torch.arange(size, device=device)
    flip = torch.rand(count, 1, device=device) < 0.5
    columns = torch.where(flip, columns.flip(1), columns)
    picked = padded.permute(0, 2, 3, 1)[torch.arange(count, device=device)[:, None, None],
                                        rows[:, :, None], columns[:, None, :]]
    return picked.permute(0, 3, 1, 2)


def he_initial(model):
    """Draws convolution weights from He et al.'s distribution, as torchvision's ResNets do."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def rate_at(recipe, name, step, steps, epochs):
    """Returns a step's learning rate: warm-up and cosine, or He et al.'s two drops, after a half
    and three quarters."""
    if name == "he":
        return recipe.peak * 0.1 ** sum(step >= steps * epochs * part for part in (0.5, 0.75))
    warm, total = recipe.warm_epochs * steps, epochs * steps
    if step < warm:
        return recipe.peak * (step + 1) / warm
    return recipe.peak * (1 + math.cos(math.pi * (step - warm) / (total - warm))) / 2


def top1(model, images, labels, autocast):
    model.eval()
    right = 0
    with torch.no_grad(), autocast():
        for i in range(0, len(images), 1000):
            right += (model(images[i:i + 1000]).argmax(1) == labels[i:i + 1000]).sum().item()
    return right / len(images)


def main():
    data, epochs = sys.argv[1], int(sys.argv[2])
    name = sys.argv[3] if len(sys.argv) > 3 else "cosine"
    recipe = RECIPES[name]
    gpu = recipe.device == "cuda"
    if gpu and not torch.cuda.is_available():
        print("no device")
        sys.exit(77)
    started = time.time()
    images, labels = load(data + "/train", recipe.device)
    test_images, test_labels = load(data + "/test", recipe.device)
    decoded = time.time() - started
    torch.manual_seed(int(os.environ.get("SEED", 0)))
    torch.backends.cudnn.benchmark = True
    model = resnet20()
    if name == "he":
        he_initial(model)
    model = model.to(recipe.device, memory_format=torch.channels_last)
    forward = torch.compile(model) if gpu else model
    sgd = torch.optim.SGD(model.parameters(), lr=0, momentum=0.9, nesterov=recipe.nesterov,
                          weight_decay=recipe.weight_decay, fused=True)
    scaler = torch.amp.GradScaler(recipe.device, init_scale=1024, enabled=gpu)
    criterion = nn.CrossEntropyLoss(label_smoothing=recipe.label_smoothing)

    def autocast():
        return torch.autocast(recipe.device, torch.float16 if gpu else torch.bfloat16, enabled=gpu)

    black = (-torch.tensor(MEAN) / torch.tensor(STD)).view(1, 3, 1, 1).to(images)
    steps = len(images) // recipe.batch
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(images), device=recipe.device)
        for i in range(steps):
            chosen = order[i * recipe.batch:(i + 1) * recipe.batch]
            sgd.param_groups[0]["lr"] = rate_at(recipe, name, epoch * steps + i, steps, epochs)
            with autocast():
                loss = criterion(forward(crops(images[chosen], black)), labels[chosen])
            sgd.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(sgd)
            scaler.update()
        print(f"epoch {epoch + 1} loss {loss.item():.3f} at {time.time() - started:.0f} s",
              file=sys.stderr, flush=True)
    print(f"cifar PyTorch top1={top1(model, test_images, test_labels, autocast):.4f} "
          f"seconds={time.time() - started:.0f} (decoding once: {decoded:.0f}) epochs={epochs}")


main()
