#include "ranks/environment.h"

#include "common/attempt.h"
#include "common/str.h"
#include "job/sm_variables.h"
#include "machine/fabric.h"
#include "mpi/custom_options.h"
#include "mpi/place.h"
#include "os/identity.h"

#include <stdio.h>
#include <string.h>

/* --- daemons --------------------------------------------------------------------------------- */

struct passed {
    const char *name;
    const char *fallback; /* NULL: not set then */
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

/* Not for programs: our settings with their secrets, and what would steer Open MPI. */
static bool is_kept(const char *variable) {
    return !place_is_mpi(variable) && !str_starts_with(variable, "RINGMASTER_");
}

/* What the user's options for mpirun set for ranks, over the container's own variables. */
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

int environment_host(const struct job *job, char *const *own, struct argv *ret, struct error *err) {
    for (; *own != NULL; own++)
        if (strchr(*own, '=') != NULL && is_kept(*own) && argv_add(ret, *own, err) != 0)
            return -1;
    if (identity_add(ret, err) != 0)
        return -1;
    /* Ranks write to a pipe; without this a Python program's words come when it ends. */
    if (argv_get_env(ret, "PYTHONUNBUFFERED") == NULL &&
        argv_set_env(ret, "PYTHONUNBUFFERED", "1", err) != 0)
        return -1;
    if (fabric_add("", job->cluster.instance_type, ret, err) != 0)
        return -1;
    if (sm_variables_add(job, ret, err) != 0)
        return -1;
    return job->wishes.options != NULL ? add_custom(job->wishes.options, ret, err) : 0;
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* Whether ENVIRONMENT has a value for the name of VARIABLE (NAME=VALUE). */
static bool is_set(const struct argv *environment, const char *variable) {
    size_t size = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < environment->count; i++)
        if (strncmp(environment->items[i], variable, size) == 0)
            return true;
    return false;
}

int environment_add_rank(struct argv *environment, char *const *launched, const char *master_addr,
                         unsigned master_port, struct error *err) {
    struct rank_place place = {0};
    const char *run = env_get(launched, ATTEMPT_RUN_VARIABLE);
    if (place_read(launched, &place, err) != 0 ||
        environment_add_attempt(environment, place.attempt, run != NULL ? run : "", err) != 0)
        return -1;
    /* What environment_host has set of Open MPI's, the user wants to win over mpirun's word. */
    for (; *launched != NULL; launched++)
        if (place_is_mpi(*launched) && !is_set(environment, *launched) &&
            argv_add(environment, *launched, err) != 0)
            return -1;
    if (set_number(environment, "RANK", place.rank, err) != 0 ||
        set_number(environment, "WORLD_SIZE", place.size, err) != 0 ||
        set_number(environment, "LOCAL_RANK", place.local_rank, err) != 0 ||
        set_number(environment, "LOCAL_WORLD_SIZE", place.local_size, err) != 0 ||
        set_number(environment, "MASTER_PORT", master_port, err) != 0)
        return -1;
    return argv_set_env(environment, "MASTER_ADDR", master_addr, err);
}
