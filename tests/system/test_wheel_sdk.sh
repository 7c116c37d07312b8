#!/bin/sh
# The launcher as `pip install` of its wheel provides it, in an image with nothing else of this
# project, in jobs of SageMaker's own SDKs in local mode: version 2 starts the image's `train`,
# version 3 takes source_code and the package in sdk/. Two containers with two ranks each succeed,
# fail, and are stopped. Runs only in `sh tests/run.sh long`, as compiler and SDKs come from PyPI,
# and the image's Python from Debian.
#
#   CASES="good fail stop"   SDKS="2 3"
# shellcheck disable=SC2034,SC2154  # engine.sh's variables
set -u
[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] || {
    echo "skipped: in sh tests/run.sh long alone"
    exit 77
}
own_image=1
# shellcheck source=/dev/null
. "$(dirname "$0")/engine.sh"
CASES=${CASES:-good fail stop}
SDKS=${SDKS:-2 3}
mkdir -p "$top/build"
work=$(mktemp -d "$top/build/wheel.XXXXXX") || exit 1
watcher=
end() {
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null
    rm -rf "$work"
}
trap end EXIT
export AWS_ACCESS_KEY_ID=AKIDAKIDAKIDAKID AWS_SECRET_ACCESS_KEY=canary-of-the-sdk \
    AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true \
    PYTHONPATH="$top/sdk" PYTHONDONTWRITEBYTECODE=1
# The SDK's telemetry would report each job to AWS.
export SAGEMAKER_USER_CONFIG_OVERRIDE="$work/defaults.yaml"
printf \
    'SchemaVersion: "1.0"\nSageMaker:\n  PythonSDK:\n    Modules:\n      TelemetryOptOut: true\n' \
    >"$SAGEMAKER_USER_CONFIG_OVERRIDE"

image=ringmaster-wheel:test
version=$(sed -n 's/^project(ringmaster VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
RELEASE_ARCHES=x86_64 sh "$top/docker/release.sh" "$version" "$work/dist" || {
    echo "FAILED: docker/release.sh"
    exit 1
}
mkdir "$work/image"
cp "$work"/dist/ringmaster_launcher-*_x86_64.whl "$work/image/"
cat >"$work/image/Dockerfile" <<'END'
FROM debian:bookworm-slim
RUN apt-get update -qq -o APT::Update::Error-Mode=any || exit 77; \
    apt-get install -y -qq --no-install-recommends python3 python3-pip
COPY *.whl /tmp/
RUN pip install --break-system-packages --no-index /tmp/*.whl
END
docker build --network host --tag "$image" "$work/image" >"$work/image.log" 2>&1 || {
    ! grep -q 'code: 77' "$work/image.log" || {
        echo "skipped: no way to Debian's packages"
        exit 77
    }
    tail -n 20 "$work/image.log"
    echo "FAILED: the image with the wheel cannot be built"
    exit 1
}

mkdir "$work/code"
cat >"$work/code/train.py" <<'END'
import os
import signal
import sys
import time

names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK")
print("place", *(os.environ[name] for name in names), "words", sys.argv[1:], flush=True)
mode = os.environ["MODE"]
if mode == "fail" and os.environ["RANK"] == "3":
    raise ValueError("no such shard: 7")
if mode in ("fail", "stop"):
    def leave(*_):
        print("rank", os.environ["RANK"], "is told to stop", flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, leave)
    print("waiting", flush=True)
    time.sleep(600)
END

check() {
    what=$1
    shift
    "$@" >/dev/null && return
    echo "FAILED: SDK $sdk $case: $what"
    failed=1
}
says() { grep -aqF -e "$1" "$log"; }

# Stops one container, as a user's `docker stop` would, once all its ranks wait.
stop_one() {
    for _ in $(seq 200); do
        sleep 1
        id=$(docker ps -q --filter "ancestor=$image" | head -n 1)
        if [ -n "$id" ] && [ "$(docker logs "$id" 2>&1 | grep -ac 'rank .*waiting')" = 2 ]; then
            docker kill -s TERM "$id" >/dev/null
            return
        fi
    done
    echo "no container's ranks waited within 200 s: nothing was stopped" >&2
    return 1
}

one() {
    sdk=$1 case=$2
    log=$work/$sdk-$case.log
    [ "$case" != stop ] || { stop_one & watcher=$!; }
    timeout 300 "$top/build/sdk-$sdk/bin/python" "$system/wheel_job.py" "$case" "$work/$sdk-$case" \
        "$image" "$work/code" \
        >"$log" 2>&1
    before=$failed
    [ "$case" != stop ] || { check "one is stopped" wait "$watcher"; watcher=; }
    for rank in 0 1 2 3; do
        check "rank $rank knows its place" says \
    "rank $rank] place $rank $((rank % 2)) 4 2 $((rank / 2)) words ['--lr', '0.1', '--name', 'a b']"
    done
    case $case in
    good) check "it succeeds" says 'the SDK says: success' ;;
    fail) check "it fails with the program's code" says 'Process exited with code: 1'
          check "it says which rank" says 'algo-2'
          check "it says why" says 'rank 3: exited with 1'
          check "in Python's words" says 'ValueError: no such shard: 7' ;;
    stop) check "it is stopped" says 'Process exited with code: 143'
          for rank in 0 1 2 3; do
              check "rank $rank is told to stop" says "rank $rank is told to stop"
          done ;;
    esac
    if [ "$failed" = "$before" ]; then echo "ok SDK $sdk $case"; else tail -n 60 "$log"; fi
}

for each_sdk in $SDKS; do
    case $each_sdk in
    2) VENV_SECONDS=1800 sh "$top/tests/venv.sh" sdk-2 'sagemaker==2.257.7' ;;
    *) VENV_SECONDS=1800 sh "$top/tests/venv.sh" sdk-3 'sagemaker-train==1.27.0' \
        'sagemaker-core==2.27.0' ;;
    esac || exit
    for each in $CASES; do one "$each_sdk" "$each"; done
done
exit "$failed"
