#include "entrypoint/host/ranks/environment.h"

#include "common/run_id.h"
#include "common/str.h"
#include "entrypoint/host/ranks/tf_environment.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/job/machine/efa.h"
#include "entrypoint/job/sm_variables.h"
#include "entrypoint/mpi/custom_options.h"
#include "entrypoint/mpi/rank_environment.h"
#include "entrypoint/os/run_as.h"
#include "entrypoint/wire/control_socket.h"

#include <stdio.h>
#include <string.h>

/* Three environments are built here, each from the one before. Daemons get a few variables by name.
 * Programs of a host get the container's, without what must not reach them. Each rank adds its
 * place, in the shim.
 *
 * A variable that the user has set wins over a default, and over what mpirun sets for its ranks. It
 * does not win over a rank's place: RANK and WORLD_SIZE must be true. */

/* --- daemons --------------------------------------------------------------------------------- */

struct passed {
    const char *name;
    const char *fallback; /* NULL: then not set */
};

int environment_daemon(char *const *own, const char *socket, struct argv *ret, struct error *err) {
    static const struct passed passed[] = {
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"HOME", "/root"},
        {"TMPDIR", NULL},
        {"LANG", NULL},
        {"LD_LIBRARY_PATH", NULL},
        {"TZ", NULL},
    };
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        const char *value = env_get(own, passed[i].name);
        if (value == NULL)
            value = passed[i].fallback;
        if (value != NULL && argv_set_env(ret, passed[i].name, value, err) != 0)
            return -1;
    }
    return argv_set_env(ret, "RINGMASTER_SOCKET", socket, err);
}

/* Numbers of ports and ranks fit into TEXT. */
static int set_number(struct argv *environment, const char *name, unsigned value,
                      struct error *err) {
    char text[16];
    snprintf(text, sizeof(text), "%u", value);
    return argv_set_env(environment, name, text, err);
}

int environment_add_attempt(struct argv *environment, unsigned attempt, const char *run,
                            struct error *err) {
    if (set_number(environment, ATTEMPT_VARIABLE, attempt, err) != 0)
        return -1;
    return argv_set_env(environment, ATTEMPT_RUN_VARIABLE, run, err);
}

/* --- programs -------------------------------------------------------------------------------- */

/* Returns true for variables that programs may have: not our settings with their secrets, nor those
 * that configure Open MPI. */
static bool is_kept(const char *variable) {
    return !rank_environment_is_mpi(variable) && !str_starts_with(variable, "RINGMASTER_");
}

/* Adds variables that the user's options for mpirun set for ranks; they override the container's.
 */
static int add_custom(const char *options, struct argv *ret, struct error *err) {
    struct custom_options custom = {0};
    int result = custom_options_parse(options, &custom, err);
    for (size_t i = 0; result == 0 && i < custom.environment.count; i++) {
        char *variable = custom.environment.items[i];
        size_t name = strcspn(variable, "=");
        variable[name] = '\0';
        result = argv_set_env(ret, variable, variable + name + 1, err);
    }
    custom_options_done(&custom);
    return result;
}

/* Adds a variable unless the environment has it already, even if it is empty there. */
static int add_default(struct argv *ret, const char *name, const char *value, struct error *err) {
    return argv_get_env(ret, name) != NULL ? 0 : argv_set_env(ret, name, value, err);
}

/* Adds torchrun's variables about hosts. There is no agent with a store, for which all ranks would
 * otherwise wait. */
