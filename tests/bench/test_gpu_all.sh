#!/bin/sh
# Tests bench/gpu_all.sh without a GPU: a stub of nvidia-smi names one, and stubs of our programs
# record how they were called. Only the script itself is tested: what runs in which order and for
# how long, what is measured once and passed on, the logs and the table.
#
# If RINGMASTER_BIN belongs to a build with the GPU's tests, those run as well and find no device.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh

same() {
    [ "$1" = "$2" ] || { printf 'is:\n%s\nwanted:\n%s\n' "$1" "$2"; return 1; }
}

# stub PATH: writes a program from standard input that first records its name and arguments.
stub() {
    mkdir -p "$(dirname "$1")"
    {
        echo '#!/bin/sh'
        echo "echo \"\$(basename \"\$0\") \$*\" >>'$work/calls'"
        cat
    } >"$1"
    chmod +x "$1"
}

# --- a machine with a stub of a device -----------------------------------------------------------
stub "$work/path/nvidia-smi" <<'END'
case $* in
*name*) echo 'Stub GPU' ;;
*compute_cap*) echo 9.0 ;;
*driver_version*) echo 1.2.3 ;;
esac
END
stub "$work/path/python3" <<'END'
case $* in
*resnet_torch_cuda.py*)
    echo 'torch version 9.9'
    echo "torch mode=$5 batch=256 images_per_second=1000.0 best=1001.0 open_seconds=1" ;;
esac
END
# Makes stubs of what a pack holds; each test prints the last lines that CUnit would.
make_pack() {
    stub "$1/bin/ringtrain" <<'END'
[ "$1" != version ] || echo 'backend cuda: CUDA stub'
case $* in *train*) exit 3 ;; esac
END
    for test in parity network step backward; do
        stub "$1/tests/gpu_cuda_$test" <<'END'
[ "${OPS_ROWS:-}" != none ] || { echo 'skipped: no device that computes'; exit 77; }
[ -z "${SLEEPS:-}" ] || case $0 in *$SLEEPS) exec sleep 600 ;; esac
[ -z "${FAILS:-}" ] || case $0 in *$FAILS) echo '  asserts 12 12 11 1 0'; exit 1 ;; esac
[ -z "${TALKS:-}" ] || case $0 in *$TALKS) head -c 5000000 /dev/zero | tr '\0' x; echo ;; esac
[ "${RINGMASTER_NEED_GPU:-}" = 1 ] || exit 9
echo '   asserts     12     12     12      0      n/a'
END
    done
    stub "$1/bench/bench_gpu_ceilings" <<'END'
echo 'copying'
echo 'ceilings copy_gbs=4000.0 f16_tflops=700.0'
END
    stub "$1/bench/bench_gpu_kernels" <<'END'
echo 'kernel norm 1 us'
END
    stub "$1/bench/bench_gpu_step" <<'END'
echo "plans of $1 $3 $4 $5: ${BENCH_PLANS:-none} own ${BENCH_OWN:-auto}" \
    "overlap ${BENCH_OVERLAP:-auto}" >>"$(dirname "$0")/../step-calls"
speed=2000.0
case $0 in *old/*) speed=1600.0 ;; esac
case $1 in
step)
    echo "step model=$2 dtype=$3 fusion=$4 batch=$5 images_per_second=$speed" \
        "best=2001.0 open_seconds=2 memory_mib=9" ;;
profile) echo "copy $7 product $8"; echo 'by kind'; echo 'conv 1 ms'; echo 'the whole step 2 ms' ;;
esac
END
    echo abc1234 >"$1/revision"
}
make_pack "$work/pack"
make_pack "$work/old"

# run NAME [PART...]: sets $status and $table (a line per part: name, result), writes $work/$name.
run() {
    name=$1
    shift
    rm -f "$work/calls" "$work/pack/step-calls"
    touch "$work/calls"
    status=0
    PATH="$work/path:$PATH" OUT=$work/$name DATA=$work/no-data \
        RINGMASTER_BUILD=${BUILD:-$work/pack} PYTHON=python3 \
        sh bench/gpu_all.sh "$@" >"$work/$name.txt" 2>&1 || status=$?
    # Keeps the rows of the table: the part and its result, without seconds.
    table=$(sed -n '/s$/,$p' "$work/$name/summary.txt" | grep -E ' [0-9]+ s  ' |
        sed -E 's/ +[0-9]+ s  .*//; s/  +/ /' | sed 's/ *$//')
}

# word PART: prints what follows the seconds in the part's row of the table.
word() {
    grep "^$1 " "$work/$name/summary.txt" | sed -E 's/.* [0-9]+ s  //'
}

calls() {
    grep -c "$1" "$work/calls" || true
}

# --- everything ----------------------------------------------------------------------------------
run all
check 'all parts, in the order of what decides what is done next' same "$table" 'build ok
parity ok
network ok
step ok
backward ok
ceilings ok
kernels ok
operators ok
before skipped
own ok
overlap ok
torch ok
resnet ok
pictures skipped
ranks skipped
cifar skipped
sanitizer skipped'
check 'nothing that checks correctness failed' same "$status" 0
check 'the table is printed last' same \
    "$(tail -n "$(wc -l <"$work/all/summary.txt")" "$work/all.txt")" \
    "$(cat "$work/all/summary.txt")"
check 'the device stands over the table' \
    grep -q '^Stub GPU, [0-9TZ:-]*, [0-9]* s$' "$work/all/summary.txt"
check 'each part has its log, in the same order' same \
    "$(grep -a '^=== ' "$work/all/log-1.txt" | sed 's/^=== //; s/://')" "$table"
