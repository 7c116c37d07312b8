#include "graph/plan.h"

#include "common/cleanup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void plan_done(struct plan *plan) {
    free(plan->blocks);
    free(plan->tensor_block);
    free(plan->scratch_block);
    free(plan->saved_block);
    *plan = (struct plan){0};
}

static size_t align(size_t bytes) {
    return (bytes + PLAN_ALIGNMENT - 1) / PLAN_ALIGNMENT * PLAN_ALIGNMENT;
}

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
    size_t most = (size_t)graph->tensor_count + 2 * (size_t)graph->op_count + 1;
    plan->blocks = calloc(most, sizeof(*plan->blocks));
    if (plan->blocks == NULL)
        return error_no_memory(err, "the memory plan");
    bool complete =
        plan->tensor_block != NULL && plan->scratch_block != NULL && plan->saved_block != NULL;
    return complete ? 0 : -1;
}

static int add_block(struct plan *plan, enum plan_block_kind kind, int owner, int op,
                     size_t bytes) {
    plan->blocks[plan->block_count] = (struct plan_block){
        .kind = kind, .owner = owner, .first = op, .last = op, .bytes = align(bytes)};
    return plan->block_count++;
}

/* Per tensor, the last operator that reads it; -1 if none does. */
static void find_last_uses(const struct graph *graph, int *last_use) {
    for (int i = 0; i < graph->op_count; i++)
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            if (graph->ops[i].inputs[k] != TENSOR_NONE)
                last_use[graph->ops[i].inputs[k]] = i;
}

/* The block of the input that dies at operator NUMBER and whose place output SLOT may take, or -1.
 * A block that another output has taken already lives past NUMBER or is no longer its input's. */
static int dying_block(const struct plan *plan, const struct graph *graph, const int *last_use,
                       int number, int slot) {
    const struct op *op = &graph->ops[number];
    const struct op_rule *rule = op_rule(op->kind);
    size_t bytes = align(tensor_bytes(&graph->tensors[op->outputs[slot]]));
    for (int i = 0; i < rule->in_place_count; i++) {
        int input =
            rule->in_place[i].output == slot ? op->inputs[rule->in_place[i].input] : TENSOR_NONE;
        if (input == TENSOR_NONE || plan->tensor_block[input] < 0 || last_use[input] != number)
            continue;
        bool taken = false;
        for (int k = 0; k < slot; k++)
            taken |= op->outputs[k] != TENSOR_NONE &&
                     plan->tensor_block[op->outputs[k]] == plan->tensor_block[input];
        if (!taken && plan->blocks[plan->tensor_block[input]].bytes == bytes)
            return plan->tensor_block[input];
    }
    return -1;
}

static void place_outputs(struct plan *plan, const struct graph *graph, const int *last_use,
                          const struct backend_needs *needs, int number) {
    const struct op *op = &graph->ops[number];
    for (int slot = 0; slot < OP_OUTPUTS_MAX; slot++) {
        int output = op->outputs[slot];
        if (output == TENSOR_NONE || graph->tensors[output].role != TENSOR_ACTIVATION)
            continue;
        int block = needs[number].in_place ? dying_block(plan, graph, last_use, number, slot) : -1;
        if (block < 0)
            block =
                add_block(plan, PLAN_TENSOR, output, number, tensor_bytes(&graph->tensors[output]));
        plan->tensor_block[output] = block;
    }
}

static void collect_blocks(struct plan *plan, const struct graph *graph, const int *last_use,
                           const struct backend_needs *needs) {
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            if (op->inputs[k] != TENSOR_NONE && plan->tensor_block[op->inputs[k]] >= 0)
                plan->blocks[plan->tensor_block[op->inputs[k]]].last = i;
        place_outputs(plan, graph, last_use, needs, i);
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (op->outputs[k] != TENSOR_NONE && plan->tensor_block[op->outputs[k]] >= 0)
                plan->blocks[plan->tensor_block[op->outputs[k]]].last = i;
        if (needs[i].scratch > 0)
            plan->scratch_block[i] = add_block(plan, PLAN_SCRATCH, i, i, needs[i].scratch);
        if (needs[i].saved > 0 && op->forward < 0)
            plan->saved_block[i] = add_block(plan, PLAN_SAVED, i, i, needs[i].saved);
        if (op->forward >= 0 && plan->saved_block[op->forward] >= 0)
            plan->blocks[plan->saved_block[op->forward]].last = i;
    }
}

static bool live_together(const struct plan_block *a, const struct plan_block *b) {
    return a->first <= b->last && b->first <= a->last;
}

static int compare_sizes(const void *a, const void *b) {
    const struct plan_block *const *left = a, *const *right = b;
    if ((*left)->bytes != (*right)->bytes)
        return (*left)->bytes < (*right)->bytes ? 1 : -1;
    return *left < *right ? -1 : *left > *right;
}

/* Finds BLOCK's offset: the tightest gap between those of PLACED (sorted by offset) that live at
 * the same time, else behind the last of them. */
static size_t tightest_gap(const struct plan_block *block, struct plan_block *const *placed,
                           int count) {
    size_t end = 0, best = 0, best_gap = SIZE_MAX;
    for (int i = 0; i < count; i++) {
        const struct plan_block *other = placed[i];
        if (!live_together(block, other))
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

static int assign_offsets(struct plan *plan, struct error *err) {
    size_t count = (size_t)plan->block_count;
    cleanup_free struct plan_block **order = calloc(2 * count + 1, sizeof(*order));
    if (order == NULL)
        return error_no_memory(err, "the memory plan");
    struct plan_block **placed = order + count;
    for (size_t i = 0; i < count; i++)
        order[i] = &plan->blocks[i];
    qsort(order, count, sizeof(*order), compare_sizes);
    for (size_t i = 0; i < count; i++) {
        struct plan_block *block = order[i];
        block->offset = tightest_gap(block, placed, (int)i);
        size_t at = i;
        for (; at > 0 && placed[at - 1]->offset > block->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = block;
        if (block->offset + block->bytes > plan->arena_bytes)
            plan->arena_bytes = block->offset + block->bytes;
    }
    return 0;
}

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
              struct error *err) {
    *plan = (struct plan){0};
    cleanup_free int *last_use = new_numbers(graph->tensor_count, err);
    if (last_use == NULL || plan_allocate(plan, graph, err) != 0)
        return -1;
    find_last_uses(graph, last_use);
    collect_blocks(plan, graph, last_use, needs);
    if (assign_offsets(plan, err) != 0)
        return -1;
    return find_peak(plan, err);
}

int plan_check(const struct plan *plan, struct error *err) {
    for (int i = 0; i < plan->block_count; i++) {
        const struct plan_block *a = &plan->blocks[i];
        if (a->offset % PLAN_ALIGNMENT != 0 || a->offset + a->bytes > plan->arena_bytes)
            return error_set(err, EXIT_CODE_INTERNAL, "block %d lies at %zu + %zu of %zu", i,
                             a->offset, a->bytes, plan->arena_bytes);
        for (int k = 0; k < i; k++) {
            const struct plan_block *b = &plan->blocks[k];
            bool meet = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
            if (meet && live_together(a, b))
                return error_set(err, EXIT_CODE_INTERNAL,
                                 "blocks %d and %d share bytes between operators %d and %d", k, i,
                                 a->first > b->first ? a->first : b->first,
                                 a->last < b->last ? a->last : b->last);
        }
    }
    return 0;
}
