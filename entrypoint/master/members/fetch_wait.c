#include "entrypoint/master/members/fetch_wait.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/wire/message.h"

#include <stdio.h>

void fetch_wait_open(struct master *m) {
    int64_t now = clock_now();
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        m->members[i].fetching.since = now;
}

/* Tells a host that downloads where its upstream host is: where hosts are only counted no other
 * host could give it (provision/input_download.h). */
static void send_parent(struct master *m, size_t index) {
    struct member *b = index < m->s.job->cluster.count ? &m->members[index] : NULL;
    const struct member *parent = &m->members[(index - 1) / 2];
    char address[NET_ADDRESS_TEXT];
    if (b == NULL || parent->index == 0 || parent->link == NULL || !b->fetching.busy ||
        b->fetching.informed)
        return;
    b->fetching.informed = true;
    net_address_text(&parent->address, address);
    master_send(m, index, message_with(MESSAGE_PARENT, json_pack("{s:s}", "address", address)));
}

/* A host has connected: introduces it and the hosts downstream of it. */
static void introduce(struct member *b) {
    const struct job *job = b->master->s.job;
    if (!job->cluster.counted || !input_download_passes_on(job) || b->index == 0)
        return;
    send_parent(b->master, b->index);
    send_parent(b->master, 2 * b->index + 1);
    send_parent(b->master, 2 * b->index + 2);
}

/* Not every message is progress: after an interrupted link a host repeats what it said before, and
 * a restarted host counts from the beginning. */
void fetch_wait_receive(struct member *b, const struct fetch_progress *mark) {
    const bool first = !b->fetching.busy;
    if (first && b->index > 0)
        log_info("%s is here and downloads what it needs", member_name(b));
    if (!b->fetching.came || mark->count != b->fetching.mark.count)
        b->fetching.since = clock_now();
    b->fetching.came = b->fetching.busy = true;
    b->fetching.mark = *mark;
    if (first)
        introduce(b);
}

void fetch_wait_left(struct member *b) {
    b->fetching.busy = b->fetching.informed = false;
}

struct member *fetch_wait_first(struct master *m, int64_t *ret) {
    struct member *first = NULL;
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        struct member *b = &m->members[i];
        if (!b->joined && b->pending_join == NULL &&
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
    return b->fetching.busy && !b->joined && b->pending_join == NULL;
}

static int print(const struct member *b, bool with_text, char *text, size_t size) {
    const char *mark = with_text ? b->fetching.mark.text : "";
    if (!with_text && b->unresolved)
        mark = "its name does not resolve";
    return snprintf(text, size, " %s%s%s%s", member_name(b), mark[0] != '\0' ? " (" : "", mark,
                    mark[0] != '\0' ? ")" : "");
}

/* Writes as many names as fit, and how many do not. */
static size_t names(const struct master *m, bool (*is)(const struct member *b), bool with_text,
                    char text[FETCH_WAIT_NAMES_MAX]) {
    enum { MORE = 32, ROOM = FETCH_WAIT_NAMES_MAX - MORE };
    size_t used = 0;
    size_t count = 0;
    size_t more = 0;
    text[0] = '\0';
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        const struct member *b = &m->members[i];
        if (!is(b))
            continue;
        count++;
        char one[HOST_NAME_SIZE + FETCH_PROGRESS_TEXT_SIZE + 8];
        int size = print(b, with_text, one, sizeof(one));
        more += more > 0 || used + (size_t)size >= ROOM;
        if (more == 0)
            used += (size_t)snprintf(text + used, ROOM - used, "%s", one);
    }
    if (more > 0)
        (void)snprintf(text + used, MORE, " and %zu more", more);
    return count;
}

size_t fetch_wait_missing(const struct master *m, char text[FETCH_WAIT_NAMES_MAX]) {
    return names(m, is_missing, false, text);
}

size_t fetch_wait_busy(const struct master *m, char text[FETCH_WAIT_NAMES_MAX]) {
    return names(m, is_busy, true, text);
}
