#include "trainer/report/run_figures.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOG_MAX = 64 * 1024 * 1024, RATES_MAX = 65536 };

struct reading {
    struct run_figures *f;
    const char *metric;
    double from_step;
    double *rates; /* owned by the caller; [RATES_MAX] */
    size_t count;
    bool evaluated; /* the metric is an evaluation's */
    /* The times in the last line of kind train up to FROM_STEP, and in the last of all. */
    double training[2], ranks[2];
};

double run_figures_time(const char *text) {
    struct tm at = {0};
    double seconds = 0;
    int end = 0;
    if (text == NULL || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%lfZ%n", &at.tm_year, &at.tm_mon,
                               &at.tm_mday, &at.tm_hour, &at.tm_min, &seconds, &end) != 6)
        return (double)NAN;
    at.tm_year -= 1900;
    at.tm_mon -= 1;
    return (double)timegm(&at) + seconds;
}

static double number_of(const json_t *line, const char *name) {
    const json_t *value = json_object_get(line, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void take_run(struct reading *r, const json_t *line) {
    const json_t *flags = json_object_get(line, "flags");
    const char *epochs = json_string_value(json_object_get(flags, "epochs"));
    const char *backend = json_string_value(json_object_get(flags, "backend"));
    r->f->ranks = number_of(line, "ranks");
    r->f->global_batch = number_of(line, "global_batch");
    r->f->images = number_of(line, "images");
    r->f->epochs = epochs != NULL ? strtod(epochs, NULL) : (double)NAN;
    r->f->on_gpu = backend != NULL && strcmp(backend, "cuda") == 0;
}

static void take_metric(struct reading *r, const json_t *line, bool evaluated) {
    const double value = r->metric != NULL ? number_of(line, r->metric) : (double)NAN;
    /* A number that is not finite is null, and an answer, too. */
    if (r->metric == NULL || json_object_get(line, r->metric) == NULL ||
        (r->evaluated && !evaluated))
        return;
    r->evaluated = evaluated;
    r->f->metric = value;
}

static void take_train(struct reading *r, const json_t *line) {
    const double step = number_of(line, "step"), rate = number_of(line, "images_per_second");
    const int place = step > r->from_step;
    if (isnan(r->f->first_step))
        r->f->first_step = run_figures_time(json_string_value(json_object_get(line, "time")));
    r->f->step = step;
    r->training[place] = number_of(line, "training_seconds");
    r->ranks[place] = number_of(line, "ranks_seconds");
    if (place == 1 && rate > 0 && r->count < RATES_MAX)
        r->rates[r->count++] = rate;
    take_metric(r, line, false);
}

static void take_line(struct reading *r, const char *bytes, size_t size) {
    cleanup_json json_t *line = json_loadb(bytes, size, 0, NULL);
    const char *kind = json_string_value(json_object_get(line, "kind"));
    if (kind == NULL)
        return;
    if (strcmp(kind, "run") == 0) {
        take_run(r, line);
    } else if (strcmp(kind, "start") == 0) {
        r->f->sums = number_of(line, "sums");
        r->f->sum_bytes = number_of(line, "sum_bytes");
    } else if (strcmp(kind, "train") == 0) {
        take_train(r, line);
    } else if (strcmp(kind, "eval") == 0) {
        take_metric(r, line, true);
    }
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *list, size_t count) {
    if (count == 0)
        return (double)NAN;
    qsort(list, count, sizeof(*list), ascending);
    return count % 2 == 1 ? list[count / 2] : (list[count / 2 - 1] + list[count / 2]) / 2;
}

int run_figures_read(struct run_figures *ret, const char *folder, double from_step,
                     const char *metric, struct error *err) {
    const double none = (double)NAN;
    char path[PATH_MAX];
    cleanup_buf struct buf text;
    cleanup_free double *rates = calloc(RATES_MAX, sizeof(*rates));
    *ret = (struct run_figures){none, none, none, none, none, none,
                                none, none, none, none, none, false};
    struct reading r = {.f = ret, .metric = metric, .from_step = from_step, .rates = rates};
    buf_init(&text, LOG_MAX);
    if (rates == NULL)
        return error_no_memory(err, "figures");
    if (snprintf(path, sizeof(path), "%s/run.jsonl", folder) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    if (file_read(path, &text, err) != 0)
        return -1;
    for (const char *at = buf_text(&text), *end = at + text.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t size = stop != NULL ? (size_t)(stop - at) : (size_t)(end - at);
        take_line(&r, at, size);
        at += size + 1;
    }
    ret->rate = median(rates, r.count);
    ret->exposed = (r.ranks[1] - r.ranks[0]) / (r.training[1] - r.training[0]);
    if (!(ret->exposed >= 0 && ret->exposed <= 1))
        ret->exposed = none;
    return 0;
}
