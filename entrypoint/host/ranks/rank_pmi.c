#include "entrypoint/host/ranks/rank_pmi.h"

#include "entrypoint/wire/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_MAX = 4 * PMI_LINE_MAX, ANSWER_MAX = 4 * PMI_LINE_MAX };

static void hang_up(struct rank_pmi *p) {
    if (!p->open || p->watch.fd < 0)
        return;
    loop_unwatch(p->loop, &p->watch);
    (void)close(p->watch.fd);
    p->watch.fd = -1;
}

/* A client waits for each answer, so there is room for it, or the client breaks the protocol. */
static bool send_answer(struct rank_pmi *p, const struct buf *answer) {
    ssize_t sent = answer->size > 0
                       ? send(p->watch.fd, answer->data, answer->size, MSG_DONTWAIT | MSG_NOSIGNAL)
                       : 0;
    return sent == (ssize_t)answer->size;
}

/* Sends what the rank has put since the last barrier, and that it waits in the next one. */
static void send_barrier(struct rank_pmi *p) {
    size_t next = 0;
    for (json_t *pairs; (pairs = pmi_space_json(&p->pmi.fresh, &next)) != NULL;)
        link_send(p->link, message_with(MESSAGE_PAIRS, json_pack("{s:o}", "pairs", pairs)));
    pmi_space_done(&p->pmi.fresh);
    link_send(p->link, message_new(MESSAGE_BARRIER));
}

/* Handles whole lines; returns false if the program broke the protocol. */
static bool handle_lines(struct rank_pmi *p) {
    cleanup_buf struct buf answer;
    const char *end = NULL;
    buf_init(&answer, ANSWER_MAX);
    while ((end = memchr(p->in.data, '\n', p->in.size)) != NULL) {
        size_t size = (size_t)(end - p->in.data);
        enum pmi_next next = pmi_line(&p->pmi, p->in.data, size, &answer);
        buf_consume(&p->in, size + 1);
        if (next == PMI_BROKEN)
            return false;
        if (next == PMI_BARRIER)
            send_barrier(p);
    }
    return send_answer(p, &answer);
}

static void ready(void *context, uint32_t events) {
    struct rank_pmi *p = context;
    char bytes[PMI_LINE_MAX];
    (void)events;
    ssize_t size = recv(p->watch.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0 || buf_add(&p->in, bytes, (size_t)size, NULL) != 0 || !handle_lines(p))
        hang_up(p);
}

int rank_pmi_open(struct rank_pmi *p, struct loop *loop, struct link *link,
                  const struct rank_place *place, const char *run, const char *mapping,
                  struct argv *environment, struct error *err) {
    int ends[2];
    *p = (struct rank_pmi){.loop = loop, .link = link, .fd = -1, .watch = {.fd = -1}, .open = true};
    p->pmi.size = place->size;
    (void)snprintf(p->pmi.name, sizeof(p->pmi.name), "kvs_%.32s_%u", run, place->attempt);
    (void)snprintf(p->pmi.mapping, sizeof(p->pmi.mapping), "%s", mapping);
    buf_init(&p->in, IN_MAX);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a socket for PMI");
    p->fd = ends[1];
    p->watch = (struct watch){.fd = ends[0], .ready = ready, .context = p};
    if (loop_watch(loop, &p->watch, EPOLLIN, err) != 0)
        return -1;
    return pmi_environment(p->fd, place->rank, place->size, environment, err);
}

void rank_pmi_started(struct rank_pmi *p) {
    if (p->open && p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
}

void rank_pmi_close(struct rank_pmi *p) {
    rank_pmi_started(p);
    hang_up(p);
    p->open = false;
    buf_done(&p->in);
    pmi_done(&p->pmi);
}

void rank_pmi_pairs(struct rank_pmi *p, const json_t *message) {
    if (p->open && pmi_space_take(&p->pmi.space, json_object_get(message, "pairs"), NULL) != 0)
        hang_up(p);
}

void rank_pmi_passed(struct rank_pmi *p) {
    cleanup_buf struct buf answer;
    buf_init(&answer, ANSWER_MAX);
    pmi_pass(&p->pmi, &answer);
    if (p->open && p->watch.fd >= 0 && !send_answer(p, &answer))
        hang_up(p);
}
