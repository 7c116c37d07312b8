#include "trainer/app/step/fp16_fold_check.h"

#include <math.h>
#include <stdlib.h>

static const double F16_LARGEST = 65504;

enum { PART_W, PART_GAMMA, PART_BETA, PART_MEAN, PART_VARIANCE, PARTS };
static const int slot_of[PARTS] = {AFFINE_W, AFFINE_GAMMA, AFFINE_BETA, AFFINE_MEAN,
                                   AFFINE_VARIANCE};

/* A convolution and its norm, as values in host memory. */
struct folded {
    float *part[PARTS]; /* owned */
    size_t count[PARTS];
    const char *norm; /* name of the norm's gamma */
};

static void folded_done(struct folded *f) {
    for (int i = 0; i < PARTS; i++)
        free(f->part[i]);
}

static int read_part(struct folded *f, int part, struct store *store, const char *name,
                     struct error *err) {
    const struct store_slot *slot = store_find(store, name);
    if (slot == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "%s is in no store", name);
    f->count[part] = slot->count;
    f->part[part] = malloc(slot->count * sizeof(float));
    if (f->part[part] == NULL)
        return error_no_memory(err, "a folded norm");
    return store_read(store, slot, slot->home, f->part[part], err);
}

/* Returns the largest magnitude among an output channel's folded weights and its bias. */
static double largest_of(const struct folded *f, size_t channel, double epsilon) {
    size_t row = f->count[PART_W] / f->count[PART_GAMMA];
    double scale = (double)f->part[PART_GAMMA][channel] /
                   sqrt((double)f->part[PART_VARIANCE][channel] + epsilon);
    double bias = (double)f->part[PART_BETA][channel] - (double)f->part[PART_MEAN][channel] * scale;
    double largest = fabs(bias);
    for (size_t i = 0; i < row; i++)
        largest = fmax(largest, fabs((double)f->part[PART_W][channel * row + i] * scale));
    return largest;
}

static int check(const struct folded *f, double epsilon, struct error *err) {
    for (size_t channel = 0; channel < f->count[PART_GAMMA]; channel++) {
        double largest = largest_of(f, channel, epsilon);
        if (largest > F16_LARGEST)
            return error_set(err, EXIT_CODE_DATA,
                             "%s: channel %zu gives the convolution before it a weight or bias of "
                             "%g, but f16 holds at most %g; use --dtype bf16",
                             f->norm, channel, largest, F16_LARGEST);
    }
    return 0;
}

static int check_op(const struct graph *graph, const struct op *op, struct store *store,
                    struct error *err) {
    struct folded f = {.norm = graph->tensors[op->inputs[AFFINE_GAMMA]].name};
    int result = 0;
    for (int i = 0; i < PARTS && result == 0; i++)
        result = read_part(&f, i, store, graph->tensors[op->inputs[slot_of[i]]].name, err);
    if (result == 0)
        result = check(&f, op->attr.epsilon, err);
    folded_done(&f);
    return result;
}

int fp16_fold_check(struct network *net, struct error *err) {
    const struct graph *graph = &net->train[0].graph;
    if (graph->op_count == 0)
        graph = &net->eval[0].graph;
    for (int i = 0; graph->dtype == DTYPE_F16 && i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        if (op->kind == OP_CONV2D_AFFINE && op->inputs[AFFINE_GAMMA] != TENSOR_NONE &&
            check_op(graph, op, &net->store, err) != 0)
            return -1;
    }
    return 0;
}
