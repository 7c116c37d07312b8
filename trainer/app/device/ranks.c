#include "trainer/app/device/ranks.h"

#include "common/cleanup.h"
#include "common/system/progress.h"
#include "trainer/app/device/rank_variables.h"
#ifdef RINGMASTER_HAVE_MPI
#include "trainer/comm/mpi/comm_mpi.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMED_MAX = 8 };

static int open_mpi(int ranks, struct comm **ret, struct error *err) {
    if (ranks == 1)
        return comm_self_open(ret, err);
#ifdef RINGMASTER_HAVE_MPI
    return comm_mpi_open(ret, err);
#else
    return error_set(err, EXIT_CODE_CONFIG,
                     "one of %d ranks, but this build has no MPI (RINGMASTER_MPI=OFF): --comm tcp "
                     "connects them without it",
                     ranks);
#endif
}

static int open_tcp(struct comm **ret, struct error *err) {
    struct comm_tcp_plan plan;
    if (rank_variables_tcp(&plan, err) != 0)
        return -1;
    return plan.mesh.size == 1 ? comm_self_open(ret, err) : comm_tcp_open(ret, &plan, err);
}

int ranks_open(enum option_comm wanted, struct comm **ret, struct error *err) {
    int started = 0;
    if (rank_variables_mpi(&started, err) != 0)
        return -1;
    if (wanted == OPTION_COMM_MPI && started == 0 && getenv("WORLD_SIZE") != NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "--comm mpi, but no mpirun has started this rank: leave --comm at auto, "
                         "or launch with mpirun (RINGMASTER_LAUNCHER=mpirun)");
    if (started > 0 && wanted != OPTION_COMM_TCP)
        return open_mpi(started, ret, err);
    return open_tcp(ret, err);
}

const char *ranks_library(const struct comm *comm) {
    if (strcmp(comm_name(comm), "mpi") != 0)
        return comm_size(comm) > 1 ? "TCP" : "";
#ifdef RINGMASTER_HAVE_MPI
    static char name[64];
    const char *text = comm_mpi_library();
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, ",\n"), text);
    return name;
#else
    return "MPI";
#endif
}

/* A rank's value and name, for comparison. */
struct statement {
    uint64_t value;
    char host[64];
};

static int name_the_odd(const struct statement *all, int ranks, const char *what,
                        enum exit_code code, struct error *err) {
    char names[512] = "";
    int odd = 0;
    for (int i = 0; i < ranks; i++) {
        if (all[i].value == all[0].value || odd++ >= NAMED_MAX)
            continue;
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s%s (rank %d)", used > 0 ? ", " : "",
                       all[i].host, i);
    }
    if (odd > NAMED_MAX) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, " and %d more", odd - NAMED_MAX);
    }
    return error_set(err, code, "%s differs between hosts: %s (rank 0) differs from %s", what,
                     all[0].host, names);
}

void ranks_close(struct comm *comm, int result, const struct error *err) {
    if (result >= 0 || (err != NULL && err->code == EXIT_CODE_STOPPED))
        comm_close(comm);
    else
        comm_abort(comm);
}

int ranks_agree(struct comm *comm, const char *what, uint64_t value, enum exit_code code,
                struct error *err) {
    int ranks = comm_size(comm);
    cleanup_free struct statement *all = calloc((size_t)ranks, sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "statements of all ranks");
    struct statement own = {.value = value};
    (void)gethostname(own.host, sizeof(own.host) - 1);
    if (comm_gather(comm, &own, sizeof(own), all, err) != 0)
        return error_wrap(err, "comparing %s", what);
    for (int i = 1; i < ranks; i++)
        if (all[i].value != all[0].value)
            return name_the_odd(all, ranks, what, code, err);
    return 0;
}

/* Launched by mpirun, or by a launcher that watches its progress. */
static bool is_launched(void) {
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv(PROGRESS_VARIABLE) != NULL;
}

bool ranks_alone(const struct comm *comm) {
    return comm_size(comm) == 1 && !is_launched();
}

bool ranks_terminal(int descriptor) {
    return isatty(descriptor) && !is_launched();
}
