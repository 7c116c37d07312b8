"""Both sides of bench/maskrcnn_overfit.sh: DATA RINGTRAIN THREADS SIDES FOLDER.

Each side starts from its own random weights, or resumes from its state in FOLDER, and finally
writes its detections in the eight training pictures to FOLDER/{ringtrain,torch}.json."""
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import time

from maskrcnn_cpu import samples_of

# These pictures have 640x480 pixels, scaled to 400x300 on a canvas of 416x320, which is also
# torchvision's padding. 144 is left out: its giraffes overlap, and a mask of 28 x 28 is too coarse.
IDS, SIDE, LEAST = (89, 133, 605, 192, 307, 349, 510, 532), 400, 32
STEPS, BATCH, RATE, WARMUP, MILESTONES = 400, 4, 0.02, 60, (0.8, 0.94)
MOMENTUM, DECAY, CLIP, REGIONS, COPIES = 0.9, 1e-4, 10, 128, 25
EPOCH = COPIES * len(IDS) // BATCH
GOAL, WITHIN = 0.95, 0.02


def make_set(data, root):
    """Makes a COCO folder with the eight pictures and their objects of at least LEAST pixels both
    ways."""
    with open(f"{data}/annotations/instances_train2017.json", encoding="utf-8") as file:
        coco = json.load(file)
    coco["images"] = [i for i in coco["images"] if i["id"] in IDS]
    scale = {i["id"]: SIDE / max(i["width"], i["height"]) for i in coco["images"]}
    coco["annotations"] = [a for a in coco["annotations"]
                           if a["image_id"] in IDS and not a["iscrowd"]
                           and min(a["bbox"][2:]) * scale[a["image_id"]] >= LEAST]
    os.makedirs(f"{root}/annotations", exist_ok=True)
    for name in ("train", "val"):
        if not os.path.lexists(f"{root}/{name}2017"):
            os.symlink(os.path.abspath(f"{data}/train2017"), f"{root}/{name}2017")
        with open(f"{root}/annotations/instances_{name}2017.json", "w", encoding="utf-8") as file:
            json.dump(repeated(coco, COPIES) if name == "train" else coco, file)


def repeated(coco, times):
    """Repeats each picture with ids of its own, so that epochs, which end with a checkpoint, are
    long enough."""
    images = [dict(i, id=i["id"] + 1000 * k) for k in range(times) for i in coco["images"]]
    notes = [dict(a, image_id=a["image_id"] + 1000 * k, id=len(coco["annotations"]) * k + n + 1)
             for k in range(times) for n, a in enumerate(coco["annotations"])]
    return dict(coco, images=images, annotations=notes)


def ringtrain(program, folder, threads):
    """Trains, or resumes, and writes the detections of the finished model."""
    milestones = ",".join(str(m * STEPS / EPOCH) for m in MILESTONES)
    recipe = ["--steps", STEPS, "--batch-size", BATCH, "--lr", RATE, "--lr-batch", 0,
              "--warmup-steps", WARMUP, "--milestones", milestones, "--momentum", MOMENTUM,
              "--weight-decay", DECAY, "--clip-norm", CLIP, "--region-samples", REGIONS,
              "--short-side", SIDE, "--long-side", SIDE, "--flip", "false"]
    subprocess.run([program, "train", "--model", "maskrcnn_resnet50_fpn", "--data", f"{folder}/set",
                    "--backend", "cpu", "--threads", threads, *map(str, recipe),
                    "--report-every", "10", "--checkpoint-every", "0", "--eval-every", "1000000",
                    "--log", "metrics", "--model-dir", f"{folder}/model",
                    "--checkpoint-dir", f"{folder}/checkpoints"], check=True)
    subprocess.run([program, "eval", "--model-dir", f"{folder}/model", "--data", f"{folder}/set",
                    "--backend", "cpu", "--threads", threads, "--out", f"{folder}/found"],
                   check=True)
    os.replace(f"{folder}/found/detections.json", f"{folder}/ringtrain.json")


def rate_at(step):
    """Returns the learning rate that --warmup-steps and --milestones give."""
    warm = min(1.0, 0.001 + 0.999 * step / WARMUP)
    return RATE * warm * 0.1 ** sum(step >= m * STEPS for m in MILESTONES)


