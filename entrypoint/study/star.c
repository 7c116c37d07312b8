#include "entrypoint/study/star.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/net/greeting.h"
#include "common/net/tcp_socket.h"
#include "common/run_id.h"
#include "common/str.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rank 0 listens, and the others dial it until it is there. Each new connection begins with a
 * greeting (common/net/greeting.h) of fixed size, which names the job and the rank. Rank 0 answers
 * no rank before all have come: the one byte of welcome then starts all of them together.
 *
 * Collective operations are loops over the connections, in the order of the ranks. gather()
 * collects on rank 0 and broadcasts the whole, so a slow rank delays the others by its own time and
 * not more. A tree would be faster for many ranks, but a round of slots has a few hundred bytes for
 * each and comes four times a second.
 *
 * The connections carry no program's data. They end with the process, so a rank that dies is
 * noticed by the next operation of its peers. */

/* For one message, between two tries to reach rank 0, for one of them, and for a greeting. */
static const int64_t PATIENCE = 120 * CLOCK_SECOND;
static const int64_t PAUSE = 100 * CLOCK_MILLISECOND;
static const int64_t TRY = 5 * CLOCK_SECOND;
static const int64_t GREETING = 2 * CLOCK_SECOND;

/* A launcher sets all of these variables or none. A value outside LOW .. HIGH is an error, as it is
 * used as an index. */
static int read_number(const char *name, int64_t low, int64_t high, int *ret, struct error *err) {
    int64_t value = 0;
    const char *text = getenv(name);
    if (text == NULL)
        return error_set(err, EXIT_CODE_CONFIG, "%s is not set, as a launcher does", name);
    if (str_parse_int(text, low, high, &value, err) != 0)
        return error_wrap(err, "%s", name);
    *ret = (int)value;
    return 0;
}

/* Without WORLD_SIZE the process was started by hand. The run ID has to have its exact length: it
 * is the only thing that keeps strangers out. */
int star_place_read(struct star_place *ret, struct error *err) {
    int port = 0;
    const char *address = getenv("MASTER_ADDR"), *run = getenv(ATTEMPT_RUN_VARIABLE);
    *ret = (struct star_place){.rank = 0, .size = 1, .local_size = 1};
    (void)snprintf(ret->run, sizeof(ret->run), "%s", run != NULL ? run : "");
    if (getenv("WORLD_SIZE") == NULL)
        return 0;
    if (read_number("WORLD_SIZE", 1, STAR_RANKS_MAX, &ret->size, err) != 0 ||
        read_number("RANK", 0, ret->size - 1, &ret->rank, err) != 0 ||
        read_number("LOCAL_WORLD_SIZE", 1, ret->size, &ret->local_size, err) != 0)
        return -1;
    if (ret->size == 1)
        return 0;
    if (read_number("MASTER_PORT", 1, UINT16_MAX, &port, err) != 0)
        return -1;
    if (address == NULL || run == NULL || strlen(run) + 1 != STAR_RUN_SIZE)
        return error_set(err, EXIT_CODE_CONFIG,
                         "MASTER_ADDR or " ATTEMPT_RUN_VARIABLE
                         " is not set: start it by ringmaster train");
    ret->port = (uint16_t)port;
    (void)snprintf(ret->address, sizeof(ret->address), "%s", address);
    return 0;
}

/* --- rank 0 ---------------------------------------------------------------------------------- */

/* Apart from those by which the ranks of a job's program meet: that program may use the same port
 * and run ID, and must not be taken for a rank of the study. */
static void name_job(const struct star_place *p, char job[GREETING_JOB_SIZE]) {
    (void)snprintf(job, GREETING_JOB_SIZE, "study %s", p->run);
}

/* Takes a connection of another rank of the job; others get the reason and are closed. Returns
 * whether it did. */
static bool greet(struct star *s, int fd) {
    unsigned char bytes[GREETING_SIZE], byte = GREETING_RANK_TAKEN;
    char job[GREETING_JOB_SIZE];
    struct greeting g;
    const int64_t deadline = clock_now() + GREETING;
    if (tcp_socket_read(fd, bytes, sizeof(bytes), deadline, NULL) != 0 || !greeting_read(bytes, &g))
        return false;
    name_job(&s->place, job);
    const enum greeting_answer answer = greeting_answer(&g, job, 1, (uint32_t)s->place.size);
    if (answer == GREETING_WELCOME && s->peers[g.rank] < 0) {
        s->peers[g.rank] = fd;
        return true;
    }
    byte = answer == GREETING_WELCOME ? byte : (unsigned char)answer;
    (void)tcp_socket_write(fd, &byte, 1, deadline, NULL);
    return false;
}

/* A connection that fails to greet is closed and does not count. GREETING bounds what a silent one
 * can hold up, as they are served one after another. */
static int accept_all(struct star *s, int listener, int64_t deadline, struct error *err) {
    for (int joined = 1; joined < s->place.size;) {
        struct net_address from;
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (clock_now() >= deadline)
            return error_set(err, EXIT_CODE_NOT_READY, "%d of %d ranks have come", joined,
                             s->place.size);
        if (poll(&ready, 1, clock_left_ms(deadline)) < 1)
            continue;
        cleanup_fd int fd = tcp_socket_accept(listener, &from);
        if (fd >= 0 && greet(s, fd)) {
            (void)take_fd(&fd);
            joined++;
        }
    }
    return 0;
}

