#!/bin/sh
# Tests data sets from archives that `prepare` fetches over https: with user and password, resumed,
# verified. Every failure is reported, and no output or command line contains a secret.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$bin/ringmaster-transfer" ] ||
    skip "this build fetches nothing: no libcurl, libarchive or Expat"
command -v openssl >/dev/null || skip "no openssl makes certificates here"
make_data 40 20
from=$work/archives
python3 "$here/published_archives.py" "$data" "$from"
# This archive is large enough to be fetched in several parts.
python3 - "$from" <<'PYTHON'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/large2017.zip", "w") as archive:
    archive.writestr("annotations/large.json", os.urandom(80 << 20))
PYTHON
password=a-password-for-tests
echo "$password" >"$work/password"
echo "another-password" >"$work/wrong"
mkdir "$work/server"
timeout 900 python3 "$here/archive_server.py" "$from" "$work/server" >"$work/server/out" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || :; finish' EXIT
heard "$work/server/out" serving || fail "no server: $(cat "$work/server/out")"
tls=https://localhost:$(cat "$work/server/tls.port")
other=https://localhost:$(cat "$work/server/other.port")
plain=http://127.0.0.1:$(cat "$work/server/plain.port")
export AWS_CA_BUNDLE="$work/server/own.pem"

prepare() {
    wanted=$1
    shift
    : >"$work/server/requests"
    code "$wanted" "$ringtrain" prepare "$@"
    checks=$((checks + 1))
    ! grep -q -e "$password" -e another-password "$work/out" "$work/err" ||
        fail "a password in the output"
}
# asked PATTERN COUNT: the server's log has COUNT requests that match PATTERN.
asked() {
    checks=$((checks + 1))
    [ "$(grep -c -e "$1" "$work/server/requests" || :)" = "$2" ] || {
        cat "$work/server/requests" >&2
        fail "not $2 requests like $1"
    }
}
# same_set A B: both folders have the same files, except for prepare's own notes.
same_set() {
    checks=$((checks + 1))
    diff -r -x .ringtrain-prepare "$1" "$2" || fail "$1 and $2 differ"
    [ ! -e "$1/.ringtrain-download" ] || fail "what was fetched is still in $1"
}

echo "with user and password, the set of the archive itself"
"$ringtrain" prepare flowers "$from/flower_photos.tgz" "$work/flowers" >/dev/null 2>&1
sum=$(sha256sum "$from/flower_photos.tgz" | cut -c1-64)
prepare 66 flowers "$tls/plain/flower_photos.tgz" "$work/set"
prints 'expected 4c54ace7911aaffe13a365c34f650e71dd5bf1be0a58b464e5a7183e3e595d9c, that of --sha256 or else of the published'
prepare 0 flowers "$tls/login/flower_photos.tgz" "$work/login" --user somebody \
    --password-file "$work/password" --sha256 "$sum"
asked 'GET .* right$' 1
same_set "$work/login" "$work/flowers"
RINGTRAIN_PASSWORD=$password
export RINGTRAIN_PASSWORD
prepare 0 flowers "$tls/login/flower_photos.tgz" "$work/variable" --user somebody \
    --sha256 "$(echo "$sum" | tr a-f A-F)"
unset RINGTRAIN_PASSWORD
same_set "$work/variable" "$work/flowers"

echo "CIFAR, ImageNet with an archive of each kind, COCO"
cp "$from/cifar-10-binary.tar.gz" "$from/cifar.tar.gz"
cp "$from/ILSVRC2012_img_train.tar" "$from/train.tar"
cp "$from/ILSVRC2012_img_val.tar" "$from/val.tar"
cp "$from/val2017.zip" "$from/val.zip"
"$ringtrain" prepare cifar "$from/cifar.tar.gz" "$work/cifar-file" >/dev/null 2>&1
prepare 0 cifar "$tls/plain/cifar.tar.gz" "$work/cifar"
same_set "$work/cifar" "$work/cifar-file"
"$ringtrain" prepare imagenet "$from/train.tar" "$from/val.tar" "$work/imagenet-file" \
    --val-labels "$from/synsets.txt" >/dev/null 2>&1
prepare 0 imagenet "$tls/plain/train.tar" "$from/val.tar" "$work/imagenet" \
    --val-labels "$from/synsets.txt"
