#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/cpu.h"
#include "trainer/graph/build/build.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The backend as the engine sees it: how it opens, what it says of itself, its memory, and how it
 * refuses what it lacks. Operators have their own tests; here a convolution stands for all of
 * them. */

/* Fails the test at once, because nothing else can be checked without a backend. */
static struct backend *open_cpu(int threads) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &(struct cpu_options){.threads = threads}, &err), 0);
    return backend;
}

/* The message has both limits and the number given. Nothing is allocated. The backend pointer stays
 * NULL, so that closing it is harmless. A usage error has its own exit code, EXIT_CODE_USAGE. */
static void opening_wants_at_least_one_thread_and_not_too_many(void) {
    static const int wrong[] = {-1, 0, CPU_THREADS_MAX + 1};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct backend *backend = NULL;
        struct error err = {0};
        char words[40];
        (void)snprintf(words, sizeof(words), "1 to 1024 threads, not %d", wrong[i]);
        CU_ASSERT_EQUAL(cpu_open(&backend, &(struct cpu_options){.threads = wrong[i]}, &err), -1);
        ASSERT_CONTAINS(err.text, words);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        CU_ASSERT_PTR_NULL(backend);
    }
}

/* This runs without OMP_THREAD_LIMIT and, by tests/room.cmake, once with OMP_THREAD_LIMIT=2.
 * oneDNN's primitives are made for that many threads and wait for each of them. The backend is
 * closed in both cases; NULL is fine. */
static void more_threads_than_openmp_gives_are_refused(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    bool limited = getenv("OMP_THREAD_LIMIT") != NULL;
    CU_ASSERT_EQUAL(cpu_open(&backend, &(struct cpu_options){.threads = 3}, &err),
                    limited ? -1 : 0);
    if (limited) {
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "OpenMP gives only 2 of 3 threads (OMP_THREAD_LIMIT)");
    }
    backend_close(backend);
}

/* The line that a run logs at its start. It must name the version of oneDNN, which decides about
 * speed and rounding. The text of the machine is available without opening a backend
 * (device_print). */
static void a_description_names_library_and_threads(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &(struct cpu_options){.threads = 2}, &err), 0);
    ASSERT_CONTAINS(backend->table->describe(backend), "oneDNN 3.");
    ASSERT_CONTAINS(backend->table->describe(backend), "2 threads");
    ASSERT_CONTAINS(cpu_describe_machine(), "loops ");
    backend_close(backend);
}

/* The backend runs what oneDNN detects: bf16 if the processor multiplies it, and our own kernels
 * where they were measured. What is expected depends on the machine, so two kinds of processors are
 * held to their exact text and all others to consistency. ONEDNN_MAX_CPU_ISA in the environment
 * changes both sides alike. */
static void products_are_those_of_the_processor(void) {
    struct backend *backend = open_cpu(1);
    const struct cpu *cpu = (const struct cpu *)backend;
    const char *words = backend->table->describe(backend);
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    bool none = strstr(words, "products in f32 alone") != NULL;
    CU_ASSERT_EQUAL(cpu->own_products, isa == dnnl_cpu_isa_avx512_core_bf16);
    CU_ASSERT_EQUAL(none, !cpu->has_bf16);
    if (isa == dnnl_cpu_isa_avx512_core_bf16) {
        ASSERT_CONTAINS(words, " avx512_core_bf16, loops avx512bf16, 1 thread");
        CU_ASSERT(cpu->has_bf16);
    }
    if (isa == dnnl_cpu_isa_avx2) {
        ASSERT_CONTAINS(words, " avx2, loops avx2, 1 thread");
        CU_ASSERT_FALSE(cpu->has_bf16);
    }
    backend_close(backend);
}

/* This also holds for memory that was freed and is handed out again. Sizes on both sides of a huge
 * page take different ways in the allocator (graph/host_memory.h). Each piece is overwritten before
 * it is freed, so that a stale page would show. A size of 0 gives an address, too. */
