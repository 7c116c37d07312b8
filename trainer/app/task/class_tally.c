#include "trainer/app/task/class_tally.h"

#include "common/cleanup.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/math/rank.h"

#include <stdlib.h>

int class_tally_open(struct class_tally *tally, size_t classes, struct error *err) {
    *tally = (struct class_tally){.classes = classes,
                                  .sums = calloc(2 * classes + 1, sizeof(*tally->sums))};
    return tally->sums != NULL ? 0 : error_no_memory(err, "accuracy by class");
}

void class_tally_done(struct class_tally *tally) {
    free(tally->sums);
    free(tally->logits);
    *tally = (struct class_tally){0};
}

static int read_logits(struct class_tally *t, const struct batch *batch,
                       const struct task_outputs *outputs, struct error *err) {
    size_t bytes = outputs->bytes(outputs->user, "logits");
    if (bytes < (size_t)batch->count * t->classes * sizeof(float))
        return error_set(err, EXIT_CODE_INTERNAL, "logits of %zu bytes for %d pictures", bytes,
                         batch->count);
    if (bytes > t->bytes) {
        float *more = realloc(t->logits, bytes);
        if (more == NULL)
            return error_no_memory(err, "accuracy by class");
        t->logits = more;
        t->bytes = bytes;
    }
    return outputs->read(outputs->user, "logits", t->logits, bytes, err);
}

static size_t best_of(const float *logits, size_t classes) {
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
        if (rank_of(logits[c], (int)c) > rank_of(logits[best], (int)best))
            best = c;
    return best;
}

int class_tally_add(struct class_tally *tally, const struct batch *batch,
                    const struct task_outputs *outputs, struct error *err) {
    const float *weight = batch->fields[LABELLED_WEIGHT];
    const int32_t *label = batch->fields[LABELLED_LABEL];
    if (read_logits(tally, batch, outputs, err) != 0)
        return -1;
    for (int i = 0; i < batch->count; i++) {
        const float *logits = tally->logits + (size_t)i * tally->classes;
        size_t of = (size_t)label[i], best = best_of(logits, tally->classes);
        if (!(weight[i] > 0) || of >= tally->classes)
            continue;
        tally->sums[of]++;
        tally->sums[tally->classes + of] += best == of && logits[best] == logits[best];
    }
    return 0;
}

int class_tally_sum(struct class_tally *tally, struct comm *comm, struct error *err) {
    return comm_sum(comm, tally->sums, 2 * tally->classes, COMM_F64, err);
}

struct row {
    size_t class;
    double share;
};

static int worst_first(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->share != y->share)
        return x->share < y->share ? -1 : 1;
    return x->class < y->class ? -1 : 1;
}

int class_tally_print(const struct class_tally *tally, char *const *names, struct buf *out,
                      struct error *err) {
    cleanup_free struct row *rows = calloc(tally->classes + 1, sizeof(*rows));
    size_t count = 0;
    if (rows == NULL)
        return error_no_memory(err, "accuracy by class");
    for (size_t c = 0; c < tally->classes; c++)
        if (tally->sums[c] > 0)
            rows[count++] = (struct row){c, tally->sums[tally->classes + c] / tally->sums[c]};
    qsort(rows, count, sizeof(*rows), worst_first);
    size_t shown = count < CLASS_TALLY_SHOWN ? count : CLASS_TALLY_SHOWN;
    if (buf_printf(out, err, "top-1 by class, the worst first%s:\n",
                   shown < count ? " (20 of them)" : "") != 0)
        return -1;
    for (size_t i = 0; i < shown; i++)
        if (buf_printf(out, err, "  %6.2f %%  of %6.0f  %s\n", 100 * rows[i].share,
                       tally->sums[rows[i].class], names[rows[i].class]) != 0)
            return -1;
    return 0;
}
