/* What a compiled program asks of a device with streams: order, weights up to date, and an end with
 * an error wherever one of its calls fails. The device is played by the host
 * (tests/support/host_device.h). It computes nothing, but notes which steps have surely run on each
 * stream, and which events carry that from one to another. */
#include "tests/support/host_device.h"
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/graph/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A network with bottleneck blocks, on one small picture. */
static struct resnet_config config_of(enum dtype dtype, bool training) {
    struct resnet_config config = net_config("bottleneck", 1, 8, training);
    config.dtype = dtype;
    return config;
}

/* Opens the device and a network in training, with small buckets so that there are several. */
static void open_net(struct net *net, struct host_device *d, enum dtype dtype) {
    host_device_open(d);
    net_init(net, &d->base, config_of(dtype, true),
             (struct compile_options){.fusion = FUSION_ALL, .bucket_bytes = 4096});
    net_start(net);
    net_fill(net, 3);
}

/* Forgets what has run so far. The last step number represents the work on the main stream before
 * the step. */
enum { EARLIER = HOST_DEVICE_STEPS_MAX - 1 };
static void forget_order(struct host_device *d) {
    memset(d->stream_past, 0, sizeof(d->stream_past));
    memset(d->event_past, 0, sizeof(d->event_past));
    d->stream_past[STREAM_MAIN].step[EARLIER] = true;
}

/* Each step comes after the producers of all that it reads, and after all work before the whole
 * step. At least some are not ordered with their neighbour, as otherwise one stream would do. At
 * the end the main stream is selected, and has everything in its past. */
static void a_step_runs_behind_all_that_it_reads(void) {
    struct net net;
    struct host_device d;
    open_net(&net, &d, DTYPE_F32);
    forget_order(&d);
    net_run(&net, NULL);
    int apart = 0;
    for (int i = 0; i < net.graph.op_count; i++) {
        for (int k = 0; k < OP_READS_MAX; k++) {
            int read = op_reads(&net.graph.ops[i], k);
            int producer = read == TENSOR_NONE ? -1 : net.graph.tensors[read].producer;
            CU_ASSERT(producer < 0 || d.before[i].step[producer]);
        }
        CU_ASSERT(d.before[i].step[EARLIER]);
        apart += i > 0 && !d.before[i].step[i - 1];
    }
    CU_ASSERT(apart > 5);
    CU_ASSERT_EQUAL(d.stream, STREAM_MAIN);
    for (int i = 0; i < net.graph.op_count; i++)
        CU_ASSERT(d.stream_past[STREAM_MAIN].step[i]);
    net_done(&net);
}

/* An option may say so, or the device has only one. */
static void programs_can_be_told_to_use_one_stream(void) {
    struct net net;
    struct host_device d;
    host_device_open(&d);
    net_init(&net, &d.base, config_of(DTYPE_F32, true),
             (struct compile_options){.one_stream = true});
    CU_ASSERT_PTR_NULL(net.program.streams.stream);
    net_done(&net);
    host_device_open(&d);
    d.device.select = NULL;
    net_init(&net, &d.base, config_of(DTYPE_F32, true), (struct compile_options){0});
    CU_ASSERT_PTR_NULL(net.program.streams.stream);
    net_start(&net);
    net_fill(&net, 3);
    net_run(&net, NULL);
    net_done(&net);
}

/* Context of the hooks: counts of calls, and the device to look at. */
struct watch {
    struct net *net;
    struct host_device *d;
    int buckets, steps;
};

/* All steps up to the bucket's last one are in the past of the stream that is selected. */
static int see_bucket(void *user, int index, struct error *err) {
    struct watch *w = user;
    (void)err;
    CU_ASSERT_EQUAL(w->d->stream, STREAM_SIDE);
    for (int i = 0; i <= w->net->program.buckets[index].after; i++)
        CU_ASSERT(w->d->stream_past[STREAM_SIDE].step[i]);
    w->buckets++;
    return 0;
}

