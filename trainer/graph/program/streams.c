#include "trainer/graph/program/streams.h"

#include "common/cleanup.h"

#include <stdlib.h>
#include <string.h>

void streams_done(struct streams *streams) {
    free(streams->stream);
    free(streams->wait);
    free(streams->event);
    free(streams->known);
    *streams = (struct streams){0};
}

bool streams_before(const struct streams *streams, int a, int b) {
    if (streams_of(streams, a) == streams_of(streams, b))
        return a < b;
    return a <= streams->known[b];
}

static int allocate(struct streams *streams, int count, struct error *err) {
    size_t most = (size_t)count + 1;
    streams->op_count = count;
    streams->stream = calloc(most, sizeof(*streams->stream));
    streams->wait = calloc(most, sizeof(*streams->wait));
    streams->event = calloc(most, sizeof(*streams->event));
    streams->known = calloc(most, sizeof(*streams->known));
    if (streams->stream == NULL || streams->wait == NULL || streams->event == NULL ||
        streams->known == NULL)
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

static int choose_streams(struct streams *streams, const struct graph *graph, struct error *err) {
    cleanup_free bool *read = calloc((size_t)graph->tensor_count + 1, sizeof(*read));
    if (read == NULL)
        return error_no_memory(err, "the schedule");
    for (int i = 0; i < graph->op_count; i++)
        for (int k = 0; k < OP_READS_MAX; k++)
            if (op_reads(&graph->ops[i], k) != TENSOR_NONE)
                read[op_reads(&graph->ops[i], k)] = true;
    for (int i = 0; i < graph->op_count; i++)
        if (is_side_work(graph, read, &graph->ops[i])) {
            streams->stream[i] = STREAM_SIDE;
            streams->side_count++;
        }
    return 0;
}

/* Returns the last operator of the main stream that makes an input of OP, or -1. */
static int last_maker(const struct streams *streams, const struct graph *graph,
                      const struct op *op) {
    int last = -1;
    for (int k = 0; k < OP_READS_MAX; k++) {
        int input = op_reads(op, k);
        int maker = input == TENSOR_NONE ? -1 : graph->tensors[input].producer;
        if (maker > last && streams->stream[maker] == STREAM_MAIN)
            last = maker;
    }
    return last;
}

/* An operator of the side stream waits for the main stream's present position if one of its inputs
 * was made there since the side stream's last wait. The first one always waits, so that none of
 * them runs before the step. */
static int choose_waits(struct streams *streams, const struct graph *graph, struct error *err) {
    cleanup_free int *side = calloc((size_t)streams->side_count + 1, sizeof(*side));
    if (side == NULL)
        return error_no_memory(err, "the schedule");
    int last_main = -1, seen_main = -1, seen_side = -1, count = 0;
    for (int i = 0; i < graph->op_count; i++) {
        streams->wait[i] = -1;
        if (streams->stream[i] == STREAM_SIDE) {
            if (count == 0 || last_maker(streams, graph, &graph->ops[i]) > seen_main)
                streams->wait[i] = seen_main = last_main;
            side[count++] = i;
            continue;
        }
        last_main = i;
        if (count > STREAMS_LAG && side[count - 1 - STREAMS_LAG] > seen_side)
            streams->wait[i] = seen_side = side[count - 1 - STREAMS_LAG];
    }
    return 0;
}

void streams_settle(struct streams *streams) {
    int known[STREAMS] = {-1, -1};
    int side = 0;
    for (int i = 0; i < streams->op_count; i++) {
        int stream = streams->stream[i];
        if (streams->wait[i] > known[stream])
            known[stream] = streams->wait[i];
        streams->known[i] = known[stream];
        streams->event[i] = -1;
        /* The main stream's event is waited for before it is recorded again. */
        if (stream == STREAM_SIDE)
            streams->event[i] = 1 + side++ % (STREAMS_LAG + 1);
        if (stream == STREAM_SIDE && streams->wait[i] >= 0)
            streams->event[streams->wait[i]] = 0;
    }
}

int streams_make(struct streams *streams, const struct graph *graph, int count, struct error *err) {
    *streams = (struct streams){0};
    if (count < STREAMS)
        return 0;
    if (allocate(streams, graph->op_count, err) != 0 || choose_streams(streams, graph, err) != 0)
        return -1;
    if (streams->side_count == 0) {
        streams_done(streams);
        return 0;
    }
    if (choose_waits(streams, graph, err) != 0)
        return -1;
    streams_settle(streams);
    return 0;
}