static void memory_is_aligned_and_zero(void) {
    static const size_t sizes[] = {0, 1, 4096, 4096, 4096, 2 << 20, 3 << 20, 3 << 20, 3 << 20};
    struct backend *backend = open_cpu(1);
    struct error err = {0};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *memory = backend->table->alloc(backend, sizes[i], &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
        CU_ASSERT_EQUAL((uintptr_t)memory % BACKEND_ALIGNMENT, 0);
        unsigned char any = 0;
        for (size_t k = 0; k < sizes[i]; k++)
            any |= memory[k];
        CU_ASSERT_EQUAL(any, 0);
        memset(memory, 0xff, sizes[i]);
        backend->table->free(backend, memory, sizes[i]);
    }
    backend_close(backend);
}

/* Returns how many of the pages with the SIZE bytes at MEMORY are in use. mincore() answers for
 * pages without touching them. The array of answers is static, as 16,384 pages would be much for a
 * stack. */
static size_t pages_in_use(unsigned char *memory, size_t size) {
    enum { PAGES_MOST = 64 << 20 >> 12 };
    static unsigned char used[PAGES_MOST];
    size_t pages = size / (size_t)sysconf(_SC_PAGESIZE), count = 0;
    CU_ASSERT_FATAL(pages <= PAGES_MOST);
    CU_ASSERT_EQUAL_FATAL(mincore(memory, size, used), 0);
    for (size_t i = 0; i < pages; i++)
        count += used[i] & 1;
    return count;
}

/* A network's arenas take gigabytes, of which a step may use only a part. A transparent huge page
 * may be taken whole, hence the bound of one half instead of exact pages. A size near SIZE_MAX must
 * fail and not wrap around. Twice, as memory that was freed is handed out again. */
static void large_memory_is_not_touched_before_it_is_used(void) {
    enum { SIZE = 64 << 20, PART = SIZE / 8, HUGE_PAGE = 2 << 20 };
    struct backend *backend = open_cpu(1);
    struct error err = {0};
    for (int again = 0; again < 2; again++) {
        unsigned char *memory = backend->table->alloc(backend, SIZE, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
        CU_ASSERT_EQUAL((uintptr_t)memory % HUGE_PAGE, 0);
        CU_ASSERT_EQUAL(pages_in_use(memory, SIZE), 0);
        memset(memory, 0xff, PART);
        CU_ASSERT_EQUAL(pages_in_use(memory, PART), PART / (size_t)sysconf(_SC_PAGESIZE));
        CU_ASSERT_EQUAL(memory[SIZE - 1], 0);
        CU_ASSERT(pages_in_use(memory, SIZE) < SIZE / (size_t)sysconf(_SC_PAGESIZE) / 2);
        backend->table->free(backend, memory, SIZE);
    }
    CU_ASSERT_PTR_NULL(backend->table->alloc(backend, SIZE_MAX - 4096, &err));
    ASSERT_CONTAINS(err.text, "out of memory");
    backend_close(backend);
}

/* A convolution with 3 input channels and 4 output channels. Small enough for any machine. The
 * operator is the graph's first, and the tests change its copy or its tensors. The caller frees it
 * with graph_done(). */
static struct graph convolution(void) {
    struct graph graph;
    graph_init(&graph, DTYPE_F32, true);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_4(1, 5, 6, 3));
    (void)graph_conv2d(&graph, "layer", x, 3, 4, (struct op_window){.kernel = 3, .stride = 1});
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, NULL), 0);
    return graph;
}

/* A statistics convolution exists on CUDA alone. `query` and `bind` must refuse it, too, although
 * the engine asks `supports` first. The kind is changed in a copy: the graph stays valid. The error
 * is cleared between the two calls, so that the second text stands alone. */
