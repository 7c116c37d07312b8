#!/bin/sh
# Tests what an installation consists of: documentation beside the programs, a Debian package, and
# lists of contents that are reproducible and complete (docker/contents.sh).
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
bin=${RINGMASTER_BIN:-$top/build/release/bin}
build=$(dirname "$bin")
[ -x "$bin/ringmaster" ] || { echo "skipped: $bin/ringmaster is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

# The program that fetches and uploads, where this build includes it.
transfer() { [ ! -x "$bin/ringmaster-transfer" ] || echo bin/ringmaster-transfer; }

installation_has_its_papers() {
    DESTDIR=$work/root cmake --install "$build" --prefix /usr >"$work/log" 2>&1 ||
        fail "installing: $(tail -n 3 "$work/log")"
    for file in bin/ringmaster bin/train $(transfer) share/man/man1/ringmaster.1 \
        share/man/man7/ringmaster-environment.7 share/man/man7/ringmaster-exit-codes.7 \
        share/doc/ringmaster/copyright share/bash-completion/completions/ringmaster; do
        [ -e "$work/root/usr/$file" ] || fail "$file is not installed"
    done
    for program in ringmaster ringtrain; do
        [ ! -x "$bin/$program" ] ||
            "$bin/$program" man | cmp -s - "$work/root/usr/share/man/man1/$program.1" ||
            fail "another man page of $program"
    done
    for page in environment exit-codes; do
        "$bin/ringmaster" man "$page" |
            cmp -s - "$work/root/usr/share/man/man7/ringmaster-$page.7" ||
            fail "another man page of $page"
    done
    bash -n "$work/root/usr/share/bash-completion/completions/ringmaster" ||
        fail "the completion is no bash"
}

# The copy has the same contents at another place; its times and its additional files do not count.
a_list_of_contents_is_the_same_twice() {
    mkdir -p "$work/a/usr/local/bin" "$work/a/proc" "$work/a/etc/ringmaster"
    cp "$bin/ringmaster" "$work/a/usr/local/bin/"
    ln -s ringmaster "$work/a/usr/local/bin/train"
    echo odd >"$work/a/usr/local/a \"name\""
    cp -r "$work/a" "$work/b"
    touch -d 2001-01-01 "$work/b/usr/local/bin/ringmaster"
    echo seed >"$work/b/etc/ringmaster/seed"
    echo 1 >"$work/b/proc/uptime"
    for verb in manifest sbom; do
        sh "$top/docker/contents.sh" $verb "$work/a" >"$work/$verb.a" || fail "$verb"
        sh "$top/docker/contents.sh" $verb "$work/b" >"$work/$verb.b" || fail "$verb"
        cmp "$work/$verb.a" "$work/$verb.b" || fail "$verb differs"
    done
    grep -q \
        "^f 755 .* $(sha256sum <"$bin/ringmaster" | cut -d ' ' -f 1) ./usr/local/bin/ringmaster\$" \
        "$work/manifest.a" ||
        fail "the manifest lacks the program"
    echo more >>"$work/b/usr/local/a \"name\""
    for verb in manifest sbom; do
        sh "$top/docker/contents.sh" $verb "$work/b" | cmp -s - "$work/$verb.a" &&
            fail "$verb sees no change"
    done
    chmod 700 "$work/a/usr/local/bin/ringmaster"
    sh "$top/docker/contents.sh" manifest "$work/a" | cmp -s - "$work/manifest.a" &&
        fail "manifest sees no mode"
    return 0
}

# onednn_is_a_package PREFIX: with PREFIX's files in /usr/local, where the image has them, the list
# has oneDNN's version and licence.
onednn_is_a_package() {
    mkdir -p "$work/d/usr/local/lib" "$work/d/usr/local/share/doc"
    cp "$1/lib/libdnnl.so.3" "$work/d/usr/local/lib/"
    cp -r "$1/share/doc/onednn" "$work/d/usr/local/share/doc/"
    sh "$top/docker/contents.sh" sbom "$work/d" >"$work/sbom.onednn"
    python3 - "$work/sbom.onednn" "$1/include/oneapi/dnnl/dnnl_version.h" <<'END' ||
import json, re, sys
d = json.load(open(sys.argv[1]))
version = ".".join(re.findall(r"^#define DNNL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$",
                              open(sys.argv[2]).read(), re.M))
[package] = [p for p in d["packages"] if p["name"] == "oneDNN"]
assert package["versionInfo"] == version and package["licenseDeclared"] == "Apache-2.0", package
[file] = [f["SPDXID"] for f in d["files"] if f["fileName"] == "./usr/local/lib/libdnnl.so.3"]
holders = [r["spdxElementId"] for r in d["relationships"] if r["relatedSpdxElement"] == file]
assert holders == [package["SPDXID"]], holders
END
        fail "oneDNN is no package in the list"
}

# Wheels with the right names are accepted only with the hashes of the lock.
a_swapped_wheel_is_refused() {
    mkdir -p "$work/e/docker/wheels"
    cp "$top/docker/fetch_onednn.sh" "$top/docker/onednn.lock" "$work/e/docker/"
    sed -n 's/^\(onednn[a-z-]*\)==\([0-9.]*\) .*/\1 \2/p' "$top/docker/onednn.lock" >"$work/wheels"
    [ "$(wc -l <"$work/wheels")" -eq 2 ] || fail "the lock has no two wheels"
    : >"$work/lock"
    while read -r wanted version; do
        wheel=$work/e/docker/wheels/$(
            echo "$wanted" | tr - _)-$version-py2.py3-none-manylinux1_x86_64.whl
        echo "the bytes of $wanted" >"$wheel"
        echo "$wanted==$version --hash=sha256:$(sha256sum <"$wheel" | cut -d ' ' -f 1)" \
            >>"$work/lock"
    done <"$work/wheels"
    sh "$work/e/docker/fetch_onednn.sh" --wheels >"$work/log" 2>&1 &&
        fail "wheels of other bytes are taken"
    grep -q 'is not what docker/onednn.lock says' "$work/log" ||
        fail "refused for another reason: $(cat "$work/log")"
    # The same wheels are accepted with a lock of their own, but not one that is then swapped.
    cp "$work/lock" "$work/e/docker/onednn.lock"
    sh "$work/e/docker/fetch_onednn.sh" --wheels >"$work/log" 2>&1 ||
        fail "what the lock names is refused: $(cat "$work/log")"
    echo more >>"$wheel"
    sh "$work/e/docker/fetch_onednn.sh" --wheels >"$work/log" 2>&1 &&
        fail "a wheel that was swapped is taken"
    grep -q -F "$wheel is not what" "$work/log" || fail "it is not named: $(cat "$work/log")"
}

# A user's own oneDNN, put where the build looks, is accepted although it has no licence files, and
# nothing is added to it.
an_onednn_of_ones_own_stays_as_it_is() {
    mkdir -p "$work/own/include/oneapi/dnnl" "$work/own/lib"
    echo '#define DNNL_VERSION_MAJOR 3' >"$work/own/include/oneapi/dnnl/dnnl_version.h"
    : >"$work/own/lib/libdnnl.so.3"
    find "$work/own" >"$work/own.before"
    sh "$top/docker/fetch_onednn.sh" "$work/own" >"$work/log" 2>&1 ||
        fail "it is refused: $(cat "$work/log")"
    find "$work/own" | cmp -s - "$work/own.before" || fail "something was put into it"
}

# In this machine's list, every library of the distribution that our programs load belongs to a
# package.
what_is_linked_is_listed() {
    mkdir -p "$work/c/var/lib/dpkg" "$work/c/etc"
    cp /var/lib/dpkg/status "$work/c/var/lib/dpkg/"
    cp /etc/os-release "$work/c/etc/"
    sh "$top/docker/contents.sh" sbom "$work/c" >"$work/sbom"
    python3 - "$work/sbom" <<'END' || fail "the list is no SPDX"
import json, sys
d = json.load(open(sys.argv[1]))
assert (d["spdxVersion"] == "SPDX-2.3" and d["SPDXID"] == "SPDXRef-DOCUMENT"
        and d["dataLicense"] == "CC0-1.0")
ids = [p["SPDXID"] for p in d["packages"] + d["files"]]
assert len(ids) == len(set(ids)) and len(ids) > 10
known = set(ids) | {"SPDXRef-DOCUMENT"}
for r in d["relationships"]:
    assert r["spdxElementId"] in known and r["relatedSpdxElement"] in known, r
END
    for program in ringmaster ringmaster-transfer ringtrain; do
        [ ! -x "$bin/$program" ] || ldd "$bin/$program" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p'
    done | sort -u >"$work/libraries"
    [ -s "$work/libraries" ] || fail "our programs load nothing"
    while read -r library; do
        # If the distribution has no oneDNN package, the list has one of its own for it.
        case $library in
        */onednn/lib/libdnnl*)
            onednn_is_a_package "${library%/lib/*}"
            continue ;;
        esac
        # Some packages still register their files in /usr/lib as being in /lib.
        real=$(realpath "$library")
        package=$(dpkg-query -S "$real" "${real#/usr}" 2>/dev/null | head -n 1 | cut -d : -f 1)
        [ -n "$package" ] && grep -q -F "\"name\":\"$package\"" "$work/sbom" ||
            fail "our programs load $library, and its package '$package' is not in the list"
    done <"$work/libraries"
}

