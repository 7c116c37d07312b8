#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/plan.h"
#include "trainer/graph/rules/op_table.h"
#include "trainer/graph/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Plans of small graphs, of which the blocks can be counted by hand, and of whole networks, which
 * plan_check proves. The proof itself is tested by damaging good plans: it must see each damage. A
 * tensor of 4 x 256 values of f32 is a block of 4096 bytes. */

/* Zeroed: a single stream. */
static const struct streams one_stream;

/* Makes a chain of COUNT ReLUs on 1024 values, kept at its end. The kept result is not in the
 * arena, so there is a block less than ReLUs. */
static void make_chain(struct graph *graph, int count) {
    graph_init(graph, DTYPE_F32, false);
    int x = graph_input(graph, "x", DTYPE_F32, shape_2(4, 256));
    for (int i = 0; i < count; i++)
        x = graph_relu(graph, x);
    CU_ASSERT_NOT_EQUAL(graph_keep(graph, x, "y"), TENSOR_NONE);
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, NULL), 0);
}

/* Out of place two blocks take turns; in place one is enough. */
static void a_chain_lives_in_one_place_where_the_backend_allows_it(void) {
    struct graph graph;
    struct plan plan;
    struct error err = {0};
    make_chain(&graph, 10);
    struct backend_needs needs[10] = {{0}};
    CU_ASSERT_EQUAL(plan_make(&plan, &graph, needs, &one_stream, &err), 0);
    CU_ASSERT_EQUAL(plan.block_count, 9);
    CU_ASSERT_EQUAL(plan.arena_bytes, 2 * 4096);
    plan_done(&plan);
    for (int i = 0; i < 10; i++)
        needs[i].in_place = true;
    CU_ASSERT_EQUAL(plan_make(&plan, &graph, needs, &one_stream, &err), 0);
    CU_ASSERT_EQUAL(plan.block_count, 1);
    CU_ASSERT_EQUAL(plan.arena_bytes, 4096);
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), 0);
    plan_done(&plan);
    graph_done(&graph);
}

/* Makes relu(x), with its result used as a row count, then two ReLUs, the last of which has that
 * many rows. Type and shape of the count are changed by hand, as no operator here makes one. */
static void make_counted(struct graph *graph) {
    graph_init(graph, DTYPE_F32, false);
    int one = graph_input(graph, "one", DTYPE_F32, shape_2(1, 1));
    int x = graph_input(graph, "x", DTYPE_F32, shape_2(4, 256));
    int rows = graph_relu(graph, one);
    graph->tensors[rows].dtype = DTYPE_I32;
    graph->tensors[rows].shape = shape_1(1);
    int y = graph_relu(graph, x);
    graph_rows(graph, rows);
    CU_ASSERT_NOT_EQUAL(graph_keep(graph, graph_relu(graph, y), "y"), TENSOR_NONE);
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, NULL), 0);
}

static void a_count_of_rows_lives_until_its_last_operator(void) {
    struct graph graph;
    struct plan plan;
    struct error err = {0};
    make_counted(&graph);
    CU_ASSERT_EQUAL_FATAL(graph_schedule(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph.op_count, 3);
    struct backend_needs needs[3] = {{0}};
    CU_ASSERT_EQUAL(plan_make(&plan, &graph, needs, &one_stream, &err), 0);
    const struct plan_block *rows = &plan.blocks[plan.tensor_block[graph.ops[2].rows]];
    CU_ASSERT(rows->first == 0 && rows->last == 2);
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), 0);
    /* The proof sees it, too: y in its place would be there too early. */
    plan.blocks[plan.tensor_block[graph.ops[1].outputs[0]]].offset = rows->offset;
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), -1);
    plan_done(&plan);
    graph_done(&graph);
}

/* Inputs and kept results have no block at all. */
static void nothing_takes_the_place_of_what_is_read_later(void) {
    struct graph graph;
    struct plan plan;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, false);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_2(4, 256));
    int a = graph_relu(&graph, x);
    int b = graph_relu(&graph, a); /* a is read again below */
    int y = graph_add(&graph, b, a);
    CU_ASSERT_NOT_EQUAL(graph_keep(&graph, y, "y"), TENSOR_NONE);
    struct backend_needs needs[] = {{.in_place = true}, {.in_place = true}, {.in_place = true}};
    CU_ASSERT_EQUAL(plan_make(&plan, &graph, needs, &one_stream, &err), 0);
    CU_ASSERT_NOT_EQUAL(plan.tensor_block[a], plan.tensor_block[b]);
    CU_ASSERT_EQUAL(plan.tensor_block[x], -1);
    CU_ASSERT_EQUAL(plan.tensor_block[y], -1);
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), 0);
    plan_done(&plan);
    graph_done(&graph);
}

