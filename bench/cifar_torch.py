"""PyTorch's side of bench/cifar_cuda.sh: the same ResNet-20 and recipe. All pictures are decoded once by
all cores and lie on the GPU from then on; they are cropped and mirrored there.

    cifar_torch.py DATA EPOCHS
"""

import glob
import math
import multiprocessing
import os
import sys
import time

try:
    import numpy
    import torch
    from PIL import Image
    from torch import nn
except ImportError as error:
    print(f"no PyTorch: {error}")
    sys.exit(77)

BATCH, PEAK, WARM_EPOCHS = 256, 0.2, 2
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def decode(path):
    with Image.open(path) as picture:
        return numpy.asarray(picture.convert("RGB"))


def load(folder):
    classes = sorted(os.listdir(folder))
    paths = [(path, label) for label, name in enumerate(classes)
             for path in sorted(glob.glob(f"{folder}/{name}/*.jpg"))]
    with multiprocessing.Pool() as pool:
        pictures = pool.map(decode, [path for path, _ in paths], chunksize=256)
    images = torch.from_numpy(numpy.stack(pictures)).cuda().permute(0, 3, 1, 2).float()
    mean = torch.tensor(MEAN, device="cuda").view(1, 3, 1, 1)
    std = torch.tensor(STD, device="cuda").view(1, 3, 1, 1)
    images = ((images / 255 - mean) / std).half().contiguous(memory_format=torch.channels_last)
    return images, torch.tensor([label for _, label in paths], device="cuda")


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


def crops(images):
    padded = nn.functional.pad(images, (4, 4, 4, 4))
    count, size = images.shape[0], images.shape[-1]
    at = torch.randint(0, 9, (2, count, 1), device="cuda")
    rows = at[0] + torch.arange(size, device="cuda")
    columns = at[1] + torch.arange(size, device="cuda")
    flip = torch.rand(count, 1, device="cuda") < 0.5
    columns = torch.where(flip, columns.flip(1), columns)
    picked = padded.permute(0, 2, 3, 1)[torch.arange(count, device="cuda")[:, None, None],
                                        rows[:, :, None], columns[:, None, :]]
    return picked.permute(0, 3, 1, 2)


def main():
    data, epochs = sys.argv[1], int(sys.argv[2])
    if not torch.cuda.is_available():
        print("no device")
        sys.exit(77)
    started = time.time()
    images, labels = load(data + "/train")
    test_images, test_labels = load(data + "/test")
    decoded = time.time() - started
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = resnet20().cuda().to(memory_format=torch.channels_last)
    compiled = torch.compile(model)
    sgd = torch.optim.SGD(model.parameters(), lr=0, momentum=0.9, nesterov=True, weight_decay=5e-4,
                          fused=True)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    steps = len(images) // BATCH
    warm, total, step = WARM_EPOCHS * steps, epochs * steps, 0
    for _ in range(epochs):
        order = torch.randperm(len(images), device="cuda")
        for i in range(steps):
            chosen = order[i * BATCH:(i + 1) * BATCH]
            done = (step - warm) / (total - warm)
            sgd.param_groups[0]["lr"] = PEAK * (
                (step + 1) / warm if step < warm else (1 + math.cos(math.pi * done)) / 2)
            with torch.autocast("cuda", torch.float16):
                loss = criterion(compiled(crops(images[chosen])), labels[chosen])
            sgd.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(sgd)
            scaler.update()
            step += 1
    model.eval()
    right = 0
    with torch.no_grad(), torch.autocast("cuda", torch.float16):
        for i in range(0, len(test_images), 1000):
            right += (model(test_images[i:i + 1000]).argmax(1) == test_labels[i:i + 1000]).sum().item()
    print(f"cifar PyTorch top1={right / len(test_images):.4f} seconds={time.time() - started:.0f} "
          f"(decoding once: {decoded:.0f}) epochs={epochs}")


main()
