#!/bin/sh
# Tests tests/venv.sh with a stub of pip: all callers share what is installed once, and a caller
# that waits for another waits within its own time.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh
mkdir -p "$work/tree/tests" "$work/path"
cp tests/venv.sh "$work/tree/tests/"

# python3 -m venv [--without-pip] FOLDER: makes an environment, with a pip that takes $work/seconds.
cat >"$work/path/python3" <<END
#!/bin/sh
if [ "\$3" = --without-pip ]; then
    exec mkdir -p "\$4/bin"
fi
echo x >>"$work/pips"
mkdir -p "\$3/bin"
printf '#!/bin/sh\necho x >>"$work/installs"\nexec sleep "\$(cat "$work/seconds")"\n' \
    >"\$3/bin/pip"
chmod +x "\$3/bin/pip"
END
chmod +x "$work/path/python3"

# ask MOST: installs a package with a limit of MOST seconds. A call that takes a minute longer
# hangs.
ask() {
    PATH="$work/path:$PATH" VENV_SECONDS=$1 timeout $(($1 + 60)) \
        sh "$work/tree/tests/venv.sh" some package >"$work/said" 2>&1
}
skips() {
    code=0
    ask "$1" || code=$?
    [ "$code" = 77 ] || { cat "$work/said"; echo "ended with $code"; return 1; }
}
installs() { [ "$(cat "$work/installs" 2>/dev/null | wc -l)" = "$1" ]; }

echo 1 >"$work/seconds"
for one in 1 2; do
    (ask 300 || touch "$work/failed.$one") &
done
wait
check "of two at once both have it" test ! -e "$work/failed.1" -a ! -e "$work/failed.2"
check "and one has installed it" installs 1
check "who comes later has it, too" ask 300
check "without another installation" installs 1
rm "$work/tree/build/some/ready"
check "what was left half made is made again" ask 300
check "with one" installs 2
check "all by the same pip" [ "$(wc -l <"$work/pips")" = 1 ]

rm "$work/tree/build/some/ready"
echo 600 >"$work/seconds"
check "what takes too long is skipped" skips 2
before=$(wc -l <"$work/installs")
exec 7>>"$work/tree/build/some.lock"
flock 7
check "who waits for another waits within its own time" skips 2
check "and does not try by itself" installs "$before"
exit $failed