/* Listens on the address that the others have got, and not on all addresses. */
static int lead(struct star *s, int64_t deadline, struct error *err) {
    const unsigned char welcome = GREETING_WELCOME;
    uint16_t port = 0;
    struct net_address own;
    if (tcp_socket_resolve(s->place.address, &own, err) != 0)
        return -1;
    cleanup_fd int listener = tcp_socket_listen(&own, s->place.port, &port, err);
    if (listener < 0 || accept_all(s, listener, deadline, err) != 0)
        return -1;
    for (int i = 1; i < s->place.size; i++)
        if (tcp_socket_write(s->peers[i], &welcome, 1, deadline, err) != 0)
            return error_wrap(err, "rank %d", i);
    return 0;
}

/* --- the others ------------------------------------------------------------------------------ */

/* The earlier one of two deadlines. */
static int64_t sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* One try. The answer may take until all ranks have come, so it has the whole deadline, while the
 * connection has only TRY. A name is looked up in each try: it may become known only when the other
 * container is up. */
static int join(struct star *s, int64_t deadline, struct error *err) {
    unsigned char bytes[GREETING_SIZE], answer = GREETING_ANSWERS;
    struct net_address first;
    const struct star_place *p = &s->place;
    struct greeting g = {.rank = (uint32_t)p->rank, .size = (uint32_t)p->size};
    name_job(p, g.job);
    greeting_write(&g, bytes);
    if (tcp_socket_resolve(p->address, &first, err) != 0)
        return -1;
    cleanup_fd int fd = tcp_socket_dial(&first, p->port, sooner(deadline, clock_now() + TRY), err);
    if (fd < 0 || tcp_socket_write(fd, bytes, sizeof(bytes), deadline, err) != 0 ||
        tcp_socket_read(fd, &answer, 1, deadline, err) != 0)
        return -1;
    if (answer != GREETING_WELCOME)
        return error_set(err, EXIT_CODE_NOT_READY, "it refuses this rank: %s",
                         greeting_refusal(answer));
    s->peers[0] = take_fd(&fd);
    return 0;
}

/* Rank 0 may not listen yet, or another process may still have the port. The last failure is quoted
 * once the time is over. */
static int follow(struct star *s, int64_t deadline, struct error *err) {
    struct error latest = {0};
    while (join(s, deadline, &latest) != 0) {
        if (clock_now() + PAUSE >= deadline)
            return error_set(err, EXIT_CODE_NOT_READY, "rank 0 at %s port %u: %.300s",
                             s->place.address, s->place.port, latest.text);
        (void)poll(NULL, 0, (int)(PAUSE / CLOCK_MILLISECOND));
    }
    return 0;
}

/* Every descriptor is -1 before anything can fail, for star_done(). */
int star_open(struct star *s, const struct star_place *place, int64_t deadline, struct error *err) {
    const int count = place->rank == 0 ? place->size : 1;
    *s = (struct star){.place = *place, .peers = calloc((size_t)count, sizeof(*s->peers))};
    if (s->peers == NULL)
        return error_no_memory(err, "connections to the other ranks");
    for (int i = 0; i < count; i++)
        s->peers[i] = -1;
    if (place->size == 1)
        return 0;
    const int result = place->rank == 0 ? lead(s, deadline, err) : follow(s, deadline, err);
    if (result != 0)
        star_done(s);
    return result;
}

/* Closing a connection is how the others learn that this rank is gone. */
void star_done(struct star *s) {
    const int count = s->place.rank == 0 ? s->place.size : 1;
    for (int i = 0; s->peers != NULL && i < count; i++)
        if (s->peers[i] >= 0)
            (void)close(s->peers[i]);
    free(s->peers);
    *s = (struct star){0};
}

/* --- collective operations ------------------------------------------------------------------- */

/* Whatever failed on a connection, its rank is lost to this one. The text of the failure stays in
 * the error. */
static int lost(int rank, struct error *err) {
    (void)error_recode(err, EXIT_CODE_HOST_LOST);
    return error_wrap(err, "rank %d", rank);
}

/* One deadline for all ranks together. */
static int broadcast(void *context, void *bytes, size_t size, struct error *err) {
    struct star *s = context;
    const int64_t deadline = clock_now() + PATIENCE;
    if (s->place.rank > 0)
        return tcp_socket_read(s->peers[0], bytes, size, deadline, err) == 0 ? 0 : lost(0, err);
    for (int i = 1; i < s->place.size; i++)
        if (tcp_socket_write(s->peers[i], bytes, size, deadline, err) != 0)
            return lost(i, err);
    return 0;
}

/* ALL has SIZE bytes for each rank. It is filled by rank 0 and then the same everywhere. */
static int gather(void *context, const void *bytes, size_t size, void *all, struct error *err) {
    struct star *s = context;
    const int64_t deadline = clock_now() + PATIENCE;
    if (s->place.rank > 0 && tcp_socket_write(s->peers[0], bytes, size, deadline, err) != 0)
        return lost(0, err);
    for (int i = 1; s->place.rank == 0 && i < s->place.size; i++)
        if (tcp_socket_read(s->peers[i], (char *)all + (size_t)i * size, size, deadline, err) != 0)
            return lost(i, err);
    if (s->place.rank == 0)
        memcpy(all, bytes, size);
    return broadcast(s, all, (size_t)s->place.size * size, err);
}

/* The group borrows S. */
struct slot_group star_group(struct star *s) {
    return (struct slot_group){.rank = s->place.rank,
                               .size = s->place.size,
                               .local_size = s->place.local_size,
                               .context = s,
                               .gather = gather,
                               .broadcast = broadcast};
}