/* Steps come in order, each on its own stream. */
static int see_step(void *user, int step, struct error *err) {
    struct watch *w = user;
    (void)err;
    CU_ASSERT_EQUAL(step, w->steps);
    CU_ASSERT_EQUAL(w->d->stream, (enum backend_stream)streams_of(&w->net->program.streams, step));
    w->steps++;
    return 0;
}

/* One hook at a time: a bucket selects another stream than its step. */
static void buckets_are_complete_on_the_stream_that_is_selected(void) {
    struct net net;
    struct host_device d;
    open_net(&net, &d, DTYPE_F32);
    struct watch w = {.net = &net, .d = &d};
    net_run(&net, &(struct program_hooks){.user = &w, .bucket_ready = see_bucket});
    CU_ASSERT_EQUAL(w.buckets, net.program.bucket_count);
    CU_ASSERT(w.buckets > 3);
    net_run(&net, &(struct program_hooks){.user = &w, .after_step = see_step});
    CU_ASSERT_EQUAL(w.steps, net.program.step_count);
    net_done(&net);
}

static int count_bucket(void *user, int index, struct error *err) {
    (void)index, (void)err;
    ++*(int *)user;
    return 0;
}

/* Lets each call of a run fail in turn, from the copy of the weights to the join of the streams,
 * until a run has fewer calls than that. The main stream must be selected after each failure. */
static void a_run_ends_with_an_error_wherever_the_device_fails(void) {
    struct net net;
    struct host_device d;
    int buckets = 0, failed = 0;
    const struct program_hooks hooks = {.user = &buckets, .bucket_ready = count_bucket};
    open_net(&net, &d, DTYPE_BF16);
    for (int result = -1; result != 0; failed++) {
        struct error err = {0};
        store_changed(&net.store);
        d.fail_at = d.calls + failed + 1;
        result = program_run(&net.program, &hooks, &err);
        CU_ASSERT_EQUAL(d.stream, STREAM_MAIN);
        CU_ASSERT_EQUAL_FATAL(result != 0, d.calls >= d.fail_at);
        if (result != 0) {
            CU_ASSERT_EQUAL(result, -1);
            ASSERT_CONTAINS(err.text, "the device is gone");
            CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
        }
    }
    CU_ASSERT(failed > net.program.step_count + 3 * net.program.bucket_count);
    net_done(&net);
}

static int fail_behind(void *user, int step, struct error *err) {
    return step == *(const int *)user ? error_set(err, EXIT_CODE_HOST_LOST, "enough") : 0;
}

/* Kind, name and shape of the first input, before the hook's own words. */
static void an_error_names_its_operator(void) {
    struct net net;
    struct host_device d;
    struct error err = {0};
    int step = 1;
    open_net(&net, &d, DTYPE_F32);
    CU_ASSERT_EQUAL(net.graph.ops[step].kind, OP_CONV2D);
    const struct program_hooks hooks = {.user = &step, .after_step = fail_behind};
    CU_ASSERT_EQUAL(program_run(&net.program, &hooks, &err), -1);
    ASSERT_CONTAINS(err.text, "conv2d stem.conv [1, 8, 8, 3]: enough");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_EQUAL(d.stream, STREAM_MAIN);
    net_done(&net);
}

