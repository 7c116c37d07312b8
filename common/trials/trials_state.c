#include "common/trials/trials_state.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/trials/halving.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results live in one array, indexed by rung, configuration and seed, and are the only facts. Which
 * configurations are alive on a rung is derived from them by trials_state_promote(), and so it is
 * not in the file: reading the results and promoting gives the state in which the killed run was.
 *
 * The file is written whole and replaced by a rename (file_publish), at most once for each trial.
 * With the largest plans it has some megabytes, which is little beside the time of a trial.
 * Appending would leave half a line after a crash.
 *
 * A file belongs to one plan, by the hash of the plan's bytes. Numbers of trials mean nothing under
 * another plan. */

/* STATE_MAX bounds what is read into memory. HASH_SIZE is 16 hexadecimal digits and the NUL. */
enum { VERSION = 1, STATE_MAX = 64 * 1024 * 1024, HASH_SIZE = 17 };

/* On rung 0 all configurations are alive, in the order of the plan. Later rungs are NULL until they
 * open. */
int trials_state_open(struct trials_state *s, const struct trials_plan *plan, struct error *err) {
    *s = (struct trials_state){.plan = plan, .seeds = plan->seed_count > 0 ? plan->seed_count : 1};
    s->results = calloc(plan->rung_count * plan->count * s->seeds, sizeof(*s->results));
    s->alive[0] = calloc(plan->count, sizeof(*s->alive[0]));
    if (s->results == NULL || s->alive[0] == NULL) {
        trials_state_done(s);
        return error_no_memory(err, "results of trials");
    }
    s->alive_count[0] = plan->count;
    for (size_t i = 0; i < plan->count; i++)
        s->alive[0][i] = i;
    return 0;
}

void trials_state_done(struct trials_state *s) {
    free(s->results);
    for (size_t i = 0; i < TRIALS_RUNGS_MAX; i++)
        free(s->alive[i]);
    *s = (struct trials_state){.seeds = 0};
}

/* The seeds of a configuration lie beside each other, and the rungs one after another. */
struct trials_result *trials_state_at(const struct trials_state *s, size_t rung, size_t config,
                                      size_t seed) {
    return &s->results[(rung * s->plan->count + config) * s->seeds + seed];
}

/* Lower rungs come first, as they hold up the others; within a rung, the best configurations do. */
size_t trials_state_missing(const struct trials_state *s, struct trials_number *ret, size_t room) {
    size_t count = 0;
    for (size_t rung = 0; rung < s->plan->rung_count && s->alive[rung] != NULL; rung++)
        for (size_t i = 0; i < s->alive_count[rung]; i++)
            for (size_t seed = 0; seed < s->seeds && count < room; seed++) {
                const size_t config = s->alive[rung][i];
                if (trials_state_at(s, rung, config, seed)->outcome == TRIALS_MISSING)
                    ret[count++] = (struct trials_number){rung, config, seed};
            }
    return count;
}

/* A failed trial counts as one that has a result: it is not repeated. */
static bool has_all(const struct trials_state *s, size_t rung, size_t config) {
    for (size_t seed = 0; seed < s->seeds; seed++)
        if (trials_state_at(s, rung, config, seed)->outcome == TRIALS_MISSING)
            return false;
    return true;
}

/* Every configuration that is alive on the rung has all its results. */
static bool is_complete(const struct trials_state *s, size_t rung) {
    for (size_t i = 0; i < s->alive_count[rung]; i++)
        if (!has_all(s, rung, s->alive[rung][i]))
            return false;
    return true;
}

/* An array of count + 1 is never empty, so that NULL from calloc() always means no memory. A rung
 * on which all failed opens the next one empty. */
static int promote(struct trials_state *s, size_t rung, struct error *err) {
    const size_t count = s->alive_count[rung];
    cleanup_free double *scores = calloc(count + 1, sizeof(*scores));
    size_t *kept = calloc(count + 1, sizeof(*kept));
    if (scores == NULL || kept == NULL) {
        free(kept);
        return error_no_memory(err, "a rung");
    }
    for (size_t i = 0; i < count; i++)
        scores[i] = trials_state_score(s, rung, s->alive[rung][i]);
    const size_t left = halving_keep(scores, count, s->plan->factor, s->plan->smallest, kept);
    for (size_t i = 0; i < left; i++)
        kept[i] = s->alive[rung][kept[i]];
    s->alive[rung + 1] = kept;
    s->alive_count[rung + 1] = left;
    return 0;
}

