#include "entrypoint/evidence/stuck.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "entrypoint/evidence/odd_wait.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A finding is looked for in order of what it proves. If most ranks are in one collective
 * operation, those that are not have kept them waiting. Without any operation, ranks at the same
 * place are compared likewise, under stricter conditions. After that, one exception that did not
 * end its rank, and last, one rank with other waits than the rest.
 *
 * The master calls this with what all hosts have sent, and a host that has not answered has
 * unknown ranks: they count as absent, not as waiting. The text is for the log and the failure
 * file, so it names ranks and hosts but no more of them than a line can hold. */

enum { LISTED_MAX = 6, LIST_SIZE = 192 };

static void add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Cuts the text where SIZE ends: a long list of hosts is a shorter sentence, and no error. */
static void add(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* How many ranks are chosen. The arrays of flags in this file all have one element for each rank of
 * the job, in the order of the ranks. */
static size_t count_of(const bool *chosen, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += chosen[i];
    return found;
}

/* Appends each host of the first LISTED_MAX chosen ranks once. Ranks of a host follow each other,
 * so comparing with the last one is enough. */
static void add_hosts(const bool *chosen, const struct stuck_rank *ranks, size_t count, char *ret,
                      size_t size) {
    const char *last = NULL;
    size_t shown = 0;
    for (size_t i = 0; i < count && shown < LISTED_MAX; i++) {
        if (!chosen[i])
            continue;
        shown++;
        if (last != NULL && strcmp(last, ranks[i].host) == 0)
            continue;
        add(ret, size, "%s%s", last == NULL ? " on " : ", ", ranks[i].host);
        last = ranks[i].host;
    }
}

/* Appends "ranks 1, 4 and 6 on a, b". "and" stands only before the last one of all, so a list that
 * is cut ends with a number of others. */
void stuck_list(const bool *chosen, const struct stuck_rank *ranks, size_t count, char *ret,
                size_t size) {
    size_t all = count_of(chosen, count);
    size_t shown = 0;
    add(ret, size, all == 1 ? "rank" : "ranks");
    for (size_t i = 0; i < count && shown < LISTED_MAX; i++) {
        if (!chosen[i])
            continue;
        bool last = ++shown == all;
        add(ret, size, "%s%zu", shown == 1 ? " " : last ? " and " : ", ", i);
    }
    if (all > shown)
        add(ret, size, " and %zu more", all - shown);
    add_hosts(chosen, ranks, count, ret, size);
}

/* The number of the first rank that is chosen; COUNT if none is. */
static size_t first_of(const bool *chosen, size_t count) {
    size_t i = 0;
    while (i < count && !chosen[i])
        i++;
    return i;
}

/* Returns what stands before a place: it is a function, or a state in words (thread_states.h). */
static const char *before(const char *place) {
    static const char *const states[] = {"stopped ", "waiting", "running"};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (str_starts_with(place, states[i]))
            return "";
    return "at ";
}

/* One rank stands for all absent ones. The exception comes first, as it is a cause, while a place
 * is only a symptom. A program that has ended is nowhere. */
static void add_where(const struct stuck_rank *r, char *ret, size_t size) {
    if (!r->ended && r->exception[0] != '\0')
        add(ret, size, "it has not ended after its exception, %s; ", r->exception);
    if (r->ended)
        add(ret, size, "its program has ended");
    else if (!r->known)
        add(ret, size, "its host has not answered");
    else if (r->at.collective[0] != '\0')
        add(ret, size, "it is in %s", r->at.collective);
    else if (r->at.place[0] != '\0')
        add(ret, size, "it is %s%s", before(r->at.place), r->at.place);
    else
        add(ret, size, "where it is could not be read");
}

/* Returns one of the chosen ranks that has not ended after an exception, or else the first. Its
 * place is what the text tells. */
static size_t most_telling_of(const bool *chosen, const struct stuck_rank *ranks, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (chosen[i] && !ranks[i].ended && ranks[i].exception[0] != '\0')
            return i;
    return first_of(chosen, count);
}

/* Returns the collective operation, or with BY_PLACE the place, that most ranks share; NULL: none
 * has any. The first of equals wins. The time is quadratic in the ranks, of which a job has at most
 * some thousands. */
static const char *most_common(const struct stuck_rank *ranks, size_t count, bool by_place,
                               size_t *ret_count) {
    const char *best = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        const char *own = by_place ? ranks[i].at.place : ranks[i].at.collective;
        size_t same = 0;
        if (own[0] == '\0' || !ranks[i].known || ranks[i].ended || own == best)
            continue;
        for (size_t j = 0; j < count; j++)
            same += ranks[j].known && !ranks[j].ended &&
                    strcmp(own, by_place ? ranks[j].at.place : ranks[j].at.collective) == 0;
        if (same > *ret_count) {
            best = own;
            *ret_count = same;
        }
    }
    return best;
}

