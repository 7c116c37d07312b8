#include "trainer/graph/program/plan.h"
#include "trainer/graph/rules/op_table.h"

#include "common/cleanup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The plan is made in three steps. Lifetimes: the operators are walked in order, and each block
 * notes the first and last operator on each stream that touches it. Sharing in place happens on
 * that walk, as it decides which tensors are one block. Offsets: blocks are placed by falling size.
 * Last, the sums for reports are made.
 *
 * Time is a partial order: two operators on different streams are ordered only by waits
 * (streams_before). All questions about lifetimes are asked in that order, and not by comparing
 * numbers of operators.
 *
 * plan_check.c proves each plan in debug builds and tests, from the graph and not from these
 * lifetimes. */

void plan_done(struct plan *plan) {
    free(plan->blocks);
    free(plan->tensor_block);
    free(plan->scratch_block);
    free(plan->saved_block);
    *plan = (struct plan){0};
}

/* Returns COUNT numbers, all -1, or NULL with an error. One more is allocated, as malloc(0) may
 * return NULL. */
static int *new_numbers(int count, struct error *err) {
    int *numbers = malloc(((size_t)count + 1) * sizeof(*numbers));
    if (numbers == NULL)
        (void)error_no_memory(err, "the memory plan");
    for (int i = 0; numbers != NULL && i < count; i++)
        numbers[i] = -1;
    return numbers;
}

static int plan_allocate(struct plan *plan, const struct graph *graph, struct error *err) {
    plan->tensor_count = graph->tensor_count;
    plan->op_count = graph->op_count;
    plan->tensor_block = new_numbers(graph->tensor_count, err);
    plan->scratch_block = new_numbers(graph->op_count, err);
    plan->saved_block = new_numbers(graph->op_count, err);
    /* A block for each tensor, and for scratch and saved bytes of each operator, is the most there
     * can be. */
    size_t most = (size_t)graph->tensor_count + 2 * (size_t)graph->op_count + 1;
    plan->blocks = calloc(most, sizeof(*plan->blocks));
    if (plan->blocks == NULL)
        return error_no_memory(err, "the memory plan");
    bool complete =
        plan->tensor_block != NULL && plan->scratch_block != NULL && plan->saved_block != NULL;
    return complete ? 0 : -1;
}

/* Input of a plan. */
struct planner {
    struct plan *plan;
    const struct graph *graph;
    const struct backend_needs *needs;
    const struct streams *streams;
    int *last_use; /* per tensor, the last operator that reads it; -1 if none does */
};

/* Extends the lifetime of BLOCK to operator OP. Operators touch a block in the graph's order, so
 * the last call has the last one. */
static void touch(const struct planner *p, int block, int op) {
    struct plan_block *b = &p->plan->blocks[block];
    int stream = streams_of(p->streams, op);
    b->last = op;
    b->end[stream] = op;
    if (b->begin[stream] < 0)
        b->begin[stream] = op;
}

/* Adds a block that lives from OP on, and returns its number. OWNER is a tensor or an operator, by
 * KIND. */
static int add_block(const struct planner *p, enum plan_block_kind kind, int owner, int op,
                     size_t bytes) {
    int number = p->plan->block_count++;
    p->plan->blocks[number] = (struct plan_block){.kind = kind,
                                                  .owner = owner,
                                                  .first = op,
                                                  .begin = {-1, -1},
                                                  .end = {-1, -1},
                                                  .bytes = plan_aligned(bytes)};
    touch(p, number, op);
    return number;
}

/* A later reader in the graph's order replaces an earlier one; on two streams is_left_to asks
 * more. */
static void find_last_uses(const struct planner *p) {
    for (int i = 0; i < p->graph->op_count; i++)
        for (int k = 0; k < OP_READS_MAX; k++)
            if (op_reads(&p->graph->ops[i], k) != TENSOR_NONE)
                p->last_use[op_reads(&p->graph->ops[i], k)] = i;
}

/* Returns true if only operator NUMBER can still access BLOCK when it runs: on each stream the last
 * operator that touches it has surely run by then. */
