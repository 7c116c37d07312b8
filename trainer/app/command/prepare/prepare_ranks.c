#include "trainer/app/command/prepare/prepare_ranks.h"

#include "common/cleanup.h"
#include "common/crc32c.h"
#include "trainer/app/device/rank_variables.h"
#include "trainer/app/device/ranks.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Each rank does its part of a step on a thread of its own, while its main thread exchanges a
 * statement with all others, several times a second: how far it is, whether it has ended, and its
 * error. The step is over when all statements say so, and all ranks then find the same outcome in
 * the same list.
 *
 * Without these exchanges a rank that fails would leave the others at work for hours, and one that
 * dies would not be noticed before the end. comm_gather fails soon after a rank is gone; then no
 * common end is possible, and `lost` makes prepare_ranks_close abort instead of closing.
 *
 * A single rank calls the step directly: no thread, no exchange. */

/* How often ranks tell each other how far they are. A rank that is gone is noticed then. */
enum { BEAT_MILLISECONDS = 200 };

/* Ranks of MPI are counted by the variables of its launcher, ranks over TCP by those of their plan.
 * Used to refuse what several ranks cannot do before they are connected. */
int prepare_ranks_count(int *ret, struct error *err) {
    struct comm_tcp_plan plan;
    if (rank_variables_mpi(ret, err) != 0)
        return -1;
    if (*ret > 0)
        return 0;
    if (rank_variables_tcp(&plan, err) != 0)
        return -1;
    *ret = plan.mesh.size;
    return 0;
}

int prepare_ranks_open(struct prepare_ranks *ret, struct error *err) {
    *ret = (struct prepare_ranks){0};
    return ranks_open(OPTION_COMM_AUTO, &ret->comm, err);
}

void prepare_ranks_close(struct prepare_ranks *ranks) {
    if (ranks->lost)
        comm_abort(ranks->comm);
    else
        comm_close(ranks->comm);
    *ranks = (struct prepare_ranks){0};
}

/* What a rank tells the others; sent as bytes between processes of the same program, so its layout
 * is the same everywhere. */
struct statement {
    int64_t done;
    bool ended;
    struct error why; /* with a code: it has failed */
    char host[64];
};

/* The part of the step that is this rank's, on a thread of its own. */
struct step_work {
    const struct prepare_step *step;
    int event; /* readable once it has ended */
    struct error why;
};

/* The thread of the work. The event wakes the main thread, which may wait for the next exchange. A
 * code that the step has left although it has succeeded is cleared, as the others read it. */
static void *run(void *context) {
    struct step_work *part = context;
    const uint64_t one = 1;
    if (part->step->run(part->step->context, &part->why) == 0)
        part->why.code = EXIT_CODE_OK;
    while (write(part->event, &one, sizeof(one)) < 0)
        continue;
    return NULL;
}

/* Waits for the end of the work, but no longer than until the next exchange. */
static bool has_ended(const struct step_work *part) {
    struct pollfd descriptor = {.fd = part->event, .events = POLLIN};
    return poll(&descriptor, 1, BEAT_MILLISECONDS) > 0;
}

/* Returns the first rank that failed by itself, else the first that failed; RANKS: none did. Ranks
 * that were stopped because of another one's failure have EXIT_CODE_STOPPED, which must not hide
 * that failure. */
static int find_failed(const struct statement *all, int ranks) {
    int found = ranks;
    for (int i = ranks - 1; i >= 0; i--)
        if (all[i].why.code != EXIT_CODE_OK &&
            (all[i].why.code != EXIT_CODE_STOPPED || found == ranks ||
             all[found].why.code == EXIT_CODE_STOPPED))
            found = i;
    return found;
}

/* Exchanges how far all ranks are. Returns 1 when all have ended, 0 if not, and -1 if the exchange
 * failed. Every rank calls this equally often, as all see the same statements and stop at the same
 * one. */
