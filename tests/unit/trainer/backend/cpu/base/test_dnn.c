#include "tests/ops/parity.h"
#include "tests/support/loop_data.h"
#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/dnn.h"
#include "trainer/backend/cpu/cpu.h"

/* More than the block that is rounded at once, and no multiple of it. */
enum { VALUES = 2500, THREADS_MOST = 3 };

static void statuses_become_errors_in_words(void) {
    static const struct {
        dnnl_status_t status;
        const char *text;
    } cases[] = {{dnnl_out_of_memory, "a thing: oneDNN error: out of memory (1)"},
                 {dnnl_invalid_arguments, "a thing: oneDNN error: invalid arguments (2)"},
                 {dnnl_unimplemented, "a thing: oneDNN error: not offered on this processor (3)"},
                 {dnnl_runtime_error, "a thing: oneDNN error: runtime error (5)"},
                 {dnnl_not_required, "a thing: oneDNN error: failure (6)"}};
    struct error err = {0};
    CU_ASSERT_EQUAL(dnn_check(dnnl_success, "a thing", &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        err = (struct error){0};
        CU_ASSERT_EQUAL(dnn_check(cases[i].status, "a thing", &err), -1);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].text);
        CU_ASSERT_EQUAL(err.code, cases[i].status == dnnl_out_of_memory ? EXIT_CODE_CONFIG
                                                                        : EXIT_CODE_INTERNAL);
    }
}

static void bf16_is_computed_in_f32_where_there_are_no_such_products(void) {
    const struct tensor half = {.dtype = DTYPE_BF16, .shape = shape_2(3, 7)};
    const struct tensor wide = {.dtype = DTYPE_F32, .shape = shape_2(3, 7)};
    const struct cpu with = {.has_bf16 = true}, without = {.has_bf16 = false};
    CU_ASSERT_FALSE(dnn_widens(&with, DTYPE_BF16));
    CU_ASSERT_FALSE(dnn_widens(&with, DTYPE_F32));
    CU_ASSERT(dnn_widens(&without, DTYPE_BF16));
    CU_ASSERT_FALSE(dnn_widens(&without, DTYPE_F32));
    CU_ASSERT_EQUAL(dnn_type(&with, DTYPE_BF16), dnnl_bf16);
    CU_ASSERT_EQUAL(dnn_type(&with, DTYPE_F32), dnnl_f32);
    CU_ASSERT_EQUAL(dnn_type(&without, DTYPE_BF16), dnnl_f32);
    CU_ASSERT_EQUAL(dnn_type(&without, DTYPE_F32), dnnl_f32);
    CU_ASSERT_EQUAL(dnn_wide_bytes(&with, &half), 0);
    CU_ASSERT_EQUAL(dnn_wide_bytes(&without, &wide), 0);
    CU_ASSERT_EQUAL(dnn_wide_bytes(&without, &half), 128); /* 84, in whole lines */
}

static struct cpu *open_cpu(int threads, bool has_bf16) {
    struct backend *backend = NULL;
    struct cpu_options options = {.threads = threads, .convs = CPU_CONVS_ONEDNN};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
    ((struct cpu *)backend)->has_bf16 = has_bf16;
    return (struct cpu *)backend;
}

/* Weights of f32 that are packed for products of bf16 have its values. */
static void check_pack(int threads, bool has_bf16, enum dtype dtype) {
    struct cpu *cpu = open_cpu(threads, has_bf16);
    struct dnn_call call = {0};
    struct error err = {0};
    dnnl_memory_desc_t desc = NULL;
    dnnl_dims_t dims = {VALUES};
    float *master = loop_values(VALUES, ELEM_F32, 0, 1);
    float *packed = loop_values(VALUES, ELEM_F32, 5, 2);
    packed[VALUES] = 7;
    CU_ASSERT_EQUAL_FATAL(
        dnn_check(dnnl_memory_desc_create_with_tag(&desc, 1, dims, dnnl_f32, dnnl_a), "", &err), 0);
    CU_ASSERT_EQUAL_FATAL(dnn_call_pack(&call, cpu, dtype, desc, master, desc, packed, &err), 0);
    CU_ASSERT_EQUAL(dnn_call_run(&call, cpu, &err), 0);
    bool rounds = dtype == DTYPE_BF16 && !has_bf16;
    for (size_t i = 0; i < VALUES; i++)
        CU_ASSERT_EQUAL(packed[i], rounds ? loop_bf16_round(master[i]) : master[i]);
    CU_ASSERT_EQUAL(packed[VALUES], 7);
    dnn_call_done(&call);
    CU_ASSERT_PTR_NULL(call.primitive);
    CU_ASSERT_EQUAL(call.count, 0);
    dnn_call_done(&call); /* once more does no harm */
    dnnl_memory_desc_destroy(desc);
    free(master);
    free(packed);
    backend_close(&cpu->backend);
}

static void packed_weights_are_rounded_to_the_activations_type(void) {
    for (int threads = 1; threads <= THREADS_MOST; threads++) {
        check_pack(threads, false, DTYPE_BF16);
        check_pack(threads, false, DTYPE_F32);
        check_pack(threads, true, DTYPE_BF16);
    }
}

static void a_call_takes_so_many_arguments(void) {
    struct cpu *cpu = open_cpu(1, true);
    struct dnn_call call = {0};
    struct error err = {0};
    dnnl_memory_desc_t desc = NULL;
    dnnl_dims_t dims = {16};
    float values[16] = {0};
    CU_ASSERT_EQUAL_FATAL(dnnl_memory_desc_create_with_tag(&desc, 1, dims, dnnl_f32, dnnl_a),
                          dnnl_success);
    for (int i = 0; i < DNN_ARGS_MAX; i++)
        CU_ASSERT_EQUAL(dnn_call_arg(&call, cpu, DNNL_ARG_SRC, desc, values, &err), 0);
    CU_ASSERT_EQUAL(dnn_call_arg(&call, cpu, DNNL_ARG_SRC, desc, values, &err), -1);
    ASSERT_CONTAINS(err.text, "too many arguments");
    CU_ASSERT_EQUAL(call.count, DNN_ARGS_MAX);
    dnn_call_done(&call);
    dnnl_memory_desc_destroy(desc);
    backend_close(&cpu->backend);
}

/* All that oneDNN computes, in both types and with bf16 by way of f32. */
static void products_agree_with_the_reference(void) {
    static const char few[] =
        "conv odd channels|conv of a padded image|conv one pixel|conv 1x1 "
        "stride 2 odd|transposed conv tiny|linear tiny|linear odd|linear "
        "hidden|linear relu tiny|linear of pixels tiny|of a picture tiny|conv "
        "bias add|conv frozen join stride 2|conv bias tiny";
    for (int threads = 1; threads <= THREADS_MOST; threads++) {
        struct cpu *with = open_cpu(threads, true), *without = open_cpu(threads, false);
        with->has_bf16 = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
                         dnnl_cpu_isa_avx512_core_bf16;
        parity_check_rows(&with->backend, DTYPE_F32, PARITY_ALL, few);
        parity_check_rows(&with->backend, DTYPE_BF16, PARITY_ALL, few);
        parity_check_rows(&without->backend, DTYPE_BF16, PARITY_ALL, few);
        backend_close(&with->backend);
        backend_close(&without->backend);
    }
}

UNIT_SUITE("cpu.dnn", UNIT(statuses_become_errors_in_words),
           UNIT(bf16_is_computed_in_f32_where_there_are_no_such_products),
           UNIT(packed_weights_are_rounded_to_the_activations_type),
           UNIT(a_call_takes_so_many_arguments), UNIT(products_agree_with_the_reference))
