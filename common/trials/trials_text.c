#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"
#include "common/trials/trials_page.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 32 * 1024 * 1024 };

static size_t count_of(const struct trials_state *s, enum trials_outcome outcome) {
    size_t count = 0;
    const size_t all = s->plan->rung_count * s->plan->count * s->seeds;
    for (size_t i = 0; i < all; i++)
        count += s->results[i].outcome == outcome;
    return count;
}

static int add_head(const struct trials_state *s, struct buf *out, struct error *err) {
    const struct trials_plan *p = s->plan;
    const size_t done = count_of(s, TRIALS_DONE), failed = count_of(s, TRIALS_FAILED);
    if (buf_printf(out, err,
                   "%zu configuration%s, %zu trial%s done, %zu failed; the %s %s is best\n\n"
                   "%6s %6s %12s",
                   p->count, STR_PLURAL(p->count), done, STR_PLURAL(done), failed,
                   p->smallest ? "smallest" : "largest", p->metric, "place", "trial",
                   p->metric) != 0 ||
        (s->seeds > 1 && buf_printf(out, err, " %9s", "+-") != 0) ||
        (p->rung_count > 1 && buf_printf(out, err, " %9s", p->rung_flag) != 0) ||
        (trials_has_rates(s) && buf_printf(out, err, " %12s", "images/s") != 0) ||
        buf_printf(out, err, " %10s ", "seconds") != 0)
        return -1;
    for (size_t i = 0; i < p->axis_count; i++)
        if (buf_printf(out, err, " %14s", p->axes[i].name) != 0)
            return -1;
    return buf_add_text(out, "\n", err);
}

/* A number with so many DIGITS after the point, or -1: as many as it needs; "-" for NaN. */
static int add_number(struct buf *out, int digits, double value, int width, struct error *err) {
    if (!isfinite(value))
        return buf_printf(out, err, " %*s", width, "-");
    return digits < 0 ? buf_printf(out, err, " %*.6g", width, value)
                      : buf_printf(out, err, " %*.*f", width, digits, value);
}

static int add_row(const struct trials_state *s, size_t place, size_t config, struct buf *out,
                   struct error *err) {
    const struct trials_plan *p = s->plan;
    struct trials_setting settings[TRIALS_AXES_MAX];
    struct trials_row r;
    const char *why = trials_why(s, config);
    trials_row(s, config, &r);
    trials_plan_config(p, config, settings);
    if ((r.rung >= 0 ? buf_printf(out, err, "%6zu %6zu", place, config)
                     : buf_printf(out, err, "%6s %6zu", "-", config)) != 0 ||
        add_number(out, -1, r.score, 12, err) != 0 ||
        (s->seeds > 1 && add_number(out, 3, r.spread, 9, err) != 0) ||
        (p->rung_count > 1 &&
         add_number(out, 0, r.rung >= 0 ? (double)p->rungs[r.rung] : (double)NAN, 9, err) != 0) ||
        (trials_has_rates(s) && add_number(out, 1, r.rate, 12, err) != 0) ||
        add_number(out, 1, r.seconds, 10, err) != 0 || buf_add_text(out, " ", err) != 0)
        return -1;
    for (size_t i = 0; i < p->axis_count; i++)
        if (buf_printf(out, err, " %14s", settings[i].value) != 0)
            return -1;
    return why[0] != '\0' ? buf_printf(out, err, "  failed: %s\n", why)
                          : buf_add_text(out, "\n", err);
}

int trials_text(const struct trials_state *s, struct buf *out, struct error *err) {
    cleanup_free size_t *ranking = calloc(s->plan->count, sizeof(*ranking));
    if (ranking == NULL)
        return error_no_memory(err, "a ranking");
    trials_state_ranking(s, ranking);
    if (add_head(s, out, err) != 0)
        return -1;
    for (size_t i = 0; i < s->plan->count; i++)
        if (add_row(s, i + 1, ranking[i], out, err) != 0)
            return -1;
    return 0;
}

int trials_recipe(const struct trials_state *s, size_t config, struct buf *out, struct error *err) {
    const struct trials_plan *p = s->plan;
    struct trials_setting settings[TRIALS_AXES_MAX];
    struct trials_row r;
    bool has_budget = p->rung_count == 1;
    trials_row(s, config, &r);
    trials_plan_config(p, config, settings);
    if (buf_printf(out, err, "# trial %zu, the best of %zu: %s %.6g\n", config, p->count, p->metric,
                   r.score) != 0)
        return -1;
    for (size_t i = 0; i < p->flag_count; i++) {
        has_budget = has_budget || strcmp(p->flags[i].name, p->rung_flag) == 0;
        if (buf_printf(out, err, "--%s %s\n", p->flags[i].name, p->flags[i].value) != 0)
            return -1;
    }
    if (!has_budget && buf_printf(out, err, "--%s %lld\n", p->rung_flag,
                                  (long long)p->rungs[p->rung_count - 1]) != 0)
        return -1;
    for (size_t i = 0; i < p->axis_count; i++)
        if (buf_printf(out, err, "--%s %s\n", settings[i].name, settings[i].value) != 0)
            return -1;
    return 0;
}

static int publish(const char *folder, const char *name, const struct buf *text,
                   struct error *err) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)
               ? error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder)
               : file_publish(path, buf_text(text), text->size, 0644, err);
}

int trials_write(const struct trials_state *s, const char *program, const char *folder,
                 struct error *err) {
    cleanup_buf struct buf text = {.max = FILE_MAX};
    cleanup_buf struct buf page = {.max = FILE_MAX};
    cleanup_buf struct buf recipe = {.max = FILE_MAX};
    const int best = trials_state_best(s);
    if (trials_state_write(s, folder, err) != 0 || trials_text(s, &text, err) != 0 ||
        trials_html(s, program, &page, err) != 0 ||
        publish(folder, TRIALS_TEXT_NAME, &text, err) != 0 ||
        publish(folder, TRIALS_HTML_NAME, &page, err) != 0)
        return -1;
    return best < 0 ? 0
           : trials_recipe(s, (size_t)best, &recipe, err) != 0
               ? -1
               : publish(folder, TRIALS_RECIPE_NAME, &recipe, err);
}
