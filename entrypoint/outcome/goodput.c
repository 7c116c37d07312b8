#include "entrypoint/outcome/goodput.h"

#include "common/clock.h"
#include "common/exit_code.h"

#include <stdio.h>
#include <string.h>

/* The account is a state with a span that is open and sums of those that are over. Each function
 * closes the open span at the time it is given and opens the next. Nothing is counted twice, so the
 * sums add up to the time since the beginning (goodput_total).
 *
 * While ranks run it is not known yet what their time was worth. If the attempt fails, only the
 * time before the last checkpoint was useful. So a running span is divided only at its end (lose,
 * keep). */

/* A job begins in GOODPUT_STARTING, which is 0. */
void goodput_begin(struct goodput *g, int64_t now) {
    *g = (struct goodput){.since = now};
}

/* Time never runs backwards, and a pause is not longer than its span. */
static int64_t at_least_none(int64_t time) {
    return time > 0 ? time : 0;
}

/* What programs say of their checkpoints is not trusted to fit. */
static int64_t limited(int64_t time, int64_t most) {
    return time < most ? time : most;
}

/* Adds the time of ranks from the begin of the span to UNTIL, of which they stood still for PAUSE.
 * The span itself is left open. */
static void keep(struct goodput *g, int64_t until, int64_t pause) {
    const int64_t all = at_least_none(until - g->since);
    const int64_t still = limited(at_least_none(pause), all);
    g->checkpoints += still;
    g->useful += all - still;
}

/* What is known of checkpoints belongs to the span that ends. */
static void go(struct goodput *g, enum goodput_span span, int64_t now) {
    g->span = span;
    g->since = now;
    g->saved_at = g->pause = g->saved_pause = 0;
}

/* In any other span it is ignored: a rank that starts late changes nothing. */
void goodput_started(struct goodput *g, int64_t now) {
    const int64_t passed = at_least_none(now - g->since);
    if (g->span == GOODPUT_STARTING)
        g->startup += passed;
    else if (g->span == GOODPUT_DOWN)
        g->down[g->cause] += passed;
    else
        return;
    go(g, GOODPUT_RUNNING, now);
}

/* The longest pause of any rank counts, as the others wait for it. A checkpoint from before this
 * span is one of an earlier attempt. The pause is remembered as it was at the checkpoint: what
 * follows may be lost. */
void goodput_saved(struct goodput *g, int64_t at, int64_t pause) {
    if (g->span != GOODPUT_RUNNING)
        return;
    g->pause = pause > g->pause ? pause : g->pause;
    /* Ranks report one after the other: an older time than the last is no news. */
    if (at <= g->saved_at || at < g->since)
        return;
    g->saved_at = at;
    g->saved_pause = g->pause;
}

/* Ends the span AT, with the loss of what was not saved. A program that saves nothing loses
 * everything since the ranks started. */
static void lose(struct goodput *g, int64_t at, enum goodput_cause cause) {
    if (g->span == GOODPUT_STARTING)
        g->startup += at_least_none(at - g->since);
    if (g->span == GOODPUT_DOWN)
        g->down[g->cause] += at_least_none(at - g->since);
    if (g->span != GOODPUT_RUNNING)
        return;
    const int64_t kept = g->saved_at != 0 ? limited(g->saved_at, at) : g->since;
    keep(g, kept, g->saved_pause);
    g->lost[cause] += at_least_none(at - kept);
}

/* AT may lie in the past: the failure is older than the judgement. The next span never begins
 * before the last one. */
void goodput_failed(struct goodput *g, int64_t at, enum goodput_cause cause) {
    if (g->span == GOODPUT_OVER)
        return;
    lose(g, at, cause);
    g->cause = cause;
    g->failures++;
    go(g, GOODPUT_DOWN, at > g->since ? at : g->since);
}

/* A failure counts as one more only if ranks were running. */
void goodput_end(struct goodput *g, int64_t at, bool failure, enum goodput_cause cause) {
    if (g->span == GOODPUT_OVER)
        return;
    if (g->span == GOODPUT_RUNNING && !failure)
        keep(g, at, g->pause);
    else
        lose(g, at, cause);
    g->failures += failure && g->span == GOODPUT_RUNNING;
    go(g, GOODPUT_OVER, at);
}

/* Works on a copy, so that metrics can be asked for at any time. */
struct goodput goodput_at(const struct goodput *g, int64_t now) {
    struct goodput copy = *g;
    goodput_end(&copy, now, false, g->cause);
    return copy;
}

/* Over all causes. */
static int64_t sum(const int64_t times[GOODPUT_CAUSES]) {
    int64_t all = 0;
    for (size_t i = 0; i < GOODPUT_CAUSES; i++)
        all += times[i];
    return all;
}

/* In ns; a span that is still open is not in it. */
int64_t goodput_total(const struct goodput *g) {
    return g->startup + g->useful + g->checkpoints + sum(g->lost) + sum(g->down);
}

/* Nothing has been wasted of nothing. */
double goodput_ratio(const struct goodput *g) {
    const int64_t all = goodput_total(g);
    return all > 0 ? (double)g->useful / (double)all : 1;
}