static void operators_that_it_lacks_are_refused_by_name(void) {
    struct backend *backend = open_cpu(1);
    struct graph graph = convolution();
    struct op op = graph.ops[0];
    struct backend_needs needs = {0};
    struct backend_bound bound = {0};
    struct op_addresses addresses = {0};
    struct error err = {0};
    CU_ASSERT(backend->table->supports(backend, &graph, &op));
    op.kind = OP_CONV2D_STATS;
    CU_ASSERT_FALSE(backend->table->supports(backend, &graph, &op));
    CU_ASSERT_EQUAL(backend->table->query(backend, &graph, &op, &needs, &err), -1);
    ASSERT_CONTAINS(err.text, "the cpu backend has no conv2d_stats");
    err = (struct error){0};
    CU_ASSERT_EQUAL(backend->table->bind(backend, &graph, &op, &addresses, &bound, &err), -1);
    ASSERT_CONTAINS(err.text, "the cpu backend has no conv2d_stats");
    graph_done(&graph);
    backend_close(backend);
}

/* Each of the operator's tensors in turn, as one wrong type is enough. f16 is for GPUs and f64 for
 * the reference backend. The tensor's type is set back after each question, and the last assertion
 * shows that it was. */
static void other_types_than_f32_and_bf16_are_left_to_others(void) {
    static const enum dtype others[] = {DTYPE_F64, DTYPE_F16};
    struct backend *backend = open_cpu(1);
    struct graph graph = convolution();
    const struct op *op = &graph.ops[0];
    const int tensors[] = {op->inputs[0], op->inputs[1], op->outputs[0]};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            enum dtype own = graph.tensors[tensors[i]].dtype;
            graph.tensors[tensors[i]].dtype = others[k];
            CU_ASSERT_FALSE(backend->table->supports(backend, &graph, op));
            graph.tensors[tensors[i]].dtype = own;
        }
    CU_ASSERT(backend->table->supports(backend, &graph, op));
    graph_done(&graph);
    backend_close(backend);
}

/* oneDNN refuses this shape. So do the rules of the graph, which is therefore changed after it is
 * finished. A failed bind leaves no context behind. The name is the layer's, the shape that of its
 * output: a user finds the layer by it. oneDNN's own reason is kept at the end of the text. */
static void an_error_names_operator_and_shape(void) {
    struct backend *backend = open_cpu(1);
    struct graph graph = convolution();
    const struct op *op = &graph.ops[0];
    struct backend_needs needs = {0};
    struct backend_bound bound = {0};
    void *inputs[OP_INPUTS_MAX] = {0}, *outputs[OP_OUTPUTS_MAX] = {0};
    struct op_addresses addresses = {.inputs = inputs, .outputs = outputs};
    struct error err = {0};
    graph.tensors[op->outputs[0]].shape.dim[3]++;
    CU_ASSERT_EQUAL(backend->table->query(backend, &graph, op, &needs, &err), -1);
    ASSERT_CONTAINS(err.text, "layer (conv2d) [1, 3, 4, 5]");
    ASSERT_CONTAINS(err.text, "convolution: oneDNN error: invalid arguments (2)");
    err = (struct error){0};
    CU_ASSERT_EQUAL(backend->table->bind(backend, &graph, op, &addresses, &bound, &err), -1);
    ASSERT_CONTAINS(err.text, "layer (conv2d) [1, 3, 4, 5]");
    CU_ASSERT_PTR_NULL(bound.step.context);
    graph_done(&graph);
    backend_close(backend);
}

UNIT_SUITE("cpu.cpu", UNIT(opening_wants_at_least_one_thread_and_not_too_many),
           UNIT(more_threads_than_openmp_gives_are_refused),
           UNIT(a_description_names_library_and_threads), UNIT(products_are_those_of_the_processor),
           UNIT(memory_is_aligned_and_zero), UNIT(large_memory_is_not_touched_before_it_is_used),
           UNIT(operators_that_it_lacks_are_refused_by_name),
           UNIT(other_types_than_f32_and_bf16_are_left_to_others),
           UNIT(an_error_names_operator_and_shape))
