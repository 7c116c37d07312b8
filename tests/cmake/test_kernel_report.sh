#!/bin/sh
# Tests cmake/kernel_report.sh with stub compilers that only print what nvcc's assembler would: what
# the script keeps, what it passes through, the table that it makes, and what fails a build.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
report=cmake/kernel_report.sh
# shellcheck source=/dev/null
. tests/check.sh

# kernel NAME SHARED STACK SPILL_STORES SPILL_LOADS: prints the assembler's report of a kernel.
kernel() {
    shared=
    [ "$2" = 0 ] || shared=", $2 bytes smem"
    cat <<END
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '$1' for 'sm_90'
ptxas info    : Function properties for $1
    $3 bytes stack frame, $4 bytes spill stores, $5 bytes spill loads
ptxas info    : Used 37 registers, used 1 barriers$shared, 400 bytes cmem[0]
ptxas info    : Compile time = 1.0 ms
END
}

# compiler STATUS: makes a compiler that prints $work/said to its stderr and exits with STATUS.
compiler() {
    printf '#!/bin/sh\ncat "%s/said" >&2\nexit %s\n' "$work" "$1" >"$work/nvcc"
    chmod +x "$work/nvcc"
}

# compile SOURCE: sets $status; $work/through gets what was passed through.
compile() {
    status=0
    sh $report compile "$work/logs" "$work/nvcc" -c -o "$work/x y.o" "$1" 2>"$work/through" ||
        status=$?
}

# table: sets $status, writes $work/table; $work/err gets the messages.
table() {
    status=0
    sh $report table "$work/logs" "$work/table" "$work/add.cu" >"$work/out" 2>"$work/err" ||
        status=$?
}

says() {
    grep -qF -- "$2" "$1" || { cat "$1"; return 1; }
}
silent() {
    [ ! -s "$1" ] || { cat "$1"; return 1; }
}
is() {
    [ "$1" = "$2" ] || { printf 'is: %s, wanted: %s\n' "$1" "$2"; return 1; }
}
# line NAME: prints a kernel's numbers in the table.
line() {
    grep -F "$1" "$work/table" | awk '{ print $1, $2, $3, $4, $5 }'
}

# --- a compile -----------------------------------------------------------------------------------
compiler 0
kernel _Z10add_kernelPfi 1024 8 0 0 >"$work/said"
compile "$work/a dir/add.cu"
check 'a compile that worked is silent' is "$status $(cat "$work/through")" '0 '
check 'what the assembler said is kept under the name of the source' \
    says "$work/logs/add.cu.log" 'Used 37 registers'
{
    kernel _Z10add_kernelPfi 0 0 0 0
    echo 'x.cu(3): warning #177-D: v was never used'
} >"$work/said"
compile add.cu
check 'warnings come through' says "$work/through" 'warning #177-D'
check 'and nothing beside them' is "$(wc -l <"$work/through")" 1
compiler 3
echo 'x.cu(4): error: expected a ";"' >"$work/said"
compile broken.cu
check 'a compile that failed fails as it did' is "$status" 3
check 'and says all that it said' says "$work/through" 'expected a ";"'
rm -f "$work/logs/broken.cu.log"

# --- the table -----------------------------------------------------------------------------------
compiler 0
{
    kernel _Z10add_kernelPfi 1024 8 0 0
    kernel _Z15multiply_kernelIfLi4ELi200000EEvPT_ 64 0 0 0
    kernel _Z15multiply_kernelIfLi4ELi512EEvPT_ 64 0 0 0
} >"$work/said"
compile "$work/add.cu"
cat >"$work/add.cu" <<'END'
/* Sums, in the simplest way. Bytes moved: a and b once, and
 * the sum once. More is not said. */
static __global__ void add_kernel(float *p, int n) {
}

/* Products, of which the last ones are written. Bytes moved: p
 * twice. */
template <typename T, int W, int BYTES>
static __global__ void __launch_bounds__(256)
    multiply_kernel(T *p) {
}
END
table
check 'kernels within what there is make a table' is "$status" 0
check 'of registers, shared memory, stack and spills' \
    is "$(line 'add_kernel(float*, int)')" 'sm_90 37 1024 8 0'
check 'with what a launch brings, where the name has it' \
    is "$(line ', 200000>')" 'sm_90 37 200064 0 0'
check 'and not where the last number is none of that kind' is "$(line ', 512>')" 'sm_90 37 64 0 0'
check 'behind it stands what a kernel must move' says "$work/table" \
    'add_kernel                       a and b once, and the sum once'
check 'of a template, too' says "$work/table" 'multiply_kernel                  p twice'
check 'a good table gets no message' silent "$work/err"

# --- what fails ----------------------------------------------------------------------------------
# refused SAID WORDS: a table from the assembler's output SAID fails with the message WORDS.
refused() {
    printf '%s\n' "$1" >"$work/said"
    compile "$work/bad.cu"
    table
    rm -f "$work/logs/bad.cu.log"
    [ "$status" = 1 ] && says "$work/err" "$2"
}
check 'stores of spilled registers fail the build' \
    refused "$(kernel _Z10bad_kernelv 0 16 4 0)" bad_kernel
check 'and so do loads of them' refused "$(kernel _Z10bad_kernelv 0 16 0 4)" bad_kernel
check 'and shared memory beyond 227 KiB' \
    refused "$(kernel _Z10bad_kernelv 232449 0 0 0)" bad_kernel
check 'and such that a launch brings' \
    refused "$(kernel _Z10bad_kernelIfLi232000EEvv 512 0 0 0)" bad_kernel
check 'also where its name has no other number' \
    refused "$(kernel _Z10bad_kernelILi232000EEvv 512 0 0 0)" bad_kernel
check 'and products that are waited for one by one' refused \
    'ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized' \
    'one by one'
kernel _Z10bad_kernelv 232448 0 0 0 >"$work/said"
compile "$work/most.cu"
table
check '227 KiB are not beyond' is "$status" 0
# Quotes and shell syntax in a name are text.
# shellcheck disable=SC2016  # not to be expanded
kernel '_Z10$(touch x)`id`;kernel' 0 0 0 0 >"$work/said"
compile "$work/odd.cu"
table
# shellcheck disable=SC2016
check 'a name is text' is "$status $(line '$(touch x)`id`;kernel')" '0 sm_90 37 0 0 0'
cp "$work/add.cu" "$work/first.cu"
sed 's/Bytes moved: p/Moved: p/' "$work/first.cu" >"$work/add.cu"
table
check 'a kernel that is not listed fails the build' is "$status" 1
check 'and it is named, alone' says "$work/err" '"Bytes moved: ... ."): multiply_kernel'
cp "$work/first.cu" "$work/add.cu"
echo '/* Bytes moved: p once. */
static __global__ void add_kernel(double *p) {' >>"$work/add.cu"
table
check 'two kernels of one name fail the build' is "$status" 1
check 'and it is named' says "$work/err" 'one name: add_kernel'
mv "$work/first.cu" "$work/add.cu"
rm -f "$work/logs/"*
table
check 'no word of any kernel is no table' is "$status" 1
check 'and says so' says "$work/err" 'said nothing of any kernel'
echo 'ptxas info    : 0 bytes gmem' >"$work/said"
compile "$work/none.cu"
table
check 'nor is a log without kernels' is "$status" 1
exit $failed
