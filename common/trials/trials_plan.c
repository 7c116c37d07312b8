#include "common/trials/trials_plan.h"

#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"

#include <stdlib.h>
#include <string.h>

/* The plan is read from top to bottom by one function for each member, and each checks its own
 * part. check_names() comes last, because a flag may be set in four places: "flags", the axes,
 * "seeds" and "halving". Set twice, the winner would depend on the order of words in a command
 * line.
 *
 * The parser is strict about unknown members. A misspelt "stal" would otherwise leave the default,
 * and a plan runs for hours before anybody notices. All errors have the code of a wrong
 * configuration and name the file, through trials_member_error().
 *
 * Values become texts here (trials_member_value), since they are words of a command line in the
 * end. Numbers keep their shortest form, and so the page and the state file show what the user
 * wrote. */

/* Seconds: a day for a trial, a quarter of an hour between two lines of its output, and a year for
 * the most that a plan may ask for. */
static const double LIMIT = 86400, STALL = 900, SECONDS_MOST = 31536000;

/* The factor that is taken where the plan names none: a third of a rung advances to the next. */
enum { FACTOR = 3, FACTOR_MAX = 64 };

/* Only choices own memory; ranges have no values. Safe on a plan that was read in part, and on one
 * that was never read but zeroed. */
void trials_plan_done(struct trials_plan *p) {
    for (size_t i = 0; i < p->axis_count; i++)
        free(p->axes[i].values);
    *p = (struct trials_plan){.count = 0};
}

/* FLAGS may be NULL, which is an empty object to the loop. A setting counts only once its name and
 * value are both good. */
static int read_flags(struct trials_plan *p, json_t *flags, const char *where, struct error *err) {
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(flags, key, value) {
        if (p->flag_count == TRIALS_FLAGS_MAX)
            return trials_member_error(where, "flags", "at most 64 flags are taken", err);
        struct trials_setting *s = &p->flags[p->flag_count];
        if (trials_member_name(key, s->name, where, err) != 0 ||
            trials_member_value(value, s->value, key, where, err) != 0)
            return -1;
        p->flag_count++;
    }
    return 0;
}

/* COUNT grows with each value that was read, so that it is right at any failure. A list of one
 * value is allowed: the flag then appears in tables, unlike one in "flags". */
static int read_choice(struct trials_axis *a, const json_t *list, const char *where,
                       struct error *err) {
    const size_t count = json_array_size(list);
    if (count == 0 || count > TRIALS_VALUES_MAX)
        return trials_member_error(where, a->name, "a list of 1 to 64 values is expected", err);
    a->kind = TRIALS_CHOICE;
    a->values = calloc(count, sizeof(*a->values));
    if (a->values == NULL)
        return error_no_memory(err, "values");
    for (; a->count < count; a->count++)
        if (trials_member_value(json_array_get(list, a->count), a->values[a->count], a->name, where,
                                err) != 0)
            return -1;
    return 0;
}

/* An object with one member, and its name is the kind. Two members would be two distributions for
 * one flag. The check for numbers comes after the values are taken: what is no number reads as
 * 0. */
static int read_range(struct trials_axis *a, json_t *range, const char *where, struct error *err) {
    static const struct {
        const char *name;
        enum trials_axis_kind kind;
    } kinds[] = {{"uniform", TRIALS_UNIFORM}, {"log", TRIALS_LOG}, {"integer", TRIALS_INTEGER}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const json_t *bounds = json_object_get(range, kinds[i].name);
        if (bounds == NULL || json_object_size(range) != 1)
            continue;
        a->kind = kinds[i].kind;
        a->low = json_number_value(json_array_get(bounds, 0));
        a->high = json_number_value(json_array_get(bounds, 1));
        const bool numbers = json_array_size(bounds) == 2 &&
                             json_is_number(json_array_get(bounds, 0)) &&
                             json_is_number(json_array_get(bounds, 1));
        if (!numbers || !(a->low < a->high) || (a->kind == TRIALS_LOG && !(a->low > 0)))
            return trials_member_error(
                where, a->name, "two ascending numbers are expected, above 0 for \"log\"", err);
        return 0;
    }
    return trials_member_error(where, a->name,
                               "a list of values is expected, or one of {\"uniform\": [A, B]}, "
                               "{\"log\": [A, B]}, {\"integer\": [A, B]}",
                               err);
}

