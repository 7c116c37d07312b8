#!/bin/sh
# Jobs of two containers through SageMaker's own SDKs, versions 2 and 3, in local mode: script mode
# with code on S3, a program that fails, a stop, and a hundred hyperparameters. Runs only in
# `sh tests/run.sh long`, as the SDKs come from PyPI (into build/sdk-2 and build/sdk-3), like moto,
# and Python for the image from Debian.
#
#   CASES="good fail stop many"   SDKS="2 3"
# shellcheck disable=SC2154  # engine.sh's variables
set -u
[ -n "${RINGMASTER_LONG:-}" ] || { echo "skipped: in sh tests/run.sh long alone"; exit 77; }
# shellcheck source=/dev/null
. "$(dirname "$0")/engine.sh"
. "$system/derived.sh"
CASES=${CASES:-good fail stop many}
SDKS=${SDKS:-2 3}
mkdir -p "$top/build" # for a tree in which nothing has been built
work=$(mktemp -d "$top/build/sdk.XXXXXX") || exit 1
export AWS_ACCESS_KEY_ID=AKIDAKIDAKIDAKID AWS_SECRET_ACCESS_KEY=canary-of-the-sdk \
    AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
# The SDK's telemetry would report each job to AWS.
export SAGEMAKER_USER_CONFIG_OVERRIDE="$work/defaults.yaml"
printf \
    'SchemaVersion: "1.0"\nSageMaker:\n  PythonSDK:\n    Modules:\n      TelemetryOptOut: true\n' \
    >"$SAGEMAKER_USER_CONFIG_OVERRIDE"

sh "$system/moto_install.sh" || exit

server=
watcher=
end() {
    for pid in $server $watcher; do kill "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap end EXIT
gateway=$(ip -4 -o addr show docker0 | awk '{ sub("/.*", "", $4); print $4 }')
"$top/build/moto/bin/moto_server" -H "$gateway" -p 5999 >"$work/moto.log" 2>&1 &
server=$!
endpoint=http://$gateway:5999
left=60
until "$top/build/moto/bin/python" -c \
    "import socket; socket.create_connection(('$gateway', 5999), 1)" 2>/dev/null; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || {
        cat "$work/moto.log"
        echo "FAILED: moto does not answer at $endpoint"
        exit 1
    }
    sleep 1
done

# The image has Python added, as a user's image would.
sdk_image=${RINGMASTER_SDK_IMAGE:-ringmaster-python:test}
derived "$sdk_image" python3 python3-pip || exit

check() {
    what=$1
    shift
    "$@" >/dev/null && return
    echo "FAILED: $version $case: $what"
    failed=1
}
says() { grep -aqF -e "$1" "$log"; }
told() { [ "$(grep -acF -e "$1" "$log")" = "$2" ]; }
silent() { ! grep -aqF -e "$1" "$log"; }

write_code() {
    mkdir -p "$folder/code"
    python3 "$system/python_code.py" "$folder/made" && cp -r "$folder/made/wheels" "$folder/code" ||
        return
    printf -- '--no-index\n--find-links wheels\nanswer==1.0\n' >"$folder/code/requirements.txt"
    cat >"$folder/code/train.py" <<'END'
import os
import signal
import sys
import time

import answer

mode = os.environ["MODE"]
print("answer", answer.NUMBER, "words", len(sys.argv) - 1, sys.argv[1:7],
      "of", os.environ["WORLD_SIZE"], flush=True)
with open(f"{os.environ['SM_MODEL_DIR']}/rank-{os.environ['RANK']}", "w", encoding="utf-8") as file:
    file.write(mode)
if mode == "fail" and os.environ["RANK"] == "1":
    sys.exit(42)
if mode in ("fail", "stop"):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("waiting", flush=True)
    time.sleep(600)
END
}

# Stops one container, as a user's `docker stop` would, once the program runs.
stop_one() {
    for _ in $(seq 200); do
        sleep 1
        id=$(docker ps -q --filter "ancestor=$sdk_image" | head -n 1)
        if [ -n "$id" ] && docker logs "$id" 2>&1 | grep -aq 'rank .*waiting'; then
            docker kill -s TERM "$id" >/dev/null
            return
        fi
    done
    echo "no container's program waited within 200 s: nothing was stopped" >&2
    return 1
}

one() {
    version=$1 case=$2
    folder=$work/$version-$case log=$work/$version-$case.log
    check "there is code" write_code || return
    [ "$case" != stop ] || { stop_one & watcher=$!; }
    AWS_ENDPOINT_URL=$endpoint AWS_ENDPOINT_URL_S3=$endpoint timeout 300 \
        "$top/build/sdk-$version/bin/python" "$system/sdk_job.py" "$case" "$endpoint" "$folder" \
        "$sdk_image" >"$log" 2>&1
    before=$failed
    [ "$case" != stop ] || { check "one is stopped" wait "$watcher"; watcher=; }
    case $case in
    fail) check "it fails with the program's code" says 'Process exited with code: 42'
          check "it says which rank" says 'rank 1: exited with 42' ;;
    stop) check "it is stopped" says 'Process exited with code: 143' ;;
    many) check "it succeeds" says 'the SDK says: success'
          check "all arrive" says 'words 200 ' ;;
    *) check "it succeeds" says 'the SDK says: success'
       check "words arrive" says \
           "words 6 ['--flag', 'True', '--lr', '0.1', '--name', 'a b'] of 2" ;;
    esac
    check "each host installs what it needs once" told 'pip] Successfully installed answer-1.0' 2
    check "what was installed is found" says 'answer 42'
    check "the secret is nowhere" silent "$AWS_SECRET_ACCESS_KEY"
    find "$folder" -name model.tar.gz -exec tar -tf {} \; >"$folder/model"
    for rank in 0 1; do
        check "the model of rank $rank is kept" grep -q "rank-$rank" "$folder/model"
    done
    if [ "$failed" = "$before" ]; then echo "ok $version $case"; else tail -n 60 "$log"; fi
}

for sdk in $SDKS; do
    case $sdk in
    2) VENV_SECONDS=1800 sh "$top/tests/venv.sh" sdk-2 'sagemaker==2.257.7' ;;
    *) VENV_SECONDS=1800 sh "$top/tests/venv.sh" sdk-3 'sagemaker-train==1.27.0' \
        'sagemaker-core==2.27.0' ;;
    esac || exit
    for each in $CASES; do one "$sdk" "$each"; done
done
exit "$failed"
