#include "tests/support/unit.h"
#include "trainer/backend/cpu/kernels/loops.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include "tests/support/refused_call.h"

#include <errno.h>
#include <sys/syscall.h>
#endif

static void tables_are_those_of_this_processor_the_widest_first(void) {
    static const struct {
        const char *name;
        size_t lanes;
    } known[] = {{"amx", 16}, {"avx512bf16", 16}, {"avx512", 16}, {"avx2", 8}, {"baseline", 4}};
    enum { KNOWN = sizeof(known) / sizeof(known[0]) };
    const struct loops *const *loops = loops_available();
    size_t count = 0, next = 0;
    for (; loops[count] != NULL; count++) {
        while (next < KNOWN && strcmp(known[next].name, loops[count]->name) != 0)
            next++;
        CU_ASSERT_FATAL(next < KNOWN); /* in this order */
        CU_ASSERT_EQUAL(loops[count]->lanes, known[next].lanes);
        CU_ASSERT_EQUAL(loops[count]->tiles, next == 0);
    }
    CU_ASSERT_FATAL(count > 0);
    CU_ASSERT_STRING_EQUAL(loops[count - 1]->name, "baseline");
    CU_ASSERT_PTR_EQUAL(loops_available(), loops);
}

#if defined(__x86_64__)
/* Simulates a container that refuses arch_prctl(). */
static int without_tiles(void) {
    if (!refuse_call(SYS_arch_prctl, EPERM))
        return 3;
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        if ((*loops)->tiles)
            return 1;
    return loops_best()->tiles ? 2 : 0;
}

/* The kernel is asked only once, so this test comes before any other. */
static void tiles_that_are_refused_are_not_used(void) {
    CU_ASSERT_EQUAL(unit_in_child(without_tiles), 0);
}

/* Checks which loops are chosen if oneDNN is limited to ISA; oneDNN is asked once per process. */
static int best_under(dnnl_cpu_isa_t isa, const char *name) {
    if (dnnl_set_max_cpu_isa(isa) != dnnl_success)
        return 1;
    return strcmp(loops_best()->name, name) == 0 ? 0 : 2;
}

static int held_to_sse41(void) {
    return best_under(dnnl_cpu_isa_sse41, "baseline");
}

static int held_to_avx2(void) {
    return best_under(dnnl_cpu_isa_avx2, "avx2");
}

static int held_to_avx512(void) {
    return best_under(dnnl_cpu_isa_avx512_core, "avx512");
}

static int held_to_avx512_bf16(void) {
    return best_under(dnnl_cpu_isa_avx512_core_bf16, "avx512bf16");
}

static int held_to_amx(void) {
    return best_under(dnnl_cpu_isa_avx512_core_amx, "amx");
}

static bool has(const char *name) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        if (strcmp((*loops)->name, name) == 0)
            return true;
    return false;
}

static void the_best_is_no_wider_than_onednn_is_held_to(void) {
    CU_ASSERT_EQUAL(unit_in_child(held_to_sse41), 0);
    if (has("avx2"))
        CU_ASSERT_EQUAL(unit_in_child(held_to_avx2), 0);
    if (has("avx512"))
        CU_ASSERT_EQUAL(unit_in_child(held_to_avx512), 0);
    if (has("avx512bf16"))
        CU_ASSERT_EQUAL(unit_in_child(held_to_avx512_bf16), 0);
    if (has("amx"))
        CU_ASSERT_EQUAL(unit_in_child(held_to_amx), 0);
    if (getenv("ONEDNN_MAX_CPU_ISA") == NULL)
        CU_ASSERT_PTR_EQUAL(loops_best(), loops_available()[0]);
}
#else
static void tiles_that_are_refused_are_not_used(void) {
    CU_ASSERT_FALSE(loops_available()[0]->tiles);
}

static void the_best_is_no_wider_than_onednn_is_held_to(void) {
    CU_ASSERT_PTR_EQUAL(loops_best(), loops_available()[0]);
}
#endif

UNIT_SUITE("cpu.choose_loops", UNIT(tiles_that_are_refused_are_not_used),
           UNIT(tables_are_those_of_this_processor_the_widest_first),
           UNIT(the_best_is_no_wider_than_onednn_is_held_to))