/* RANGES: a flag may also have a range to draw from. */
static int read_axes(struct trials_plan *p, json_t *space, bool ranges, const char *where,
                     struct error *err) {
    const char *key = NULL;
    json_t *value = NULL;
    if (!json_is_object(space) || json_object_size(space) == 0 ||
        json_object_size(space) > TRIALS_AXES_MAX)
        return trials_member_error(where, ranges ? "space" : "grid",
                                   "an object with 1 to 16 flags is expected", err);
    json_object_foreach(space, key, value) {
        struct trials_axis *a = &p->axes[p->axis_count];
        if (trials_member_name(key, a->name, where, err) != 0)
            return -1;
        p->axis_count++; /* from here on it is freed with the plan */
        if (json_is_array(value) || !ranges ? read_choice(a, value, where, err) != 0
                                            : read_range(a, value, where, err) != 0)
            return -1;
    }
    return 0;
}

/* The product is checked after each factor, so it cannot overflow: both factors are small. The
 * limit bounds the array of results that trials_state_open() allocates. */
static int read_grid(struct trials_plan *p, json_t *grid, const char *where, struct error *err) {
    if (read_axes(p, grid, false, where, err) != 0)
        return -1;
    p->count = 1;
    for (size_t i = 0; i < p->axis_count; i++) {
        p->count *= p->axes[i].count;
        if (p->count > TRIALS_MAX)
            return trials_member_error(where, "grid", "it has more than 4096 combinations", err);
    }
    return 0;
}

/* Without a seed it is 0: the same plan always draws the same configurations. That is needed after
 * a restart, when results on disk are matched by their numbers. The space is read last, by the
 * function that reads a grid's axes, too. */
static int read_random(struct trials_plan *p, json_t *random, const char *where,
                       struct error *err) {
    static const char *const members[] = {"count", "seed", "space", NULL};
    int64_t count = 0, seed = 0;
    p->random = true;
    if (trials_member_only(random, "random", members, where, err) != 0 ||
        trials_member_int(random, "count", 1, TRIALS_MAX, true, &count, where, err) != 0 ||
        trials_member_int(random, "seed", 0, INT64_MAX, false, &seed, where, err) != 0)
        return -1;
    p->count = (size_t)count;
    p->draw_seed = (uint64_t)seed;
    return read_axes(p, json_object_get(random, "space"), true, where, err);
}

/* Both would be two sets of configurations, and neither would be none. A member that is null counts
 * as given, and fails as a wrong type. */
static int read_space(struct trials_plan *p, const json_t *root, const char *where,
                      struct error *err) {
    json_t *grid = json_object_get(root, "grid"), *random = json_object_get(root, "random");
    if ((grid == NULL) == (random == NULL))
        return trials_member_error(where, "grid", "either \"grid\" or \"random\" is expected", err);
    return grid != NULL ? read_grid(p, grid, where, err) : read_random(p, random, where, err);
}

/* Without halving there is one rung, and its flag has no name, so all later code sees rungs. The
 * numbers of a rung are values of the flag, most often epochs; they need not be powers of the
 * factor. */
static int read_halving(struct trials_plan *p, json_t *halving, const char *where,
                        struct error *err) {
    static const char *const members[] = {"flag", "rungs", "factor", NULL};
    const json_t *rungs = json_object_get(halving, "rungs");
    int64_t factor = FACTOR;
    p->rung_count = 1;
    if (halving == NULL)
        return 0;
    if (trials_member_only(halving, "halving", members, where, err) != 0 ||
        trials_member_int(halving, "factor", 2, FACTOR_MAX, false, &factor, where, err) != 0)
        return -1;
    p->factor = (int)factor;
    const json_t *flag = json_object_get(halving, "flag");
    if (trials_member_name(flag != NULL ? json_string_value(flag) : "epochs", p->rung_flag, where,
                           err) != 0)
        return -1;
    p->rung_count = json_array_size(rungs);
    if (p->rung_count < 2 || p->rung_count > TRIALS_RUNGS_MAX)
        return trials_member_error(where, "rungs", "a list of 2 to 16 numbers is expected", err);
    for (size_t i = 0; i < p->rung_count; i++) {
        const json_t *value = json_array_get(rungs, i);
        p->rungs[i] = json_integer_value(value);
        if (!json_is_integer(value) || p->rungs[i] < 1 || (i > 0 && p->rungs[i] <= p->rungs[i - 1]))
            return trials_member_error(where, "rungs", "ascending whole numbers are expected", err);
    }
    return 0;
}

/* A number that appears twice would count one result twice in the mean. */
static int read_seeds(struct trials_plan *p, const json_t *seeds, const char *where,
                      struct error *err) {
    p->seed_count = json_array_size(seeds);
    if (seeds != NULL && (p->seed_count < 1 || p->seed_count > TRIALS_SEEDS_MAX))
        return trials_member_error(where, "seeds", "a list of 1 to 32 numbers is expected", err);
    for (size_t i = 0; i < p->seed_count; i++) {
        const json_t *value = json_array_get(seeds, i);
        p->seeds[i] = json_integer_value(value);
        if (!json_is_integer(value) || p->seeds[i] < 0)
            return trials_member_error(where, "seeds", "whole numbers from 0 on are expected", err);
        for (size_t k = 0; k < i; k++)
            if (p->seeds[k] == p->seeds[i])
                return trials_member_error(where, "seeds", "a number appears twice", err);
    }
    return 0;
}

