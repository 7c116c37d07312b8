#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/plan.h"
#include "trainer/graph/program/streams.h"
#include "trainer/graph/rules/op_table.h"

#include <stdlib.h>
#include <string.h>

/* Rules of two streams, checked on the graphs of two networks at each level of fusion
 * (for_each_graph), and on small graphs for single cases. Nothing is computed: streams, waits and
 * plans are numbers, and plan_check says whether they suffice. */

/* A trained network's graph over two streams, and needs that use all a plan can: scratch
 * everywhere, saved bytes for every third operator, work in place. */
struct streamed {
    struct net net;
    struct streams streams;
    struct backend_needs *needs;
};

static void open_streamed(struct streamed *l, const char *model, enum fusion fusion) {
    struct error err = {0};
    net_init(&l->net, NULL, net_config(model, 2, 32, true),
             (struct compile_options){.fusion = fusion});
    CU_ASSERT_EQUAL_FATAL(streams_make(&l->streams, &l->net.graph, STREAMS, &err), 0);
    l->needs = calloc((size_t)l->net.graph.op_count, sizeof(*l->needs));
    CU_ASSERT_PTR_NOT_NULL_FATAL(l->needs);
    for (int i = 0; i < l->net.graph.op_count; i++)
        l->needs[i] = (struct backend_needs){
            .scratch = 4096, .saved = i % 3 == 0 ? 256 : 0, .in_place = true};
}

static void close_streamed(struct streamed *l) {
    free(l->needs);
    streams_done(&l->streams);
    net_done(&l->net);
}

/* Calls CHECK for every network and level of fusion. It owns nothing of what it is given. */
static void for_each_graph(void (*check)(struct streamed *l)) {
    static const char *const models[] = {"resnet20", "bottleneck"};
    for (size_t m = 0; m < 2; m++) {
        for (enum fusion level = FUSION_NONE; level <= FUSION_CONV; level++) {
            struct streamed l;
            open_streamed(&l, models[m], level);
            check(&l);
            close_streamed(&l);
        }
    }
}

/* Kinds that run on the side stream, as nothing in a step reads their results. */
static bool is_weight_gradient(enum op_kind kind) {
    return kind == OP_CONV2D_GRAD_WEIGHT || kind == OP_NORM_CONV2D_GRAD_WEIGHT ||
           kind == OP_LINEAR_GRAD_WEIGHT;
}

/* The shape of a layer's 8 x 8 weight. */
static const struct op_attr square = {.target = {.rank = 2, .dim = {8, 8}}};

/* Each weight gradient is on the side, every other operator on the main stream. */
static void check_streams(struct streamed *l) {
    int side = 0;
    for (int i = 0; i < l->net.graph.op_count; i++) {
        bool weight = is_weight_gradient(l->net.graph.ops[i].kind);
        CU_ASSERT_EQUAL(streams_of(&l->streams, i), weight ? STREAM_SIDE : STREAM_MAIN);
        side += weight;
    }
    CU_ASSERT_EQUAL(side, l->streams.side_count);
    CU_ASSERT(side > 5);
}

static void weight_gradients_run_on_the_side(void) {
    for_each_graph(check_streams);
}

/* Two linear layers' weight gradients; the first one's is read again, so it must be in order with
 * its reader. */
static void a_weight_gradient_that_is_read_stays_on_the_main_stream(void) {
    struct graph graph;
    struct streams streams;
    struct error err = {0};
    int gradient[2];
    graph_init(&graph, DTYPE_F32, false);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_2(4, 8));
    int dy = graph_relu(&graph, x);
    for (int i = 0; i < 2; i++) {
        gradient[i] =
            graph_append(&graph, OP_LINEAR_GRAD_WEIGHT, "fc", (int[]){dy, x}, &square, &err);
        CU_ASSERT_FATAL(gradient[i] >= 0);
        for (int k = 0; k < 2; k++)
            graph.tensors[graph.ops[gradient[i]].outputs[k]].role = TENSOR_GRADIENT;
    }
    int dw = graph.ops[gradient[0]].outputs[0];
    CU_ASSERT_NOT_EQUAL(graph_keep(&graph, graph_relu(&graph, dw), "y"), TENSOR_NONE);
    CU_ASSERT_EQUAL_FATAL(streams_make(&streams, &graph, STREAMS, &err), 0);
    CU_ASSERT_EQUAL(streams_of(&streams, gradient[0]), STREAM_MAIN);
    CU_ASSERT_EQUAL(streams_of(&streams, gradient[1]), STREAM_SIDE);
    streams_done(&streams);
    graph_done(&graph);
}

