#include "entrypoint/host/preflight/network_check.h"

#include "common/clock.h"

#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One thread, one poll() and a table of connections. Each has a state: one that this host dialled
 * goes CONNECTING, ASKING, ANSWERED and, to the next host only, SENDING; one that it accepted goes
 * LISTENING, SINKING. `serve` calls the step of the state whenever the socket is ready, and
 * give_up() ends what takes too long.
 *
 * The measurement of speed begins when all dials have ended or the deadline has passed, about the
 * same time on all hosts. Every host then sends to one other host and receives from one, as in a
 * ring of ranks.
 *
 * A stranger may connect as well. It gets no answer without the word, counts for nothing, and is
 * closed after a moment when lines become scarce. */

enum {
    WORD = NETWORK_CHECK_WORD_SIZE - 1,
    PIECE = 128 * 1024,
    REJECTED_PEERS_MAX = 64,
    DIALS_MAX = 64
};

/* How long a connection may stay without a word from its peer while others wait. A host sends its
 * word at once, but waits much longer for the answer. */
enum { SILENT_MS = 250 };

enum state { CLOSED, CONNECTING, ASKING, ANSWERED, SENDING, LISTENING, SINKING };

struct line {
    int fd;
    enum state state;
    struct network_check_way *way; /* of a connection that this host dialled */
    int64_t began;
    size_t got; /* bytes of the word received */
    char word[WORD];
};

struct network_check {
    const struct network_check_options *o;
    struct network_check_result *result;
    struct line *lines;
    struct pollfd *polls;
    size_t count;
    size_t dialled;  /* hosts after this one, in order, that were considered */
    size_t expected; /* number of hosts that dial this one */
    size_t served;   /* number of those that are done */
    char *piece;
    int64_t deadline;
    int64_t send_end; /* 0: nothing has been sent yet */
};

/* The distance is counted forwards around the circle of hosts, so each host dials the
 * NETWORK_CHECK_NEIGHBOURS hosts after it and is dialled by as many before it. */
bool network_check_dials(size_t from, size_t to, size_t count) {
    if (from == to)
        return false;
    return from == 0 || to == 0 || (to + count - from) % count <= NETWORK_CHECK_NEIGHBOURS;
}

static void shut(struct line *l) {
    if (l->state != CLOSED)
        (void)close(l->fd);
    l->state = CLOSED;
}

/* Ends a connection for the reason WHY, which is kept only for a host that has not answered yet. */
static void fail(struct line *l, const char *why) {
    if (l->way != NULL && l->way->trip == 0)
        (void)snprintf(l->way->why, sizeof(l->way->why), "%s", why);
    shut(l);
}

/* Takes a free line. There is one, because both kinds have no more lines than were allocated for
 * them. */
static struct line *take_line(struct network_check *r) {
    size_t slot = 0;
    while (slot < r->count && r->lines[slot].state != CLOSED)
        slot++;
    r->count += slot == r->count;
    return &r->lines[slot];
}

/* --- dialling --------------------------------------------------------------------------------- */

static struct network_check_way *add_way(struct network_check *r, size_t peer) {
    struct network_check_way *way = &r->result->ways[r->result->count++];
    *way = (struct network_check_way){.peer = peer};
    return way;
}

/* Dials a host. Returns false if that failed immediately. The way is added first, so that a failure
 * has a place for its reason. */
static bool dial(struct network_check *r, size_t peer) {
    struct sockaddr_storage to;
    const struct network_check_peer *p = &r->o->peers[peer];
    struct line *l = take_line(r);
    socklen_t size = net_address_socket(&p->address, p->port, &to);
    *l = (struct line){.way = add_way(r, peer), .began = clock_now()};
    l->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd >= 0)
        l->state = CONNECTING;
    if (l->fd < 0 ||
        (connect(l->fd, (const struct sockaddr *)&to, size) != 0 && errno != EINPROGRESS))
        fail(l, strerror(errno));
    return l->state == CONNECTING;
}

/* The socket has become writable: the connection stands, or SO_ERROR says why not. The time of the
 * trip begins here, without that of the connection. */
static void ask(struct network_check *r, struct line *l) {
    int number = 0;
    socklen_t size = sizeof(number);
    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0 || number != 0) {
        fail(l, strerror(number != 0 ? number : errno));
        return;
    }
    l->began = clock_now();
    l->state = ASKING;
    /* A new socket accepts a word at once. */
    if (send(l->fd, r->o->ask, WORD, MSG_NOSIGNAL) != WORD)
        fail(l, "the connection was closed");
}

/* The host to which this one sends. */
static size_t next_host(const struct network_check *r) {
    return (r->o->self + 1) % r->o->count;
}

