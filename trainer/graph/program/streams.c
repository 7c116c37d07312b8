#include "trainer/graph/program/streams.h"

#include "common/cleanup.h"

#include <stdlib.h>
#include <string.h>

void streams_done(struct streams *lanes) {
    free(lanes->lane);
    free(lanes->wait);
    free(lanes->mark);
    free(lanes->known);
    *lanes = (struct streams){0};
}

bool streams_before(const struct streams *lanes, int a, int b) {
    if (streams_of(lanes, a) == streams_of(lanes, b))
        return a < b;
    return a <= lanes->known[b];
}

static int allocate(struct streams *lanes, int count, struct error *err) {
    size_t most = (size_t)count + 1;
    lanes->op_count = count;
    lanes->lane = calloc(most, sizeof(*lanes->lane));
    lanes->wait = calloc(most, sizeof(*lanes->wait));
    lanes->mark = calloc(most, sizeof(*lanes->mark));
    lanes->known = calloc(most, sizeof(*lanes->known));
    if (lanes->lane == NULL || lanes->wait == NULL || lanes->mark == NULL || lanes->known == NULL)
        return error_no_memory(err, "the schedule");
    return 0;
}

/* Returns true if OP only makes gradients of parameters. */
static bool is_side_work(const struct graph *graph, const bool *read, const struct op *op) {
    bool any = false;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        int output = op->outputs[i];
        if (output == TENSOR_NONE)
            continue;
        if (graph->tensors[output].role != TENSOR_GRADIENT || read[output])
            return false;
        any = true;
    }
    return any;
}

static int choose_lanes(struct streams *lanes, const struct graph *graph, struct error *err) {
    cleanup_free bool *read = calloc((size_t)graph->tensor_count + 1, sizeof(*read));
    if (read == NULL)
        return error_no_memory(err, "the schedule");
    for (int i = 0; i < graph->op_count; i++)
        for (int k = 0; k < OP_READS_MAX; k++)
            if (op_reads(&graph->ops[i], k) != TENSOR_NONE)
                read[op_reads(&graph->ops[i], k)] = true;
    for (int i = 0; i < graph->op_count; i++)
        if (is_side_work(graph, read, &graph->ops[i])) {
            lanes->lane[i] = LANE_SIDE;
            lanes->side_count++;
        }
    return 0;
}

/* Returns the last operator of the main stream that makes an input of OP, or -1. */
static int last_maker(const struct streams *lanes, const struct graph *graph, const struct op *op) {
    int last = -1;
    for (int k = 0; k < OP_READS_MAX; k++) {
        int input = op_reads(op, k);
        int maker = input == TENSOR_NONE ? -1 : graph->tensors[input].producer;
        if (maker > last && lanes->lane[maker] == LANE_MAIN)
            last = maker;
    }
    return last;
}

/* An operator of the side stream waits for the main stream's present position if one of its inputs
 * was made there since the side stream's last wait. The first one always waits, so that none of
 * them runs before the step. */
static int choose_waits(struct streams *lanes, const struct graph *graph, struct error *err) {
    cleanup_free int *side = calloc((size_t)lanes->side_count + 1, sizeof(*side));
    if (side == NULL)
        return error_no_memory(err, "the schedule");
    int last_main = -1, seen_main = -1, seen_side = -1, count = 0;
    for (int i = 0; i < graph->op_count; i++) {
        lanes->wait[i] = -1;
        if (lanes->lane[i] == LANE_SIDE) {
            if (count == 0 || last_maker(lanes, graph, &graph->ops[i]) > seen_main)
                lanes->wait[i] = seen_main = last_main;
            side[count++] = i;
            continue;
        }
        last_main = i;
        if (count > STREAMS_LAG && side[count - 1 - STREAMS_LAG] > seen_side)
            lanes->wait[i] = seen_side = side[count - 1 - STREAMS_LAG];
    }
    return 0;
}

void streams_settle(struct streams *lanes) {
    int known[LANES] = {-1, -1};
    int side = 0;
    for (int i = 0; i < lanes->op_count; i++) {
        int lane = lanes->lane[i];
        if (lanes->wait[i] > known[lane])
            known[lane] = lanes->wait[i];
        lanes->known[i] = known[lane];
        lanes->mark[i] = -1;
        /* The main stream's event is waited for before it is recorded again. */
        if (lane == LANE_SIDE)
            lanes->mark[i] = 1 + side++ % (STREAMS_LAG + 1);
        if (lane == LANE_SIDE && lanes->wait[i] >= 0)
            lanes->mark[lanes->wait[i]] = 0;
    }
}

int streams_make(struct streams *lanes, const struct graph *graph, int count, struct error *err) {
    *lanes = (struct streams){0};
    if (count < LANES)
        return 0;
    if (allocate(lanes, graph->op_count, err) != 0 || choose_lanes(lanes, graph, err) != 0)
        return -1;
    if (lanes->side_count == 0) {
        streams_done(lanes);
        return 0;
    }
    if (choose_waits(lanes, graph, err) != 0)
        return -1;
    streams_settle(lanes);
    return 0;
}