check 'a pack says what it was built from' grep -q 'built from abc1234' "$work/all/log-1.txt"
check 'a test says how many assertions' same "$(word parity)" '12 assertions, 0 failed'
check 'the fastest of the batches stands beside PyTorch' same "$(word torch | xargs)" \
    '1000.0 images/s: PyTorch graph batch 256'
check 'ceilings are measured once' same "$(calls '^bench_gpu_ceilings')" 1
check 'and known to who needs them' grep -q 'copy 4000.0 product 700.0' \
    "$work/all/operators-resnet50-Stub-GPU-operators.txt"
check 'no step is measured twice' same "$(grep -c . "$work/pack/step-calls")" \
    "$(grep -vE ' (own|overlap) o[nf]' "$work/pack/step-calls" | sort -u | wc -l |
        awk '{ print $1 + 8 }')"
check 'plans are chosen once for all' same \
    "$(sed -n 's/.*: \(.*\) own.*/\1/p' "$work/pack/step-calls" | sort -u)" "$work/all/plans.txt"
check 'levels and batches of the operators and the rest' same \
    "$(sed -n 's/^plans of step f16 \(.*\): .*own auto overlap auto/\1/p' \
        "$work/pack/step-calls")" \
    'conv 256
norm 256
conv 512
conv 64
conv 128'
check 'the own backward pass takes turns with the other' same \
    "$(sed -n 's/^plans of step .* own \(o[nf]*\) .*/\1/p' "$work/pack/step-calls" | tr '\n' ' ')" \
    'off on off on '
check 'and so do early launches' same \
    "$(sed -n 's/^plans of step .* overlap \(o[nf]*\)/\1/p' "$work/pack/step-calls" |
        tr '\n' ' ')" \
    'off on off on '
check 'reports lie side by side' test -s "$work/all/torch-resnet50-Stub-GPU.md"
check 'nothing is left that is no report' same "$(ls "$work/all" | tr '\n' ' ')" \
    'ceilings.txt log-1.txt operators-resnet50-Stub-GPU-operators.txt operators-resnet50-Stub-GPU.md overlap.txt own.txt resnet50-Stub-GPU.md summary.txt torch-resnet50-Stub-GPU.md '

# --- parts by name, failures, limits -------------------------------------------------------------
run two step parity
check 'parts by name run in the order of the table' same "$table" 'build ok
parity ok
step ok'

FAILS=parity run wrong parity ceilings
check 'a wrong result fails the run and leaves the others' same "$table, $status" 'build ok
parity failed (1)
ceilings ok, 1'
check 'and the table says it' \
    grep -q "1 part(s) that check correctness did not pass" "$work/wrong/summary.txt"

FAILS=backward run slow backward own
check 'what is wrong is not timed' same "$table" 'build ok
backward failed (1)
own skipped'
check 'not once' same "$(calls '^bench_gpu_step')" 0

export SLEEPS=network
BUDGET=30 run late parity network step
unset SLEEPS
check 'a part ends at what is left of the time, and what is behind it is not run' same \
    "$(echo "$table" | sed -E 's/over [0-9]* s/over/')" 'build ok
parity ok
network over
step not run'
check 'which is no success' same "$status" 1

export TALKS=network
run loud network
unset TALKS
check 'the middle of a long log is left out' \
    grep -aq '^\.\.\. [0-9]* bytes left out' "$work/loud/log-1.txt"
check 'no log is longer than it may be' test "$(wc -c <"$work/loud/log-1.txt")" -lt 2200000

# --- before and after ----------------------------------------------------------------------------
BEFORE=$work/old run sides before
check 'two packs are timed in turns' same \
    "$(sed 's/ step.*//' "$work/sides/before.txt" | tr '\n' ' ')" \
    'side=before side=now side=before side=now '
check 'each with plans of its own' grep -q "plans-before.txt" "$work/old/step-calls"
check 'and the table has the gain' \
    same "$(word before)" 'before 1600.0, now 2000.0 images/s: +25.0 %'
stub "$work/old/bench/bench_gpu_step" <<'END'
echo 'no device'
exit 69
END
BEFORE=$work/old run halves before
check 'half of a comparison is none' same "$table" 'build ok
before failed (1)'

# --- no device -----------------------------------------------------------------------------------
printf '#!/bin/sh\nexit 9\n' >"$work/path/nvidia-smi"
run none
check 'without a device every part says so' same \
    "$(echo "$table" | sed 's/.* //' | sort -u), $(echo "$table" | wc -l)" 'skipped, 17'
check 'and nothing was run' same "$status $(calls '^bench_\|^gpu_\|^ringtrain')" '77 0'
sh bench/gpu_all.sh quick >"$work/usage" 2>&1
check 'an unknown part is an error' same "$?" 64

# --- our own programs, with a driver that shows a device that they cannot use --------------------
if [ -x "${RINGMASTER_BIN:-/nowhere}/../tests/gpu_cuda_parity" ] && ! [ -e /dev/nvidiactl ]; then
    stub "$work/path/nvidia-smi" <<'END'
echo 'Stub GPU'
END
    mkdir -p "$work/real"
    for folder in bin tests bench; do
        ln -s "$(cd "$RINGMASTER_BIN/.." && pwd)/$folder" "$work/real/$folder"
    done
    echo "this build" >"$work/real/revision"
    BUILD=$work/real run real parity step
    check 'our tests fail where a device is promised and none answers' \
        same "$table, $status" 'build ok
parity failed (1)
step failed (1), 1'
fi
exit $failed
