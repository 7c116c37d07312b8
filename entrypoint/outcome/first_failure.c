#include "entrypoint/outcome/first_failure.h"

#include <stdio.h>
#include <string.h>

enum { TOLD_MAX = 4 };

bool first_failure_is_forgone(const struct failures *f, const struct rank_report *r) {
    return f->forgone != NULL && f->forgone[r->rank];
}

size_t first_failure_count_forgone(const struct failures *f) {
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        count += first_failure_is_forgone(f, &f->reports[i]);
    return count;
}

/* Returns the earliest failure that is not before SINCE; ALL: also of those that are forgone. */
static const struct rank_report *earliest(const struct failures *f, bool all, int64_t since) {
    const struct rank_report *first = NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct rank_report *r = &f->reports[i];
        if (rank_report_is_failure(r) && r->time >= since &&
            (all || !first_failure_is_forgone(f, r)) && (first == NULL || r->time < first->time))
            first = r;
    }
    return first;
}

const struct rank_report *first_failure_end(const struct failures *f) {
    return earliest(f, false, INT64_MIN);
}

/* The crash that happened at practically the same time as FIRST, if any, else FIRST. */
static const struct rank_report *prefer_crash(const struct failures *f,
                                              const struct rank_report *first) {
    const struct rank_report *chosen = first;
    for (size_t i = 0; i < f->count; i++) {
        const struct rank_report *r = &f->reports[i];
        bool tied = rank_report_is_failure(r) && r->time >= first->time &&
                    r->time - first->time <= FIRST_FAILURE_TIE_NS;
        bool better = chosen->end == RANK_EXITED || r->time < chosen->time;
        if (tied && r->end != RANK_EXITED && better)
            chosen = r;
    }
    return chosen;
}

const struct rank_report *first_failure_cause(const struct failures *f) {
    const struct rank_report *end = first_failure_end(f);
    if (end == NULL)
        return NULL;
    return prefer_crash(f, earliest(f, true, end->time - FIRST_FAILURE_WINDOW_NS));
}

/* --- in words -------------------------------------------------------------------------------- */

/* Returns the next one after BEFORE, by time and then by rank; NULL: BEFORE was the last. */
static const struct rank_report *next(const struct failures *f, bool only_forgone,
                                      const struct rank_report *before) {
    const struct rank_report *found = NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct rank_report *r = &f->reports[i];
        if (!rank_report_is_failure(r) || (only_forgone && !first_failure_is_forgone(f, r)))
            continue;
        bool follows = before == NULL || r->time > before->time ||
                       (r->time == before->time && r->rank > before->rank);
        bool sooner = found == NULL || r->time < found->time ||
                      (r->time == found->time && r->rank < found->rank);
        if (follows && sooner)
            found = r;
    }
    return found;
}

/* Cuts what follows from how a rank ended: "killed by signal 7 (SIGBUS; is /dev/shm full?)". */
static void cut_hint(char end[RANK_REPORT_END_SIZE]) {
    char *hint = strchr(end, ';');
    if (hint == NULL)
        return;
    *hint = '\0';
    if (strchr(end, '(') != NULL && strchr(end, ')') == NULL)
        (void)snprintf(hint, 2, ")");
}

static void add(char ret[FIRST_FAILURE_ORDER_SIZE], const char *text) {
    const size_t used = strlen(ret);
    (void)snprintf(ret + used, FIRST_FAILURE_ORDER_SIZE - used, "%s", text);
}

size_t first_failure_order(const struct failures *f, const struct cluster *cluster,
                           bool only_forgone, char ret[FIRST_FAILURE_ORDER_SIZE]) {
    size_t count = 0;
    const struct rank_report *before = NULL;
    ret[0] = '\0';
    for (const struct rank_report *r; (r = next(f, only_forgone, before)) != NULL; before = r) {
        char end[RANK_REPORT_END_SIZE], one[FIRST_FAILURE_ORDER_SIZE], later[48] = "";
        if (++count > TOLD_MAX)
            continue;
        rank_report_describe(r, end, sizeof(end));
        cut_hint(end);
        if (before != NULL)
            (void)snprintf(later, sizeof(later), ", %.1f s later ",
                           (double)(r->time - before->time) / 1e9);
        (void)snprintf(one, sizeof(one), "%srank %u on %.64s %s", later, r->rank,
                       cluster->hosts[r->host].name.text, end);
        add(ret, one);
    }
    if (count > TOLD_MAX) {
        char more[32];
        (void)snprintf(more, sizeof(more), ", and %zu more", count - TOLD_MAX);
        add(ret, more);
    }
    return count;
}