static bool is_left_to(const struct planner *p, const struct plan_block *block, int number) {
    for (int stream = 0; stream < STREAMS; stream++)
        if (block->end[stream] >= 0 && block->end[stream] != number &&
            !streams_before(p->streams, block->end[stream], number))
            return false;
    return true;
}

/* Returns the block of the input that is last used by operator NUMBER and that output SLOT may
 * reuse, or -1. A block that another output reuses already lives past NUMBER or is no longer its
 * input's. */
static int dying_block(const struct planner *p, int number, int slot) {
    const struct plan *plan = p->plan;
    const struct op *op = &p->graph->ops[number];
    const struct op_rule *rule = op_rule(op->kind);
    size_t bytes = plan_aligned(tensor_bytes(&p->graph->tensors[op->outputs[slot]]));
    for (int i = 0; i < rule->in_place_count; i++) {
        const struct op_in_place *place = &rule->in_place[i];
        int input = place->output == slot && op_may_place(op, place) ? op->inputs[place->input]
                                                                     : TENSOR_NONE;
        if (input == TENSOR_NONE || plan->tensor_block[input] < 0 || p->last_use[input] != number)
            continue;
        const struct plan_block *block = &plan->blocks[plan->tensor_block[input]];
        bool taken = !is_left_to(p, block, number);
        for (int k = 0; k < slot; k++)
            taken |= op->outputs[k] != TENSOR_NONE &&
                     plan->tensor_block[op->outputs[k]] == plan->tensor_block[input];
        if (!taken && block->bytes == bytes)
            return plan->tensor_block[input];
    }
    return -1;
}

/* Gives each activation that NUMBER makes a block: that of a dying input, if operator and backend
 * can work in place, else a new one. */
static void place_outputs(const struct planner *p, int number) {
    const struct op *op = &p->graph->ops[number];
    for (int slot = 0; slot < OP_OUTPUTS_MAX; slot++) {
        int output = op->outputs[slot];
        if (output == TENSOR_NONE || p->graph->tensors[output].role != TENSOR_ACTIVATION)
            continue;
        int block = p->needs[number].in_place ? dying_block(p, number, slot) : -1;
        if (block < 0)
            block =
                add_block(p, PLAN_TENSOR, output, number, tensor_bytes(&p->graph->tensors[output]));
        p->plan->tensor_block[output] = block;
    }
}

/* Walks the operators in order. Inputs are touched before outputs are placed, so that is_left_to
 * sees this operator's own reads; outputs are touched at once, as one that is never read is written
 * all the same. */
static void collect_blocks(const struct planner *p) {
    struct plan *plan = p->plan;
    for (int i = 0; i < p->graph->op_count; i++) {
        const struct op *op = &p->graph->ops[i];
        for (int k = 0; k < OP_READS_MAX; k++)
            if (op_reads(op, k) != TENSOR_NONE && plan->tensor_block[op_reads(op, k)] >= 0)
                touch(p, plan->tensor_block[op_reads(op, k)], i);
        place_outputs(p, i);
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (op->outputs[k] != TENSOR_NONE && plan->tensor_block[op->outputs[k]] >= 0)
                touch(p, plan->tensor_block[op->outputs[k]], i);
        if (p->needs[i].scratch > 0)
            plan->scratch_block[i] = add_block(p, PLAN_SCRATCH, i, i, p->needs[i].scratch);
        if (p->needs[i].saved > 0 && op->forward < 0)
            plan->saved_block[i] = add_block(p, PLAN_SAVED, i, i, p->needs[i].saved);
        /* What a forward operator has saved lives until its gradient has read it. */
        if (op->forward >= 0 && plan->saved_block[op->forward] >= 0)
            touch(p, plan->saved_block[op->forward], i);
    }
}

/* Returns true if everything that touches A has surely run before anything that touches B
 * starts. */
static bool is_over(const struct streams *streams, const struct plan_block *a,
                    const struct plan_block *b) {
    for (int i = 0; i < STREAMS; i++)
        for (int k = 0; k < STREAMS; k++)
            if (a->end[i] >= 0 && b->begin[k] >= 0 &&
                !streams_before(streams, a->end[i], b->begin[k]))
                return false;
    return true;
}

