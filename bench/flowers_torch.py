"""PyTorch's side of bench/flowers.sh.

init SEED FILE          torchvision's ResNet-18 for five classes, initialised with SEED
train SEED DATA FILE    the recipe of flowers.sh from FILE's weights; prints "top1 X in S s"
score FILE DATA         FILE in torchvision's ResNet-18, strict, in f32; prints top-1
"""

import json
import math
import struct
import sys
import time

import torch
import torchvision
from torchvision import transforms

CLASSES, SIDE, BATCH, EPOCHS, PEAK = 5, 112, 96, 12, 0.05
NORM = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
TYPES = {"F32": torch.float32, "I64": torch.int64}


def write_safetensors(path, tensors):
    names = {torch.float32: "F32", torch.int64: "I64"}
    header, blobs, at = {}, [], 0
    for name, tensor in tensors.items():
        blob = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(bytearray(data[slice(*entry["data_offsets"])]),
                                   dtype=TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}


def new_model():
    return torchvision.models.resnet18(num_classes=CLASSES)


def score(model, data, dtype):
    crop = transforms.Compose([transforms.Resize(SIDE * 8 // 7), transforms.CenterCrop(SIDE),
                               transforms.ToTensor(), NORM])
    val = torchvision.datasets.ImageFolder(data + "/val", crop)
    loader = torch.utils.data.DataLoader(val, batch_size=BATCH)
    model.eval()
    right = 0
    with torch.no_grad(), torch.autocast("cpu", dtype, enabled=dtype is not torch.float32):
        for image, label in loader:
            image = image.to(memory_format=torch.channels_last)
            right += (model(image).argmax(1) == label).sum().item()
    return right / len(val)


def train(seed, data, path):
    torch.manual_seed(seed)
    crop = transforms.Compose([transforms.RandomResizedCrop(SIDE, scale=(0.25, 1)),
                               transforms.RandomHorizontalFlip(), transforms.ToTensor(), NORM])
    loader = torch.utils.data.DataLoader(
        torchvision.datasets.ImageFolder(data + "/train", crop), batch_size=BATCH, shuffle=True,
        drop_last=True)
    model = new_model()
    model.load_state_dict(read_safetensors(path))
    model = model.to(memory_format=torch.channels_last)
    sgd = torch.optim.SGD(model.parameters(), lr=0, momentum=0.9, nesterov=True, weight_decay=5e-4)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    warm, total, step = len(loader), EPOCHS * len(loader), 0
    started = time.time()
    for epoch in range(EPOCHS):
        model.train()
        for image, label in loader:
            done = (step - warm) / (total - warm)
            rate = PEAK * ((step + 1) / warm if step < warm else (1 + math.cos(math.pi * done)) / 2)
            sgd.param_groups[0]["lr"] = rate
            with torch.autocast("cpu", torch.bfloat16):
                loss = criterion(model(image.to(memory_format=torch.channels_last)), label)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            step += 1
        print(f"epoch {epoch + 1} loss {loss.item():.3f}", file=sys.stderr, flush=True)
    print(f"top1 {score(model, data, torch.bfloat16):.4f} in {time.time() - started:.0f} s")


def main():
    command, *words = sys.argv[1:]
    if command == "init":
        torch.manual_seed(int(words[0]))
        write_safetensors(words[1], new_model().state_dict())
    elif command == "train":
        train(int(words[0]), words[1], words[2])
    elif command == "score":
        model = new_model()
        model.load_state_dict(read_safetensors(words[0]), strict=True)
        print(f"{score(model, words[1], torch.float32):.4f}")


if __name__ == "__main__":
    main()
