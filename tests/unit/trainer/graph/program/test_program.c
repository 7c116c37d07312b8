#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/graph/program/program.h"
#include "trainer/graph/rules/op_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Compiled networks on the reference backend: buckets of gradients, hooks, runs that repeat,
 * several programs on one store, and the errors of wrong names, sizes and data. What needs a device
 * is in test_device.c. */

/* No gap and no overlap, each at least the size that was asked for, complete in the order of the
 * steps. */
static void buckets_cover_the_gradients_in_order_with_the_flags_in_the_last(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet32", 1, 16, true),
             (struct compile_options){.fusion = FUSION_ALL, .bucket_bytes = 100 << 10});
    const struct program *program = &net.program;
    CU_ASSERT(program->bucket_count > 5);
    size_t end = 0;
    for (int i = 0; i < program->bucket_count; i++) {
        CU_ASSERT_EQUAL(program->buckets[i].first, end);
        end += program->buckets[i].count;
        if (i + 1 < program->bucket_count)
            CU_ASSERT(program->buckets[i].count * sizeof(float) >= 100 << 10);
        if (i > 0)
            CU_ASSERT(program->buckets[i].after >= program->buckets[i - 1].after);
    }
    CU_ASSERT_EQUAL(end, net.store.count[STORE_GRADIENTS]);
    CU_ASSERT_EQUAL(net.store.flags + STORE_FLAGS, end);
    net_done(&net);
}

/* Copies every bucket when it is reported as ready, and the last step before. */
struct watch {
    struct net *net;
    float *copy;
    int calls;
    int last_step;
};

static int copy_bucket(void *user, int index, struct error *err) {
    struct watch *watch = user;
    (void)err;
    const struct bucket *bucket = &watch->net->program.buckets[index];
    const float *gradients = watch->net->store.arena[STORE_GRADIENTS];
    memcpy(watch->copy + bucket->first, gradients + bucket->first, bucket->count * sizeof(float));
    CU_ASSERT_EQUAL(index, watch->calls);
    CU_ASSERT_EQUAL(bucket->after, watch->last_step);
    watch->calls++;
    return 0;
}

static int note_step(void *user, int step, struct error *err) {
    (void)err;
    ((struct watch *)user)->last_step = step;
    return 0;
}

/* The copies together are the arena as it is at the end of the step. */
static void a_bucket_that_is_ready_does_not_change_any_more(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 2, 16, true),
             (struct compile_options){.fusion = FUSION_ALL, .bucket_bytes = 50000});
    net_start(&net);
    net_fill(&net, 1);
    size_t count = net.store.count[STORE_GRADIENTS];
    struct watch watch = {.net = &net, .copy = malloc(count * sizeof(float))};
    CU_ASSERT_PTR_NOT_NULL_FATAL(watch.copy);
    struct program_hooks hooks = {
        .user = &watch, .bucket_ready = copy_bucket, .after_step = note_step};
    net_run(&net, &hooks);
    CU_ASSERT_EQUAL(watch.calls, net.program.bucket_count);
    CU_ASSERT(watch.calls > 10);
    CU_ASSERT_EQUAL(memcmp(watch.copy, net.store.arena[STORE_GRADIENTS], count * sizeof(float)), 0);
    free(watch.copy);
    net_done(&net);
}

/* Fails at the second bucket. */
static int refuse(void *user, int index, struct error *err) {
    (void)user;
    return index == 1 ? error_set(err, EXIT_CODE_HOST_LOST, "nobody there") : 0;
}