/* Blocks that surely follow each other, in either order, may share addresses. */
static bool live_together(const struct streams *streams, const struct plan_block *a,
                          const struct plan_block *b) {
    return !is_over(streams, a, b) && !is_over(streams, b, a);
}

/* Falling size; equal ones in the order of their making, so that a plan does not depend on
 * qsort. */
static int compare_sizes(const void *a, const void *b) {
    const struct plan_block *const *left = a, *const *right = b;
    if ((*left)->bytes != (*right)->bytes)
        return (*left)->bytes < (*right)->bytes ? 1 : -1;
    return *left < *right ? -1 : *left > *right;
}

/* Finds BLOCK's offset: the tightest gap between those of PLACED (sorted by offset) that live at
 * the same time, else after the last of them. */
static size_t tightest_gap(const struct streams *streams, const struct plan_block *block,
                           struct plan_block *const *placed, int count) {
    size_t end = 0, best = 0, best_gap = SIZE_MAX;
    for (int i = 0; i < count; i++) {
        const struct plan_block *other = placed[i];
        if (!live_together(streams, block, other))
            continue;
        if (other->offset > end && other->offset - end >= block->bytes &&
            other->offset - end < best_gap) {
            best = end;
            best_gap = other->offset - end;
        }
        if (other->offset + other->bytes > end)
            end = other->offset + other->bytes;
    }
    return best_gap == SIZE_MAX ? end : best;
}

/* Places the blocks, largest first; PLACED stays sorted by offset, by insertion. The work is
 * quadratic in the number of blocks, and is done once for a program. */
static int assign_offsets(struct plan *plan, const struct streams *streams, struct error *err) {
    size_t count = (size_t)plan->block_count;
    cleanup_free struct plan_block **order = calloc(2 * count + 1, sizeof(struct plan_block *));
    if (order == NULL)
        return error_no_memory(err, "the memory plan");
    struct plan_block **placed = order + count;
    for (size_t i = 0; i < count; i++)
        order[i] = &plan->blocks[i];
    qsort(order, count, sizeof(struct plan_block *), compare_sizes);
    for (size_t i = 0; i < count; i++) {
        struct plan_block *block = order[i];
        block->offset = tightest_gap(streams, block, placed, (int)i);
        size_t at = i;
        for (; at > 0 && placed[at - 1]->offset > block->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = block;
        if (block->offset + block->bytes > plan->arena_bytes)
            plan->arena_bytes = block->offset + block->bytes;
    }
    return 0;
}

/* Sums sizes over a walk in the graph's order: the peak is a lower bound that reports compare the
 * arena with. */
static int find_peak(struct plan *plan, struct error *err) {
    cleanup_free size_t *change = calloc((size_t)plan->op_count + 2, 2 * sizeof(*change));
    if (change == NULL)
        return error_no_memory(err, "the memory plan");
    size_t *births = change, *deaths = change + plan->op_count + 1;
    for (int i = 0; i < plan->block_count; i++) {
        births[plan->blocks[i].first] += plan->blocks[i].bytes;
        deaths[plan->blocks[i].last] += plan->blocks[i].bytes;
    }
    size_t live = 0;
    for (int i = 0; i < plan->op_count; i++) {
        live += births[i];
        if (live > plan->live_peak) {
            plan->live_peak = live;
            plan->peak_op = i;
        }
        live -= deaths[i];
    }
    return 0;
}

int plan_make(struct plan *plan, const struct graph *graph, const struct backend_needs *needs,
              const struct streams *streams, struct error *err) {
    *plan = (struct plan){0};
    cleanup_free int *last_use = new_numbers(graph->tensor_count, err);
    if (last_use == NULL || plan_allocate(plan, graph, err) != 0)
        return -1;
    struct planner planner = {
        .plan = plan, .graph = graph, .needs = needs, .streams = streams, .last_use = last_use};
    find_last_uses(&planner);
    collect_blocks(&planner);
    if (assign_offsets(plan, streams, err) != 0)
        return -1;
    return find_peak(plan, err);
}
