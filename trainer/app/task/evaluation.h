/* What came of an evaluation: named figures, in the order in which they are told. */
#ifndef TRAINER_APP_TASK_EVALUATION_H
#define TRAINER_APP_TASK_EVALUATION_H

#include "common/metric_line.h"
#include "trainer/models/model.h"

#include <stdbool.h>
#include <stdint.h>

enum { EVALUATION_FIGURES_MAX = 24 };

struct evaluation {
    struct metric_field figures[EVALUATION_FIGURES_MAX]; /* names are borrowed */
    int count;
    int64_t images;  /* that were scored */
    int64_t bad;     /* files of the set that were not, so far */
    int64_t damaged; /* and that were read as far as they go */
    bool stopped;    /* a stop came first: the figures mean nothing */
};

void evaluation_add(struct evaluation *e, const char *name, double value);
/* 0 where there is none of that name. */
double evaluation_figure(const struct evaluation *e, const char *name);
/* The names of figures that are means of MODEL's metrics: number I, NULL behind the last. */
const char *evaluation_name(const struct model *model, int i);

#endif
