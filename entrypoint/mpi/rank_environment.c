#include "entrypoint/mpi/rank_environment.h"

#include "common/run_id.h"
#include "common/str.h"
#include "entrypoint/job/cluster/cluster.h"

#include <stddef.h>
#include <stdint.h>

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

int rank_environment_alone(struct argv *environment, struct error *err) {
    if (argv_set_env(environment, rank_name, "0", err) != 0 ||
        argv_set_env(environment, size_name, "1", err) != 0 ||
        argv_set_env(environment, local_rank_name, "0", err) != 0)
        return -1;
    return argv_set_env(environment, local_size_name, "1", err);
}

bool rank_environment_is_mpi(const char *variable) {
    return str_starts_with(variable, "OMPI_") || str_starts_with(variable, "PMIX_") ||
           str_starts_with(variable, "PRTE_");
}