/* A weight gradient on the side stream, with its row count computed before it on the main stream: a
 * count is read like an input. The first gradient has none, for comparison. */
static void the_side_waits_for_the_count_of_its_rows(void) {
    struct graph graph;
    struct streams streams;
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, false);
    int x = graph_input(&graph, "x", DTYPE_F32, shape_2(4, 8));
    int dy = graph_input(&graph, "dy", DTYPE_F32, shape_2(4, 8));
    int gradient[2];
    for (int i = 0; i < 2; i++) {
        if (i == 1) {
            int rows = graph_relu(&graph, x);
            graph.tensors[rows].dtype = DTYPE_I32;
            graph.tensors[rows].shape = shape_1(1);
            graph_rows(&graph, rows);
        }
        gradient[i] =
            graph_append(&graph, OP_LINEAR_GRAD_WEIGHT, "fc", (int[]){dy, x}, &square, &err);
        CU_ASSERT_FATAL(gradient[i] >= 0);
        for (int k = 0; k < 2; k++)
            graph.tensors[graph.ops[gradient[i]].outputs[k]].role = TENSOR_GRADIENT;
    }
    CU_ASSERT_EQUAL_FATAL(streams_make(&streams, &graph, STREAMS, &err), 0);
    CU_ASSERT_EQUAL(streams_of(&streams, gradient[1]), STREAM_SIDE);
    CU_ASSERT(streams_before(&streams, gradient[1] - 1, gradient[1]));
    streams_done(&streams);
    graph_done(&graph);
}

/* The arrays are then absent, and operators are ordered by their numbers. */
static void without_a_second_stream_or_gradients_there_is_one(void) {
    struct net net;
    struct streams streams;
    struct error err = {0};
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    CU_ASSERT_PTR_NULL(net.program.streams.stream); /* the reference has one */
    CU_ASSERT_EQUAL(streams_make(&streams, &net.graph, 1, &err), 0);
    CU_ASSERT_PTR_NULL(streams.stream);
    CU_ASSERT(streams_before(&streams, 3, 4) && !streams_before(&streams, 4, 4));
    net_done(&net);
    net_init(&net, NULL, net_config("resnet20", 1, 8, false), (struct compile_options){0});
    CU_ASSERT_EQUAL(streams_make(&streams, &net.graph, STREAMS, &err), 0);
    CU_ASSERT_PTR_NULL(streams.stream);
    net_done(&net);
}

/* How many operators the side stream may lag when main operator NUMBER starts. */
static int behind(const struct streams *streams, int number) {
    int count = 0;
    for (int i = 0; i < number; i++)
        count += streams_of(streams, i) == STREAM_SIDE && !streams_before(streams, i, number);
    return count;
}

/* The limit is reached and never passed: a smaller lag would be a limit that does nothing. */
static void check_lag(struct streamed *l) {
    int most = 0;
    for (int i = 0; i < l->net.graph.op_count; i++) {
        if (streams_of(&l->streams, i) != STREAM_MAIN)
            continue;
        int now = behind(&l->streams, i);
        most = now > most ? now : most;
    }
    CU_ASSERT_EQUAL(most, STREAMS_LAG);
}

static void the_side_is_never_further_behind_than_the_lag(void) {
    for_each_graph(check_lag);
}

/* Sets and waits for events as a run does: each wait finds the event that it means, although events
 * are used again and again. */
static void check_events(struct streamed *l) {
    int holder[STREAMS_EVENTS];
    int waits = 0;
    memset(holder, -1, sizeof(holder));
    for (int i = 0; i < l->streams.op_count; i++) {
        int wait = l->streams.wait[i];
        if (wait >= 0) {
            CU_ASSERT_NOT_EQUAL(streams_of(&l->streams, wait), streams_of(&l->streams, i));
            CU_ASSERT_EQUAL(holder[l->streams.event[wait]], wait);
            waits++;
        }
        if (l->streams.event[i] >= 0)
            holder[l->streams.event[i]] = i;
    }
    CU_ASSERT(waits > l->streams.side_count);
}

static void a_event_is_not_set_again_before_it_was_waited_for(void) {
    for_each_graph(check_events);
}

/* A plan for two streams holds on two; one that was made for a single stream does not, and the
 * proof must say so. */
