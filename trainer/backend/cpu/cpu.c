#include "trainer/backend/cpu/cpu.h"
#include "common/str.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/base/row_prefix.h"
#include "trainer/backend/cpu/operators.h"
#include "trainer/graph/host_memory.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <stdio.h>

/* The table of the backend's functions (graph/backend.h) and its opening. All operators are found
 * by kind in operators.c; what is common to them is done here: checks of types, the number of
 * threads for oneDNN, operators of which only some rows count (base/row_prefix.h), and errors with
 * the operator's name. */

static const char *isa_name(void) {
    static const char prefix[] = "cpu_isa_";
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    const char *name = isa == dnnl_cpu_isa_default ? "generic code" : dnnl_cpu_isa2str(isa);
    size_t length = sizeof prefix - 1;
    return strncmp(name, prefix, length) == 0 ? name + length : name;
}

/* The text lives in the calling thread until its next call. */
const char *cpu_describe_machine(void) {
    static _Thread_local char text[128];
    const dnnl_version_t *version = dnnl_version();
    (void)loops_available(); /* requests AMX's tile registers, which oneDNN looks for */
    (void)snprintf(text, sizeof text, "oneDNN %d.%d.%d %s, loops %s", version->major,
                   version->minor, version->patch, isa_name(), loops_best()->name);
    return text;
}

/* --- the table -------------------------------------------------------------------------------- */

/* A type that no kernel has rules out an operator before its own test, which may look at shapes
 * alone. f64 and f16 tensors go to other backends (`ref`, CUDA). The test of the operator's row
 * comes last. */
static bool supports(const struct backend *backend, const struct graph *graph,
                     const struct op *op) {
    const struct cpu *cpu = (const struct cpu *)backend;
    if (cpu_operator(op->kind) == NULL)
        return false;
    for (int slot = 0; slot < OP_INPUTS_MAX + OP_OUTPUTS_MAX; slot++) {
        int tensor = slot < OP_INPUTS_MAX ? op->inputs[slot] : op->outputs[slot - OP_INPUTS_MAX];
        if (tensor == TENSOR_NONE)
            continue;
        enum dtype type = graph->tensors[tensor].dtype;
        if (type == DTYPE_F64 || type == DTYPE_F16)
            return false;
    }
    const struct cpu_operator *row = cpu_operator(op->kind);
    return row->has == NULL || row->has(cpu, graph, op);
}

/* The first output's shape stands for the operator: errors of one kind differ by layer. */
static int add_context(struct error *err, const struct graph *graph, const struct op *op) {
    char text[SHAPE_TEXT_SIZE] = "";
    for (int slot = 0; slot < OP_OUTPUTS_MAX && text[0] == '\0'; slot++)
        if (op->outputs[slot] != TENSOR_NONE)
            (void)shape_text(&graph->tensors[op->outputs[slot]].shape, text);
    return error_wrap(err, "%s (%s) %s", op->name, op_name(op->kind), text);
}

/* The number of threads is set before anything is described: oneDNN reads it from the calling
 * thread. Operators without `query` need no memory. */
static int query(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    const struct cpu *cpu = (const struct cpu *)backend;
    const struct cpu_operator *row = cpu_operator(op->kind);
    if (row == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "the cpu backend has no %s", op_name(op->kind));
    if (row->query == NULL)
        return 0;
    parallel_set_threads(cpu->threads);
    int result = row_prefix_has(graph, op) ? row_prefix_query(row, cpu, graph, op, ret_needs, err)
                                           : row->query(cpu, graph, op, ret_needs, err);
    return result != 0 ? add_context(err, graph, op) : 0;
}

/* The context was made by cpu_step_new(); its `done` frees what it owns. */
static void release(struct backend *backend, void *context) {
    (void)backend;
    cpu_step_release(context);
}

