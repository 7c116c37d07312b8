#include "trainer/backend/cpu/base/dnn.h"
#include "trainer/backend/cpu/base/parallel.h"

/* oneDNN reports failures as bare status codes, and its C API has a separate call for every
 * descriptor, attribute and argument. This file is the only place that checks those codes;
 * operators see errors as values and structs that dnn_call_done() frees.
 *
 * A call is built once, when an operator is bound: a primitive, its memories with fixed addresses,
 * and the conversions around it on processors where oneDNN has no fast bf16. Running it allocates
 * nothing. Numbers of threads matter twice: oneDNN cuts the work when a primitive is described, and
 * needs as many threads when it runs (parallel_set_threads). */

static const char *status_words(dnnl_status_t status) {
    switch (status) {
    case dnnl_success:
        return "success";
    case dnnl_out_of_memory:
        return "out of memory";
    case dnnl_invalid_arguments:
        return "invalid arguments";
    case dnnl_unimplemented:
        return "not offered on this processor";
    case dnnl_runtime_error:
        return "runtime error";
    default:
        return "failure";
    }
}

/* Out of memory is the user's configuration (batch size, threads); any other failure is a fault of
 * this program, because shapes and types were checked before. */
int dnn_check(dnnl_status_t status, const char *what, struct error *err) {
    if (status == dnnl_success)
        return 0;
    return error_set(err, status == dnnl_out_of_memory ? EXIT_CODE_CONFIG : EXIT_CODE_INTERNAL,
                     "%s: oneDNN error: %s (%d)", what, status_words(status), (int)status);
}

/* `has_bf16` is decided once, in cpu.c. */
bool dnn_widens(const struct cpu *cpu, enum dtype type) {
    return type == DTYPE_BF16 && !cpu->has_bf16;
}

/* f64 and f16 tensors never arrive here: supports() in cpu.c refuses them. */
dnnl_data_type_t dnn_type(const struct cpu *cpu, enum dtype type) {
    return type == DTYPE_BF16 && cpu->has_bf16 ? dnnl_bf16 : dnnl_f32;
}

/* One f32 copy of TENSOR, aligned like an arena's tensors. */
size_t dnn_wide_bytes(const struct cpu *cpu, const struct tensor *tensor) {
    if (!dnn_widens(cpu, tensor->dtype))
        return 0;
    return backend_aligned((size_t)tensor_count(tensor) * sizeof(float));
}

/* Strides in the logical order N, C, H, W; channels beyond dims[1] are skipped by the stride of a
 * pixel. */
int dnn_desc_channels_last(dnnl_memory_desc_t *ret, const dnnl_dims_t dims, dnnl_data_type_t type,
                           int64_t channels, struct error *err) {
    dnnl_dims_t strides = {dims[2] * dims[3] * channels, 1, dims[3] * channels, channels};
    return dnn_check(dnnl_memory_desc_create_with_strides(ret, 4, dims, type, strides),
                     "memory descriptor", err);
}

/* For memory that only oneDNN reads and writes; dnn_chosen() tells its layout later. */
int dnn_desc_any(dnnl_memory_desc_t *ret, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                 struct error *err) {
    return dnn_check(dnnl_memory_desc_create_with_tag(ret, rank, dims, type, dnnl_format_tag_any),
                     "memory descriptor", err);
}

/* oneDNN's order, OIHW or GOIHW. A group's outputs are consecutive in [O,KH,KW,I], so groups are an
 * outer dimension with a stride of their own. Returns the rank: 5 in groups, else 4. */
static int weight_dims(const struct shape *w, int groups, dnnl_dims_t dims, dnnl_dims_t strides) {
    const int64_t *d = w->dim, row = d[1] * d[2] * d[3];
    const dnnl_dim_t sizes[] = {groups, d[0] / groups, d[3], d[1], d[2]};
    const dnnl_dim_t steps[] = {d[0] / groups * row, row, 1, d[2] * d[3], d[3]};
    const int first = groups > 1 ? 0 : 1, rank = 5 - first;
    for (int i = 0; i < rank; i++) {
        dims[i] = sizes[first + i];
        strides[i] = steps[first + i];
    }
    return rank;
}

