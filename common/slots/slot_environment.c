#include "common/slots/slot_environment.h"

#include "common/run_id.h"
#include "common/str.h"
#include "common/system/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* What launchers set for each rank: mpirun and its process managers, torchrun, and ringmaster, also
 * for JAX and TensorFlow. */
static const char *const PREFIXES[] = {"OMPI_",         "PMIX_",     "PMI_", "PRTE_",
                                       "ORTE_",         "OPAL_",     "MPI_", "HYDI_",
                                       "TORCHELASTIC_", "SLURM_PMI", NULL};
static const char *const NAMES[] = {"RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE",
                                    "GROUP_RANK",
                                    "GROUP_WORLD_SIZE",
                                    "ROLE_RANK",
                                    "ROLE_WORLD_SIZE",
                                    "NODE_RANK",
                                    "MASTER_ADDR",
                                    "MASTER_PORT",
                                    "JAX_COORDINATOR_ADDRESS",
                                    "JAX_COORDINATOR_PORT",
                                    "JAX_NUM_PROCESSES",
                                    "JAX_PROCESS_ID",
                                    "JAX_LOCAL_DEVICE_IDS",
                                    "TF_CONFIG",
                                    PROGRESS_VARIABLE,
                                    ATTEMPT_VARIABLE,
                                    ATTEMPT_RUN_VARIABLE,
                                    "RINGMASTER_SOCKET",
                                    SLOT_PARENT_VARIABLE,
                                    NULL};

static bool is_of_a_rank(const char *setting) {
    const size_t size = strcspn(setting, "=");
    for (size_t i = 0; PREFIXES[i] != NULL; i++)
        if (str_starts_with(setting, PREFIXES[i]))
            return true;
    for (size_t i = 0; NAMES[i] != NULL; i++)
        if (strlen(NAMES[i]) == size && strncmp(NAMES[i], setting, size) == 0)
            return true;
    return false;
}

static int set_number(struct argv *a, const char *name, long value, struct error *err) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%ld", value);
    return argv_set_env(a, name, text, err);
}

static int set_place(struct argv *ret, const struct slot_place *p, struct error *err) {
    return set_number(ret, "RANK", p->rank, err) != 0 ||
                   set_number(ret, "WORLD_SIZE", p->size, err) != 0 ||
                   set_number(ret, "LOCAL_RANK", p->local_rank, err) != 0 ||
                   set_number(ret, "LOCAL_WORLD_SIZE", p->local_size, err) != 0 ||
                   set_number(ret, "MASTER_PORT", p->port, err) != 0 ||
                   argv_set_env(ret, "MASTER_ADDR", p->address, err) != 0 ||
                   argv_set_env(ret, "TORCHELASTIC_RUN_ID", p->job, err) != 0
               ? -1
               : 0;
}

int slot_environment(struct argv *ret, char *const *environment, const struct slot_place *place,
                     struct error *err) {
    for (size_t i = 0; environment[i] != NULL; i++)
        if (!is_of_a_rank(environment[i]) && argv_add(ret, environment[i], err) != 0)
            return -1;
    if ((place->size > 1 || place->always) && set_place(ret, place, err) != 0)
        return -1;
    if (place->devices[0] != '\0' &&
        argv_set_env(ret, "CUDA_VISIBLE_DEVICES", place->devices, err) != 0)
        return -1;
    return set_number(ret, SLOT_PARENT_VARIABLE, (long)getpid(), err);
}

int slot_parent_follow(struct error *err) {
    int64_t parent = 0;
    const char *text = getenv(SLOT_PARENT_VARIABLE);
    if (text == NULL || str_parse_int(text, 1, INT32_MAX, &parent, NULL) != 0)
        return 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)parent)
        return error_set(err, EXIT_CODE_STOPPED, "the process that started this one has ended");
    /* Its own children have another parent. */
    (void)unsetenv(SLOT_PARENT_VARIABLE);
    return 0;
}

/* Returns the word number AT of the list, and its size; NULL: there is none. */
static const char *word_of(const char *list, int at, size_t *ret_size) {
    for (int i = 0; i < at; i++) {
        list = strchr(list, ',');
        if (list == NULL)
            return NULL;
        list++;
    }
    *ret_size = strcspn(list, ",");
    return *ret_size > 0 ? list : NULL;
}

void slot_devices(const char *visible, int first, int last, char ret[SLOT_DEVICES_SIZE]) {
    size_t used = 0;
    for (int i = first; i <= last; i++) {
        char number[16];
        size_t size = 0;
        (void)snprintf(number, sizeof(number), "%d", i);
        const char *word = visible != NULL ? word_of(visible, i, &size) : number;
        size = visible != NULL ? size : strlen(number);
        if (word == NULL || used + size + 2 > SLOT_DEVICES_SIZE) {
            ret[0] = '\0';
            return;
        }
        used += (size_t)snprintf(ret + used, SLOT_DEVICES_SIZE - used, "%s%.*s",
                                 i > first ? "," : "", (int)size, word);
    }
}
