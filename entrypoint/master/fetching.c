#include "master/fetching.h"

#include "common/clock.h"
#include "common/log.h"

#include <stdio.h>
#include <string.h>

void fetching_open(struct master *m) {
    int64_t now = clock_now();
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        m->members[i].fetching.since = now;
}

/* Not each word is a step: one whose link was cut tells again what it told before. One that was
 * started again counts from the beginning. */
void fetching_told(struct member *b, const struct mark *mark) {
    if (!b->fetching.busy && b->index > 0)
        log_info("%s is here and fetches what it needs", member_name(b));
    if (!b->fetching.came || mark->count != b->fetching.mark.count)
        b->fetching.since = clock_now();
    b->fetching.came = b->fetching.busy = true;
    b->fetching.mark = *mark;
}

void fetching_left(struct member *b) {
    b->fetching.busy = false;
}

struct member *fetching_first(struct master *m, int64_t *ret) {
    struct member *first = NULL;
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        struct member *b = &m->members[i];
        if (!b->joined && b->asks == NULL &&
            (first == NULL || b->fetching.since < first->fetching.since))
            first = b;
    }
    if (first != NULL)
        *ret = first->fetching.since + m->s.job->settings.ready_seconds * CLOCK_SECOND;
    return first;
}

/* --- for people ------------------------------------------------------------------------------- */

static bool is_missing(const struct member *b) {
    return b->index > 0 && b->link == NULL;
}

static bool is_busy(const struct member *b) {
    return b->fetching.busy && !b->joined && b->asks == NULL;
}

static int print(const struct member *b, bool with_text, char *text, size_t size) {
    const char *mark = with_text ? b->fetching.mark.text : "";
    return snprintf(text, size, " %s%s%s%s", member_name(b), mark[0] != '\0' ? " (" : "", mark,
                    mark[0] != '\0' ? ")" : "");
}

/* As many as have room. */
static size_t names(const struct master *m, bool (*is)(const struct member *b), bool with_text,
                    char text[FETCHING_NAMES_MAX]) {
    enum { MORE = 5 }; /* " ..." */
    size_t used = 0;
    size_t count = 0;
    text[0] = '\0';
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        const struct member *b = &m->members[i];
        if (!is(b))
            continue;
        count++;
        if (used >= FETCHING_NAMES_MAX - MORE)
            continue;
        char one[HOST_NAME_SIZE + MARK_TEXT_SIZE + 8];
        int size = print(b, with_text, one, sizeof(one));
        bool fits = used + (size_t)size < FETCHING_NAMES_MAX - MORE;
        (void)snprintf(text + used, FETCHING_NAMES_MAX - used, "%s", fits ? one : " ...");
        used = fits ? used + (size_t)size : FETCHING_NAMES_MAX;
    }
    return count;
}

size_t fetching_missing(const struct master *m, char text[FETCHING_NAMES_MAX]) {
    return names(m, is_missing, false, text);
}

size_t fetching_busy(const struct master *m, char text[FETCHING_NAMES_MAX]) {
    return names(m, is_busy, true, text);
}