/* dy -> gradients of weights, on the side; dy -> relu(dy), which may take dy's place on one stream:
 * the gradient has read it by then. On two streams it may not have. */
static void nothing_takes_the_place_of_what_another_stream_may_still_read(void) {
    struct graph graph;
    struct plan plan;
    struct streams streams;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, false);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_2(4, 256));
    int dy = graph_relu(&graph, x);
    const struct op_attr attr = {.target = shape_2(256, 256)};
    int side = graph_append(&graph, OP_LINEAR_GRAD_WEIGHT, "fc", (int[]){dy, x}, &attr, &err);
    CU_ASSERT_FATAL(side >= 0);
    for (int i = 0; i < 2; i++)
        graph.tensors[graph.ops[side].outputs[i]].role = TENSOR_GRADIENT;
    int z = graph_relu(&graph, dy);
    CU_ASSERT_NOT_EQUAL(graph_keep(&graph, graph_relu(&graph, z), "y"), TENSOR_NONE);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    struct backend_needs needs[4] = {
        {.in_place = true}, {.in_place = true}, {.in_place = true}, {.in_place = true}};
    CU_ASSERT_EQUAL(plan_make(&plan, &graph, needs, &one_stream, &err), 0);
    CU_ASSERT_EQUAL(plan.tensor_block[z], plan.tensor_block[dy]);
    plan_done(&plan);
    CU_ASSERT_EQUAL_FATAL(streams_make(&streams, &graph, STREAMS, &err), 0);
    CU_ASSERT_EQUAL(streams_of(&streams, side), STREAM_SIDE);
    CU_ASSERT_EQUAL(plan_make(&plan, &graph, needs, &streams, &err), 0);
    CU_ASSERT_NOT_EQUAL(plan.tensor_block[z], plan.tensor_block[dy]);
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &streams, &err), 0);
    plan_done(&plan);
    streams_done(&streams);
    graph_done(&graph);
}

/* Ten operators need a million bytes each, one after the other: one block's room is enough. */
static void scratch_is_shared_between_operators(void) {
    struct graph graph;
    struct plan plan;
    struct error err = {0};
    make_chain(&graph, 10);
    struct backend_needs needs[10] = {{0}};
    for (int i = 0; i < 10; i++)
        needs[i] = (struct backend_needs){.scratch = 1000000, .in_place = true};
    CU_ASSERT_EQUAL(plan_make(&plan, &graph, needs, &one_stream, &err), 0);
    CU_ASSERT(plan.arena_bytes < 1000000 + 4096 + 128);
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), 0);
    plan_done(&plan);
    graph_done(&graph);
}

/* Three damages, each undone before the next: scratch over an input, a block at an odd address, and
 * an arena that is too short. */
static void the_check_sees_values_that_share_bytes(void) {
    struct graph graph;
    struct plan plan;
    struct error err = {0};
    make_chain(&graph, 4);
    struct backend_needs needs[4] = {{0}, {.scratch = 64}};
    CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &graph, needs, &one_stream, &err), 0);
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), 0);
    struct plan_block *first = &plan.blocks[plan.tensor_block[graph.ops[0].outputs[0]]];
    struct plan_block *third = &plan.blocks[plan.tensor_block[graph.ops[2].outputs[0]]];
    struct plan_block *scratch = &plan.blocks[plan.scratch_block[1]];
    size_t place = scratch->offset;
    CU_ASSERT_EQUAL(first->offset, third->offset);
    scratch->offset = first->offset; /* operator 1 would write over what it reads */
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), -1);
    ASSERT_CONTAINS(err.text, "what operators 0 and 1 make may share bytes");
    scratch->offset = place + 1;
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), -1);
    ASSERT_CONTAINS(err.text, "the result of operator 1 is at");
    scratch->offset = place;
    plan.arena_bytes -= 64;
    CU_ASSERT_EQUAL(plan_check(&plan, &graph, &one_stream, &err), -1);
    plan_done(&plan);
    graph_done(&graph);
}

/* All levels of fusion, training and inference. Every third operator saves something, and all may
 * work in place. The arena is at most a tenth above what must be alive at once, which no plan can
 * undercut. */
