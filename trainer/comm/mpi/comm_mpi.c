#include "trainer/comm/mpi/comm_mpi.h"

#include "common/clock.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"
#include "trainer/comm/work_queue.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    INIT_DEADLINE_SECONDS = 300,
    FINALIZE_DEADLINE_SECONDS = 60,
    /* MPI counts are ints; longer slices are split into pieces of this many elements. */
    PIECE_MAX = 1 << 30,
};

/* Shortest sleep between two checks whether all ranks have arrived, ns. */
static const int64_t NAP_LEAST = 5000;
static const int64_t NAP_MOST = 250000;

struct mpi_comm {
    struct comm base;       /* must be first: the two are cast into each other */
    struct mpi_comm *world; /* has queue and thread; itself unless a split made this one */
    MPI_Comm handle;
    struct work_queue queue;
    pthread_t thread;
};

static int mpi_error(struct error *err, const char *what, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int size = 0;
    (void)MPI_Error_string(code, text, &size);
    return error_set(err, EXIT_CODE_INTERNAL, "MPI: %s: %s", what, text);
}

/* Sleeps for a twentieth of the time waited so far, so that no wait becomes much longer. */
static void doze(int64_t waited) {
    int64_t nap = waited / 20;
    if (nap < NAP_LEAST)
        return;
    const struct timespec span = {.tv_nsec = (long)(nap < NAP_MOST ? nap : NAP_MOST)};
    (void)nanosleep(&span, NULL);
}

/* Waits until all ranks have come this far. MPI's own waiting keeps a core busy, which compute
 * threads and other ranks need: this one sleeps between two checks. */
static int meet(MPI_Comm among, struct error *err) {
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t began = clock_now();
    int there = 0;
    int code = MPI_Ibarrier(among, &request);
    while (code == MPI_SUCCESS) {
        code = MPI_Test(&request, &there, MPI_STATUS_IGNORE);
        if (there)
            break;
        doze(clock_now() - began);
    }
    return code == MPI_SUCCESS ? 0 : mpi_error(err, "meeting the other ranks", code);
}

static int sum(MPI_Comm among, const struct work *work, struct error *err) {
    MPI_Datatype type = work->type == COMM_F32 ? MPI_FLOAT : MPI_DOUBLE;
    size_t width = work->type == COMM_F32 ? sizeof(float) : sizeof(double);
    char *at = work->data;
    for (size_t left = work->count; left > 0;) {
        size_t piece = left < PIECE_MAX ? left : PIECE_MAX;
        int code = MPI_Allreduce(MPI_IN_PLACE, at, (int)piece, type, MPI_SUM, among);
        if (code != MPI_SUCCESS)
            return mpi_error(err, "sum over ranks", code);
        at += piece * width;
        left -= piece;
    }
    return 0;
}

static int broadcast(MPI_Comm among, const struct work *work, struct error *err) {
    char *at = work->data;
    for (size_t left = work->count; left > 0;) {
        size_t piece = left < PIECE_MAX ? left : PIECE_MAX;
        int code = MPI_Bcast(at, (int)piece, MPI_BYTE, work->root, among);
        if (code != MPI_SUCCESS)
            return mpi_error(err, "broadcast", code);
        at += piece;
        left -= piece;
    }
    return 0;
}

static int gather(MPI_Comm among, const struct work *work, struct error *err) {
    if (work->count > PIECE_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "gather of %zu bytes a rank", work->count);
    int size = (int)work->count;
    int code = MPI_Allgather(work->input, size, MPI_BYTE, work->data, size, MPI_BYTE, among);
    return code == MPI_SUCCESS ? 0 : mpi_error(err, "gather", code);
}