static int beat(struct prepare_ranks *ranks, struct step_work *part, bool ended,
                struct statement *all, struct error *err) {
    const struct prepare_step *step = part->step;
    const int size = comm_size(ranks->comm);
    struct statement own = {.ended = ended};
    int64_t done = 0;
    int left = size;
    if (ended)
        own.why = part->why;
    if (step->tell != NULL)
        own.done = step->tell(step->context);
    (void)gethostname(own.host, sizeof(own.host) - 1);
    if (comm_gather(ranks->comm, &own, sizeof(own), all, err) != 0)
        return -1;
    for (int i = 0; i < size; i++) {
        done += all[i].done;
        left -= all[i].ended;
    }
    if (step->show != NULL && comm_rank(ranks->comm) == 0)
        step->show(step->show_context, done);
    if (step->stop != NULL && find_failed(all, size) < size)
        step->stop(step->context);
    return left == 0;
}

/* Runs the step's part and exchanges statements until all ranks have ended. A rank without a thread
 * takes part as one that has failed. If the exchange fails, the own part is stopped, and waited
 * for. */
static int run_together(struct prepare_ranks *ranks, struct step_work *part, struct statement *all,
                        struct error *err) {
    pthread_t thread;
    const bool started = pthread_create(&thread, NULL, run, part) == 0;
    bool ended = !started;
    int result = 0;
    if (!started)
        (void)error_set(&part->why, EXIT_CODE_CONFIG, "no thread for the work of this rank");
    while (result == 0) {
        if (!ended && has_ended(part))
            ended = pthread_join(thread, NULL) == 0;
        result = beat(ranks, part, ended, all, err);
    }
    ranks->lost = result < 0;
    if (ranks->lost && part->step->stop != NULL)
        part->step->stop(part->step->context);
    if (!ended)
        (void)pthread_join(thread, NULL);
    return result < 0 ? error_wrap(err, "waiting for the other ranks of `ringtrain prepare`") : 0;
}

int prepare_ranks_run(struct prepare_ranks *ranks, const struct prepare_step *step,
                      struct error *err) {
    const int size = comm_size(ranks->comm);
    if (size == 1)
        return step->run(step->context, err);
    cleanup_free struct statement *all = calloc((size_t)size, sizeof(*all));
    cleanup_fd int event = eventfd(0, EFD_CLOEXEC);
    struct step_work part = {.step = step, .event = event};
    if (all == NULL || event < 0) {
        ranks->lost = true;
        return error_no_memory(err, "the state of all ranks");
    }
    if (run_together(ranks, &part, all, err) != 0)
        return -1;
    const int failed = find_failed(all, size);
    if (failed == size)
        return 0;
    if (err != NULL)
        *err = all[failed].why;
    return error_wrap(err, "%s (rank %d)", all[failed].host, failed);
}

/* Differing texts are found by all ranks alike, so they can still end together; any other failure
 * is of the connection. */
int prepare_ranks_agree(struct prepare_ranks *ranks, const char *what, const char *text,
                        struct error *err) {
    struct error why = {0};
    if (comm_size(ranks->comm) == 1 ||
        ranks_agree(ranks->comm, what, crc32c(0, text, strlen(text)), EXIT_CODE_DATA, &why) == 0)
        return 0;
    ranks->lost = why.code != EXIT_CODE_DATA;
    if (err != NULL)
        *err = why;
    return -1;
}

int prepare_ranks_spread(struct prepare_ranks *ranks, void *bytes, size_t size, struct error *err) {
    if (comm_size(ranks->comm) == 1 || comm_broadcast(ranks->comm, bytes, size, 0, err) == 0)
        return 0;
    ranks->lost = true;
    return -1;
}

/* `lost` is set before the exchange, as a rank that has no memory for it leaves the others
 * waiting. */
int prepare_ranks_add(struct prepare_ranks *ranks, int64_t *numbers, size_t count,
                      struct error *err) {
    const size_t size = (size_t)comm_size(ranks->comm);
    cleanup_free int64_t *all = calloc(size * count, sizeof(*all));
    if (size == 1)
        return 0;
    ranks->lost = true;
    if (all == NULL)
        return error_no_memory(err, "the results of all ranks");
    if (comm_gather(ranks->comm, numbers, count * sizeof(*numbers), all, err) != 0)
        return -1;
    ranks->lost = false;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = 0;
        for (size_t rank = 0; rank < size; rank++)
            numbers[i] += all[rank * count + i];
    }
    return 0;
}
