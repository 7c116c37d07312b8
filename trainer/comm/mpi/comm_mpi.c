#include "trainer/comm/mpi/comm_mpi.h"

#include "common/clock.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_thread.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

/* What MPI itself does not do well for a job like this is done around its calls. Blocking calls
 * spin on a core while they wait. Every work therefore begins with `meet`, which waits for the
 * other ranks with sleeps; the call that follows finds them all there. Counts are ints, so long
 * values go in pieces. Every communicator returns errors instead of ending the process, so that a
 * message can be written.
 *
 * Sums of f32 and f64 are MPI's own: their order of addition, and with it the last bits, is up to
 * the library. Sums in half precision and in shares are those of half_sum.h and shares.h, over
 * sends and receives.
 *
 * There is no connection for others to use (comm_socket), and no way to leave out ranks that have
 * ended: WORK_MOVE and WORK_NARROW are refused before they are posted (comm_thread.c). */

enum {
    /* MPI counts are ints; longer slices are split into pieces of this many elements. */
    PIECE_MAX = 1 << 30,
};

/* Shortest sleep between two checks whether all ranks have arrived, ns. The longest bounds how late
 * the last rank is noticed. */
static const int64_t NAP_LEAST = 5000;
static const int64_t NAP_MOST = 250000;

struct mpi_comm {
    struct comm_thread thread;   /* must be first: the two are cast into each other */
    MPI_Comm handle;             /* MPI_COMM_WORLD, or one of a split, which WORK_RELEASE frees */
    struct comm_part *parts;     /* owned; of sums in shares, one a rank; NULL before the first */
    MPI_Request *requests;       /* owned; two a rank */
    struct shares_memory shares; /* of sums in shares and in half precision */
};

/* Sets ERR to MPI's own text for CODE. */
static int mpi_error(struct error *err, const char *what, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int size = 0;
    (void)MPI_Error_string(code, text, &size);
    return error_set(err, EXIT_CODE_INTERNAL, "MPI: %s: %s", what, text);
}

/* Sleeps for a twentieth of the time waited so far, so that no wait becomes much longer. In the
 * first 0.1 ms it does not sleep at all: short waits are the usual case when ranks keep pace. */
static void doze(int64_t waited) {
    int64_t nap = waited / 20;
    if (nap < NAP_LEAST)
        return;
    const struct timespec span = {.tv_nsec = (long)(nap < NAP_MOST ? nap : NAP_MOST)};
    (void)nanosleep(&span, NULL);
}

/* Waits until all ranks have come this far. MPI's own waiting keeps a core busy, which compute
 * threads and other ranks need: this one sleeps between two checks. There is no deadline here. The
 * caller's thread has one of its own (work_queue_wait) and then ends the process, which ends this
 * thread. */
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