/* RET_BOUND is written only on success; a step that was begun is released here. */
static int bind(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    const struct cpu *cpu = (const struct cpu *)backend;
    const struct cpu_operator *row = cpu_operator(op->kind);
    struct backend_bound bound = {0};
    if (row == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "the cpu backend has no %s", op_name(op->kind));
    parallel_set_threads(cpu->threads);
    int result = row_prefix_has(graph, op)
                     ? row_prefix_bind(row, cpu, graph, op, addresses, &bound, err)
                     : row->bind(cpu, graph, op, addresses, &bound, err);
    if (result != 0) {
        release(backend, bound.step.context);
        return add_context(err, graph, op);
    }
    *ret_bound = bound;
    return 0;
}

/* Steps run in the calling thread and are done when they return, so there is rarely anything to
 * wait for. The engine calls this before it reads results. */
static int sync_stream(struct backend *backend, struct error *err) {
    return dnnl_stream_wait(((struct cpu *)backend)->stream) == dnnl_success
               ? 0
               : error_set(err, EXIT_CODE_INTERNAL, "oneDNN's stream failed");
}

/* The text that cpu_open() made; it lives as long as the backend. */
static const char *describe(const struct backend *backend) {
    return ((const struct cpu *)backend)->description;
}

/* Also closes a backend that was opened in part. */
static void close_cpu(struct backend *backend) {
    struct cpu *cpu = (struct cpu *)backend;
    if (cpu->stream != NULL)
        dnnl_stream_destroy(cpu->stream);
    if (cpu->engine != NULL)
        dnnl_engine_destroy(cpu->engine);
    free(cpu);
}

/* Memory is the host's, so copies in both directions are one function, and events and streams are
 * absent: steps run one after another. */
static const struct backend_table table = {.name = "cpu",
                                           .supports = supports,
                                           .query = query,
                                           .bind = bind,
                                           .release = release,
                                           .alloc = host_memory_alloc,
                                           .free = host_memory_free,
                                           .copy_in = host_memory_copy,
                                           .copy_out = host_memory_copy,
                                           .sync = sync_stream,
                                           .describe = describe,
                                           .close = close_cpu};

/* Returns true if oneDNN's bf16 is useful for training: it also claims support if it emulates the
 * products, slower than f32 (AVX-512 without BF16), or has no fast weight gradients (AVX2-VNNI-2).
 * The set of instructions is a mask of bits: all of AVX-512 BF16's have to be in it, AMX's may
 * be. */
static bool has_bf16(void) {
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
           dnnl_cpu_isa_avx512_core_bf16;
}

/* Order: arguments, then the number of threads that OpenMP really gives, then oneDNN. The threads
 * are not made here: OpenMP starts them with the first parallel region. A failure leaves *RET as it
 * was. */
int cpu_open(struct backend **ret, const struct cpu_options *options, struct error *err) {
    if (options->threads < 1 || options->threads > CPU_THREADS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "the cpu backend runs on 1 to %d threads, not %d",
                         CPU_THREADS_MAX, options->threads);
    /* oneDNN's primitives are made for that many threads and wait for each of them. */
    int team = parallel_team(options->threads);
    if (team < options->threads)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the cpu backend: OpenMP gives only %d of %d threads (OMP_THREAD_LIMIT)",
                         team, options->threads);
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL)
        return error_no_memory(err, "the cpu backend");
    cpu->backend.table = &table;
    cpu->threads = options->threads;
    cpu->convs = options->convs;
    cpu->loops = loops_best();
    if (dnnl_engine_create(&cpu->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&cpu->stream, cpu->engine, dnnl_stream_default_flags) != dnnl_success) {
        close_cpu(&cpu->backend);
        return error_set(err, EXIT_CODE_DEVICE, "oneDNN has no engine for this processor");
    }
    cpu->has_bf16 = has_bf16();
    /* Measured on such machines; with AMX oneDNN's are faster. */
    cpu->own_products = dnnl_get_effective_cpu_isa() == dnnl_cpu_isa_avx512_core_bf16;
    (void)snprintf(cpu->description, sizeof cpu->description, "%s, %d thread%s%s",
                   cpu_describe_machine(), cpu->threads, STR_PLURAL(cpu->threads),
                   cpu->has_bf16 ? "" : ", products in f32 alone");
    *ret = &cpu->backend;
    return 0;
}
