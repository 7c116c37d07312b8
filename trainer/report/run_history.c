#include "trainer/report/run_history.h"

#include "common/grow.h"
#include "common/json/json.h"
#include "common/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lines are taken one after the other, in the order of the file, and each changes the state at
 * once; the file is never in memory as a whole (run_history_read.c). The lines of one process are
 * those from its line of kind run on, so the last attempt is the one that a line belongs to.
 *
 * A run that was resumed writes a line of kind start with the step at which it continues. Whatever
 * an earlier process has logged of later steps is no part of the history any more, and cut removes
 * it.
 *
 * The file may have been written by another version, or be damaged. Members that are missing or of
 * another type count as unknown, and unknown numbers are NaN throughout. */

/* Members of a line with the times of its process, in the order of enum history_part. */
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

/* Unknown times add nothing: the sum is a lower bound. */
double run_history_seconds(const struct run_history *h, enum history_part part) {
    double sum = 0;
    for (size_t i = 0; i < h->attempt_count; i++)
        sum += isfinite(h->attempts[i].parts[part]) ? h->attempts[i].parts[part] : 0;
    return sum;
}

/* Returns the member NAME, or NaN if it is absent or no number. */
static double number(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Copies the time of LINE; "" if it is absent or longer than any time that run_log.h writes. */
static void copy_time(char ret[HISTORY_TIME_SIZE], const json_t *line) {
    const char *time = json_string_value(json_object_get(line, "time"));
    if (time == NULL || strlen(time) >= HISTORY_TIME_SIZE)
        time = "";
    memcpy(ret, time, strlen(time) + 1);
}

/* Training and evaluation may have numbers of the same name, such as the loss, hence EVALUATED. */
const struct history_curve *run_history_curve(const struct run_history *h, const char *name,
                                              bool evaluated) {
    for (size_t i = 0; i < h->curve_count; i++)
        if (h->curves[i].evaluated == evaluated && strcmp(h->curves[i].name, name) == 0)
            return &h->curves[i];
    return NULL;
}

/* Returns the curve, a new one if it must be and can; NULL: there are too many, or no memory. The
 * limit keeps a file with ever new names from taking ever more memory. */
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

/* Keeps every second point. Called when the last point was just kept at an odd place, and so goes.
 * `passed` is then set so that the next kept point is one new stride after the last one that stays.
 */
static void thin(struct history_curve *c) {
    for (size_t i = 0; i < c->count / 2; i++)
        c->points[i] = c->points[2 * i];
    c->count /= 2;
    c->passed = (c->stride + 1) % (2 * c->stride);
    c->stride *= 2;
}

/* Adds a point or passes it over. There is always room for one more, so that the limit is checked
 * after it. c->last is the newest point in any case. */
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

/* Drops points of steps after STEP. Points of one curve have ascending steps, as each process
 * counts up from where it began. */
static void cut(struct run_history *h, double step) {
    for (size_t i = 0; i < h->curve_count; i++) {
        struct history_curve *c = &h->curves[i];
        while (c->count > 0 && c->points[c->count - 1].step > step)
            c->count--;
        c->passed = 0; /* the next point is kept, and strides count from it */
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

/* Adds every number of a line as a point of the curve with its name. null stands for a number that
 * was not finite. A line without a step is left out. */
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

/* If there are more processes than HISTORY_ATTEMPTS_MAX, the oldest are dropped, and counted. */
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

/* What every line says of the process that wrote it. Times are totals of the process so far, so the
 * last line that has them counts. */
static void follow(struct history_attempt *a, const json_t *line) {
    const double step = number(line, "step");
    copy_time(a->last, line);
    if (isfinite(step) && a->started)
        a->to = step > a->to ? step : a->to;
    /* Lines without times, of kind checkpoint for example, leave what is known. */
    if (!isfinite(number(line, PART_NAMES[HISTORY_TRAINING])))
        return;
    for (int i = 0; i < HISTORY_PARTS; i++)
        a->parts[i] = number(line, PART_NAMES[i]);
}

/* Takes a reference to LINE, which may be NULL, and gives up the one that was kept. */
static void replace(json_t **kept, json_t *line) {
    json_incref(line);
    json_decref(*kept);
    *kept = line;
}

/* A process that began to train: its settings are the run's from now on. A is NULL if no line of
 * kind run came before. */
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

/* Takes in one line. Lines of an unknown kind still say when their process was alive. A process
 * that never begins to train does not replace the settings of one that did: its line is kept in
 * h->next. */
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
    /* Only lines of these two kinds have numbers that make curves. */
    const bool train = strcmp(kind, "train") == 0;
    return train || strcmp(kind, "eval") == 0 ? add_points(h, line, !train, err) : 0;
}

/* Lines that are no JSON object with a kind are counted, and do not end the reading. A line that a
 * killed run has left unfinished is one of them. */
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
