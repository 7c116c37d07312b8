/* Reports of what trials have found (trials_state.h).
 *
 * These are a table as text, a page, and the best configuration as a recipe file. */
#ifndef COMMON_TRIALS_TRIALS_PAGE_H
#define COMMON_TRIALS_TRIALS_PAGE_H

#include "common/buf.h"
#include "common/error.h"
#include "common/trials/trials_state.h"

#define TRIALS_TEXT_NAME "trials.txt"
#define TRIALS_HTML_NAME "trials.html"
#define TRIALS_RECIPE_NAME "best.recipe"

int trials_text(const struct trials_state *s, struct buf *out, struct error *err);
/* A page of its own, without script, font or network. PROGRAM has made it. */
int trials_html(const struct trials_state *s, const char *program, struct buf *out,
                struct error *err);
/* Flags of configuration CONFIG, one a line, as `--recipe FILE` reads them. */
int trials_recipe(const struct trials_state *s, size_t config, struct buf *out, struct error *err);

/* Writes all that there is into FOLDER: the recipe once a configuration has a score. */
int trials_write(const struct trials_state *s, const char *program, const char *folder,
                 struct error *err);

/* Why CONFIG failed: of the first trial that did; "" if none did. */
const char *trials_why(const struct trials_state *s, size_t config);

/* Returns true if any trial reported its rate: else there is no column for it. */
bool trials_has_rates(const struct trials_state *s);

/* A row of the tables. */
struct trials_row {
    int rung;             /* the last with a score; -1: none */
    double score, spread; /* the mean over the seeds, and half the range of their values */
    double rate, seconds; /* the mean of the rates, and the sum over all trials of it */
};
void trials_row(const struct trials_state *s, size_t config, struct trials_row *ret);

#endif
