/* Result of an evaluation: named metrics, in the order in which they are printed. */
#ifndef TRAINER_APP_TASK_EVALUATION_H
#define TRAINER_APP_TASK_EVALUATION_H

#include "common/text/metric_line.h"
#include "trainer/models/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EVALUATION_FIGURES_MAX = 24 };

struct evaluation {
    struct metric_field figures[EVALUATION_FIGURES_MAX]; /* names are borrowed */
    int count;
    int64_t images;  /* that were scored */
    int64_t bad;     /* files of the set that could not be used, so far */
    int64_t damaged; /* files that were damaged and decoded as far as possible */
    size_t classes;  /* of the data; 0: unknown */
    bool stopped;    /* interrupted by a stop request: the metrics are meaningless */
};

/* Columns of the table of a run's evaluations. */
enum { EVALUATION_COLUMNS_MAX = 6 };

#endif