same_set "$work/imagenet" "$work/imagenet-file"
"$ringtrain" prepare coco "$from/val.zip" "$from/annotations_trainval2017.zip" "$work/coco-file" \
    >/dev/null 2>&1
prepare 0 coco "$tls/plain/val.zip" "$from/annotations_trainval2017.zip" "$work/coco"
same_set "$work/coco" "$work/coco-file"

echo "what is there is kept; another size is not"
prepare 0 coco "$tls/plain/val.zip" "$work/kept" --download-dir "$work/downloads"
prepare 0 coco "$tls/plain/val.zip" "$work/kept" --download-dir "$work/downloads"
prints 'val.zip is there already'
asked GET 0
echo more >>"$work/downloads/val.zip"
prepare 66 coco "$tls/plain/val.zip" "$work/kept" --download-dir "$work/downloads"
prints 'remove it to fetch it anew'
asked GET 0

echo "digests"
zero=$(printf '%064d' 0)
prepare 66 coco "$tls/plain/val.zip" "$work/digest" --sha256 "$zero"
prints "expected $zero"
prepare 66 coco "$tls/plain/val.zip" "$work/digest" --sha256 "$zero"
prints 'val.zip is there already'
prints "expected $zero"
prepare 0 coco "$tls/plain/val.zip" "$work/digest" \
    --sha256 "$(sha256sum "$from/val.zip" | cut -c1-64)"
asked GET 0
prepare 64 coco "$tls/plain/val.zip" "$tls/plain/train2017.zip" "$work/digests" --sha256 "$zero"
prints '1 digests for 2 addresses'
prepare 64 coco "$tls/plain/val.zip" "$work/digests" --sha256 abc
prints 'expected 64 hexadecimal digits'

echo "what an interrupted run has left goes with the archives"
mkdir -p "$work/left/.ringtrain-download"
echo part >"$work/left/.ringtrain-download/.ringmaster-part-1-0"
prepare 0 coco "$tls/plain/val.zip" "$work/left"
same_set "$work/left" "$work/kept"

echo "connections that break off, and servers without HEAD, ETag or parts"
prepare 0 coco "$tls/cut-once/val.zip" "$work/cut-once"
asked 'GET .* bytes=' 1
same_set "$work/cut-once" "$work/kept"
prepare 0 coco "$tls/weak/val.zip" "$work/weak"
prepare 0 coco "$tls/no-head/val.zip" "$work/no-head"
prepare 66 coco "$tls/longer/val.zip" "$work/longer"
prints 'bytes where .* were expected'
prepare 66 coco "$tls/cut/val.zip" "$work/cut"
prints 'cut'
[ ! -e "$work/cut/val2017" ] || fail "a set of half an archive"

echo "a run that is killed goes on with the parts that are missing"
: >"$work/server/requests"
"$ringtrain" prepare coco "$tls/held/large2017.zip" "$work/killed" --user somebody \
    --password-file "$work/password" >"$work/out" 2>"$work/err" &