/* These strides are those of the parameter arena: OHWI without gaps. */
int dnn_desc_weights(dnnl_memory_desc_t *ret, const struct shape *w, int groups,
                     dnnl_data_type_t type, struct error *err) {
    dnnl_dims_t dims, strides;
    const int rank = weight_dims(w, groups, dims, strides);
    return dnn_check(dnnl_memory_desc_create_with_strides(ret, rank, dims, type, strides),
                     "memory descriptor", err);
}

/* Only the sizes count, so the strides are dropped. */
int dnn_desc_weights_any(dnnl_memory_desc_t *ret, const struct shape *w, int groups,
                         dnnl_data_type_t type, struct error *err) {
    dnnl_dims_t dims, strides;
    const int rank = weight_dims(w, groups, dims, strides);
    return dnn_desc_any(ret, rank, dims, type, err);
}

/* Scratchpads are the user's: the library would otherwise allocate one for every primitive, where
 * an arena shares one memory among all operators of a step. */
int dnn_attr(dnnl_primitive_attr_t *ret, struct error *err) {
    dnnl_primitive_attr_t attr = NULL;
    if (dnn_check(dnnl_primitive_attr_create(&attr), "attributes", err) != 0)
        return -1;
    if (dnn_check(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user),
                  "attributes", err) != 0) {
        dnnl_primitive_attr_destroy(attr);
        return -1;
    }
    *ret = attr;
    return 0;
}

/* Operations are applied in the order in which they are appended, so the sum comes before the
 * ReLU. */
int dnn_attr_epilogue(dnnl_primitive_attr_t attr, const_dnnl_memory_desc_t added, bool relu,
                      struct error *err) {
    dnnl_post_ops_t ops = NULL;
    if (dnn_check(dnnl_post_ops_create(&ops), "post-operations", err) != 0)
        return -1;
    dnnl_status_t status = dnnl_success;
    if (added != NULL)
        status = dnnl_post_ops_append_binary(ops, dnnl_binary_add, added);
    if (status == dnnl_success && relu)
        status = dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(attr, ops);
    dnnl_post_ops_destroy(ops);
    return dnn_check(status, "post-operations", err);
}

/* NULL if the primitive has no memory of that kind. */
const_dnnl_memory_desc_t dnn_chosen(const_dnnl_primitive_desc_t primitive, dnnl_query_t what) {
    return dnnl_primitive_desc_query_md(primitive, what, 0);
}

/* 0 if the primitive has no such memory, as some need no scratchpad. */
size_t dnn_chosen_bytes(const_dnnl_primitive_desc_t primitive, dnnl_query_t what) {
    const_dnnl_memory_desc_t desc = dnn_chosen(primitive, what);
    return desc == NULL ? 0 : dnnl_memory_desc_get_size(desc);
}

/* CALL is zeroed before. After a failure here or in the calls below dnn_call_done() frees what was
 * made. */
int dnn_call_init(struct dnn_call *call, const_dnnl_primitive_desc_t primitive, struct error *err) {
    return dnn_check(dnnl_primitive_create(&call->primitive, primitive), "primitive", err);
}

/* The memory object refers to ADDRESS, which stays the caller's and must outlive the call. */
int dnn_call_arg(struct dnn_call *call, const struct cpu *cpu, int arg,
                 const_dnnl_memory_desc_t desc, void *address, struct error *err) {
    dnnl_memory_t memory = NULL;
    if (call->count == DNN_ARGS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "a oneDNN call has too many arguments");
    if (dnn_check(dnnl_memory_create(&memory, desc, cpu->engine, address), "memory", err) != 0)
        return -1;
    call->args[call->count].arg = arg;
    call->args[call->count].memory = memory;
    call->count++;
    return 0;
}