/* A verdict without a rank is about mpirun, a daemon or the launch. */
enum goodput_cause goodput_cause_of(const struct verdict *v) {
    if (v->code == EXIT_CODE_HOST_LOST)
        return GOODPUT_HOST;
    if (v->code == EXIT_CODE_STALLED)
        return GOODPUT_STALL;
    return v->rank >= 0 ? GOODPUT_RANK : GOODPUT_LAUNCH;
}

const char *goodput_cause_name(enum goodput_cause cause) {
    static const char *const names[GOODPUT_CAUSES] = {"rank", "host", "stall", "launch"};
    return names[cause];
}

/* --- for people and programs ------------------------------------------------------------------ */

/* Times are kept in ns and shown in seconds. */
static double seconds(int64_t time) {
    return (double)time / (double)CLOCK_SECOND;
}

/* Each part begins with a comma, after the first that goodput_text() writes. */
static void add(char text[GOODPUT_TEXT_SIZE], const char *name, int64_t time) {
    const size_t used = strlen(text);
    (void)snprintf(text + used, GOODPUT_TEXT_SIZE - used, ", %s %.1f s", name, seconds(time));
}

/* Causes that have cost nothing are left out. */
static void add_causes(char text[GOODPUT_TEXT_SIZE], const char *name,
                       const int64_t times[GOODPUT_CAUSES]) {
    const char *before = " (";
    add(text, name, sum(times));
    for (size_t i = 0; i < GOODPUT_CAUSES; i++) {
        const size_t used = strlen(text);
        if (times[i] == 0)
            continue;
        (void)snprintf(text + used, GOODPUT_TEXT_SIZE - used, "%s%s %.1f s", before,
                       goodput_cause_name((enum goodput_cause)i), seconds(times[i]));
        before = ", ";
    }
    const size_t used = strlen(text);
    if (sum(times) > 0)
        (void)snprintf(text + used, GOODPUT_TEXT_SIZE - used, ")");
}

/* Text that does not fit is cut; GOODPUT_TEXT_SIZE has room for all causes. */
void goodput_text(const struct goodput *g, char ret[GOODPUT_TEXT_SIZE]) {
    (void)snprintf(ret, GOODPUT_TEXT_SIZE, "goodput %.1f %%: useful %.1f s", 100 * goodput_ratio(g),
                   seconds(g->useful));
    add(ret, "start-up", g->startup);
    add(ret, "checkpoints", g->checkpoints);
    add_causes(ret, "lost", g->lost);
    add_causes(ret, "down", g->down);
}

/* All causes, also those without cost, so that readers need not know which may be missing. */
static json_t *causes(const int64_t times[GOODPUT_CAUSES]) {
    json_t *object = json_object();
    for (size_t i = 0; i < GOODPUT_CAUSES; i++)
        (void)json_object_set_new(object, goodput_cause_name((enum goodput_cause)i),
                                  json_real(seconds(times[i])));
    return object;
}

json_t *goodput_record(const struct goodput *g) {
    return json_pack("{s:f, s:f, s:f, s:f, s:o, s:o, s:I}", "ratio", goodput_ratio(g), "useful",
                     seconds(g->useful), "startup", seconds(g->startup), "checkpoints",
                     seconds(g->checkpoints), "lost", causes(g->lost), "down", causes(g->down),
                     "failures", (json_int_t)g->failures);
}

/* --- for the next master ---------------------------------------------------------------------- */

/* Failures and cause, three sums, and two for each cause. */
enum { NUMBERS = 5 + 2 * GOODPUT_CAUSES };

/* In the order of the array. Both directions use this one order, so that they cannot differ. */
static void list(struct goodput *g, int64_t *ret[NUMBERS - 2]) {
    size_t n = 0;
    ret[n++] = &g->startup;
    ret[n++] = &g->useful;
    ret[n++] = &g->checkpoints;
    for (size_t i = 0; i < GOODPUT_CAUSES; i++) {
        ret[n++] = &g->lost[i];
        ret[n++] = &g->down[i];
    }
}

/* An array without names: it goes to every host with each attempt. */
json_t *goodput_json(const struct goodput *g) {
    struct goodput copy = *g;
    int64_t *fields[NUMBERS - 2];
    json_t *array = json_array();
    list(&copy, fields);
    (void)json_array_append_new(array, json_integer(g->failures));
    (void)json_array_append_new(array, json_integer((json_int_t)g->cause));
    for (size_t i = 0; i < NUMBERS - 2; i++)
        (void)json_array_append_new(array, json_integer(*fields[i]));
    return array;
}

/* A job that changes its master is down, whatever it was before. Sums are limited so that adding to
 * them cannot overflow. *RET is only written when everything fits. */
bool goodput_parse(const json_t *object, int64_t now, struct goodput *ret) {
    struct goodput g = {.span = GOODPUT_DOWN, .since = now};
    int64_t *fields[NUMBERS - 2];
    list(&g, fields);
    for (size_t i = 0; i < NUMBERS; i++) {
        const json_t *number = json_array_get(object, i);
        const json_int_t value = json_integer_value(number);
        /* The message comes from another host, if with the job's key. */
        if (!json_is_integer(number) || value < 0 || value > INT64_MAX / 64 ||
            (i == 0 && value > INT32_MAX) || (i == 1 && value >= GOODPUT_CAUSES))
            return false;
        if (i == 0)
            g.failures = (unsigned)value;
        else if (i == 1)
            g.cause = (enum goodput_cause)value;
        else
            *fields[i - 2] = value;
    }
    *ret = g;
    return true;
}