static void plans_of_resnets_alias_nothing_and_waste_little(void) {
    static const char *const models[] = {"resnet20", "bottleneck"};
    for (size_t m = 0; m < 2; m++) {
        for (enum fusion level = FUSION_NONE; level <= FUSION_CONV; level++) {
            for (int training = 0; training < 2; training++) {
                struct net net;
                struct error err = {0};
                net_init(&net, NULL, net_config(models[m], 1, 32, training != 0),
                         (struct compile_options){.fusion = level});
                struct backend_needs *needs = calloc((size_t)net.graph.op_count, sizeof(*needs));
                CU_ASSERT_PTR_NOT_NULL_FATAL(needs);
                for (int i = 0; i < net.graph.op_count; i++) {
                    needs[i].in_place = true;
                    needs[i].saved = i % 3 == 0 ? 100 : 0;
                }
                struct plan plan;
                CU_ASSERT_EQUAL(plan_make(&plan, &net.graph, needs, &one_stream, &err), 0);
                CU_ASSERT_EQUAL(plan_check(&plan, &net.graph, &one_stream, &err), 0);
                CU_ASSERT_EQUAL(plan_check(&net.program.plan, &net.graph, &one_stream, &err), 0);
                CU_ASSERT(plan.arena_bytes >= plan.live_peak);
                CU_ASSERT((double)plan.arena_bytes <= 1.1 * (double)plan.live_peak);
                plan_done(&plan);
                free(needs);
                net_done(&net);
            }
        }
    }
}

/* A gradient has no block of its own for that, and the forward operator's lives until it has
 * run. */
static void what_a_forward_operator_saves_lives_until_its_gradients(void) {
    struct net net;
    struct error err = {0};
    net_init(&net, NULL, net_config("resnet20", 1, 8, true),
             (struct compile_options){.fusion = FUSION_NONE});
    struct backend_needs *needs = calloc((size_t)net.graph.op_count, sizeof(*needs));
    CU_ASSERT_PTR_NOT_NULL_FATAL(needs);
    for (int i = 0; i < net.graph.op_count; i++)
        needs[i].saved = 64;
    struct plan plan;
    CU_ASSERT_EQUAL(plan_make(&plan, &net.graph, needs, &one_stream, &err), 0);
    for (int i = 0; i < net.graph.op_count; i++) {
        const struct op *op = &net.graph.ops[i];
        if (op->forward < 0)
            continue;
        CU_ASSERT_EQUAL(plan.saved_block[i], -1);
        const struct plan_block *block = &plan.blocks[plan.saved_block[op->forward]];
        CU_ASSERT(block->first == op->forward && block->last >= i);
    }
    plan_done(&plan);
    free(needs);
    net_done(&net);
}

/* The largest first. A buffer that is too small is an error at any line. */
static void the_plan_prints_every_block(void) {
    struct graph graph;
    struct plan plan;
    struct error err = {0};
    make_chain(&graph, 3);
    struct backend_needs needs[3] = {{.scratch = 5000}};
    CU_ASSERT_EQUAL(plan_make(&plan, &graph, needs, &one_stream, &err), 0);
    struct buf text;
    buf_init(&text, 1 << 16);
    CU_ASSERT_EQUAL(plan_print(&plan, &graph, &text, &err), 0);
    for (size_t room = 0; room < text.size; room += 20) { /* each line may find none */
        struct buf small;
        buf_init(&small, room);
        CU_ASSERT_EQUAL(plan_print(&plan, &graph, &small, &err), -1);
        buf_done(&small);
    }
    CU_ASSERT_STRING_EQUAL(buf_text(&text),
                           "      offset        bytes   operators  block\n"
                           "           0         5056     0-0      scratch of relu relu\n"
                           "        5056         4096     0-1      tensor of relu relu\n"
                           "           0         4096     1-2      tensor of relu relu\n"
                           "arena 9152 bytes, 3 blocks; most alive at once 9152, at operator 0\n");
    buf_done(&text);
    plan_done(&plan);
    graph_done(&graph);
}

UNIT_SUITE("graph.plan", UNIT(a_chain_lives_in_one_place_where_the_backend_allows_it),
           UNIT(a_count_of_rows_lives_until_its_last_operator),
           UNIT(nothing_takes_the_place_of_what_is_read_later),
           UNIT(nothing_takes_the_place_of_what_another_stream_may_still_read),
           UNIT(scratch_is_shared_between_operators), UNIT(the_check_sees_values_that_share_bytes),
           UNIT(plans_of_resnets_alias_nothing_and_waste_little),
           UNIT(what_a_forward_operator_saves_lives_until_its_gradients),
           UNIT(the_plan_prints_every_block))
