/* Results by class of a run's last evaluation. They are the last line of kind classes in its
 * run.jsonl. */
#ifndef TRAINER_REPORT_CLASS_RESULTS_H
#define TRAINER_REPORT_CLASS_RESULTS_H

#include "common/error.h"
#include "trainer/report/run_history.h"

#include <stdbool.h>
#include <stddef.h>

struct class_result {
    const char *name; /* borrowed from the history */
    double count;     /* pictures, or objects */
    double value;     /* NaN: none */
};

/* How often a class was taken for another, or for itself. */
struct class_cell {
    size_t label, answer;
    double count;
};

struct class_results {
    const char *metric; /* borrowed; "": no results */
    double step;
    struct class_result *rows; /* owned */
    size_t row_count;
    struct class_cell *cells; /* owned; the most frequent first, as in the file */
    size_t cell_count;
};

/* Reads what is as documented; the rest is left out. Fails only for want of memory. */
int class_results_read(struct class_results *ret, const struct run_history *h, struct error *err);
void class_results_done(struct class_results *c);

#define cleanup_class_results __attribute__((cleanup(class_results_done)))

#endif