/* The metric has no default: no name fits all programs. It is checked like a flag's name, because
 * it is searched in output and shown on pages. */
static int read_goal(struct trials_plan *p, const json_t *root, const char *where,
                     struct error *err) {
    const char *goal = "max";
    if (trials_member_name(json_string_value(json_object_get(root, "metric")), p->metric, where,
                           err) != 0)
        return error_wrap(err, "\"metric\"");
    if (json_member_string(root, where, "goal", &goal, err) != 0)
        return -1;
    p->smallest = strcmp(goal, "min") == 0;
    return p->smallest || strcmp(goal, "max") == 0
               ? 0
               : trials_member_error(where, "goal", "\"max\" or \"min\" is expected", err);
}

/* RANKS is what each trial takes; trials_lead() compares it with the ranks of the job. Limits are
 * seconds, and may have a fraction. */
static int read_limits(struct trials_plan *p, const json_t *root, const char *where,
                       struct error *err) {
    int64_t ranks = 1;
    p->limit = LIMIT, p->stall = STALL;
    if (trials_member_int(root, "ranks", 1, TRIALS_RANKS_MAX, false, &ranks, where, err) != 0 ||
        trials_member_real(root, "limit", 1, SECONDS_MOST, &p->limit, where, err) != 0 ||
        trials_member_real(root, "stall", 1, SECONDS_MOST, &p->stall, where, err) != 0)
        return -1;
    p->ranks = (int)ranks;
    return 0;
}

/* Looks at the first AXES axes and all flags. */
static bool is_set(const struct trials_plan *p, const char *name, size_t axes) {
    for (size_t i = 0; i < axes; i++)
        if (strcmp(p->axes[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < p->flag_count; i++)
        if (strcmp(p->flags[i].name, name) == 0)
            return true;
    return false;
}

/* A flag has one place. The budget of halving may stand in "flags": that is for the last rung. */
static int check_names(const struct trials_plan *p, const char *where, struct error *err) {
    for (size_t i = 0; i < p->axis_count; i++)
        if (is_set(p, p->axes[i].name, i) || strcmp(p->axes[i].name, p->rung_flag) == 0)
            return trials_member_error(where, p->axes[i].name, "the flag appears twice", err);
    if (p->seed_count > 0 && is_set(p, "seed", p->axis_count))
        return trials_member_error(where, "seed", "\"seeds\" sets it, too", err);
    return 0;
}

/* On failure RET owns nothing. The code is set here for all readers, some of which call functions
 * with codes of their own. */
int trials_plan_parse(struct trials_plan *ret, const json_t *root, const char *where,
                      struct error *err) {
    static const char *const members[] = {"flags", "grid",    "random", "metric", "goal", "seeds",
                                          "ranks", "halving", "limit",  "stall",  NULL};
    json_t *flags = NULL, *halving = NULL, *seeds = NULL;
    *ret = (struct trials_plan){.count = 0};
    if (trials_member_only(root, "the plan", members, where, err) != 0 ||
        json_member_object(root, where, "flags", &flags, err) != 0 ||
        json_member_object(root, where, "halving", &halving, err) != 0 ||
        json_member_array(root, where, "seeds", &seeds, err) != 0 ||
        read_flags(ret, flags, where, err) != 0 || read_space(ret, root, where, err) != 0 ||
        read_halving(ret, halving, where, err) != 0 || read_seeds(ret, seeds, where, err) != 0 ||
        read_goal(ret, root, where, err) != 0 || read_limits(ret, root, where, err) != 0 ||
        check_names(ret, where, err) != 0) {
        trials_plan_done(ret);
        return error_recode(err, EXIT_CODE_CONFIG);
    }
    return 0;
}

/* The hash is that of the bytes: a plan with another comment of blanks counts as another plan. That
 * is strict, but no comparison of contents could miss a change. */
int trials_plan_read(struct trials_plan *ret, const char *path, struct error *err) {
    cleanup_buf struct buf text;
    cleanup_json json_t *root = NULL;
    buf_init(&text, JSON_FILE_MAX);
    if (file_read(path, &text, err) != 0 ||
        json_parse(buf_text(&text), text.size, path, &root, err) != 0)
        return error_recode(err, EXIT_CODE_CONFIG);
    if (trials_plan_parse(ret, root, path, err) != 0)
        return -1;
    ret->hash = str_hash(STR_HASH_START, buf_text(&text), text.size);
    return 0;
}