/* Fills in what the library knows of M's communicator. */
static int describe(struct mpi_comm *m, struct error *err) {
    struct comm *c = &m->base;
    MPI_Comm local = MPI_COMM_NULL;
    (void)MPI_Comm_set_errhandler(m->handle, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(m->handle, &c->rank);
    (void)MPI_Comm_size(m->handle, &c->size);
    int code = MPI_Comm_split_type(m->handle, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(local, &c->local_rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(local, &c->local_size);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_free(&local);
    return code == MPI_SUCCESS ? 0 : mpi_error(err, "ranks of this host", code);
}

static int split(const struct mpi_comm *m, const struct work *work, struct error *err) {
    struct mpi_comm *made = work->data;
    int code = MPI_Comm_split(m->handle, work->root >= 0 ? work->root : MPI_UNDEFINED, m->base.rank,
                              &made->handle);
    if (code != MPI_SUCCESS)
        return mpi_error(err, "a group of ranks", code);
    return made->handle == MPI_COMM_NULL ? 0 : describe(made, err);
}

static int perform(const struct work *work, struct error *err) {
    struct mpi_comm *m = work->among;
    if (work->kind != WORK_RELEASE && meet(m->handle, err) != 0)
        return -1;
    switch (work->kind) {
    case WORK_SUM:
        return sum(m->handle, work, err);
    case WORK_BROADCAST:
        return broadcast(m->handle, work, err);
    case WORK_GATHER:
        return gather(m->handle, work, err);
    case WORK_SPLIT:
        return split(m, work, err);
    case WORK_RELEASE:
        (void)MPI_Comm_free(&m->handle);
        break;
    case WORK_BARRIER:
        break;
    }
    return 0;
}

static int begin(struct mpi_comm *m, struct error *err) {
    int provided = MPI_THREAD_SINGLE;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code != MPI_SUCCESS)
        return mpi_error(err, "init", code);
    if (provided < MPI_THREAD_FUNNELED)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "MPI: this library was built without threads (MPI_THREAD_FUNNELED)");
    m->handle = MPI_COMM_WORLD;
    return describe(m, err);
}

/* Makes all MPI calls, from init to finalize. The first posted work is a barrier: once it is
 * finished, all ranks are there. */
static void *talk(void *argument) {
    struct mpi_comm *m = argument;
    struct error err = {0};
    struct work work;
    int result = begin(m, &err);
    while (result == 0 && work_queue_take(&m->queue, &work)) {
        result = perform(&work, &err);
        if (result == 0)
            work_queue_finish(&m->queue);
    }
    if (result != 0)
        work_queue_fail(&m->queue, &err);
    else
        (void)MPI_Finalize();
    return NULL;
}

static int64_t deadline_in(int seconds) {
    return clock_now() + seconds * CLOCK_SECOND;
}

static int post(struct comm *c, struct work *work, uint64_t *ret_ticket, struct error *err) {
    struct mpi_comm *m = (struct mpi_comm *)c;
    work->among = m;
    return work_queue_post(&m->world->queue, work, deadline_in(COMM_DEADLINE_SECONDS), ret_ticket,
                           err);
}

static int mpi_wait(struct comm *c, uint64_t ticket, struct error *err) {
    struct mpi_comm *m = (struct mpi_comm *)c;
    return work_queue_wait(&m->world->queue, ticket, deadline_in(COMM_DEADLINE_SECONDS), err);
}

static int post_and_wait(struct comm *c, struct work *work, struct error *err) {
    uint64_t ticket = 0;
    if (post(c, work, &ticket, err) != 0)
        return -1;
    return mpi_wait(c, ticket, err);
}

static int mpi_sum_start(struct comm *c, void *values, size_t count, enum comm_type type,
                         uint64_t *ret_ticket, struct error *err) {
    struct work work = {.kind = WORK_SUM, .data = values, .count = count, .type = type};
    return post(c, &work, ret_ticket, err);
}

static int mpi_broadcast(struct comm *c, void *bytes, size_t size, int root, struct error *err) {
    struct work work = {.kind = WORK_BROADCAST, .data = bytes, .count = size, .root = root};
    return post_and_wait(c, &work, err);
}

static int mpi_gather(struct comm *c, const void *bytes, size_t size, void *all,
                      struct error *err) {
    struct work work = {.kind = WORK_GATHER, .input = bytes, .data = all, .count = size};
    return post_and_wait(c, &work, err);
}

static int mpi_barrier(struct comm *c, struct error *err) {
    struct work work = {.kind = WORK_BARRIER};
    return post_and_wait(c, &work, err);
}

static int mpi_split(struct comm *c, int group, struct comm **ret, struct error *err) {
    struct mpi_comm *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return error_no_memory(err, "communicator");
    made->base.driver = c->driver;
    made->world = ((struct mpi_comm *)c)->world;
    made->handle = MPI_COMM_NULL;
    struct work work = {.kind = WORK_SPLIT, .data = made, .root = group};
    if (post_and_wait(c, &work, err) != 0)
        return -1; /* the thread may still write to it */
    if (made->handle == MPI_COMM_NULL) {
        free(made);
        made = NULL;
    }
    *ret = made != NULL ? &made->base : NULL;
    return 0;
}

static void close_group(struct mpi_comm *m) {
    struct error ignored;
    struct work work = {.kind = WORK_RELEASE};
    if (post_and_wait(&m->base, &work, &ignored) == 0)
        free(m);
}

static void mpi_close(struct comm *c) {
    struct mpi_comm *m = (struct mpi_comm *)c;
    if (m->world != m) {
        close_group(m);
        return;
    }
    work_queue_close(&m->queue);
    int64_t deadline = deadline_in(FINALIZE_DEADLINE_SECONDS);
    struct timespec until = {
        .tv_sec = (time_t)(deadline / CLOCK_SECOND),
        .tv_nsec = (long)(deadline % CLOCK_SECOND),
    };
    /* If finalize hangs, the memory is kept until the process ends. */
    if (pthread_clockjoin_np(m->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
        return;
    work_queue_done(&m->queue);
    free(m);
}

/* The thread may be in a call that never returns, so nothing is joined or freed. */
static void mpi_abort(struct comm *c) {
    struct mpi_comm *m = (struct mpi_comm *)c;
    struct error err = {0};
    (void)error_set(&err, EXIT_CODE_INTERNAL, "this rank has left the job");
    work_queue_fail(&m->world->queue, &err);
}

static int start_thread(struct mpi_comm *m, struct error *err) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int bad = pthread_create(&m->thread, NULL, talk, m);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (bad != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "thread for MPI: %s", strerror(bad));
    return 0;
}

int comm_mpi_open(struct comm **ret, struct error *err) {
    static const struct comm_driver driver = {
        .name = "mpi",
        .split = mpi_split,
        .close = mpi_close,
        .abort = mpi_abort,
        .sum_start = mpi_sum_start,
        .wait = mpi_wait,
        .broadcast = mpi_broadcast,
        .gather = mpi_gather,
        .barrier = mpi_barrier,
    };
    /* Makes MPI's waiting calls yield their core: data threads and other ranks need it. */
    (void)setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);

    struct mpi_comm *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return error_no_memory(err, "communicator");
    m->base.driver = &driver;
    m->world = m;
    if (work_queue_init(&m->queue, err) != 0) {
        free(m);
        return -1;
    }
    if (start_thread(m, err) != 0) {
        work_queue_done(&m->queue);
        free(m);
        return -1;
    }
    struct work hello = {.kind = WORK_BARRIER, .among = m};
    uint64_t ticket = 0;
    int64_t deadline = deadline_in(INIT_DEADLINE_SECONDS);
    if (work_queue_post(&m->queue, &hello, deadline, &ticket, err) != 0 ||
        work_queue_wait(&m->queue, ticket, deadline, err) != 0) {
        /* What the thread still uses is kept until the process ends. */
        (void)pthread_detach(m->thread);
        return error_wrap(err, "joining the other ranks");
    }
    *ret = &m->base;
    return 0;
}

const char *comm_mpi_library(void) {
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int size = 0;
    if (MPI_Get_library_version(text, &size) != MPI_SUCCESS)
        text[0] = '\0';
    return text;
}