def torch_side(folder, threads):
    """Trains torchvision's network by the same recipe, with its state in FOLDER/torch.pt."""
    import torch
    from torchvision.models.detection import maskrcnn_resnet50_fpn
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    # Without pretrained weights torchvision trains its norms, as we do.
    model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=81,
                                  min_size=SIDE, max_size=SIDE, box_batch_size_per_image=REGIONS)
    model = model.to(memory_format=torch.channels_last)  # faster on CPUs
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
    samples, path, done = list(samples_of(f"{folder}/set", "val")), f"{folder}/torch.pt", 0
    if os.path.exists(path):
        state = torch.load(path)
        done = state["step"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
    model.train()
    for step in range(done, STEPS):
        start = time.monotonic()
        order = list(range(len(samples))) * COPIES
        random.Random(step // EPOCH).shuffle(order)
        chosen = [samples[i] for i in order[step % EPOCH * BATCH:][:BATCH]]
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step)
        optimizer.zero_grad()
        losses = model([picture for picture, _ in chosen], [objects for _, objects in chosen])
        sum(losses.values()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        if (step + 1) % 10 == 0:
            print(f"torch step={step + 1}", *(f"{k}={v.item():.4f}" for k, v in losses.items()),
                  f"seconds={time.monotonic() - start:.2f}", flush=True)
        if (step + 1) % EPOCH == 0 or step + 1 == STEPS:
            torch.save({"step": step + 1, "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()},
                       path + ".part")
            os.replace(path + ".part", path)
    detect(model, f"{folder}/set", f"{folder}/torch.json")


def detect(model, root, to):
    """Writes torchvision's detections in ROOT's evaluation set to TO, as pycocotools reads them."""
    import numpy
    import torch
    from pycocotools import mask as masks
    with open(f"{root}/annotations/instances_val2017.json", encoding="utf-8") as file:
        coco = json.load(file)
    numbers = sorted(c["id"] for c in coco["categories"])
    model.eval()
    results = []
    for image, (picture, _) in zip(coco["images"], samples_of(root, "val")):
        with torch.no_grad():
            found = model([picture])[0]
        for box, label, score, mask in zip(found["boxes"].tolist(), found["labels"].tolist(),
                                           found["scores"].tolist(), found["masks"]):
            runs = masks.encode(numpy.asfortranarray((mask[0] > 0.5).numpy().astype("uint8")))
            results.append({"image_id": image["id"], "category_id": numbers[label - 1],
                            "bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]],
                            "score": score, "segmentation": {"size": runs["size"],
                                                             "counts": runs["counts"].decode()}})
    with open(to, "w", encoding="utf-8") as file:
        json.dump(results, file)


def scores_of(root, results, kind):
    """Returns pycocotools' twelve numbers for KIND, "bbox" or "segm"; it accepts no empty list."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    if os.path.getsize(results) < len("[{}]"):
        return [0.0] * 12
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(f"{root}/annotations/instances_val2017.json")
        judge = COCOeval(truth, truth.loadRes(results), kind)
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return judge.stats


def main():
    """Trains the requested sides, and compares them if both are."""
    data, program, threads, sides, folder = sys.argv[1:6]
    make_set(data, f"{folder}/set")
    scores = {}
    for side in sides.split(","):
        if side == "ringtrain":
            ringtrain(program, folder, threads)
        else:
            torch_side(folder, threads)
        scores[side] = scores_of(f"{folder}/set", f"{folder}/{side}.json", "segm")
        print(f"{side}: mask mAP {scores[side][0]:.4f}, AP50 {scores[side][1]:.4f}", flush=True)
    if "ringtrain" in scores and scores["ringtrain"][1] < GOAL:
        sys.exit(f"AP50 {scores['ringtrain'][1]:.4f} is under {GOAL}")
    if len(scores) == 2 and scores["ringtrain"][0] < scores["torch"][0] - WITHIN:
        sys.exit(f"mAP is more than {WITHIN} under torchvision's")


if __name__ == "__main__":
    main()
