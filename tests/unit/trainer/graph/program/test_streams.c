#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/plan.h"
#include "trainer/graph/program/streams.h"
#include "trainer/graph/rules/append.h"

#include <stdlib.h>
#include <string.h>

/* A trained network's graph over two lanes, and needs that use all a plan can. */
struct laned {
    struct net net;
    struct streams lanes;
    struct backend_needs *needs;
};

static void open_laned(struct laned *l, const char *model, enum fusion fusion) {
    struct error err = {0};
    net_init(&l->net, NULL, net_config(model, 2, 32, true),
             (struct compile_options){.fusion = fusion});
    CU_ASSERT_EQUAL_FATAL(streams_make(&l->lanes, &l->net.graph, LANES, &err), 0);
    l->needs = calloc((size_t)l->net.graph.op_count, sizeof(*l->needs));
    CU_ASSERT_PTR_NOT_NULL_FATAL(l->needs);
    for (int i = 0; i < l->net.graph.op_count; i++)
        l->needs[i] = (struct backend_needs){
            .scratch = 4096, .saved = i % 3 == 0 ? 256 : 0, .in_place = true};
}

static void close_laned(struct laned *l) {
    free(l->needs);
    streams_done(&l->lanes);
    net_done(&l->net);
}

/* CHECK on every network and level of fusion. */
static void for_each_graph(void (*check)(struct laned *l)) {
    static const char *const models[] = {"resnet20", "bottleneck"};
    for (size_t m = 0; m < 2; m++) {
        for (enum fusion level = FUSION_NONE; level <= FUSION_CONV; level++) {
            struct laned l;
            open_laned(&l, models[m], level);
            check(&l);
            close_laned(&l);
        }
    }
}

static bool is_weight_gradient(enum op_kind kind) {
    return kind == OP_CONV2D_GRAD_WEIGHT || kind == OP_NORM_CONV2D_GRAD_WEIGHT ||
           kind == OP_LINEAR_GRAD_WEIGHT;
}

/* Of a layer of eight. */
static const struct op_attr square = {.target = {.rank = 2, .dim = {8, 8}}};

static void check_lanes(struct laned *l) {
    int side = 0;
    for (int i = 0; i < l->net.graph.op_count; i++) {
        bool weight = is_weight_gradient(l->net.graph.ops[i].kind);
        CU_ASSERT_EQUAL(streams_of(&l->lanes, i), weight ? LANE_SIDE : LANE_MAIN);
        side += weight;
    }
    CU_ASSERT_EQUAL(side, l->lanes.side_count);
    CU_ASSERT(side > 5);
}

static void weight_gradients_run_on_the_side(void) {
    for_each_graph(check_lanes);
}

/* Two linear layers' weight gradients; the first one's is read again. */
static void a_weight_gradient_that_is_read_stays_on_the_main_lane(void) {
    struct graph graph;
    struct streams lanes;
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
    CU_ASSERT_EQUAL_FATAL(streams_make(&lanes, &graph, LANES, &err), 0);
    CU_ASSERT_EQUAL(streams_of(&lanes, gradient[0]), LANE_MAIN);
    CU_ASSERT_EQUAL(streams_of(&lanes, gradient[1]), LANE_SIDE);
    streams_done(&lanes);
    graph_done(&graph);
}

/* A weight gradient on the side whose count of rows is made in front of it. */
static void the_side_waits_for_the_count_of_its_rows(void) {
    struct graph graph;
    struct streams lanes;
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
    CU_ASSERT_EQUAL_FATAL(streams_make(&lanes, &graph, LANES, &err), 0);
    CU_ASSERT_EQUAL(streams_of(&lanes, gradient[1]), LANE_SIDE);
    CU_ASSERT(streams_before(&lanes, gradient[1] - 1, gradient[1]));
    streams_done(&lanes);
    graph_done(&graph);
}

static void without_a_second_lane_or_gradients_there_is_one(void) {
    struct net net;
    struct streams lanes;
    struct error err = {0};
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    CU_ASSERT_PTR_NULL(net.program.lanes.lane); /* the reference has one */
    CU_ASSERT_EQUAL(streams_make(&lanes, &net.graph, 1, &err), 0);
    CU_ASSERT_PTR_NULL(lanes.lane);
    CU_ASSERT(streams_before(&lanes, 3, 4) && !streams_before(&lanes, 4, 4));
    net_done(&net);
    net_init(&net, NULL, net_config("resnet20", 1, 8, false), (struct compile_options){0});
    CU_ASSERT_EQUAL(streams_make(&lanes, &net.graph, LANES, &err), 0);
    CU_ASSERT_PTR_NULL(lanes.lane);
    net_done(&net);
}

/* How far the side lane may be behind when main operator NUMBER starts. */
static int behind(const struct streams *lanes, int number) {
    int count = 0;
    for (int i = 0; i < number; i++)
        count += streams_of(lanes, i) == LANE_SIDE && !streams_before(lanes, i, number);
    return count;
}

static void check_lag(struct laned *l) {
    int most = 0;
    for (int i = 0; i < l->net.graph.op_count; i++) {
        if (streams_of(&l->lanes, i) != LANE_MAIN)
            continue;
        int now = behind(&l->lanes, i);
        most = now > most ? now : most;
    }
    CU_ASSERT_EQUAL(most, STREAMS_LAG);
}

