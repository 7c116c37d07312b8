#include "job/platform_table.h"

#include "common/argv.h"
#include "common/str.h"
#include "job/platform_forms.h"

#include <stdio.h>
#include <string.h>

enum form { WORDS, HOSTLIST, HOST_FILE, SPEC };
enum { TASKS_MAX = 4 };

static const struct row {
    const char *name; /* for RINGMASTER_PLATFORM */
    enum form form;
    const char *list;      /* the variable; a '*' stands for any text: all that fit */
    const char *index;     /* this host's place in the list; NULL: its name or address */
    const char *master;    /* a variable with its name; NULL: the first of the list */
    bool natural;          /* the list has no order that all hosts share: the first by name */
    const char *slots;     /* a variable; NULL, or not set: nothing is said of slots */
    const char *job;       /* the job's name; NULL: none */
    const char *processes; /* counts what was started: it must be one a host */
    const char *tasks[TASKS_MAX]; /* SPEC */
} rows[] = {
    {.name = "slurm",
     .form = HOSTLIST,
     .list = "SLURM_STEP_NODELIST",
     .index = "SLURM_NODEID",
     .slots = "SLURM_GPUS_ON_NODE",
     .job = "SLURM_JOB_ID",
     .processes = "SLURM_STEP_NUM_TASKS"},
    {.name = "vertex",
     .form = SPEC,
     .list = "CLUSTER_SPEC",
     .tasks = {"workerpool0", "workerpool1"}},
    {.name = "azure-batch",
     .form = WORDS,
     .list = "AZ_BATCH_HOST_LIST",
     .master = "AZ_BATCH_MASTER_NODE",
     .job = "AZ_BATCH_JOB_ID"},
    {.name = "skypilot",
     .form = WORDS,
     .list = "SKYPILOT_NODE_IPS",
     .index = "SKYPILOT_NODE_RANK",
     .slots = "SKYPILOT_NUM_GPUS_PER_NODE"},
    {.name = "dstack",
     .form = WORDS,
     .list = "DSTACK_NODES_IPS",
     .index = "DSTACK_NODE_RANK",
     .master = "DSTACK_MASTER_NODE_IP",
     .slots = "DSTACK_GPUS_PER_NODE"},
    {.name = "volcano", .form = WORDS, .list = "VC_*_HOSTS", .natural = true},
    {.name = "lsf", .form = HOST_FILE, .list = "LSB_DJOB_HOSTFILE", .job = "LSB_JOBID"},
    {.name = "pbs", .form = HOST_FILE, .list = "PBS_NODEFILE", .job = "PBS_JOBID"},
    {.name = "tensorflow",
     .form = SPEC,
     .list = "TF_CONFIG",
     .tasks = {"chief", "master", "worker"}},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

bool platform_table_has(const char *name) {
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

/* --- variables ------------------------------------------------------------------------------- */

static bool applies(const struct row *row, char *const *environment) {
    for (; *environment != NULL; environment++)
        if (platform_variable_fits(*environment, row->list))
            return true;
    return false;
}

static int read_number(char *const *environment, const char *name, int64_t most, int64_t *ret,
                       struct error *err) {
    const char *text = env_get(environment, name);
    if (text == NULL || text[0] == '\0')
        return error_set(err, EXIT_CODE_CONFIG, "%s is not set", name);
    return str_parse_int(text, 0, most, ret, err) == 0 ? 0 : error_wrap(err, "%s", name);
}

/* --- one row --------------------------------------------------------------------------------- */

static int read_list(const struct row *row, const char *text, const char *where,
                     struct platform_description *ret, struct error *err) {
    switch (row->form) {
    case WORDS:
        return platform_form_words(text, where, ret, err);
    case HOSTLIST:
        return platform_form_hostlist(text, where, ret, err);
    case HOST_FILE:
        return platform_form_file(text, where, ret, err);
    case SPEC:
        return platform_form_spec(text, where, row->tasks, ret, err);
    }
    return 0;
}

static int read_lists(const struct row *row, char *const *environment,
                      struct platform_description *ret, struct error *err) {
    for (; *environment != NULL; environment++) {
        if (!platform_variable_fits(*environment, row->list))
            continue;
        const char *value = strchr(*environment, '=') + 1;
        (void)snprintf(ret->where, sizeof(ret->where), "%.*s", (int)(value - *environment - 1),
                       *environment);
        if (read_list(row, value, ret->where, ret, err) != 0)
            return -1;
    }
    return 0;
}

static int find_own(const struct own_names *own, struct platform_description *d,
                    struct error *err) {
    for (size_t i = 0; i < d->count; i++)
        if (own_names_has(own, &d->hosts[i].name)) {
            d->self = d->hosts[i].name;
            return 0;
        }
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s: none of its hosts has this machine's name or address", d->where);
}

static int read_self(const struct row *row, char *const *environment, const struct own_names *own,
                     struct platform_description *d, struct error *err) {
    int64_t index = 0;
    if (row->form == SPEC)
        return 0; /* the list has said it */
    if (row->index == NULL)
        return find_own(own, d, err);
    if (read_number(environment, row->index, INT32_MAX, &index, err) != 0)
        return -1;
    if ((size_t)index >= d->count)
        return error_set(err, EXIT_CODE_CONFIG, "%s=%lld: %s lists %zu hosts", row->index,
                         (long long)index, d->where, d->count);
    d->self = d->hosts[index].name;
    return 0;
}

static int read_master(const struct row *row, char *const *environment,
                       struct platform_description *d, struct error *err) {
    const char *text = row->master != NULL ? env_get(environment, row->master) : NULL;
    if (row->natural)
        return 0;
    if (text == NULL || text[0] == '\0') {
        d->master = d->hosts[0].name;
        return 0;
    }
    return host_name_parse(text, strcspn(text, ":"), &d->master, err) == 0
               ? 0
               : error_wrap(err, "%s", row->master);
}

static int read_slots(const struct row *row, char *const *environment,
                      struct platform_description *d, struct error *err) {
    int64_t slots = 0;
    if (row->slots == NULL || env_get(environment, row->slots) == NULL)
        return 0;
    if (read_number(environment, row->slots, CLUSTER_SLOTS_MAX, &slots, err) != 0)
        return -1;
    for (size_t i = 0; i < d->count; i++)
        d->hosts[i].slots = (unsigned)slots;
    return 0;
}

/* A ringmaster is one a host: two on a machine would quarrel over its ports. */
static int check_processes(const struct row *row, char *const *environment,
                           const struct platform_description *d, struct error *err) {
    int64_t processes = 0;
    if (row->processes == NULL || env_get(environment, row->processes) == NULL)
        return 0;
    if (read_number(environment, row->processes, INT32_MAX, &processes, err) != 0)
        return -1;
    if ((size_t)processes == d->count)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s=%lld on %zu hosts: start one ringmaster a host (--ntasks-per-node=1), it "
                     "starts the ranks",
                     row->processes, (long long)processes, d->count);
}

/* As far as it can be a job's name here. */
static void take_job(const char *text, char ret[CLUSTER_JOB_SIZE]) {
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t size = 0;
    for (; *text != '\0' && size + 1 < CLUSTER_JOB_SIZE; text++)
        ret[size++] = strchr(good, *text) != NULL ? *text : '-';
    ret[size] = '\0';
}

static int read_row(const struct row *row, char *const *environment, const struct own_names *own,
                    struct platform_description *ret, struct error *err) {
    ret->source = CLUSTER_PLATFORM;
    ret->hosts_key = row->list;
    ret->self_key = row->index != NULL ? row->index : row->list;
    if (read_lists(row, environment, ret, err) != 0)
        return -1;
    if (ret->count == 0)
        return error_set(err, EXIT_CODE_CONFIG, "%s: no host is listed", ret->where);
    if (check_processes(row, environment, ret, err) != 0)
        return -1;
    if (ret->count == 1)
        return 1;
    if (read_self(row, environment, own, ret, err) != 0 ||
        read_master(row, environment, ret, err) != 0 || read_slots(row, environment, ret, err) != 0)
        return -1;
    const char *job = row->job != NULL ? env_get(environment, row->job) : NULL;
    if (job != NULL)
        take_job(job, ret->job);
    return 0;
}

int platform_table_read(char *const *environment, const char *only, const struct own_names *own,
                        struct platform_description *ret, struct error *err) {
    const struct row *chosen = NULL;
    for (size_t i = 0; i < ROWS; i++) {
        if ((only != NULL && strcmp(rows[i].name, only) != 0) || !applies(&rows[i], environment))
            continue;
        /* Vertex AI writes the other one, too. */
        bool same = chosen != NULL && chosen->form == SPEC && rows[i].form == SPEC;
        if (chosen != NULL && !same)
            return error_set(err, EXIT_CODE_CONFIG,
                             "%s and %s both list hosts: RINGMASTER_PLATFORM=%s or %s says which "
                             "one counts",
                             chosen->list, rows[i].list, chosen->name, rows[i].name);
        if (!same)
            chosen = &rows[i];
    }
    if (chosen == NULL && only != NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_PLATFORM=%s: its variables are not set here", only);
    if (chosen == NULL)
        return 1;
    return read_row(chosen, environment, own, ret, err);
}