/* Says that the ranks that are not ABSENT are at WHERE, and the others are not. The rank that is
 * described is named again if there are several absent ones. COUNT - MISSING ranks are at WHERE. */
static void describe(const struct stuck_rank *ranks, size_t count, const bool *absent,
                     bool by_place, const char *where, struct stuck_finding *ret) {
    size_t missing = count_of(absent, count);
    size_t first = most_telling_of(absent, ranks, count);
    char list[LIST_SIZE] = "";
    char of[32] = "";
    stuck_list(absent, ranks, count, list, sizeof(list));
    if (missing > 1)
        (void)snprintf(of, sizeof(of), "of rank %zu, ", first);
    ret->rank = (int)first;
    if (by_place)
        add(ret->text, sizeof(ret->text), "%zu of %zu ranks are alike, %s%s; %s %s elsewhere: %s",
            count - missing, count, before(where), where, list, missing == 1 ? "is" : "are", of);
    else
        add(ret->text, sizeof(ret->text), "%zu of %zu ranks wait in %s; %s %s not come: %s",
            count - missing, count, where, list, missing == 1 ? "has" : "have", of);
    add_where(&ranks[first], ret->text, sizeof(ret->text));
}

/* Compares what the threads of ranks wait in, where no stack tells more: images without tools have
 * only the kernel's view. The question mark is deliberate, as this is the weakest of all signs. */
static bool find_odd(const struct stuck_rank *ranks, size_t count, struct stuck_finding *ret) {
    cleanup_free const char **waits = (const char **)calloc(count, sizeof(*waits));
    cleanup_free bool *ended = calloc(count, sizeof(*ended));
    int64_t other = -1;
    if (waits == NULL || ended == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        waits[i] = ranks[i].waits;
        ended[i] = ranks[i].ended;
    }
    const int64_t odd = odd_wait(waits, ended, count, &other);
    if (odd < 0)
        return false;
    *ret = (struct stuck_finding){.rank = (int)odd, .other = (int)other};
    add(ret->text, sizeof(ret->text),
        "%s rank %d waits elsewhere than all others: was it left out of a collective?",
        ranks[odd].host, ret->rank);
    return true;
}

/* Names a rank that has not ended after an exception, if the others have not met the same. If all
 * have, the exception is a cause but sets none of them apart. */
static bool find_exception(const struct stuck_rank *ranks, size_t count, bool *chosen,
                           struct stuck_finding *ret) {
    char list[LIST_SIZE] = "";
    char of[32] = "";
    for (size_t i = 0; i < count; i++)
        chosen[i] = !ranks[i].ended && ranks[i].exception[0] != '\0';
    size_t first = first_of(chosen, count);
    size_t found = count_of(chosen, count);
    if (found == 0 || found == count)
        return false;
    if (found > 1)
        (void)snprintf(of, sizeof(of), "of rank %zu, ", first);
    *ret = (struct stuck_finding){.rank = (int)first, .other = -1};
    stuck_list(chosen, ranks, count, list, sizeof(list));
    add(ret->text, sizeof(ret->text), "%s: %s", list, of);
    add_where(&ranks[first], ret->text, sizeof(ret->text));
    return true;
}

/* One rank has no other to be compared with. ABSENT is used for two purposes: find_exception()
 * fills it anew. No memory for it is no finding, as evidence must not end a job. */
bool stuck_find(const struct stuck_rank *ranks, size_t count, struct stuck_finding *ret) {
    /* Ranks that share WHERE. */
    size_t together = 0;
    cleanup_free bool *absent = calloc(count > 0 ? count : 1, sizeof(*absent));
    *ret = (struct stuck_finding){.rank = -1, .other = -1};
    if (absent == NULL || count < 2)
        return false;
    const char *where = most_common(ranks, count, false, &together);
    if (where != NULL && together == count) {
        (void)snprintf(ret->text, sizeof(ret->text), "all %zu ranks are in %s, and it does not end",
                       count, where);
        return true;
    }
    bool by_place = where == NULL;
    if (by_place)
        where = most_common(ranks, count, true, &together);
    /* Places tell less than names of operations: only one rank or few may be elsewhere. At least
     * two thirds have to be alike, and two ranks that differ say nothing about which of them is
     * late. */
    if (where == NULL || together == count || (by_place && (count < 3 || together * 3 < count * 2)))
        return find_exception(ranks, count, absent, ret) || find_odd(ranks, count, ret);
    for (size_t i = 0; i < count; i++)
        absent[i] = ranks[i].ended || !ranks[i].known ||
                    strcmp(where, by_place ? ranks[i].at.place : ranks[i].at.collective) != 0;
    describe(ranks, count, absent, by_place, where, ret);
    return true;
}