static void the_side_is_never_further_behind_than_the_lag(void) {
    for_each_graph(check_lag);
}

/* Sets and waits for marks as a run does: each wait finds the mark that it means. */
static void check_marks(struct laned *l) {
    int holder[STREAMS_MARKS];
    int waits = 0;
    memset(holder, -1, sizeof(holder));
    for (int i = 0; i < l->lanes.op_count; i++) {
        int wait = l->lanes.wait[i];
        if (wait >= 0) {
            CU_ASSERT_NOT_EQUAL(streams_of(&l->lanes, wait), streams_of(&l->lanes, i));
            CU_ASSERT_EQUAL(holder[l->lanes.mark[wait]], wait);
            waits++;
        }
        if (l->lanes.mark[i] >= 0)
            holder[l->lanes.mark[i]] = i;
    }
    CU_ASSERT(waits > l->lanes.side_count);
}

static void a_mark_is_not_set_again_before_it_was_waited_for(void) {
    for_each_graph(check_marks);
}

static void check_plan(struct laned *l) {
    struct plan plan;
    struct error err = {0};
    CU_ASSERT_EQUAL(plan_make(&plan, &l->net.graph, l->needs, &l->lanes, &err), 0);
    CU_ASSERT_EQUAL(plan_check(&plan, &l->net.graph, &l->lanes, &err), 0);
    plan_done(&plan);
    /* Lifetimes as on one lane: an operator on the side finds its input overwritten. */
    static const struct streams one_lane;
    CU_ASSERT_EQUAL(plan_make(&plan, &l->net.graph, l->needs, &one_lane, &err), 0);
    CU_ASSERT_EQUAL(plan_check(&plan, &l->net.graph, &one_lane, &err), 0);
    CU_ASSERT_EQUAL(plan_check(&plan, &l->net.graph, &l->lanes, &err), -1);
    ASSERT_CONTAINS(err.text, "may share bytes while both are needed");
    plan_done(&plan);
}

static void a_plan_holds_in_every_order_that_the_waits_allow(void) {
    for_each_graph(check_plan);
}

static void check_scratch(struct laned *l) {
    struct plan plan;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &l->net.graph, l->needs, &l->lanes, &err), 0);
    size_t side = SIZE_MAX, main = SIZE_MAX;
    for (int i = 0; i < l->net.graph.op_count; i++) {
        size_t place = plan.blocks[plan.scratch_block[i]].offset;
        if (streams_of(&l->lanes, i) == LANE_SIDE) {
            side = place;
            if (i + 1 < l->net.graph.op_count && streams_of(&l->lanes, i + 1) == LANE_MAIN) {
                main = plan.blocks[plan.scratch_block[i + 1]].offset;
                CU_ASSERT(side + 4096 <= main || main + 4096 <= side);
            }
        }
    }
    CU_ASSERT_NOT_EQUAL(main, SIZE_MAX);
    plan_done(&plan);
}

static void lanes_share_no_scratch(void) {
    for_each_graph(check_scratch);
}

static void an_operator_that_does_not_wait_for_its_input_is_found(void) {
    struct laned l;
    struct plan plan;
    struct error err = {0};
    open_laned(&l, "bottleneck", FUSION_ALL);
    CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &l.net.graph, l.needs, &l.lanes, &err), 0);
    for (int i = 0; i < l.lanes.op_count; i++)
        if (l.lanes.lane[i] == LANE_SIDE && i > l.lanes.op_count / 2 + 10)
            l.lanes.wait[i] = -1;
    streams_settle(&l.lanes);
    CU_ASSERT_EQUAL(plan_check(&plan, &l.net.graph, &l.lanes, &err), -1);
    ASSERT_CONTAINS(err.text, "which may not have run yet");
    plan_done(&plan);
    close_laned(&l);
}

static void a_plan_needs_the_waits_of_the_main_lane(void) {
    struct laned l;
    struct plan plan;
    struct error err = {0};
    open_laned(&l, "bottleneck", FUSION_ALL);
    CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &l.net.graph, l.needs, &l.lanes, &err), 0);
    for (int i = 0; i < l.lanes.op_count; i++)
        if (l.lanes.lane[i] == LANE_MAIN)
            l.lanes.wait[i] = -1;
    streams_settle(&l.lanes);
    CU_ASSERT_EQUAL(plan_check(&plan, &l.net.graph, &l.lanes, &err), -1);
    ASSERT_CONTAINS(err.text, "may share bytes");
    plan_done(&plan);
    close_laned(&l);
}

UNIT_SUITE("graph.lanes", UNIT(weight_gradients_run_on_the_side),
           UNIT(a_weight_gradient_that_is_read_stays_on_the_main_lane),
           UNIT(the_side_waits_for_the_count_of_its_rows),
           UNIT(without_a_second_lane_or_gradients_there_is_one),
           UNIT(the_side_is_never_further_behind_than_the_lag),
           UNIT(a_mark_is_not_set_again_before_it_was_waited_for),
           UNIT(a_plan_holds_in_every_order_that_the_waits_allow), UNIT(lanes_share_no_scratch),
           UNIT(an_operator_that_does_not_wait_for_its_input_is_found),
           UNIT(a_plan_needs_the_waits_of_the_main_lane))
