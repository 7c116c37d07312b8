#include "trainer/backend/cpu/kernels/loops.h"

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tables are found once for the process, widest first. AVX-512 stands for five extensions, those of
 * x86-64-v4; AVX2 for those of x86-64-v3 that the loops use. oneDNN's limit of instruction sets
 * applies to the loops as well, so that one environment variable makes a fast machine behave like a
 * slow one. */

extern const struct loops loops_baseline;

enum { VARIANTS_MAX = 5 };

static const struct loops *available[VARIANTS_MAX + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

#ifdef LOOP_X86
#include <cpuid.h>

extern const struct loops loops_avx2, loops_avx512, loops_avx512bf16, loops_amx;

enum { ARCH_REQUEST_PERMISSION = 0x1023, ARCH_TILE_DATA = 18 };
/* Bits of EDX in leaf 7 of cpuid (Intel's manual, volume 2, CPUID). */
enum { CPUID_EXTENSIONS = 7, AMX_BF16 = 22, AMX_TILE = 24 };

/* Linux grants the tile registers of AMX only to a process that requests them; an error means that
 * there are none. */
static bool ask_for_tiles(void) {
    return syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, ARCH_TILE_DATA) == 0;
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
}

/* clang before 17 has no name for AMX in __builtin_cpu_supports(). */
static bool has_amx(void) {
    unsigned a, b, c, d;
    return has_avx512() && __builtin_cpu_supports("avx512bf16") &&
           __get_cpuid_count(CPUID_EXTENSIONS, 0, &a, &b, &c, &d) != 0 &&
           (d >> AMX_TILE & 1) != 0 && (d >> AMX_BF16 & 1) != 0;
}

static size_t find_wider(void) {
    size_t count = 0;
    __builtin_cpu_init();
    if (ask_for_tiles() && has_amx())
        available[count++] = &loops_amx;
    if (has_avx512() && __builtin_cpu_supports("avx512bf16"))
        available[count++] = &loops_avx512bf16;
    if (has_avx512())
        available[count++] = &loops_avx512;
    if (has_avx2())
        available[count++] = &loops_avx2;
    return count;
}
#else
static size_t find_wider(void) {
    return 0;
}
#endif

static void find(void) {
    size_t count = find_wider();
    available[count++] = &loops_baseline;
    available[count] = NULL;
}

const struct loops *const *loops_available(void) {
    (void)pthread_once(&once, find);
    return available;
}

/* A processor with AMX also has AVX-512 BF16 (has_amx). */
const struct loops *loops_plain(const struct loops *loops) {
#ifdef LOOP_X86
    if (loops->tiles)
        return &loops_avx512bf16;
#endif
    return loops;
}

#ifdef LOOP_X86
static bool is_allowed(const struct loops *loops, unsigned isa) {
    const unsigned wide = dnnl_cpu_isa_avx512_core, bf16 = dnnl_cpu_isa_avx512_core_bf16;
    const unsigned amx = dnnl_cpu_isa_avx512_core_amx;
    if (loops == &loops_amx)
        return (isa & amx) == amx;
    if (loops == &loops_avx512bf16)
        return (isa & bf16) == bf16;
    return loops == &loops_avx512
               ? (isa & wide) == wide
               : loops == &loops_baseline || (isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;
}
#else
static bool is_allowed(const struct loops *loops, unsigned isa) {
    (void)loops;
    (void)isa;
    return true;
}
#endif

const struct loops *loops_best(void) {
    const struct loops *const *loops = loops_available();
    while (!is_allowed(*loops, (unsigned)dnnl_get_effective_cpu_isa()))
        loops++;
    return *loops;
}
