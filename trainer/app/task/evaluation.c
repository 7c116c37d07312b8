#include "trainer/app/task/evaluation.h"
#include "common/table.h"

#include <assert.h>
#include <math.h>

void evaluation_add(struct evaluation *e, const char *name, double value) {
    assert(e->count < EVALUATION_FIGURES_MAX);
    e->figures[e->count++] = (struct metric_field){name, isnan(value) ? (double)NAN : value};
}

double evaluation_figure(const struct evaluation *e, const char *name) {
    const struct metric_field *figure = TABLE_FIND_IN(e->figures, (size_t)e->count, name, name);
    return figure != NULL ? figure->value : 0;
}

const char *evaluation_name(const struct model *model, int i) {
    int at = METRIC_SAMPLES + 1 + i, count = model_metric_count(model, false);
    if (at < count)
        return model->metrics[at].name;
    return at == count ? model->metrics[METRIC_LOSS].name : NULL;
}