a_debian_package_is_made() {
    # Everything is built already; with Make as the generator, CPack would check the build again.
    (cd "$build" && cpack -G DEB -D CPACK_CMAKE_GENERATOR=Ninja -B "$work/deb") \
        >"$work/log" 2>&1 || {
        fail "cpack: $(tail -n 3 "$work/log")"
        return
    }
    set -- "$work"/deb/*.deb
    [ -e "$1" ] || { fail "cpack made no package"; return; }
    dpkg-deb --contents "$1" >"$work/list"
    for file in bin/ringmaster bin/train $(transfer) share/man/man1/ringmaster.1 \
        share/man/man7/ringmaster-environment.7 share/man/man7/ringmaster-exit-codes.7; do
        grep -Eq " \./usr/$file( ->.*|\.gz)?\$" "$work/list" || fail "the package lacks $file"
    done
    grep -q ringtrain "$work/list" && fail "the package has the trainer, and nothing that it needs"
    [ "$(dpkg-deb --field "$1" Package)" = ringmaster ] || fail "another name"
    case $(dpkg-deb --field "$1" Depends) in
    *libssl3*libjansson4* | *libjansson4*libssl3*) ;;
    *)
        ! command -v dpkg-shlibdeps >/dev/null ||
            fail "the package depends on '$(dpkg-deb --field "$1" Depends)'" ;;
    esac
    dpkg-deb --extract "$1" "$work/there"
    "$work/there/usr/bin/ringmaster" version | grep -q '^ringmaster [0-9]' ||
        fail "what is in it does not run"
    for program in "$work/there/usr/bin" "$bin"; do
        "$program/ringmaster" version --all | grep -E '^(build|libcurl) '
    done | sort | uniq -c | grep -v '^ *2 ' &&
        fail "the package has another build, or fetches with something else"
    return 0
}

for name in installation_has_its_papers a_list_of_contents_is_the_same_twice \
    what_is_linked_is_listed a_swapped_wheel_is_refused an_onednn_of_ones_own_stays_as_it_is \
    a_debian_package_is_made; do
    before=$failed
    failed=0
    "$name"
    [ "$failed" -eq 0 ] && echo "ok $name" || echo "FAILED $name"
    [ "$failed" -eq 0 ] && failed=$before
done
exit "$failed"
