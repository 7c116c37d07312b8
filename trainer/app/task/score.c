#include "trainer/app/task/score.h"

#include "common/table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void evaluation_add(struct evaluation *e, const char *name, double value) {
    assert(e->count < EVALUATION_FIGURES_MAX);
    e->figures[e->count++] = (struct metric_field){name, isnan(value) ? (double)NAN : value};
}

double evaluation_figure(const struct evaluation *e, const char *name) {
    const struct metric_field *figure = TABLE_FIND_IN(e->figures, (size_t)e->count, name, name);
    return figure != NULL ? figure->value : 0;
}

/* Among five classes or fewer the right one is always among the first five. */
bool evaluation_says(const struct evaluation *e, const char *name) {
    return strcmp(name, "top5") != 0 || e->classes == 0 || e->classes > 5;
}

const char *evaluation_name(const struct model *model, int i) {
    int at = METRIC_SAMPLES + 1 + i, count = model_metric_count(model, false);
    if (at < count)
        return model->metrics[at].name;
    return at == count ? model->metrics[METRIC_LOSS].name : NULL;
}

int score_open(struct score *score, struct task_data *data, struct error *err) {
    *score = (struct score){.data = data};
    return data->task->score_open == NULL ? 0 : data->task->score_open(data, &score->own, err);
}

void score_close(struct score *score) {
    if (score->own != NULL)
        score->data->task->score_close(score->own);
    score->own = NULL;
}

int score_batch(struct score *score, const struct batch *batch, const struct task_outputs *outputs,
                int64_t *ret_images, struct error *err) {
    if (score->own != NULL)
        return score->data->task->score_batch(score->own, batch, outputs, ret_images, err);
    int count = model_metric_count(score->data->model, false);
    for (int i = 0; i < count; i++)
        score->totals[i] += (double)outputs->metrics[i];
    *ret_images += (int64_t)outputs->metrics[METRIC_SAMPLES];
    return 0;
}

int score_end(struct score *score, struct comm *comm, struct evaluation *ret, struct error *err) {
    if (score->own != NULL)
        return score->data->task->score_end(score->own, comm, ret, err);
    const struct model_metric *list = score->data->model->metrics;
    double *totals = score->totals;
    int count = model_metric_count(score->data->model, false);
    if (comm_sum(comm, totals, (size_t)count, COMM_F64, err) != 0)
        return -1;
    double share = 1 / totals[METRIC_SAMPLES];
    for (int i = METRIC_SAMPLES + 1; i < count; i++)
        evaluation_add(ret, list[i].name,
                       list[i].kind == METRIC_SUM ? totals[i] : totals[i] * share);
    evaluation_add(ret, list[METRIC_LOSS].name, totals[METRIC_LOSS] * share);
    return 0;
}

void score_logits_done(struct score_logits *logits) {
    free(logits->values);
    *logits = (struct score_logits){0};
}

int score_logits_read(struct score_logits *logits, const struct task_outputs *outputs,
                      const struct batch *batch, size_t classes, struct error *err) {
    const size_t bytes = outputs->bytes(outputs->user, "logits");
    const size_t row = classes * sizeof(float);
    if (bytes == 0 || bytes % row != 0 || bytes / row < (size_t)batch->count)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "the network's output logits has %zu bytes, and not %zu for each of %d "
                         "pictures",
                         bytes, row, batch->count);
    if (bytes > logits->bytes) {
        float *more = realloc(logits->values, bytes);
        if (more == NULL)
            return error_no_memory(err, "logits of a batch");
        *logits = (struct score_logits){.values = more, .bytes = bytes};
    }
    return outputs->read(outputs->user, "logits", logits->values, bytes, err);
}