/* May open several rungs at once, such as after results were read from the file. */
int trials_state_promote(struct trials_state *s, struct error *err) {
    for (size_t rung = 0; rung + 1 < s->plan->rung_count && s->alive[rung] != NULL; rung++)
        if (s->alive[rung + 1] == NULL && is_complete(s, rung) && promote(s, rung, err) != 0)
            return -1;
    return 0;
}

/* One failed seed makes the sum NaN: a mean over fewer seeds would favour configurations that crash
 * with some of them. A missing result counts the same, so the score of an incomplete rung is
 * NaN. */
double trials_state_score(const struct trials_state *s, size_t rung, size_t config) {
    double sum = 0;
    for (size_t seed = 0; seed < s->seeds; seed++) {
        const struct trials_result *r = trials_state_at(s, rung, config, seed);
        sum += r->outcome == TRIALS_DONE ? r->metric : (double)NAN;
    }
    return sum / (double)s->seeds;
}

/* Goes up while all seeds have a result, failed ones included. Rungs that were not opened have
 * none, so the loop ends there. */
int trials_state_rung(const struct trials_state *s, size_t config) {
    int rung = -1;
    while (rung + 1 < (int)s->plan->rung_count && has_all(s, (size_t)(rung + 1), config))
        rung++;
    return rung;
}

/* The last rung with a score: one that failed there counts by the rung before. -1: none. */
static int scored_rung(const struct trials_state *s, size_t config) {
    int rung = trials_state_rung(s, config);
    while (rung >= 0 && isnan(trials_state_score(s, (size_t)rung, config)))
        rung--;
    return rung;
}

/* A strict order over all configurations. Scores of different rungs are not compared, as they are
 * of trainings of different lengths. The number decides ties, so that tables do not depend on
 * timing. Configurations without any score come last, in the order of their numbers. */
static bool is_better(const struct trials_state *s, size_t a, size_t b) {
    const int one = scored_rung(s, a), two = scored_rung(s, b);
    if (one != two)
        return one > two;
    if (one < 0)
        return a < b;
    const double x = trials_state_score(s, (size_t)one, a);
    const double y = trials_state_score(s, (size_t)one, b);
    if (x == y)
        return a < b;
    return s->plan->smallest ? x < y : x > y;
}

/* Insertion sort, of at most TRIALS_MAX configurations. RET is filled from the left, and its first
 * I elements are in order at each step. */