/* Weights are packed before the first run, and again only when they have changed. */
static void weights_are_packed_when_they_have_changed(void) {
    struct net net;
    struct host_device d;
    open_net(&net, &d, DTYPE_BF16);
    int packing = net_count(&net, OP_CONV2D) + net_count(&net, OP_CONV2D_GRAD_DATA);
    CU_ASSERT_EQUAL(d.refresh_count, 0);
    CU_ASSERT(program_stale(&net.program));
    net_run(&net, NULL);
    CU_ASSERT_EQUAL(d.refresh_count, packing);
    CU_ASSERT_EQUAL(d.half_count, 1);
    CU_ASSERT_FALSE(program_stale(&net.program));
    net_run(&net, NULL);
    CU_ASSERT_EQUAL(d.refresh_count, packing);
    CU_ASSERT_EQUAL(d.half_count, 1);
    store_updated(&net.store); /* an update writes the half-precision copy, too */
    CU_ASSERT(program_stale(&net.program));
    net_run(&net, NULL);
    CU_ASSERT_EQUAL(d.refresh_count, 2 * packing);
    CU_ASSERT_EQUAL(d.half_count, 1);
    net_start(&net);
    CU_ASSERT(program_stale(&net.program));
    program_refreshed(&net.program);
    CU_ASSERT_FALSE(program_stale(&net.program));
    net_done(&net);
}

/* Both products of a convolution, one after the other, in the order of the first. */
static void the_same_weights_are_packed_in_a_row(void) {
    struct net net;
    struct host_device d;
    open_net(&net, &d, DTYPE_F32);
    net_run(&net, NULL);
    int at = 0;
    for (int i = 0; i < net.graph.op_count; i++) {
        const struct op *op = &net.graph.ops[i];
        if (op->kind != OP_CONV2D)
            continue;
        const struct tensor *tensor = &net.graph.tensors[op->inputs[1]];
        const void *weights =
            store_at(&net.store, store_find(&net.store, tensor->name), STORE_PARAMETERS);
        bool first =
            strcmp(tensor->name, "stem.conv.weight") == 0; /* the picture has no gradient */
        for (int k = 0; k < (first ? 1 : 2); k++, at++)
            CU_ASSERT_PTR_EQUAL(d.refreshed[at], weights);
    }
    CU_ASSERT_EQUAL(at, d.refresh_count);
    net_done(&net);
}

/* Training and evaluation take turns in one memory, as large as the larger one wants it. Each must
 * pack its weights at its turn, since the other has used the memory. */
static void programs_pack_anew_behind_each_other(void) {
    struct host_device d;
    struct net nets[2];
    struct program_memory memory = {0};
    struct store store = {0};
    struct error err = {0};
    struct compile_options options = {0};
    host_device_open(&d);
    for (int i = 0; i < 2; i++)
        net_build(&nets[i], &d.base, config_of(DTYPE_F32, i == 0));
    struct program *programs[] = {&nets[0].program, &nets[1].program};
    struct graph *graphs[] = {&nets[0].graph, &nets[1].graph};
    CU_ASSERT_EQUAL_FATAL(
        programs_compile(programs, graphs, 2, &memory, &store, &d.base, &options, &err), 0);
    CU_ASSERT_EQUAL(memory.arena_bytes, programs[0]->plan.arena_bytes);
    CU_ASSERT_EQUAL(memory.kept_bytes, programs[0]->kept_bytes);
    CU_ASSERT_EQUAL(memory.packed_bytes, programs[0]->packed_bytes);
    CU_ASSERT(programs[1]->plan.arena_bytes < memory.arena_bytes);
    CU_ASSERT_EQUAL(store_start(&store, 1, &err), 0);
    for (int run = 0; run < 3; run++) {
        CU_ASSERT(program_stale(programs[run % 2]));
        net_fill(&nets[run % 2], 2);
        net_run(&nets[run % 2], NULL);
        CU_ASSERT_FALSE(program_stale(programs[run % 2]));
    }
    for (int i = 0; i < 2; i++)
        program_done(programs[i]);
    program_memory_done(&memory);
    store_done(&store);
    for (int i = 0; i < 2; i++)
        graph_done(graphs[i]);
    backend_close(&d.base);
}