/* The code is the hook's own, not one of the program. */
static void an_error_of_a_hook_ends_the_step(void) {
    struct net net;
    struct error err = {0};
    net_init(&net, NULL, net_config("resnet20", 1, 8, true),
             (struct compile_options){.bucket_bytes = 50000});
    net_start(&net);
    net_fill(&net, 1);
    CU_ASSERT_EQUAL(
        program_run(&net.program, &(struct program_hooks){.bucket_ready = refuse}, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    net_done(&net);
}

/* The same weights and inputs make the same gradients. */
static void a_step_repeats_to_the_last_bit(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 2, 8, true),
             (struct compile_options){.fusion = FUSION_ALL});
    net_start(&net);
    net_fill(&net, 1);
    size_t bytes = net.store.count[STORE_GRADIENTS] * sizeof(float);
    float *first = malloc(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    net_run(&net, NULL);
    memcpy(first, net.store.arena[STORE_GRADIENTS], bytes);
    net_run(&net, NULL);
    CU_ASSERT_EQUAL(memcmp(first, net.store.arena[STORE_GRADIENTS], bytes), 0);
    free(first);
    net_done(&net);
}

/* An evaluation reads the running statistics, which 50 steps have brought near those of the
 * batch. */
static void evaluation_shares_the_store_of_training(void) {
    struct net net;
    struct error err = {0};
    net_init(&net, NULL, net_config("resnet20", 4, 8, true),
             (struct compile_options){.fusion = FUSION_ALL});
    net_start(&net);
    net_fill(&net, 2);
    for (int i = 0; i < 50; i++) /* running statistics approach the batch's */
        net_run(&net, NULL);
    double trained = net_loss(&net);
    struct net eval = {.backend = net.backend, .config = net_config("resnet20", 4, 8, false)};
    struct compile_options options = {.fusion = FUSION_ALL};
    CU_ASSERT_EQUAL_FATAL(resnet_build(&eval.graph, &eval.config, &eval.tensors, &err), 0);
    CU_ASSERT_EQUAL_FATAL(
        program_compile(&eval.program, &eval.graph, &net.store, net.backend, &options, &err), 0);
    net_fill(&eval, 2);
    net_run(&eval, NULL);
    /* The running variance is unbiased: 4 images of 2x2 px in the last stage are 16 values per
     * channel, so it is 7 % larger than the batch's own. */
    CU_ASSERT_DOUBLE_EQUAL(net_loss(&eval), trained, 0.2 * trained);
    CU_ASSERT_EQUAL(eval.program.bucket_count, 0);
    program_done(&eval.program);
    graph_done(&eval.graph);
    net_done(&net);
}

/* Five slots of which two are empty give the metrics of three; the label of an empty one is not
 * even read. */
static void slots_of_weight_0_count_for_nothing(void) {
    struct net full, padded;
    float metrics[LOSS_METRICS], few[LOSS_METRICS];
    struct error err = {0};
    net_init(&full, NULL, net_config("resnet20", 3, 8, false), (struct compile_options){0});
    net_init(&padded, NULL, net_config("resnet20", 5, 8, false), (struct compile_options){0});
    net_start(&full);
    net_fill(&full, 4);
    net_start(&padded);
    net_fill(&padded, 4);
    float *weight = program_address(&padded.program, padded.tensors.weight);
    int32_t *label = program_address(&padded.program, padded.tensors.label);
    weight[3] = weight[4] = 0;
    label[3] = -7; /* not read */
    net_run(&full, NULL);
    net_run(&padded, NULL);
    CU_ASSERT_EQUAL(program_read(&full.program, "metrics", few, sizeof(few), &err), 0);
    CU_ASSERT_EQUAL(program_read(&padded.program, "metrics", metrics, sizeof(metrics), &err), 0);
    CU_ASSERT_EQUAL(memcmp(few, metrics, sizeof(few)), 0);
    CU_ASSERT_EQUAL(metrics[LOSS_WEIGHT], 3);
    net_done(&full);
    net_done(&padded);
}

/* One network has more layers, the other more classes: a name that is missing, and a shape that
 * differs. */
static void a_store_of_another_model_is_refused_by_name(void) {
    struct net net;
    struct graph graph;
    struct program program;
    struct resnet_tensors tensors;
    struct error err = {0};
    struct compile_options options = {0};
    net_init(&net, NULL, net_config("resnet20", 1, 8, false), options);
    struct resnet_config other = net_config("resnet32", 1, 8, false);
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &other, &tensors, &err), 0);
    CU_ASSERT_EQUAL(program_compile(&program, &graph, &net.store, net.backend, &options, &err), -1);
    ASSERT_CONTAINS(err.text, "the store has no layer1.3.conv1.weight");
    program_done(&program);
    graph_done(&graph);
    other = net_config("resnet20", 1, 8, false);
    other.classes = 11;
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &other, &tensors, &err), 0);
    CU_ASSERT_EQUAL(program_compile(&program, &graph, &net.store, net.backend, &options, &err), -1);
    ASSERT_CONTAINS(err.text, "fc.weight is [10, 64] in the store, expected [11, 64]");
    program_done(&program);
    graph_done(&graph);
    net_done(&net);
}

