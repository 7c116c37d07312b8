#!/bin/sh
# Installs the compiler of docker/static/zig.lock into a folder, and makes wrappers with which
# builds call it for one architecture: cc, ar, ranlib.
#
#   sh docker/static/compiler.sh x86_64|aarch64 FOLDER     puts the wrappers into FOLDER/tools-ARCH
set -eu

here=$(cd "$(dirname "$0")" && pwd)
arch=$1
folder=$2
lock=$here/zig.lock

fail() {
    echo "compiler.sh: $*" >&2
    exit 1
}

[ "$(uname -m)" = x86_64 ] || fail "$(uname -m): the compiler is fetched for x86-64 machines alone"
python3 -m pip --version >/dev/null 2>&1 ||
    fail "pip is missing (sh docker/packages.sh install static)"
mkdir -p "$folder"
if ! cmp -s "$lock" "$folder/zig/lock"; then
    rm -rf "$folder/zig" "$folder/zig.new"
    # Networks with a proxy may have certificates of their own, see docker/build.sh.
    [ -z "${RINGMASTER_CA:-}" ] || export PIP_CERT="$RINGMASTER_CA"
    python3 -m pip install --quiet --no-deps --no-compile --require-hashes --only-binary :all: \
        --root-user-action ignore --target "$folder/zig.new" --requirement "$lock" ||
        fail "the compiler cannot be fetched"
    cp "$lock" "$folder/zig.new/lock"
    mv "$folder/zig.new" "$folder/zig"
fi

# The compiler builds the C library once for each set of these options, which takes minutes, so all
# code is built with the same ones. The builds with sanitizers check for undefined behaviour. The
# objects must not contain paths of this machine.
tools=$folder/tools-$arch
mkdir -p "$tools"
cat >"$tools/cc" <<EOF
#!/bin/sh
export ZIG_GLOBAL_CACHE_DIR='$folder/zig-cache' ZIG_LOCAL_CACHE_DIR='$folder/zig-cache'
exec '$folder/zig/ziglang/zig' cc -target $arch-linux-musl -fno-sanitize=undefined \
    -Qunused-arguments -O2 -fPIE -pie -s -ffile-prefix-map='$folder'=. "\$@"
EOF
for tool in ar ranlib; do
    printf '#!/bin/sh\nexec %s/zig/ziglang/zig %s "$@"\n' "'$folder'" "$tool" >"$tools/$tool"
done
chmod +x "$tools/cc" "$tools/ar" "$tools/ranlib"
