#include "entrypoint/mpi/rank_environment.h"

#include "common/run_id.h"
#include "common/str.h"
#include "entrypoint/job/cluster/cluster.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static const char rank_name[] = "OMPI_COMM_WORLD_RANK";
static const char size_name[] = "OMPI_COMM_WORLD_SIZE";
static const char local_rank_name[] = "OMPI_COMM_WORLD_LOCAL_RANK";
static const char local_size_name[] = "OMPI_COMM_WORLD_LOCAL_SIZE";

static int read_number(char *const *launched, const char *name, int64_t max, unsigned *ret,
                       struct error *err) {
    const char *text = env_get(launched, name);
    int64_t value = 0;
    if (text == NULL)
        return error_set(err, EXIT_CODE_USAGE, "%s is not set: mpirun did not start this", name);
    if (str_parse_int(text, 0, max, &value, err) != 0)
        return error_wrap(err, "%s", name);
    *ret = (unsigned)value;
    return 0;
}

int rank_environment_read(char *const *launched, struct rank_place *ret, struct error *err) {
    const int64_t most = (int64_t)CLUSTER_HOSTS_MAX * CLUSTER_SLOTS_MAX;
    if (read_number(launched, rank_name, most, &ret->rank, err) != 0 ||
        read_number(launched, size_name, most, &ret->size, err) != 0 ||
        read_number(launched, local_rank_name, most, &ret->local_rank, err) != 0 ||
        read_number(launched, local_size_name, most, &ret->local_size, err) != 0)
        return -1;
    return read_number(launched, ATTEMPT_VARIABLE, INT32_MAX, &ret->attempt, err);
}

static int set_number(struct argv *environment, const char *name, unsigned value,
                      struct error *err) {
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", value);
    return argv_set_env(environment, name, text, err);
}

int rank_environment_set(const struct rank_place *place, struct argv *environment,
                         struct error *err) {
    if (set_number(environment, rank_name, place->rank, err) != 0 ||
        set_number(environment, size_name, place->size, err) != 0 ||
        set_number(environment, local_rank_name, place->local_rank, err) != 0 ||
        set_number(environment, local_size_name, place->local_size, err) != 0)
        return -1;
    return set_number(environment, ATTEMPT_VARIABLE, place->attempt, err);
}

int rank_environment_refuse_mpi(struct argv *environment, struct error *err) {
    static const char words[] = "MPI-needs-mpirun--set-RINGMASTER_LAUNCHER=mpirun";
    if (argv_set_env(environment, "OMPI_MCA_backtrace", words, err) != 0)
        return -1;
    return argv_set_env(environment, "OMPI_MCA_pml", words, err);
}

bool rank_environment_is_mpi(const char *variable) {
    return str_starts_with(variable, "OMPI_") || str_starts_with(variable, "PMIX_") ||
           str_starts_with(variable, "PRTE_");
}

bool rank_environment_has_mpi(const struct argv *environment) {
    for (size_t i = 0; i < environment->count; i++)
        if (rank_environment_is_mpi(environment->items[i]))
            return true;
    return false;
}