/* A parameter is neither input nor output. */
static void reads_and_writes_check_name_and_size(void) {
    struct net net;
    struct error err = {0};
    float logits[10];
    net_init(&net, NULL, net_config("resnet20", 1, 8, false), (struct compile_options){0});
    CU_ASSERT_EQUAL(program_read(&net.program, "logits", logits, sizeof(logits), &err), 0);
    CU_ASSERT_EQUAL(program_read(&net.program, "logits", logits, 8, &err), -1);
    ASSERT_CONTAINS(err.text, "logits has 40 bytes, not 8");
    CU_ASSERT_EQUAL(program_write(&net.program, "fc.bias", logits, sizeof(logits), &err), -1);
    ASSERT_CONTAINS(err.text, "no input or output fc.bias");
    net_done(&net);
}

/* The sample is named by its place in the batch. */
static void a_label_beyond_the_classes_is_an_error_of_the_data(void) {
    struct net net;
    struct error err = {0};
    net_init(&net, NULL, net_config("resnet20", 2, 8, true), (struct compile_options){0});
    net_start(&net);
    net_fill(&net, 1);
    ((int32_t *)program_address(&net.program, net.tensors.label))[1] = 10;
    CU_ASSERT_EQUAL(program_run(&net.program, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "label 10 of sample 1 is not below 10");
    net_done(&net);
}

/* A word of each part of the table. */
static void the_program_prints_operators_buckets_and_plan(void) {
    struct net net;
    struct error err = {0};
    struct buf text;
    buf_init(&text, 1 << 20);
    net_init(&net, NULL, net_config("resnet20", 1, 8, true),
             (struct compile_options){.fusion = FUSION_ALL});
    CU_ASSERT_EQUAL(program_print(&net.program, &text, &err), 0);
    ASSERT_CONTAINS(buf_text(&text), "conv2d_grad_weight");
    ASSERT_CONTAINS(buf_text(&text), "bucket 0: elements 0 +");
    ASSERT_CONTAINS(buf_text(&text), "most alive at once");
    buf_done(&text);
    net_done(&net);
}

/* resnet50.md counts 8.18 GFLOP forward for one picture of 224 px, and 24.30 with the backward
 * pass. */
static void flops_of_resnet50_are_the_known_ones(void) {
    struct graph graph;
    struct resnet_tensors tensors;
    struct error err = {0};
    struct resnet_config config = net_config("resnet50", 1, 224, false);
    config.classes = 1000;
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &config, &tensors, &err), 0);
    double flops = 0;
    for (int i = 0; i < graph.op_count; i++)
        if (graph.ops[i].kind == OP_CONV2D || graph.ops[i].kind == OP_LINEAR)
            flops += op_cost(&graph, &graph.ops[i]).flops;
    CU_ASSERT_DOUBLE_EQUAL(flops / 1e9, 8.18, 0.01);
    graph_done(&graph);
}

/* Each operator costs something. */
static void a_program_costs_the_sum_of_its_operators(void) {
    struct net net;
    struct op_cost sum = {0};
    net_init(&net, NULL, net_config("resnet20", 2, 8, true), (struct compile_options){0});
    for (int i = 0; i < net.graph.op_count; i++) {
        struct op_cost cost = op_cost(&net.graph, &net.graph.ops[i]);
        CU_ASSERT(cost.flops > 0 && cost.bytes > 0);
        sum.flops += cost.flops;
        sum.bytes += cost.bytes;
    }
    struct op_cost cost = program_cost(&net.program);
    CU_ASSERT(cost.flops == sum.flops && cost.bytes == sum.bytes);
    net_done(&net);
}

UNIT_SUITE("graph.program", UNIT(buckets_cover_the_gradients_in_order_with_the_flags_in_the_last),
           UNIT(a_bucket_that_is_ready_does_not_change_any_more),
           UNIT(an_error_of_a_hook_ends_the_step), UNIT(a_step_repeats_to_the_last_bit),
           UNIT(evaluation_shares_the_store_of_training), UNIT(slots_of_weight_0_count_for_nothing),
           UNIT(a_store_of_another_model_is_refused_by_name),
           UNIT(reads_and_writes_check_name_and_size),
           UNIT(a_label_beyond_the_classes_is_an_error_of_the_data),
           UNIT(the_program_prints_operators_buckets_and_plan),
           UNIT(flops_of_resnet50_are_the_known_ones),
           UNIT(a_program_costs_the_sum_of_its_operators))