/* Returns 1 when the word is complete, 0 if more must come, -1 at the end. */
static int read_word(struct line *l) {
    ssize_t size = recv(l->fd, l->word + l->got, WORD - l->got, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (size <= 0)
        return -1;
    l->got += (size_t)size;
    return l->got == WORD;
}

/* The connection to the next host stays open for the measurement of speed. All others are closed,
 * which tells the peer that it has served this host. */
static void hear_answer(struct network_check *r, struct line *l) {
    int read = read_word(l);
    if (read < 0)
        fail(l, "the connection was closed");
    else if (read > 0 && memcmp(l->word, r->o->answer, WORD) != 0)
        fail(l, "something else answers at its port");
    else if (read > 0) {
        l->way->trip = clock_now() - l->began;
        l->state = ANSWERED;
        if (l->way->peer != next_host(r))
            shut(l); /* the peer has done its part */
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Counts what the peer's kernel has acknowledged, not what was written here: the send buffer may
 * hold megabytes. TCP_INFO of an older kernel may lack the last members, which then stay 0. */
static void measure(struct network_check *r, struct line *l) {
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    struct network_check_sent *sent = &r->result->sent;
    sent->time = clock_now() - l->began;
    if (getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
        /* The word and the start of the connection were acknowledged before. */
        uint64_t before = WORD + 1;
        sent->bytes = info.tcpi_bytes_acked > before ? info.tcpi_bytes_acked - before : 0;
        sent->path_mtu = info.tcpi_pmtu;
        sent->resent = info.tcpi_total_retrans;
    }
    shut(l);
}

/* Sends until the end of the measurement. A full buffer is no error. */
static void send_more(struct network_check *r, struct line *l) {
    ssize_t size = send(l->fd, r->piece, PIECE, MSG_NOSIGNAL);
    if (clock_now() >= r->send_end || (size < 0 && errno != EAGAIN && errno != EINTR))
        measure(r, l);
}

static bool is_asked(const struct line *l) {
    return l->state == CONNECTING || l->state == ASKING;
}

/* Dials the next hosts, nearest first. At most DIALS_MAX wait for an answer at a time, so that a
 * large job needs few descriptors. Hosts that no time is left for are listed as not tried. */
static void dial_more(struct network_check *r, int64_t now) {
    size_t asked = 0;
    for (size_t i = 0; i < r->count; i++)
        asked += is_asked(&r->lines[i]);
    while (r->dialled + 1 < r->o->count && (asked < DIALS_MAX || now >= r->deadline)) {
        size_t peer = (r->o->self + ++r->dialled) % r->o->count;
        if (r->o->peers[peer].port == 0 || !network_check_dials(r->o->self, peer, r->o->count))
            continue;
        if (now < r->deadline)
            asked += dial(r, peer);
        else
            (void)snprintf(add_way(r, peer)->why, NETWORK_CHECK_WHY_SIZE, "not tried within 2 s");
    }
}

/* Starts the measurement once every dial has ended, on the line to the next host. */
static void begin_to_send(struct network_check *r) {
    int64_t now = clock_now();
    for (size_t i = 0; i < r->count; i++)
        if (is_asked(&r->lines[i]) && now < r->deadline)
            return;
    r->send_end = now + NETWORK_CHECK_SEND_MS * CLOCK_MILLISECOND;
    for (size_t i = 0; i < r->count; i++) {
        struct line *l = &r->lines[i];
        if (l->state != ANSWERED)
            continue;
        l->state = SENDING;
        l->began = now;
        r->result->sent = (struct network_check_sent){.tried = true, .peer = l->way->peer};
    }
}

/* --- incoming connections --------------------------------------------------------------------- */

/* Returns true while no connection is accepted; new ones then wait in the kernel, with their word.
 * The room beyond the expected hosts is for strangers. */
static bool is_full(const struct network_check *r) {
    size_t incoming = 0;
    for (size_t i = 0; i < r->count; i++)
        incoming += r->lines[i].state != CLOSED && r->lines[i].way == NULL;
    return incoming >= r->expected + REJECTED_PEERS_MAX;
}

/* An accept that fails, because the peer has gone, is no event. */
static void welcome(struct network_check *r, int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    *take_line(r) = (struct line){.fd = fd, .state = LISTENING, .began = clock_now()};
}

/* In ns of clock_now(). Only a connection that has not sent its word may be closed for silence. */
static int64_t silence_end(const struct line *l) {
    return l->state == LISTENING ? l->began + SILENT_MS * CLOCK_MILLISECOND : INT64_MAX;
}

/* Closes silent lines if others wait. Returns when the next one becomes due. */
static int64_t make_room(struct network_check *r, int64_t now) {
    int64_t next = INT64_MAX;
    if (!is_full(r))
        return next;
    for (size_t i = 0; i < r->count; i++) {
        int64_t end = silence_end(&r->lines[i]);
        if (end <= now)
            shut(&r->lines[i]);
        else if (end < next)
            next = end;
    }
    return next;
}

/* A wrong word is a stranger, or a host of another check: it is closed without an answer. */
static void answer(struct network_check *r, struct line *l) {
    int read = read_word(l);
    if (read == 0)
        return;
    if (read > 0 && memcmp(l->word, r->o->ask, WORD) == 0 &&
        send(l->fd, r->o->answer, WORD, MSG_NOSIGNAL) == WORD)
        l->state = SINKING;
    else
        shut(l);
}

/* Discards what the host before this one sends. The end of the stream means that the peer is done,
 * and has been served. */
static void sink(struct network_check *r, struct line *l) {
    ssize_t size = recv(l->fd, r->piece, PIECE, MSG_TRUNC); /* the bytes are discarded */
    if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    r->served++;
    shut(l);
}

/* --- all of them ------------------------------------------------------------------------------ */

static void serve(struct network_check *r, struct line *l) {
    static void (*const steps[])(struct network_check *, struct line *) = {
        [CONNECTING] = ask,   [ASKING] = hear_answer, [SENDING] = send_more,
        [LISTENING] = answer, [SINKING] = sink,
    };
    if (l->state < sizeof(steps) / sizeof(steps[0]) && steps[l->state] != NULL)
        steps[l->state](r, l);
}

/* Element 0 is the listener, and element i + 1 the line i. poll() passes over descriptors below 0.
 */
static void fill(const struct network_check *r) {
    r->polls[0] = (struct pollfd){.fd = is_full(r) ? -1 : r->o->listener, .events = POLLIN};
    for (size_t i = 0; i < r->count; i++) {
        const struct line *l = &r->lines[i];
        bool writes = l->state == CONNECTING || l->state == SENDING;
        /* The end of a closed or waiting line is of no interest. */
        bool rests = l->state == CLOSED || l->state == ANSWERED;
        r->polls[1 + i] =
            (struct pollfd){.fd = rests ? -1 : l->fd, .events = writes ? POLLOUT : POLLIN};
    }
}

/* Own dials are over and so are those of all hosts that dial this one. A host that never does keeps
 * this one until the end of its time. */
static bool is_done(const struct network_check *r) {
    for (size_t i = 0; i < r->count; i++)
        if (is_asked(&r->lines[i]) || r->lines[i].state == ANSWERED || r->lines[i].state == SENDING)
            return false;
    return r->served >= r->expected;
}

static void give_up(struct network_check *r, int64_t now) {
    for (size_t i = 0; i < r->count; i++) {
        struct line *l = &r->lines[i];
        if (is_asked(l) && now >= r->deadline)
            fail(l, l->state == CONNECTING
                        ? "no answer within 2 s"
                        : "it accepts connections but does not answer within 2 s");
        else if (l->state == SENDING && now >= r->send_end)
            measure(r, l);
    }
}

/* END is the time at which the whole is given up. COUNT is kept from before poll(), because lines
 * are added while its results are read. */
static void run(struct network_check *r, int64_t end) {
    for (;;) {
        int64_t now = clock_now();
        give_up(r, now);
        dial_more(r, now);
        if (r->send_end == 0)
            begin_to_send(r);
        if (is_done(r) || now >= end)
            return;
        int64_t next = r->send_end == 0 ? r->deadline : now < r->send_end ? r->send_end : end;
        int64_t room = make_room(r, now);
        next = room < next ? room : next;
        size_t count = r->count;
        fill(r);
        if (poll(r->polls, 1 + count, clock_left_ms(next < end ? next : end)) <= 0)
            continue;
        for (size_t i = 0; i < count; i++)
            if (r->polls[1 + i].revents != 0)
                serve(r, &r->lines[i]);
        if (r->polls[0].revents != 0)
            welcome(r, r->o->listener);
    }
}

static size_t count_callers(const struct network_check_options *o) {
    size_t callers = 0;
    for (size_t i = 0; i < o->count; i++)
        callers += o->peers[i].port != 0 && network_check_dials(i, o->self, o->count);
    return callers;
}

/* ROOM is the most that can be in use at once: dials under way, the open line to the next host,
 * expected hosts and strangers. */
int network_check_run(const struct network_check_options *o, struct network_check_result *ret,
                      struct error *err) {
    int64_t now = clock_now();
    struct network_check r = {.o = o, .result = ret, .expected = count_callers(o)};
    *ret = (struct network_check_result){.ways = calloc(o->count, sizeof(*ret->ways))};
    size_t room = DIALS_MAX + 1 + r.expected + REJECTED_PEERS_MAX;
    r.deadline = now + NETWORK_CHECK_ANSWER_MS * CLOCK_MILLISECOND;
    r.lines = calloc(room, sizeof(*r.lines));
    r.polls = calloc(room + 1, sizeof(*r.polls));
    r.piece = calloc(1, PIECE);
    bool enough = ret->ways != NULL && r.lines != NULL && r.polls != NULL && r.piece != NULL;
    if (enough)
        run(&r, now + NETWORK_CHECK_MS * CLOCK_MILLISECOND);
    for (size_t i = 0; enough && i < r.count; i++)
        shut(&r.lines[i]);
    free(r.lines);
    free(r.polls);
    free(r.piece);
    return enough ? 0 : error_no_memory(err, "lines to other hosts");
}

void network_check_done(struct network_check_result *r) {
    free(r->ways);
    *r = (struct network_check_result){0};
}