/* Gradients in two types over one store cannot be summed. */
static void programs_over_a_store_make_gradients_in_one_type(void) {
    struct host_device d;
    struct net first, second;
    struct error err = {0};
    struct compile_options options = {0};
    host_device_open(&d);
    net_init(&first, &d.base, config_of(DTYPE_BF16, true), options);
    d.device.half_gradient = NULL;
    net_build(&second, &d.base, config_of(DTYPE_BF16, true));
    CU_ASSERT_EQUAL(
        program_compile(&second.program, &second.graph, &first.store, &d.base, &options, &err), -1);
    ASSERT_CONTAINS(err.text, "programs make gradients of ");
    ASSERT_CONTAINS(err.text, " in two types");
    program_done(&second.program);
    graph_done(&second.graph);
    net_done(&first);
}

/* Lets each call of a compilation fail in turn, whether a query, a binding or an allocation:
 * everything made until then is released, which closing the device checks. */
static void a_compile_ends_with_an_error_wherever_the_device_fails(void) {
    int failed = 0;
    for (int result = -1; result != 0; failed++) {
        struct host_device d;
        struct net net;
        struct error err = {0};
        struct compile_options options = {.fusion = FUSION_ALL};
        host_device_open(&d);
        net_build(&net, &d.base, config_of(DTYPE_BF16, true));
        d.fail_at = failed + 1;
        result = program_compile(&net.program, &net.graph, &net.store, &d.base, &options, &err);
        CU_ASSERT_EQUAL_FATAL(result != 0, d.calls >= d.fail_at);
        if (result != 0)
            ASSERT_CONTAINS(err.text, "the device is gone");
        net_done(&net);
    }
    CU_ASSERT(failed > 100);
}

/* Fails unless LINE ends with the bytes, the stream and the wait of operator NUMBER. */
static void check_line(const struct program *program, int number, const char *line, size_t length) {
    char tail[128];
    const struct backend_needs *needs = &program->needs[number];
    int wait = program->streams.wait[number];
    int size = snprintf(tail, sizeof(tail), " %11zu %11zu %11zu%s", needs->scratch, needs->saved,
                        needs->packed,
                        streams_of(&program->streams, number) == STREAM_SIDE ? "  side" : "");
    if (wait >= 0)
        size += snprintf(tail + size, sizeof(tail) - (size_t)size, "  after %d", wait);
    CU_ASSERT_FATAL((size_t)size < length);
    CU_ASSERT_EQUAL(memcmp(line + length - (size_t)size, tail, (size_t)size), 0);
}

/* A line for each operator, in order, then the sums. */
static void the_table_tells_streams_and_waits(void) {
    struct net net;
    struct host_device d;
    struct error err = {0};
    struct buf text;
    buf_init(&text, 1 << 20);
    open_net(&net, &d, DTYPE_F32);
    CU_ASSERT_EQUAL_FATAL(program_print(&net.program, &text, &err), 0);
    const char *line = strchr(buf_text(&text), '\n') + 1;
    for (int i = 0; i < net.graph.op_count; i++) {
        const char *end = strchr(line, '\n');
        CU_ASSERT_PTR_NOT_NULL_FATAL(end);
        CU_ASSERT_EQUAL(atoi(line), i);
        check_line(&net.program, i, line, (size_t)(end - line));
        line = end + 1;
    }
    ASSERT_CONTAINS(line, " operators, ");
    buf_done(&text);
    net_done(&net);
}

UNIT_SUITE("graph.device", UNIT(a_step_runs_behind_all_that_it_reads),
           UNIT(programs_can_be_told_to_use_one_stream),
           UNIT(buckets_are_complete_on_the_stream_that_is_selected),
           UNIT(a_run_ends_with_an_error_wherever_the_device_fails),
           UNIT(an_error_names_its_operator), UNIT(weights_are_packed_when_they_have_changed),
           UNIT(the_same_weights_are_packed_in_a_row), UNIT(programs_pack_anew_behind_each_other),
           UNIT(programs_over_a_store_make_gradients_in_one_type),
           UNIT(a_compile_ends_with_an_error_wherever_the_device_fails),
           UNIT(the_table_tells_streams_and_waits))
