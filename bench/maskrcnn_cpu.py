"""Both sides of bench/maskrcnn_cpu.sh: DATA RINGTRAIN THREADS ROUNDS FOLDER.

ringtrain makes the weights: its initial ones, saved after a step with a tiny learning rate. Both
sides start each turn from them. Norms and the first two stages are frozen, as torchvision does with
pretrained weights."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

IDS = (9, 89, 133, 144, 192, 194, 208, 307)  # 640x480: 800x1066 on a canvas of 800x1088
RATE = 1e-5


def make_set(data, folder):
    """Makes a COCO folder with only the eight pictures and returns its path."""
    with open(f"{data}/annotations/instances_train2017.json", encoding="utf-8") as file:
        coco = json.load(file)
    coco["images"] = [i for i in coco["images"] if i["id"] in IDS]
    coco["annotations"] = [a for a in coco["annotations"] if a["image_id"] in IDS]
    root = f"{folder}/set"
    os.makedirs(f"{root}/annotations")
    os.symlink(os.path.abspath(f"{data}/train2017"), f"{root}/train2017")
    os.symlink(os.path.abspath(f"{data}/train2017"), f"{root}/val2017")
    for name in ("train", "val"):
        with open(f"{root}/annotations/instances_{name}2017.json", "w", encoding="utf-8") as file:
            json.dump(coco, file)
    return root


def run(command):
    """Runs a command and returns its output and its peak memory in MiB."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}\n{output}")
    return output, usage.ru_maxrss / 1024


def ringtrain(program, root, folder, threads, steps, start):
    """Trains with ringtrain; returns seconds per picture, peak memory, the model's file and each
    picture's foreground regions."""
    turn = tempfile.mkdtemp(dir=folder)
    command = [program, "train", "--model", "maskrcnn_resnet50_fpn", "--data", root,
               "--backend", "cpu", "--threads", str(threads), "--batch-size", "1",
               "--canvases", "800x1088", "--flip", "false", "--steps", str(steps),
               "--report-every", "1", "--checkpoint-every", "0", "--eval-every", "0",
               "--resume", "none", "--lr", str(RATE), "--lr-batch", "0", "--log", "metrics",
               "--model-dir", f"{turn}/model", "--checkpoint-dir", f"{turn}/checkpoints"]
    output, memory = run(command + (["--init", start] if start else []))
    rates = [float(r) for r in re.findall(r"^train .*images_per_second=([0-9.e+-]+)", output, re.M)]
    regions = re.findall(r"^train .*foreground_regions=([0-9]+)", output, re.M)
    return (sum(1 / r for r in rates) / len(rates), memory, f"{turn}/model/model.safetensors",
            regions)


def weights_of(path):
    """Returns the f32 tensors of a safetensors file by name."""
    import numpy
    import torch
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    state = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
        state[name] = torch.from_numpy(values.copy())
    return state


def samples_of(root, name="train"):
    """Yields pictures and their objects in torchvision's format."""
    import torch
    from PIL import Image
    from pycocotools import mask as masks
    from torchvision.transforms.functional import to_tensor
    with open(f"{root}/annotations/instances_{name}2017.json", encoding="utf-8") as file:
        coco = json.load(file)
    numbers = {c["id"]: i + 1
               for i, c in enumerate(sorted(coco["categories"], key=lambda c: c["id"]))}
    for image in coco["images"]:
        own = [a for a in coco["annotations"]
               if a["image_id"] == image["id"] and not a.get("iscrowd")]
        size = (image["height"], image["width"])
        bits = [masks.decode(masks.merge(masks.frPyObjects(a["segmentation"], *size))) for a in own]
        boxes = [[a["bbox"][0], a["bbox"][1], a["bbox"][0] + a["bbox"][2],
                  a["bbox"][1] + a["bbox"][3]] for a in own]
        picture = Image.open(f"{root}/train2017/{image['file_name']}").convert("RGB")
        yield to_tensor(picture), {
            "boxes": torch.tensor(boxes, dtype=torch.float32),
            "labels": torch.tensor([numbers[a["category_id"]] for a in own]),
            "masks": torch.stack([torch.from_numpy(b) for b in bits])}