/* Sums in place, in pieces of PIECE_MAX elements. */
static int sum(MPI_Comm among, const struct work *work, struct error *err) {
    MPI_Datatype type = work->type == COMM_F32 ? MPI_FLOAT : MPI_DOUBLE;
    size_t width = comm_type_width(work->type);
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

/* All-gather. Callers with more bytes than one piece use gather.h, which goes in rounds. */
static int gather(MPI_Comm among, const struct work *work, struct error *err) {
    if (work->count > PIECE_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "gather of %zu bytes a rank", work->count);
    int size = (int)work->count;
    int code = MPI_Allgather(work->input, size, MPI_BYTE, work->data, size, MPI_BYTE, among);
    return code == MPI_SUCCESS ? 0 : mpi_error(err, "gather", code);
}

/* Moves the parts of all ranks side by side. Every receive is posted before the send to the same
 * rank. Sizes fit into an int, since shares.h and half_sum.h work in rounds of a few mebibytes. The
 * parts are zeroed for the next run, as shares_exchange asks for. */
static int exchange_parts(void *user, struct error *err) {
    struct mpi_comm *m = user;
    int count = 0, code = MPI_SUCCESS;
    for (int i = 0; i < m->thread.base.size && code == MPI_SUCCESS; i++) {
        struct comm_part *part = &m->parts[i];
        if (part->in_size > 0)
            code = MPI_Irecv(part->in, (int)part->in_size, MPI_BYTE, i, 0, m->handle,
                             &m->requests[count++]);
        if (part->out_size > 0 && code == MPI_SUCCESS)
            code = MPI_Isend(part->out, (int)part->out_size, MPI_BYTE, i, 0, m->handle,
                             &m->requests[count++]);
        *part = (struct comm_part){0};
    }
    if (code == MPI_SUCCESS)
        code = MPI_Waitall(count, m->requests, MPI_STATUSES_IGNORE);
    return code == MPI_SUCCESS ? 0 : mpi_error(err, "sum in shares", code);
}

/* Carries out a work that consists of exchanges. Its memory is kept for the next one. */
static int share(struct mpi_comm *m, const struct work *work, struct error *err) {
    const size_t ranks = (size_t)m->thread.base.size;
    if (m->parts == NULL)
        m->parts = calloc(ranks, sizeof(*m->parts));
    if (m->requests == NULL)
        m->requests = calloc(2 * ranks, sizeof(MPI_Request));
    if (m->parts == NULL || m->requests == NULL)
        return error_no_memory(err, "sums in shares");
    const struct shares_exchange x = {.rank = m->thread.base.rank,
                                      .ranks = m->thread.base.size,
                                      .parts = m->parts,
                                      .run = exchange_parts,
                                      .user = m,
                                      .memory = &m->shares};
    return comm_thread_share(&x, work, err);
}

static void drop_shares(struct mpi_comm *m) {
    free(m->parts);
    free((void *)m->requests);
    shares_memory_done(&m->shares);
}

/* Fills in what the library knows of M's communicator. Ranks of one host are those that can share
 * memory (MPI_COMM_TYPE_SHARED). */
static int describe(struct mpi_comm *m, struct error *err) {
    struct comm *c = &m->thread.base;
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

/* A rank without a group takes part as well, with MPI_UNDEFINED, and gets no communicator. */
static int split(const struct mpi_comm *m, const struct work *work, struct error *err) {
    struct mpi_comm *made = work->data;
    int code = MPI_Comm_split(m->handle, work->root >= 0 ? work->root : MPI_UNDEFINED,
                              m->thread.base.rank, &made->handle);
    if (code != MPI_SUCCESS)
        return mpi_error(err, "a group of ranks", code);
    return made->handle == MPI_COMM_NULL ? 0 : describe(made, err);
}

/* Runs on the communicating thread, for every kind of work. A release is no collective here, so
 * ranks do not meet for it; a barrier is done once they have met. */
static int mpi_perform(struct comm_thread *t, const struct work *work, struct error *err) {
    struct mpi_comm *m = (struct mpi_comm *)t;
    if (work->kind != WORK_RELEASE && meet(m->handle, err) != 0)
        return -1;
    switch (work->kind) {
    case WORK_SUM:
        return comm_type_is_half(work->type) ? share(m, work, err) : sum(m->handle, work, err);
    case WORK_SHARE_SUM:
    case WORK_SHARE_SPREAD:
        return share(m, work, err);
    case WORK_BROADCAST:
        return broadcast(m->handle, work, err);
    case WORK_GATHER:
        return gather(m->handle, work, err);
    case WORK_SPLIT:
        return split(m, work, err);
    case WORK_RELEASE:
        drop_shares(m);
        (void)MPI_Comm_free(&m->handle);
        break;
    case WORK_BARRIER:
    case WORK_MOVE:
    case WORK_NARROW:
        break;
    }
    return 0;
}

/* MPI_THREAD_FUNNELED suffices: the process has other threads, but only this one calls MPI. */
static int mpi_begin(struct comm_thread *t, struct error *err) {
    struct mpi_comm *m = (struct mpi_comm *)t;
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

/* MPI_Finalize waits for all ranks, which must not happen after a failure. */
static void mpi_end(struct comm_thread *t, bool failed) {
    drop_shares((struct mpi_comm *)t);
    if (!failed)
        (void)MPI_Finalize();
}

int comm_mpi_open(struct comm **ret, struct error *err) {
    static const struct comm_thread_works works = {
        .name = "mpi",
        .size = sizeof(struct mpi_comm),
        .begin = mpi_begin,
        .perform = mpi_perform,
        .end = mpi_end,
    };
    /* Makes MPI's waiting calls yield their core: data threads and other ranks need it. */
    (void)setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);

    struct mpi_comm *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return error_no_memory(err, "communicator");
    if (comm_thread_open(&m->thread, &works, err) != 0)
        return -1;
    *ret = &m->thread.base;
    return 0;
}

const char *comm_mpi_library(void) {
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int size = 0;
    if (MPI_Get_library_version(text, &size) != MPI_SUCCESS)
        text[0] = '\0';
    return text;
}
