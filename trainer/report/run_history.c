#include "trainer/report/run_history.h"

#include "common/grow.h"
#include "common/json/json.h"
#include "common/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const PART_NAMES[HISTORY_PARTS] = {
    "seconds",       "training_seconds", "data_seconds",
    "ranks_seconds", "eval_seconds",     "checkpoint_seconds",
};

void run_history_done(struct run_history *h) {
    for (size_t i = 0; i < h->curve_count; i++)
        free(h->curves[i].points);
    free(h->curves);
    free(h->attempts);
    json_decref(h->run);
    json_decref(h->next);
    json_decref(h->classes);
    json_decref(h->failure);
    *h = (struct run_history){0};
}

double run_history_seconds(const struct run_history *h, enum history_part part) {
    double sum = 0;
    for (size_t i = 0; i < h->attempt_count; i++)
        sum += isfinite(h->attempts[i].parts[part]) ? h->attempts[i].parts[part] : 0;
    return sum;
}

static double number(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void copy_time(char ret[HISTORY_TIME_SIZE], const json_t *line) {
    const char *time = json_string_value(json_object_get(line, "time"));
    if (time == NULL || strlen(time) >= HISTORY_TIME_SIZE)
        time = "";
    memcpy(ret, time, strlen(time) + 1);
}

const struct history_curve *run_history_curve(const struct run_history *h, const char *name,
                                              bool evaluated) {
    for (size_t i = 0; i < h->curve_count; i++)
        if (h->curves[i].evaluated == evaluated && strcmp(h->curves[i].name, name) == 0)
            return &h->curves[i];
    return NULL;
}

/* Returns the curve, a new one if it must be and can; NULL: there are too many, or no memory. */
static struct history_curve *curve_of(struct run_history *h, const char *name, bool evaluated) {
    const struct history_curve *known = run_history_curve(h, name, evaluated);
    if (known != NULL)
        return &h->curves[known - h->curves];
    if (h->curve_count == HISTORY_CURVES_MAX || strlen(name) >= HISTORY_NAME_SIZE)
        return NULL;
    if (h->curves == NULL && (h->curves = calloc(HISTORY_CURVES_MAX, sizeof(*h->curves))) == NULL)
        return NULL;
    struct history_curve *c = &h->curves[h->curve_count++];
    memcpy(c->name, name, strlen(name) + 1);
    c->evaluated = evaluated;
    c->stride = 1;
    return c;
}

/* Keeps every second point. */
static void thin(struct history_curve *c) {
    for (size_t i = 0; i < c->count / 2; i++)
        c->points[i] = c->points[2 * i];
    c->count /= 2;
    c->passed = (c->stride + 1) % (2 * c->stride);
    c->stride *= 2;
}

static int add_point(struct history_curve *c, struct history_point point, struct error *err) {
    if (grow_array(&c->points, &c->capacity, c->count + 1, sizeof(*c->points),
                   "the points of a curve", err) != 0)
        return -1;
    c->last = point;
    if (c->passed == 0)
        c->points[c->count++] = point;
    c->passed = (c->passed + 1) % c->stride;
    if (c->count == HISTORY_POINTS_MAX)
        thin(c);
    return 0;
}

/* Drops points of steps after STEP. */
static void cut(struct run_history *h, double step) {
    for (size_t i = 0; i < h->curve_count; i++) {
        struct history_curve *c = &h->curves[i];
        while (c->count > 0 && c->points[c->count - 1].step > step)
            c->count--;
        c->passed = 0;
        if (c->count > 0)
            c->last = c->points[c->count - 1];
        else
            c->stride = 1;
    }
}

/* Members that say where a line stands, not what came of it. */
static bool is_place(const char *name) {
    static const char *const places[] = {"kind", "time", "step", "epoch"};
    return TABLE_INDEX(places, name) < TABLE_COUNT(places) ||
           TABLE_INDEX(PART_NAMES, name) < TABLE_COUNT(PART_NAMES);
}

static int add_points(struct run_history *h, json_t *line, bool evaluated, struct error *err) {
    const double step = number(line, "step");
    const char *name = NULL;
    json_t *value = NULL;
    if (!isfinite(step))
        return 0;
    json_object_foreach(line, name, value) {
        if (is_place(name) || (!json_is_number(value) && !json_is_null(value)))
            continue;
        struct history_curve *c = curve_of(h, name, evaluated);
        const struct history_point point = {step, json_is_number(value) ? json_number_value(value)
                                                                        : (double)NAN};
        if (c != NULL && add_point(c, point, err) != 0)
            return -1;
    }
    return 0;
}

static int begin_attempt(struct run_history *h, const json_t *line, struct error *err) {
    if (h->attempts == NULL &&
        (h->attempts = calloc(HISTORY_ATTEMPTS_MAX, sizeof(*h->attempts))) == NULL)
        return error_no_memory(err, "attempts");
    if (h->attempt_count == HISTORY_ATTEMPTS_MAX) {
        memmove(h->attempts, h->attempts + 1, (HISTORY_ATTEMPTS_MAX - 1) * sizeof(*h->attempts));
        h->attempt_count--;
        h->attempts_dropped++;
    }
    struct history_attempt *a = &h->attempts[h->attempt_count++];
    *a =
        (struct history_attempt){.ranks = number(line, "ranks"), .number = number(line, "attempt")};
    for (int i = 0; i < HISTORY_PARTS; i++)
        a->parts[i] = (double)NAN;
    copy_time(a->begun, line);
    return 0;
}

/* What every line says of the process that wrote it. */
static void follow(struct history_attempt *a, const json_t *line) {
    const double step = number(line, "step");
    copy_time(a->last, line);
    if (isfinite(step) && a->started)
        a->to = step > a->to ? step : a->to;
    if (!isfinite(number(line, PART_NAMES[HISTORY_TRAINING])))
        return;
    for (int i = 0; i < HISTORY_PARTS; i++)
        a->parts[i] = number(line, PART_NAMES[i]);
}

static void replace(json_t **kept, json_t *line) {
    json_incref(line);
    json_decref(*kept);
    *kept = line;
}

/* A process that began to train: its settings are the run's from now on. */
static void begin_training(struct run_history *h, struct history_attempt *a, double step) {
    cut(h, step);
    if (h->next != NULL)
        replace(&h->run, h->next);
    replace(&h->next, NULL);
    h->trained = true;
    if (a != NULL) {
        a->started = true;
        a->from = a->to = step;
    }
}

static int take(struct run_history *h, json_t *line, const char *kind, struct error *err) {
    if (strcmp(kind, "run") == 0) {
        replace(h->trained ? &h->next : &h->run, line);
        replace(&h->failure, NULL);
        if (begin_attempt(h, line, err) != 0)
            return -1;
    }
    struct history_attempt *a = h->attempt_count > 0 ? &h->attempts[h->attempt_count - 1] : NULL;
    const double step = number(line, "step");
    if (strcmp(kind, "start") == 0 && isfinite(step)) {
        begin_training(h, a, step);
    } else if (strcmp(kind, "classes") == 0) {
        replace(&h->classes, line);
    } else if (strcmp(kind, "failure") == 0) {
        replace(&h->failure, line);
    } else if (strcmp(kind, "checkpoint") == 0) {
        h->checkpoints++;
    } else if (strcmp(kind, "end") == 0 && a != NULL) {
        a->ended = true;
        a->code = number(line, "code");
    }
    if (a != NULL)
        follow(a, line);
    const bool train = strcmp(kind, "train") == 0;
    return train || strcmp(kind, "eval") == 0 ? add_points(h, line, !train, err) : 0;
}

int run_history_line(struct run_history *h, const char *bytes, size_t size, struct error *err) {
    json_t *line = NULL;
    struct error why = {0};
    h->lines++;
    const int parsed = size <= JSON_FILE_MAX ? json_parse(bytes, size, "a line", &line, &why) : -1;
    const char *kind = json_string_value(json_object_get(line, "kind"));
    int result = 0;
    if (parsed != 0 || kind == NULL)
        h->bad++;
    else
        result = take(h, line, kind, err);
    json_decref(line);
    return result;
}