static void check_plan(struct streamed *l) {
    struct plan plan;
    struct error err = {0};
    CU_ASSERT_EQUAL(plan_make(&plan, &l->net.graph, l->needs, &l->streams, &err), 0);
    CU_ASSERT_EQUAL(plan_check(&plan, &l->net.graph, &l->streams, &err), 0);
    plan_done(&plan);
    /* Lifetimes as on one stream: an operator on the side finds its input overwritten. */
    static const struct streams one_stream;
    CU_ASSERT_EQUAL(plan_make(&plan, &l->net.graph, l->needs, &one_stream, &err), 0);
    CU_ASSERT_EQUAL(plan_check(&plan, &l->net.graph, &one_stream, &err), 0);
    CU_ASSERT_EQUAL(plan_check(&plan, &l->net.graph, &l->streams, &err), -1);
    ASSERT_CONTAINS(err.text, "may share bytes while both are needed");
    plan_done(&plan);
}

static void a_plan_holds_in_every_order_that_the_waits_allow(void) {
    for_each_graph(check_plan);
}

/* Neighbours on different streams may run at once, so their scratch must not overlap. */
static void check_scratch(struct streamed *l) {
    struct plan plan;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &l->net.graph, l->needs, &l->streams, &err), 0);
    size_t side = SIZE_MAX, main = SIZE_MAX;
    for (int i = 0; i < l->net.graph.op_count; i++) {
        size_t place = plan.blocks[plan.scratch_block[i]].offset;
        if (streams_of(&l->streams, i) == STREAM_SIDE) {
            side = place;
            if (i + 1 < l->net.graph.op_count && streams_of(&l->streams, i + 1) == STREAM_MAIN) {
                main = plan.blocks[plan.scratch_block[i + 1]].offset;
                CU_ASSERT(side + 4096 <= main || main + 4096 <= side);
            }
        }
    }
    CU_ASSERT_NOT_EQUAL(main, SIZE_MAX);
    plan_done(&plan);
}

static void streams_share_no_scratch(void) {
    for_each_graph(check_scratch);
}

/* Waits of the side stream are removed in the second half of the graph, and what follows from waits
 * is computed anew. */
static void an_operator_that_does_not_wait_for_its_input_is_found(void) {
    struct streamed l;
    struct plan plan;
    struct error err = {0};
    open_streamed(&l, "bottleneck", FUSION_ALL);
    CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &l.net.graph, l.needs, &l.streams, &err), 0);
    for (int i = 0; i < l.streams.op_count; i++)
        if (l.streams.stream[i] == STREAM_SIDE && i > l.streams.op_count / 2 + 10)
            l.streams.wait[i] = -1;
    streams_settle(&l.streams);
    CU_ASSERT_EQUAL(plan_check(&plan, &l.net.graph, &l.streams, &err), -1);
    ASSERT_CONTAINS(err.text, "which may not have run yet");
    plan_done(&plan);
    close_streamed(&l);
}

/* Without them the main stream may overwrite what the side stream still reads. */
static void a_plan_needs_the_waits_of_the_main_stream(void) {
    struct streamed l;
    struct plan plan;
    struct error err = {0};
    open_streamed(&l, "bottleneck", FUSION_ALL);
    CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &l.net.graph, l.needs, &l.streams, &err), 0);
    for (int i = 0; i < l.streams.op_count; i++)
        if (l.streams.stream[i] == STREAM_MAIN)
            l.streams.wait[i] = -1;
    streams_settle(&l.streams);
    CU_ASSERT_EQUAL(plan_check(&plan, &l.net.graph, &l.streams, &err), -1);
    ASSERT_CONTAINS(err.text, "may share bytes");
    plan_done(&plan);
    close_streamed(&l);
}

UNIT_SUITE("graph.streams", UNIT(weight_gradients_run_on_the_side),
           UNIT(a_weight_gradient_that_is_read_stays_on_the_main_stream),
           UNIT(the_side_waits_for_the_count_of_its_rows),
           UNIT(without_a_second_stream_or_gradients_there_is_one),
           UNIT(the_side_is_never_further_behind_than_the_lag),
           UNIT(a_event_is_not_set_again_before_it_was_waited_for),
           UNIT(a_plan_holds_in_every_order_that_the_waits_allow), UNIT(streams_share_no_scratch),
           UNIT(an_operator_that_does_not_wait_for_its_input_is_found),
           UNIT(a_plan_needs_the_waits_of_the_main_stream))
