#!/usr/bin/env python3
"""Times COCO evaluation (boxes and masks, files to twelve numbers) in alternating runs of one
process each: ringtrain, pycocotools, faster_coco_eval. Called by bench/coco_eval.sh.

    python3 bench/coco_eval.py RINGTRAIN ANNOTATIONS.json RESULTS.json [--rounds 3]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PEER = """
import json, sys
if sys.argv[1] == "pycocotools":
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
else:
    from faster_coco_eval import COCO
    from faster_coco_eval import COCOeval_faster as COCOeval
truth = COCO(sys.argv[2])
stats = {}
for kind in ("bbox", "segm"):
    scorer = COCOeval(truth, truth.loadRes(sys.argv[3]), kind)
    scorer.evaluate()
    scorer.accumulate()
    scorer.summarize()
    stats[kind] = {"stats": [float(s) for s in scorer.stats[:12]]}
json.dump(stats, open(sys.argv[4], "w"))
"""


def run(command, out):
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"failed: {' '.join(command[:3])}")
    numbers = json.load(open(out))
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime,
            "mb": usage.ru_maxrss / 1024,
            "stats": [numbers[k]["stats"] for k in ("bbox", "segm")]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("annotations")
    parser.add_argument("results")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows = {"ringtrain": [], "pycocotools": [], "faster_coco_eval": []}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        commands = {"ringtrain": [args.program, "eval", "--coco", args.annotations, "--results",
                                  args.results, "--iou-type", "bbox,segm", "--json", out]}
        for peer in ("pycocotools", "faster_coco_eval"):
            commands[peer] = [sys.executable, "-c", PEER, peer, args.annotations, args.results, out]
        for _ in range(args.rounds):
            for name, command in commands.items():
                rows[name].append(run(command, out))
    print(f"{'program':18} {'seconds':>8} {'cpu s':>8} {'peak MB':>8} {'times ours':>11}"
          f"  (medians of {args.rounds})")
    median = {n: {k: statistics.median(r[k] for r in rs) for k in ("seconds", "cpu", "mb")}
              for n, rs in rows.items()}
    for name, m in median.items():
        ratio = m["seconds"] / median["ringtrain"]["seconds"]
        print(f"{name:18} {m['seconds']:8.2f} {m['cpu']:8.2f} {m['mb']:8.0f} {ratio:11.2f}")
    same = rows["ringtrain"][0]["stats"] == rows["pycocotools"][0]["stats"]
    print(f"twelve numbers, bbox and segm: {'the same as' if same else 'NOT those of'} pycocotools "
          "to the last bit")
    print("AP", *(f"{s[0]:.6f}" for s in rows["ringtrain"][0]["stats"]))
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
