# Derives an image with Debian packages from Ringmaster's, as users derive theirs. Sourced; it needs
# an engine.
# shellcheck shell=sh disable=SC2154

# derived NAME PACKAGE...: makes that image, again if Ringmaster's image or the packages have
# changed. It returns 77 if Debian's packages cannot be fetched.
derived() {
    made=$1
    shift
    mkdir -p "$top/.cache"
    log=$top/.cache/${made%%:*}.log
    # shellcheck disable=SC2016  # the image's shell
    printf 'FROM %s\nRUN apt-get update -qq -o APT::Update::Error-Mode=any || exit 77; %s %s\n' \
        "${RINGMASTER_IMAGE:-ringmaster:latest}" \
        'apt-get install -y -qq --no-install-recommends' "$*" |
        docker build --network host --tag "$made" - >"$log" 2>&1 && return
    ! grep -q 'code: 77' "$log" || { echo "skipped: no way to Debian's packages"; return 77; }
    tail -n 20 "$log"
    echo "FAILED: $made cannot be built (whole log: $log)"
    return 1
}