void trials_state_ranking(const struct trials_state *s, size_t *ret) {
    for (size_t i = 0; i < s->plan->count; i++) {
        size_t at = i;
        for (; at > 0 && is_better(s, i, ret[at - 1]); at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
}

/* The first of the ranking, but only if it has a score at all. One pass is enough, without the
 * array that a ranking needs. */
int trials_state_best(const struct trials_state *s) {
    int best = -1;
    for (size_t i = 0; i < s->plan->count; i++)
        if (scored_rung(s, i) >= 0 && (best < 0 || is_better(s, i, (size_t)best)))
            best = (int)i;
    return best;
}

/* --- the file -------------------------------------------------------------------------------- */

/* Text, since JSON readers that use doubles lose bits of a 64-bit number. */
static void hash_text(const struct trials_state *s, char ret[HASH_SIZE]) {
    (void)snprintf(ret, HASH_SIZE, "%016" PRIx64, s->plan->hash);
}

static int path_of(const char *folder, char ret[PATH_MAX], struct error *err) {
    return snprintf(ret, PATH_MAX, "%s/" TRIALS_STATE_NAME, folder) < PATH_MAX
               ? 0
               : error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
}

/* JSON has no NaN. */
static json_t *number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* The flags are only for people and other tools: trials_state_read() takes them from the plan. A
 * missing part makes json_pack() fail as a whole. The code is that of slots_code(), and a metric
 * that is not finite is null. */
static json_t *result_json(const struct trials_state *s, const struct trials_number *n) {
    struct trials_setting settings[TRIALS_AXES_MAX];
    const struct trials_result *r = trials_state_at(s, n->rung, n->config, n->seed);
    json_t *flags = json_object();
    trials_plan_config(s->plan, n->config, settings);
    for (size_t i = 0; i < s->plan->axis_count; i++)
        (void)json_object_set_new(flags, settings[i].name, json_string_any(settings[i].value));
    return json_pack("{s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:i, s:o, s:o}", "trial",
                     (json_int_t)n->config, "seed", (json_int_t)n->seed, "rung",
                     (json_int_t)n->rung, "outcome", r->outcome == TRIALS_DONE ? "done" : "failed",
                     "metric", number_or_null(r->metric), "per_second", number_or_null(r->rate),
                     "seconds", number_or_null(r->seconds), "code", r->code, "why",
                     json_string_any(r->why), "flags", flags);
}

/* In the order of rung, configuration and seed, so that two files of one plan can be compared. */
static int add_results(const struct trials_state *s, json_t *list, struct error *err) {
    const struct trials_plan *p = s->plan;
    for (size_t rung = 0; rung < p->rung_count; rung++)
        for (size_t config = 0; config < p->count; config++)
            for (size_t seed = 0; seed < s->seeds; seed++)
                if (trials_state_at(s, rung, config, seed)->outcome != TRIALS_MISSING &&
                    json_array_append_new(
                        list, result_json(s, &(struct trials_number){rung, config, seed})) != 0)
                    return error_no_memory(err, "results of trials");
    return 0;
}

/* Errors name the path. An old file stays if this fails. */
int trials_state_write(const struct trials_state *s, const char *folder, struct error *err) {
    char path[PATH_MAX], hash[HASH_SIZE];
    cleanup_json json_t *results = json_array();
    hash_text(s, hash);
    if (path_of(folder, path, err) != 0 || add_results(s, results, err) != 0)
        return -1;
    cleanup_json json_t *root = json_pack("{s:i, s:s, s:s, s:O}", "version", (int)VERSION, "plan",
                                          hash, "metric", s->plan->metric, "results", results);
    cleanup_buf struct buf text = {.max = STATE_MAX};
    return root == NULL || json_add_text(root, &text, err) != 0
               ? error_no_memory(err, "results of trials")
               : file_publish(path, buf_text(&text), text.size, 0644, err);
}

/* Reads what number_or_null() wrote, and NaN for anything that is no number. */
static double real_of(const json_t *row, const char *name) {
    const json_t *value = json_object_get(row, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The hash has matched, but the file may have been edited: every index is checked before it is
 * used. An outcome other than "done" is a failure, and figures that are missing are NaN. */
static int take_result(struct trials_state *s, const json_t *row, const char *path,
                       struct error *err) {
    int64_t config = -1, seed = -1, rung = -1, code = 0;
    const char *outcome = "", *why = "";
    if (json_member_int(row, path, "trial", &config, err) != 0 ||
        json_member_int(row, path, "seed", &seed, err) != 0 ||
        json_member_int(row, path, "rung", &rung, err) != 0 ||
        json_member_int(row, path, "code", &code, err) != 0 ||
        json_member_string(row, path, "outcome", &outcome, err) != 0 ||
        json_member_string(row, path, "why", &why, err) != 0)
        return -1;
    if (config < 0 || (size_t)config >= s->plan->count || seed < 0 || (size_t)seed >= s->seeds ||
        rung < 0 || (size_t)rung >= s->plan->rung_count)
        return error_set(err, EXIT_CODE_CONFIG, "%s: it has a trial that is not in the plan", path);
    struct trials_result *r = trials_state_at(s, (size_t)rung, (size_t)config, (size_t)seed);
    *r = (struct trials_result){.outcome =
                                    strcmp(outcome, "done") == 0 ? TRIALS_DONE : TRIALS_FAILED,
                                .metric = real_of(row, "metric"),
                                .rate = real_of(row, "per_second"),
                                .seconds = real_of(row, "seconds"),
                                .code = (int)code};
    (void)snprintf(r->why, sizeof(r->why), "%.199s", why);
    return 0;
}

/* No file is a new run. Any other failure to read is an error, because going on without the results
 * would run all trials again and replace the file. Jansson is called without the limits of json.h,
 * as the file may be larger than those allow. */
int trials_state_read(struct trials_state *s, const char *folder, struct error *err) {
    char path[PATH_MAX], hash[HASH_SIZE];
    const char *plan = "";
    cleanup_json json_t *root = NULL;
    struct error why = {0};
    hash_text(s, hash);
    if (path_of(folder, path, err) != 0)
        return -1;
    cleanup_buf struct buf text = {.max = STATE_MAX};
    if (file_read(path, &text, &why) != 0)
        return why.os_errno == ENOENT ? trials_state_promote(s, err)
                                      : error_set(err, EXIT_CODE_CONFIG, "%s", why.text);
    root = json_loadb(buf_text(&text), text.size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: it is damaged; remove it, or give another folder (--out)", path);
    if (json_member_string(root, path, "plan", &plan, err) != 0)
        return -1;
    if (strcmp(plan, hash) != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: it has the results of another plan, or of this one before it was "
                         "changed; give another folder (--out)",
                         path);
    const json_t *results = json_object_get(root, "results");
    for (size_t i = 0; i < json_array_size(results); i++)
        if (take_result(s, json_array_get(results, i), path, err) != 0)
            return -1;
    return trials_state_promote(s, err);
}