/* These are converted before the primitive runs; all other arguments are results. */
static bool is_input(int arg) {
    return arg == DNNL_ARG_SRC || arg == DNNL_ARG_WEIGHTS || arg == DNNL_ARG_DIFF_DST ||
           arg == DNN_ARG_ADDED;
}

/* Scratch is taken in the order of the calls; `query` of the operator counted the same bytes with
 * dnn_wide_bytes(). */
void *dnn_call_values(struct dnn_call *call, const struct cpu *cpu, const struct tensor *tensor,
                      void *address, bool is_result, char **scratch) {
    size_t bytes = dnn_wide_bytes(cpu, tensor);
    if (bytes == 0)
        return address;
    float *wide = (float *)(void *)*scratch;
    call->widened[call->widened_count++] =
        (struct dnn_widened){.half = address,
                             .wide = wide,
                             .count = (size_t)tensor_count(tensor),
                             .is_result = is_result};
    *scratch += bytes;
    return wide;
}

/* The argument's number decides whether a conversion runs before or after the primitive. */
int dnn_call_tensor(struct dnn_call *call, const struct cpu *cpu, int arg,
                    const_dnnl_memory_desc_t desc, const struct tensor *tensor, void *address,
                    char **scratch, struct error *err) {
    void *values = dnn_call_values(call, cpu, tensor, address, !is_input(arg), scratch);
    return dnn_call_arg(call, cpu, arg, desc, values, err);
}

/* A reorder copies all values from one layout into the other, and converts their type. */
int dnn_call_reorder(struct dnn_call *call, const struct cpu *cpu, const_dnnl_memory_desc_t from,
                     void *from_address, const_dnnl_memory_desc_t to, void *to_address,
                     struct error *err) {
    dnnl_primitive_desc_t desc = NULL;
    if (dnn_check(
            dnnl_reorder_primitive_desc_create(&desc, from, cpu->engine, to, cpu->engine, NULL),
            "reorder", err) != 0)
        return -1;
    int result = dnn_call_init(call, desc, err);
    dnnl_primitive_desc_destroy(desc);
    if (result != 0 || dnn_call_arg(call, cpu, DNNL_ARG_FROM, from, from_address, err) != 0)
        return -1;
    return dnn_call_arg(call, cpu, DNNL_ARG_TO, to, to_address, err);
}

/* Without bf16 in oneDNN weights are packed in f32. Rounding them in place after the reorder gives
 * the same values as packing bf16 would, so results agree with other processors. */
int dnn_call_pack(struct dnn_call *call, const struct cpu *cpu, enum dtype type,
                  const_dnnl_memory_desc_t master, void *master_address,
                  const_dnnl_memory_desc_t packed, void *packed_address, struct error *err) {
    if (dnn_call_reorder(call, cpu, master, master_address, packed, packed_address, err) != 0)
        return -1;
    if (dnn_widens(cpu, type))
        call->widened[call->widened_count++] =
            (struct dnn_widened){.wide = packed_address,
                                 .count = dnnl_memory_desc_get_size(packed) / sizeof(float),
                                 .is_result = true};
    return 0;
}

/* Context of convert_share(), for one argument of a call. */
struct conversion {
    const struct cpu *cpu;
    const struct dnn_widened *of;
};

/* Values that are rounded at a time, through 2 KiB on the stack. */
enum { ROUND_BLOCK = 1024 };

/* Rounds f32 values to bf16 where they are, by the same loops that convert activations, so that
 * weights and activations round alike. */
static void round_values(const struct loops *loops, float *values, size_t begin, size_t end) {
    uint16_t half[ROUND_BLOCK];
    for (size_t at = begin; at < end; at += ROUND_BLOCK) {
        size_t n = end - at < ROUND_BLOCK ? end - at : ROUND_BLOCK;
        loops->narrow(values + at, half, 0, n);
        loops->widen(half, values + at, 0, n);
    }
}