def torch_side(root, weights, threads, layout, pictures):
    """Trains on the first PICTURES pictures; prints seconds and foreground regions of each step."""
    import torch
    from torchvision.models import detection, resnet50
    from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
    from torchvision.ops import misc
    torch.set_num_threads(threads)
    body = resnet50(weights=None, norm_layer=misc.FrozenBatchNorm2d)
    model = detection.MaskRCNN(_resnet_fpn_extractor(body, 3), num_classes=81)
    missing = model.load_state_dict(weights_of(weights), strict=False)
    if missing.missing_keys:
        sys.exit(f"weights that ringtrain lacks: {missing.missing_keys[:4]}")
    memory_format = getattr(torch, layout)
    model = model.to(memory_format=memory_format)
    model.train()
    foreground = []
    select = model.roi_heads.select_training_samples

    def counted(*arguments):
        result = select(*arguments)
        foreground.append(sum(int((labels > 0).sum()) for labels in result[2]))
        return result

    model.roi_heads.select_training_samples = counted
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE,
                                momentum=0.9, weight_decay=1e-4)
    # The model's transform makes the batch, so the memory format is set there.
    transform = model.transform.forward

    def laid_out(*arguments):
        images, targets = transform(*arguments)
        images.tensors = images.tensors.contiguous(memory_format=memory_format)
        return images, targets

    model.transform.forward = laid_out
    for picture, objects in list(samples_of(root))[:pictures]:
        start = time.monotonic()
        optimizer.zero_grad()
        sum(model([picture], [objects]).values()).backward()
        optimizer.step()
        print(time.monotonic() - start, foreground[-1], flush=True)


def torch_turn(root, start, threads, layout, pictures):
    """Runs torch_side in a process of its own; returns its rows and its peak memory."""
    output, memory = run([sys.executable, __file__, "torch", root, start, threads, layout,
                          str(pictures)])
    return [line.split() for line in output.splitlines()], memory


def faster_layout(root, start, threads):
    """Returns torchvision's faster memory format on this machine; the first step is a warm-up."""
    seconds = {}
    for layout in ("contiguous_format", "channels_last"):
        steps, _ = torch_turn(root, start, threads, layout, 3)
        seconds[layout] = statistics.fmean(float(s[0]) for s in steps[1:])
    best = min(seconds, key=seconds.get)
    print("torchvision: " + ", ".join(f"{k} {v:.2f} s a picture" for k, v in seconds.items())
          + f"; {best} is measured", flush=True)
    return best


def main():
    """Prints one line per turn, then the medians."""
    data, program, threads, rounds, folder = sys.argv[1:6]
    root = make_set(data, folder)
    start = ringtrain(program, root, folder, threads, 1, None)[2]
    layout = faster_layout(root, start, threads)
    ratios, ours, theirs, regions = [], [], [], []
    for number in range(int(rounds)):
        seconds, memory, _, found = ringtrain(program, root, folder, threads, len(IDS), start)
        steps, torch_memory = torch_turn(root, start, threads, layout, len(IDS))
        regions.append((sum(map(int, found)), sum(int(s[1]) for s in steps)))
        other = statistics.fmean(float(s[0]) for s in steps)
        ours.append(1 / seconds)
        theirs.append(1 / other)
        ratios.append(other / seconds)
        print(f"round {number + 1}: ringtrain {ours[-1]:.4f} images/s, {memory:.0f} MiB; "
              f"torchvision {theirs[-1]:.4f} images/s, {torch_memory:.0f} MiB; foreground regions "
              f"{regions[-1][0]} ({' '.join(found)}) and {regions[-1][1]} "
              f"({' '.join(s[1] for s in steps)}); {ratios[-1]:.2f}x", flush=True)
    print(f"median: ringtrain {statistics.median(ours):.4f}, torchvision "
          f"{statistics.median(theirs):.4f} images/s, {statistics.median(ratios):.2f}x")
    mean = [statistics.fmean(side) for side in zip(*regions)]
    print(f"foreground regions a turn: ringtrain {mean[0]:.0f}, torchvision {mean[1]:.0f}, "
          f"{mean[0] / max(mean[1], 1):.2f}x: samples are drawn by each side's own numbers")


if __name__ == "__main__":
    if sys.argv[1] == "torch":
        torch_side(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], int(sys.argv[6]))
    else:
        main()
