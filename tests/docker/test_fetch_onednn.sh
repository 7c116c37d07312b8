#!/bin/sh
# Tests docker/fetch_onednn.sh --wheels with stubs of pip and of the wheels: what it fetches, and
# what happens when a download fails.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the wheels are for x86-64 alone"; exit 77; }

mkdir -p "$work/tree/docker" "$work/made" "$work/path"
cp docker/fetch_onednn.sh "$work/tree/docker/"
for name in onednn-cpu-gomp onednn-devel-cpu-gomp; do
    wheel=$work/made/$(echo "$name" | tr - _)-1.0-py2.py3-none-manylinux1_x86_64.whl
    echo "$name" >"$wheel"
    echo "$name==1.0 --hash=sha256:$(sha256sum "$wheel" | cut -d ' ' -f 1)"
done >"$work/tree/docker/onednn.lock"

# A stub of pip; the first downloads fail, as many as $work/breaks says.
cat >"$work/path/python3" <<END
#!/bin/sh
[ "\$3" = download ] || exit 0
echo x >>"$work/downloads"
[ "\$(wc -l <"$work/downloads")" -gt "\$(cat "$work/breaks")" ] || exit 2
while [ "\$1" != --dest ]; do shift; done
cp "$work"/made/* "\$2"
END
chmod +x "$work/path/python3"

# bring BREAKS: fetches the wheels from scratch; the first BREAKS downloads fail.
bring() {
    rm -rf "$work/tree/docker/wheels" "$work/downloads"
    echo "$1" >"$work/breaks"
    again
}
again() {
    PATH="$work/path:$PATH" sh "$work/tree/docker/fetch_onednn.sh" --wheels >"$work/said" 2>&1
}
downloads() { [ "$(wc -l <"$work/downloads")" = "$1" ]; }
fails() { ! "$@"; }

check "wheels are brought" bring 0
check "both of them" test "$(find "$work/tree/docker/wheels" -name '*.whl' | wc -l)" = 2
check "with one download" downloads 1
check "and stay" again
check "without another one" downloads 1
echo other >"$(find "$work/tree/docker/wheels" -name 'onednn_cpu*')"
check "others than the lock's are refused" fails again
check "by name" grep -q 'onednn_cpu_gomp.* is not what docker/onednn.lock says' "$work/said"
check "a download that breaks is tried again" bring 1
check "once" fails bring 2
check "and the failure is printed" grep -q 'the download failed' "$work/said"
exit $failed