/* Shares begin at multiples of BACKEND_ALIGNMENT values, so that no two threads write one cache
 * line. */
static void convert_share(void *context, struct share share) {
    const struct conversion *conversion = context;
    const struct dnn_widened *of = conversion->of;
    const struct loops *loops = conversion->cpu->loops;
    size_t begin, end;
    share_range(share, of->count, BACKEND_ALIGNMENT, &begin, &end);
    if (of->half == NULL)
        round_values(loops, of->wide, begin, end);
    else if (of->is_result)
        loops->narrow(of->wide, of->half, begin, end);
    else
        loops->widen(of->half, of->wide, begin, end);
}

/* Inputs or results of CALL, one after another, each on all threads. Most calls have none. */
static void convert(const struct dnn_call *call, const struct cpu *cpu, bool results) {
    for (int i = 0; i < call->widened_count; i++) {
        struct conversion conversion = {.cpu = cpu, .of = &call->widened[i]};
        if (call->widened[i].is_result == results)
            parallel_run(cpu->threads, convert_share, &conversion);
    }
}

/* THREADS is the number for which the primitive was described. oneDNN's CPU stream runs in the
 * calling thread and OpenMP's team, so the results are there when the function returns. */
static int run_on(const struct dnn_call *call, const struct cpu *cpu, int threads,
                  struct error *err) {
    parallel_set_threads(threads);
    convert(call, cpu, false);
    if (dnn_check(dnnl_primitive_execute(call->primitive, cpu->stream, call->count, call->args),
                  "execution", err) != 0)
        return -1;
    convert(call, cpu, true);
    return 0;
}

/* For primitives described for all of the backend's threads. */
int dnn_call_run(const struct dnn_call *call, const struct cpu *cpu, struct error *err) {
    return run_on(call, cpu, cpu->threads, err);
}

void dnn_call_widen(const struct dnn_call *call, const struct cpu *cpu) {
    convert(call, cpu, false);
}

/* The results of calls in parts, when all parts have run: parts write one f32 copy of the whole. */
void dnn_call_narrow(const struct dnn_call *call, const struct cpu *cpu) {
    convert(call, cpu, true);
}

/* A zeroed call is fine. A primitive may still be referred to by oneDNN's cache, which counts. */
void dnn_call_done(struct dnn_call *call) {
    for (int i = 0; i < call->count; i++)
        dnnl_memory_destroy(call->args[i].memory);
    if (call->primitive != NULL)
        dnnl_primitive_destroy(call->primitive);
    *call = (struct dnn_call){0};
}

/* Only in the calling thread; OpenMP keeps this number for each thread. */
void dnn_parts_begin(void) {
    parallel_set_threads(1);
}

void dnn_parts_end(const struct cpu *cpu) {
    parallel_set_threads(cpu->threads);
}

/* Uses as many threads as the primitive was described for: its scratchpad is for no more. */
static void run_part(void *context, int thread, size_t number) {
    (void)thread;
    struct dnn_parts *parts = context;
    struct dnn_part *part = &parts->part[number];
    part->result = run_on(&part->call, parts->cpu, 1, &part->err);
}

/* All parts run even if one fails; the first error by number is reported, so that it does not
 * depend on the threads. */
int dnn_parts_run(struct dnn_parts *parts, struct error *err) {
    parallel_units(parts->cpu->threads, parts->count, run_part, parts);
    for (size_t i = 0; i < parts->count; i++)
        if (parts->part[i].result != 0) {
            *err = parts->part[i].err;
            return -1;
        }
    return 0;
}

/* Entries beyond `count` are zeroed, and freeing them does nothing, so this also serves after a
 * failure half-way. */
void dnn_parts_done(struct dnn_parts *parts) {
    for (size_t i = 0; i < DNN_PARTS_MOST; i++)
        dnn_call_done(&parts->part[i].call);
}
