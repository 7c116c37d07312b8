#!/bin/sh
# Tests --timeline: an independent JSON reader finds the trace of all ranks complete, and spans nest
# and fill the steps.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "no python3"
make_data 80 16

# trace FILE RANKS STEPS: checks what a trace must contain.
trace() {
    checks=$((checks + 1))
    python3 - "$@" <<'END' || fail "$1 is not as documented"
import json, sys
inside = {"wait for data", "forward", "backward", "wait for ranks", "optimizer"}
path, ranks, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
events = json.load(open(path))["traceEvents"]
spans = [e for e in events if e["ph"] == "X"]
names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert len(names) == ranks, names
for rank in range(ranks):
    rows = {row: sorted((e for e in spans if e["pid"] == rank and e["tid"] == row),
                        key=lambda e: (e["ts"], -e["dur"])) for row in (0, 1)}
    for row in rows.values():  # spans nest: one ends before another begins, or lies within it
        open_ = []
        for e in row:
            while open_ and e["ts"] >= open_[-1] - 1e-3:
                open_.pop()
            assert not open_ or e["ts"] + e["dur"] <= open_[-1] + 1e-2, e
            open_.append(e["ts"] + e["dur"])
    whole = [e for e in rows[0] if e["name"] == "step"]
    assert [e["args"]["step"] for e in whole] == list(range(1, steps + 1)), [
        e["args"] for e in whole]
    parts = {}
    for e in rows[0]:
        parts[e["name"]] = parts.get(e["name"], 0) + e["dur"]
    assert {"wait for data", "forward", "backward", "optimizer", "evaluation",
            "checkpoint"} <= set(parts), parts
    filled = []  # a process that loses its core between two spans leaves a gap in that step alone
    for step in whole:
        end = step["ts"] + step["dur"]
        inner = sum(e["dur"] for e in rows[0] if e["name"] in inside and
                    step["ts"] - 1e-3 <= e["ts"] < end)
        assert inner <= step["dur"] + 1e-1, (inner, step)
        filled.append(inner / step["dur"])
    assert max(filled) >= 0.9, filled
    if ranks > 1:
        sums = [e for e in rows[1] if e["name"] == "all-reduce"]
        assert len(sums) >= steps and all(e["args"]["bytes"] > 0 for e in sums), len(sums)
# All ranks' times are on one clock: no rank leaves a sum before every other rank has entered it.
if ranks > 1:
    error = sum(float(e["args"]["labels"].split()[-2])
                for e in events if e["name"] == "process_labels")
    sums = [sorted((e["ts"], e["ts"] + e["dur"], e["args"]["bytes"])
                   for e in spans if e["pid"] == r and e["name"] == "all-reduce")
            for r in range(ranks)]
    assert len({len(of) for of in sums}) == 1, [len(of) for of in sums]
    for works in zip(*sums):
        assert len({w[2] for w in works}) == 1, works
        assert max(w[0] for w in works) <= min(w[1] for w in works) + error + 1, (works, error)
END
}

echo "one rank"
code 0 "$ringtrain" train $common --data "$data" --epochs 2 --model-dir "$work/m" \
    --checkpoint-dir "$work/c" --timeline "$work/one.json"
says "timeline of 1 rank in $work/one.json"
trace "$work/one.json" 1 20
echo "a trace of ours is replaced, another file is not"
code 0 "$ringtrain" train $common --data "$data" --steps 2 --model-dir "$work/m2" \
    --checkpoint-dir "$work/c2" --timeline "$work/one.json"
trace "$work/one.json" 1 2
echo mine >"$work/mine.json"
code 65 "$ringtrain" train $common --data "$data" --steps 2 --model-dir "$work/m3" \
    --checkpoint-dir "$work/c3" --timeline "$work/mine.json"
says "--timeline"
code 65 "$ringtrain" train $common --data "$data" --steps 2 --model-dir "$work/m3" \
    --checkpoint-dir "$work/c3" --timeline "$work/no/t.json"

echo "the same weights with and without"
code 0 "$ringtrain" train $common --data "$data" --steps 2 --model-dir "$work/m4" \
    --checkpoint-dir "$work/c4"
cmp "$work/m2/model.safetensors" "$work/m4/model.safetensors" ||
    fail "the timeline changes what is learned"

if can_mpirun; then
    echo "two ranks"
    code 0 mpirun $mpi -np 2 "$ringtrain" train $common --data "$data" --steps 8 \
        --model-dir "$work/m5" --checkpoint-dir "$work/c5" --timeline "$work/two.json"
    trace "$work/two.json" 2 8
fi