static int add_group(const struct job *job, struct argv *ret, struct error *err) {
    const struct cluster *c = &job->cluster;
    if (set_number(ret, "GROUP_RANK", (unsigned)cluster_number(c, c->self), err) != 0 ||
        set_number(ret, "NODE_RANK", (unsigned)cluster_number(c, c->self), err) != 0 ||
        set_number(ret, "GROUP_WORLD_SIZE", (unsigned)cluster_hosts_left(c), err) != 0 ||
        set_number(ret, "TORCHELASTIC_MAX_RESTARTS", (unsigned)job->settings.restarts, err) != 0)
        return -1;
    if (argv_set_env(ret, "ROLE_NAME", "default", err) != 0 ||
        argv_set_env(ret, "TORCHELASTIC_RUN_ID", c->job, err) != 0 ||
        argv_set_env(ret, "TORCHELASTIC_USE_AGENT_STORE", "False", err) != 0)
        return -1;
    return add_default(ret, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", err);
}

/* The order decides which value stays: later ones replace earlier ones. The user's options for
 * mpirun come last, as they are the most explicit. An entry without a `=` is no variable and is
 * left out. */
int environment_host(const struct job *job, char *const *own, struct argv *ret, struct error *err) {
    for (; *own != NULL; own++)
        if (strchr(*own, '=') != NULL && is_kept(*own) && argv_add(ret, *own, err) != 0)
            return -1;
    if (run_as_add(ret, err) != 0)
        return -1;
    /* Ranks write to a pipe; without this variable a Python program's output would only arrive at
     * its end. */
    if (add_default(ret, "PYTHONUNBUFFERED", "1", err) != 0 || add_group(job, ret, err) != 0)
        return -1;
    if (efa_add("", job->cluster.instance_type, job->settings.efa == SETTINGS_EFA_TOOLKIT, ret,
                err) != 0)
        return -1;
    if (sm_variables_add(job, ret, err) != 0 || tf_environment_add_workers(job, ret, err) != 0)
        return -1;
    return job->request.mpi_options.options != NULL
               ? add_custom(job->request.mpi_options.options, ret, err)
               : 0;
}

/* Asked again for each gathering of evidence, so that both sides name the same files. */
void environment_recorder(const struct services *services, struct flight_recorder *ret) {
    *ret = (struct flight_recorder){0};
    if (services->job->settings.evidence && services->local != NULL)
        flight_recorder_find(services->environment, services->local->folder,
                             accelerators_gpus("/dev") > 0, ret);
}

int environment_add_recorder(const struct services *services, struct argv *ret, struct error *err) {
    struct flight_recorder recorder;
    environment_recorder(services, &recorder);
    return flight_recorder_add(&recorder, ret, err);
}

/* Options that do not parse were reported before, and bind nothing. */
static bool are_bound(const struct job *job) {
    struct custom_options custom = {0};
    bool bound = job->request.mpi_options.options != NULL &&
                 custom_options_parse(job->request.mpi_options.options, &custom, NULL) == 0 &&
                 custom.bind_to[0] != '\0' && strcmp(custom.bind_to, "none") != 0;
    custom_options_done(&custom);
    return bound;
}

/* Read by OpenMP, and by libraries for linear algebra. */
static const char threads_name[] = "OMP_NUM_THREADS";

/* At least 1, even if there are more ranks than processors. */
int environment_threads(const struct job *job, const struct argv *environment, int cpus) {
    int ranks = (int)job->cluster.hosts[job->cluster.self].slots;
    if (ranks < 2 || argv_get_env(environment, threads_name) != NULL || are_bound(job))
        return 0;
    return cpus > ranks ? cpus / ranks : 1;
}

int environment_set_threads(struct argv *environment, int threads, struct error *err) {
    return threads > 0 ? set_number(environment, threads_name, (unsigned)threads, err) : 0;
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* Returns true if ENVIRONMENT has a value for the name in VARIABLE (NAME=VALUE). */
static bool is_set(const struct argv *environment, const char *variable) {
    size_t size = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < environment->count; i++)
        if (strncmp(environment->items[i], variable, size) == 0)
            return true;
    return false;
}

/* LAUNCHED belongs to this process and is only read. The restart count begins with 0 and attempts
 * with 1. */
int environment_add_rank(struct argv *environment, char *const *launched, const char *master_addr,
                         unsigned master_port, struct error *err) {
    struct rank_place place = {0};
    const char *run = env_get(launched, ATTEMPT_RUN_VARIABLE);
    if (rank_environment_read(launched, &place, err) != 0 ||
        environment_add_attempt(environment, place.attempt, run != NULL ? run : "", err) != 0)
        return -1;
    /* Open MPI's variables that are already set come from the user and take precedence over
     * mpirun's. */
    for (; *launched != NULL; launched++)
        if (rank_environment_is_mpi(*launched) && !is_set(environment, *launched) &&
            argv_add(environment, *launched, err) != 0)
            return -1;
    if (set_number(environment, "RANK", place.rank, err) != 0 ||
        set_number(environment, "WORLD_SIZE", place.size, err) != 0 ||
        set_number(environment, "LOCAL_RANK", place.local_rank, err) != 0 ||
        set_number(environment, "LOCAL_WORLD_SIZE", place.local_size, err) != 0 ||
        set_number(environment, "ROLE_RANK", place.rank, err) != 0 ||
        set_number(environment, "ROLE_WORLD_SIZE", place.size, err) != 0 ||
        set_number(environment, "TORCHELASTIC_RESTART_COUNT", place.attempt - 1, err) != 0 ||
        set_number(environment, "MASTER_PORT", master_port, err) != 0)
        return -1;
    return argv_set_env(environment, "MASTER_ADDR", master_addr, err);
}
