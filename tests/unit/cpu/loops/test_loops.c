#include "cpu_loops/loops.h"
#include "support/unit.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

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
/* What is taken where oneDNN is held to ISA; it is asked once in a process. */
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
static void the_best_is_no_wider_than_onednn_is_held_to(void) {
    CU_ASSERT_PTR_EQUAL(loops_best(), loops_available()[0]);
}
#endif

UNIT_MAIN("cpu.loops", UNIT(tables_are_those_of_this_processor_the_widest_first),
          UNIT(the_best_is_no_wider_than_onednn_is_held_to))