run=$!
# noted: prints how many of the five parts are complete: the file ends with a byte for each.
noted() {
    find "$work/killed" -name '.ringmaster-pieces-*' -size +8M -exec tail -c 5 {} \; 2>/dev/null |
        tr -d '\000' | wc -c
}
tries=0
until [ "$(noted)" = 2 ] || [ $tries = 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
[ "$(noted)" = 2 ] || fail "of five parts $(noted) are complete: $(cat "$work/err")"
child=$(pgrep -P "$run") || fail "no child: $(cat "$work/err")"
for process in "$run" "$child"; do
    checks=$((checks + 1))
    tr '\0' '\n' <"/proc/$process/cmdline" >"$work/words"
    tr '\0' '\n' <"/proc/$process/environ" >>"$work/words" || :
    ! grep -q -e "$password" "$work/words" ||
        fail "a password in the words or the environment of a process"
done
kill -KILL "$run"
wait "$run" 2>/dev/null || :
tries=0
while kill -0 "$child" 2>/dev/null && [ $tries -lt 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
checks=$((checks + 1))
! kill -0 "$child" 2>/dev/null || fail "the child goes on without us"
prepare 0 coco "$tls/plain/large2017.zip" "$work/killed"
asked '^GET' 3
python3 - "$from/large2017.zip" \
    "$work/killed/annotations/large.json" <<'PYTHON' || fail "other bytes"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive, open(sys.argv[2], "rb") as file:
    sys.exit(archive.read("annotations/large.json") != file.read())
PYTHON
checks=$((checks + 1))

echo "refusals of servers"
prepare 66 coco "$tls/plain/none.zip" "$work/refused"
prints 'answers 404: it has no such file; check the address'
prepare 66 coco "$tls/login/val.zip" "$work/refused"
prints 'answers 401: it asks for a user and a password'
prepare 66 coco "$tls/login/val.zip" "$work/refused" --user somebody --password-file "$work/wrong"
prints 'answers 401: it does not accept this user and password'
asked GET 0
prepare 0 coco "$tls/away/val.zip" "$work/away" --user somebody --password-file "$work/password"
asked '/away/.* right$' 3
asked '/plain/.* none$' 3
AWS_CA_BUNDLE=
prepare 66 coco "$tls/plain/val.zip" "$work/refused"
prints certificate
asked . 0
export AWS_CA_BUNDLE="$work/server/own.pem"

echo "no room"
if mkdir "$work/small" && mount -t tmpfs -o size=256k tmpfs "$work/small" 2>/dev/null; then
    prepare 65 coco "$tls/plain/large2017.zip" "$work/small/coco"
    prints 'MB are to be fetched, about .* MB are needed for what is made of them'
    asked GET 0
    size=$(stat -c %s "$from/val.zip")
    mount -o "remount,size=$((size + size / 2))" "$work/small"
    prepare 65 coco "$tls/plain/val.zip" "$work/small/coco"
    asked GET 0
    prepare 0 coco "$tls/plain/val.zip" "$work/elsewhere" --download-dir "$work/small/archives"
    umount "$work/small"
else
    skip_part "a full disk: no mount"
fi

echo "http:// is refused unless it is asked for"
prepare 64 coco "$plain/plain/val.zip" "$work/http"
prints 'http:// lets anybody on the way change the file; expected https://, or --http true'
prepare 64 coco "$plain/plain/val.zip" "$work/http" --http true --user somebody \
    --password-file "$work/password"
prints 'a password is not sent over http://'
prepare 64 coco "http://somebody:$password@${plain#http://}/plain/val.zip" "$work/http"
prints 'an address may not contain a user or a password; expected --user and --password-file'
asked . 0
prepare 0 coco "$plain/plain/val.zip" "$work/http" --http true

echo "words"
prepare 64 coco "s3://bucket/val.zip" "$work/words-set"
prints 'expected an address of https:// or a file'
prepare 64 coco "https://somebody:secret@localhost/val.zip" "$work/words-set"
prints 'expected --user and --password-file'
prepare 64 coco "$tls/" "$work/words-set"
prints 'ends with no name of a file'
prepare 64 coco "$tls/a/val.zip" "$tls/b/val.zip" "$work/words-set"
prints 'two addresses end with val.zip'
prepare 64 coco "$tls/a/val.zip" "$other/b/train.zip" "$work/words-set" --user somebody \
    --password-file "$work/password"
prints 'are several hosts'
prepare 64 coco "$tls/a/val.zip" "$work/words-set" --user somebody
prints 'no password; expected --password-file FILE, or the variable RINGTRAIN_PASSWORD'
prepare 64 coco "$tls/a/val.zip" "$work/words-set" --password-file "$work/password"
prints 'without --user'
prepare 64 imagenet "$tls/a/train.tar" "$tls/a/val.tar" "$work/words-set"
prints 'expected --val-labels FILE'
prepare 64 coco "$from/val.zip" "$work/words-set" --user somebody
prints 'for addresses of https://, and none is given'
asked . 0
touch "$work/empty"
prepare 65 coco "$tls/a/val.zip" "$work/words-set" --user somebody --password-file "$work/empty"
prints 'the password is empty'
mkdir "$work/full"
touch "$work/full/file"
prepare 65 coco "$tls/plain/val.zip" "$work/full"
prints 'not empty (file)'

echo "without the program that fetches"
mkdir "$work/alone"
cp "$ringtrain" "$work/alone/ringtrain"
: >"$work/server/requests"
code 127 env PATH=/nowhere "$work/alone/ringtrain" prepare coco "$tls/plain/val.zip" "$work/none"
prints 'ringmaster-transfer: neither in .* nor in a folder of PATH'
code 0 env "PATH=$work/nowhere:$bin" "$work/alone/ringtrain" prepare coco "$tls/plain/val.zip" \
    "$work/by-path"
