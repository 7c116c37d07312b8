#include "entrypoint/job/cluster/platform_table.h"

#include "common/argv.h"
#include "common/str.h"
#include "common/system/cpus.h"
#include "common/table.h"
#include "entrypoint/job/cluster/host_list_formats.h"
#include "entrypoint/job/cluster/platform_indexed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each row describes a platform by the names of its variables; the code below knows forms of lists
 * but no platform. A row applies if its list is set (applies), and two that apply are an error, as
 * a wrong choice would join the wrong hosts. RINGMASTER_PLATFORM settles that by name.
 *
 * The order of reading: the list of hosts, this host's place in it, the master, and then what is
 * optional. A list with one host is a job of its own (result 1). */

/* COUNTED and PATTERN: the variable holds how many hosts there are (platform_indexed.h). */
enum form { WORDS, HOSTLIST, HOST_FILE, SPEC, COUNTED, PATTERN };
enum { TASKS_MAX = 4, YIELDS_MAX = 3 }; /* a list that is full has no NULL at its end */

static const struct row {
    const char *name; /* value of RINGMASTER_PLATFORM */
    const char *list; /* the variable; with '*', all variables that match */
    const char
        *index; /* variable: this host's place in the list; NULL: find its name or address there */
    const char *master;  /* variable: the master's name; NULL: the first of the list */
    const char *instead; /* COUNTED: variable to use if `master` is not set; NULL: none */
    const char *main;    /* COUNTED: variable: the master's index; NULL: 0 */
    const char *beside;  /* another variable that must be set for the row to match */
    const char *absent;  /* advice for a host that is not in the list; NULL: cannot happen */
    const char *slots;   /* variable: slots of a host; NULL, or not set: unknown */
    const char *job;     /* variable: the job's name; NULL: none */
    const char *attempt; /* variable: number of attempts at the job; NULL: none */
    const char *end;     /* variable: when the job ends, in seconds since 1970; NULL: none */
    const char
        *processes; /* variable: number of processes started, one of which each host must have */
    const char *tasks[TASKS_MAX]; /* SPEC: names of its tasks */
    /* Variables that describe the hosts better, or that change the meaning of those in this row. */
    const char *yields[YIELDS_MAX];
    enum form form;
    unsigned grace; /* seconds from SIGTERM to SIGKILL by default; 0: unknown */
    int first;      /* value of `attempt` in the first attempt, where it may also be unset */
    bool asked;     /* common names: only used if RINGMASTER_PLATFORM asks for this row */
    bool natural; /* the order of the list differs between hosts, so the first by name is the master
                   */
    bool ends;    /* the job ends with the master's container, so no host can take over */
} rows[] = {
    {.name = "slurm",
     .form = HOSTLIST,
     .list = "SLURM_STEP_NODELIST",
     .index = "SLURM_NODEID",
     .slots = "SLURM_GPUS_ON_NODE",
     .job = "SLURM_JOB_ID", /* a job that is requeued keeps it */
     .grace = 30,           /* KillWait */
     .end = "SLURM_JOB_END_TIME",
     .attempt = "SLURM_RESTART_COUNT",
     .processes = "SLURM_STEP_NUM_TASKS"},
    {.name = "vertex",
     .form = SPEC,
     .list = "CLUSTER_SPEC",
     .ends = true,
     .tasks = {"workerpool0", "workerpool1"}}, /* other pools take no part */
    {.name = "azure-batch",
     .form = WORDS,
     .list = "AZ_BATCH_HOST_LIST",
     .master = "AZ_BATCH_MASTER_NODE",
     .job = "AZ_BATCH_JOB_ID",
     .ends = true},
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
     .slots = "DSTACK_GPUS_PER_NODE",
     .grace = 300}, /* stop_duration */
    {.name = "volcano",
     .form = WORDS,
     .list = "VC_*_HOSTS", /* a variable for each task */
     .natural = true,
     .grace = PLATFORM_GRACE_KUBERNETES},
    {.name = "lsf",
     .form = HOST_FILE,
     .list = "LSB_DJOB_HOSTFILE",
     .job = "LSB_JOBID",
     .grace = 10}, /* JOB_TERMINATE_INTERVAL */
    {.name = "pbs",
     .form = HOST_FILE,
     .list = "PBS_NODEFILE",
     .job = "PBS_JOBID",
     .grace = 10}, /* kill_delay */
    {.name = "mpi-operator",
     .form = HOST_FILE,
     .list = "OMPI_MCA_orte_default_hostfile",
     .beside = "OMPI_MCA_orte_set_default_slots",
     .grace = PLATFORM_GRACE_KUBERNETES,
     .absent = "the launcher is one of them with runLauncherAsWorker, and workers need its "
               "variables, its file and this command; a JobSet needs none of that"},
    {.name = "tensorflow",
     .form = SPEC,
     .list = "TF_CONFIG",
     .ends = true,
     .tasks = {"chief", "master", "worker"}}, /* the first host of these is the master */
    {.name = "aws-batch",
     .form = COUNTED,
     .list = "AWS_BATCH_JOB_NUM_NODES",
     .index = "AWS_BATCH_JOB_NODE_INDEX",
     .main = "AWS_BATCH_JOB_MAIN_NODE_INDEX",
     .master = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS",
     .job = "AWS_BATCH_JOB_ID",
     .grace = 30,
     .attempt = "AWS_BATCH_JOB_ATTEMPT",
     .first = 1, /* AWS Batch counts attempts from 1 */
     .ends = true},
    {.name = "azure-ml",
     .form = COUNTED,
     .list = "AZUREML_NODE_COUNT",
     .index = "NODE_RANK",
     .master = "MASTER_ADDR",
     .instead = "AZ_BATCH_MASTER_NODE",
     .yields = {"AZ_BATCH_HOST_LIST"}}, /* which has the names */
    {.name = "kubeflow",
     .form = COUNTED,
     .list = "PET_NNODES",
     .index = "PET_NODE_RANK",
     .master = "PET_MASTER_ADDR",
     .slots = "PET_NPROC_PER_NODE",
     .grace = PLATFORM_GRACE_KUBERNETES},
    {.name = "runpod",
     .form = COUNTED,
     .list = "NUM_NODES",
     .index = "NODE_RANK",
     .master = "PRIMARY_ADDR",
     .beside = "PRIMARY_ADDR", /* NUM_NODES alone may be any program's */
     .slots = "NUM_TRAINERS"},
    {.name = "kubernetes",
     .form = PATTERN,
     .list = "RINGMASTER_COUNT", /* from the manifest: Kubernetes does not tell the number */
     .index = "JOB_COMPLETION_INDEX",
     .grace = PLATFORM_GRACE_KUBERNETES},
    {.name = "pytorchjob",
     .form = COUNTED,
     .list = "WORLD_SIZE",
     .index = "RANK",
     .master = "MASTER_ADDR",
     .ends = true,
     .grace = PLATFORM_GRACE_KUBERNETES,
     .asked = true},
    {.name = "pai-dlc",
     .form = COUNTED,
     .list = "WORLD_SIZE",
     .index = "RANK",
     .master = "MASTER_ADDR",
     .beside = "NPROC_PER_NODE",
     .slots = "NPROC_PER_NODE",
     /* If hosts or processes have variables of their own, WORLD_SIZE counts processes. */
     .yields = {"NNODES", "NODE_RANK", "LOCAL_RANK"}},
    {.name = "torch",
     .form = COUNTED,
     .list = "NNODES",
     .index = "NODE_RANK",
     .master = "MASTER_ADDR",
     .slots = "NPROC_PER_NODE",
     .asked = true},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

bool platform_table_has(const char *name) {
    return TABLE_FIND(rows, name, name) != NULL;
}

/* "none" is a value of the variable, too, and no row. */
const char *platform_table_near(const char *name, char text[NEAREST_WORDS_MAX]) {
    struct nearest nearest = nearest_begin(name, strlen(name));
    nearest_try(&nearest, "none");
    for (size_t i = 0; i < ROWS; i++)
        nearest_try(&nearest, rows[i].name);
    return nearest_words(&nearest, text);
}

/* NULL ends the walk over all rows. */
const char *platform_table_name(size_t number) {
    return number < ROWS ? rows[number].name : NULL;
}

/* --- documentation --------------------------------------------------------------------------- */

/* An empty cell for NULL. */
static int page_name(const char *name, struct buf *ret, struct error *err) {
    return buf_printf(ret, err, name != NULL ? " `%s` |" : " |", name);
}

/* A line of the table in the manual's page on platforms. Empty cells mean that the platform does
 * not tell. */
static int page_row(const struct row *row, struct buf *ret, struct error *err) {
    if (buf_printf(ret, err, "| `%s` | `%s` |", row->name, row->list) != 0 ||
        (row->form == SPEC    ? buf_add_text(ret, " in the list |", err)
         : row->index == NULL ? buf_add_text(ret, " name or address |", err)
                              : page_name(row->index, ret, err)) != 0 ||
        page_name(row->slots, ret, err) != 0 || page_name(row->job, ret, err) != 0 ||
        page_name(row->attempt, ret, err) != 0)
        return -1;
    if ((row->grace > 0 ? buf_printf(ret, err, " %u s |", row->grace)
                        : buf_add_text(ret, " |", err)) != 0)
        return -1;
    return buf_printf(ret, err, " %s | %s |\n", row->ends ? "yes" : "", row->asked ? "no" : "yes");
}

/* The rows in their order, below the head of the table. */
int platform_table_page(struct buf *ret, struct error *err) {
    if (buf_add_text(ret,
                     "| platform | hosts | this host | ranks per host | job | attempt | time to "
                     "stop | ends with the first host | found by itself |\n"
                     "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
                     err) != 0)
        return -1;
    for (size_t i = 0; i < ROWS; i++)
        if (page_row(&rows[i], ret, err) != 0)
            return -1;
    return 0;
}

/* --- variables ------------------------------------------------------------------------------- */

/* PATTERN may hold '*' (platform_variable_fits). An empty value counts as not set. */
static bool is_set(char *const *environment, const char *pattern) {
    for (; *environment != NULL; environment++)
        if (platform_variable_fits(*environment, pattern))
            return true;
    return false;
}

/* ONLY is the row that the user asks for: then the list alone decides, and conditions against
 * confusion do not count. */
static bool applies(const struct row *row, char *const *environment, const char *only) {
    if (!is_set(environment, row->list))
        return false;
    if (only != NULL)
        return strcmp(row->name, only) == 0;
    for (size_t i = 0; i < YIELDS_MAX && row->yields[i] != NULL; i++)
        if (is_set(environment, row->yields[i]))
            return false;
    return !row->asked && (row->beside == NULL || is_set(environment, row->beside));
}

/* For variables that must be there, with a number from 0 to MOST. */
static int read_number(char *const *environment, const char *name, int64_t most, int64_t *ret,
                       struct error *err) {
    const char *text = env_get(environment, name);
    if (text == NULL || text[0] == '\0')
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s is not set; expected a number from 0 to %" PRId64, name, most);
    return str_parse_int(text, 0, most, ret, err) == 0 ? 0 : error_wrap(err, "%s", name);
}

/* --- one row --------------------------------------------------------------------------------- */

/* The counted forms have no list: platform_indexed.c reads them. */
static int read_list(const struct row *row, const char *text, const char *where,
                     struct platform_description *ret, struct error *err) {
    switch (row->form) {
    case WORDS:
        return host_list_format_words(text, where, ret, err);
    case HOSTLIST:
        return host_list_format_hostlist(text, where, ret, err);
    case HOST_FILE:
        return host_list_format_file(text, where, ret, err);
    case SPEC:
        return host_list_format_spec(text, where, row->tasks, ret, err);
    case COUNTED:
    case PATTERN:
        break;
    }
    return 0;
}

/* Several variables that fit one name with a '*' add their hosts one after the other, and messages
 * name the last. */
static int read_lists(const struct row *row, char *const *environment,
                      struct platform_description *ret, struct error *err) {
    for (; *environment != NULL; environment++) {
        if (!platform_variable_fits(*environment, row->list))
            continue;
        /* A variable that fits has a value, so the sign is there. */
        const char *value = strchr(*environment, '=') + 1;
        (void)snprintf(ret->where, sizeof(ret->where), "%.*s", (int)(value - *environment - 1),
                       *environment);
        if (read_list(row, value, ret->where, ret, err) != 0)
            return -1;
    }
    return 0;
}

/* The first name or address of this machine in the list is this host. A miss may have a cause that
 * the row knows. */
static int find_own(const struct row *row, const struct local_names *own,
                    struct platform_description *d, struct error *err) {
    for (size_t i = 0; i < d->count; i++)
        if (local_names_has(own, &d->hosts[i].name)) {
            d->self = d->hosts[i].name;
            return 0;
        }
    char names[HOST_NAME_LIST_SIZE];
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s: none of its hosts has this machine's name or address (%s)%s%s", d->where,
                     local_names_text(own, names), row->absent != NULL ? ": " : "",
                     row->absent != NULL ? row->absent : "");
}

/* The index counts the hosts as the platform lists them, before they are sorted. */
static int read_self(const struct row *row, char *const *environment, const struct local_names *own,
                     struct platform_description *d, struct error *err) {
    int64_t index = 0;
    if (row->form == SPEC)
        return 0; /* the list already gave the slots */
    if (row->index == NULL)
        return find_own(row, own, d, err);
    if (read_number(environment, row->index, INT32_MAX, &index, err) != 0)
        return -1;
    if ((size_t)index >= d->count)
        return error_set(err, EXIT_CODE_CONFIG, "%s=%lld: %s lists %zu hosts", row->index,
                         (long long)index, d->where, d->count);
    d->self = d->hosts[index].name;
    return 0;
}

/* d->master stays empty where the order of the list cannot be trusted; cluster.c then takes the
 * first by name. */
static int read_master(const struct row *row, char *const *environment,
                       struct platform_description *d, struct error *err) {
    const char *text = row->master != NULL ? env_get(environment, row->master) : NULL;
    if (row->natural)
        return 0;
    if (text == NULL || text[0] == '\0') {
        d->master = d->hosts[0].name;
        return 0;
    }
    return host_name_parse(text, host_name_extent(text, strlen(text)), &d->master, err) == 0
               ? 0
               : error_wrap(err, "%s", row->master);
}

/* For COUNTED the variable may hold torchrun's words. With "auto" and "gpu" the number of slots is
 * found later from the devices; "cpu" means one a CPU. */
static int read_slots(const struct row *row, char *const *environment,
                      struct platform_description *d, struct error *err) {
    char cpus[16];
    int64_t slots = 0;
    const char *text = row->slots != NULL ? env_get(environment, row->slots) : NULL;
    bool counted = row->form == COUNTED;
    if (text == NULL || text[0] == '\0' ||
        (counted && (strcmp(text, "auto") == 0 || strcmp(text, "gpu") == 0)))
        return 0;
    if (counted && strcmp(text, "cpu") == 0) {
        (void)snprintf(cpus, sizeof(cpus), "%d", cpus_usable(""));
        text = cpus;
    }
    if (str_parse_int(text, 0, CLUSTER_SLOTS_MAX, &slots, err) != 0)
        return error_wrap(err, "%s", row->slots);
    for (size_t i = 0; i < d->count; i++)
        d->hosts[i].slots = (unsigned)slots;
    return 0;
}

/* Checks that each host has one ringmaster: two on a machine would compete for its ports. */
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
                     "%s=%lld on %zu hosts: start one ringmaster a host (--ntasks-per-node=1); it "
                     "starts the ranks",
                     row->processes, (long long)processes, d->count);
}

/* Copies TEXT as far as it is a valid job name; AWS Batch appends '#' and the node's number. */
static void take_job(const char *text, char ret[CLUSTER_JOB_SIZE]) {
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t size = 0;
    for (; *text != '\0' && *text != '#' && size + 1 < CLUSTER_JOB_SIZE; text++)
        ret[size++] = strchr(good, *text) != NULL ? *text : '-';
    ret[size] = '\0';
}

/* Returns 1 for a single host, as platform_indexed_read() does. */
static int read_listed(const struct row *row, char *const *environment,
                       const struct local_names *own, struct platform_description *ret,
                       struct error *err) {
    if (read_lists(row, environment, ret, err) != 0)
        return -1;
    if (ret->count == 0)
        return error_set(err, EXIT_CODE_CONFIG, "%s: no host is listed", ret->where);
    if (check_processes(row, environment, ret, err) != 0)
        return -1;
    /* A job of one host needs no other variable of the row. */
    if (ret->count == 1) {
        /* A single line in a file lists the host but says nothing about its slots. */
        if (ret->hosts[0].slots == 1)
            ret->hosts[0].slots = 0;
        /* If hosts outside the list can read it, check that this host is in it. */
        return row->absent == NULL || find_own(row, own, ret, err) == 0 ? 1 : -1;
    }
    if (read_self(row, environment, own, ret, err) != 0)
        return -1;
    return read_master(row, environment, ret, err);
}

/* Sets how many attempts came before, whatever number the platform counts from. */
static int read_attempt(const struct row *row, char *const *environment,
                        struct platform_description *d, struct error *err) {
    int64_t attempt = 0;
    const char *text = row->attempt != NULL ? env_get(environment, row->attempt) : NULL;
    if (text == NULL || text[0] == '\0')
        return 0;
    if (str_parse_int(text, row->first, INT32_MAX, &attempt, err) != 0)
        return error_wrap(err, "%s", row->attempt);
    d->before = (unsigned)(attempt - row->first);
    return 0;
}

/* A job without a limit has a time that is far away. */
static int read_end(const struct row *row, char *const *environment, struct platform_description *d,
                    struct error *err) {
    const char *text = row->end != NULL ? env_get(environment, row->end) : NULL;
    if (text == NULL || text[0] == '\0')
        return 0;
    return str_parse_int(text, 0, UINT32_MAX, &d->ends, err) == 0 ? 0
                                                                  : error_wrap(err, "%s", row->end);
}

/* Fills in what the row itself says before anything is read, so that messages can name it. */
static int read_row(const struct row *row, char *const *environment, const struct local_names *own,
                    struct platform_description *ret, struct error *err) {
    bool instead = row->instead != NULL && !is_set(environment, row->master) &&
                   is_set(environment, row->instead);
    const struct platform_indexed counted = {.count = row->list,
                                             .index = row->index,
                                             .main = row->main,
                                             .master = instead ? row->instead : row->master};
    int read = 0;
    ret->source = CLUSTER_PLATFORM;
    ret->ends_with = row->ends ? row->name : NULL;
    ret->grace = row->grace;
    ret->hosts_key = row->list;
    ret->self_key = row->index != NULL ? row->index : row->list;
    if (row->form == COUNTED)
        read = platform_indexed_read(&counted, environment, ret, err);
    else if (row->form == PATTERN)
        read = platform_indexed_pattern(&counted, environment, own, "/etc/hosts", ret, err);
    else
        read = read_listed(row, environment, own, ret, err);
    if (read < 0 || read_slots(row, environment, ret, err) != 0 ||
        read_attempt(row, environment, ret, err) != 0 || read_end(row, environment, ret, err) != 0)
        return -1;
    const char *job = row->job != NULL ? env_get(environment, row->job) : NULL;
    if (job != NULL)
        take_job(job, ret->job);
    return read;
}

/* Returns 1 without any platform, or for a single host; -1 if the variables contradict each other
 * or the choice. */
int platform_table_read(char *const *environment, const char *only, const struct local_names *own,
                        struct platform_description *ret, struct error *err) {
    const struct row *chosen = NULL;
    for (size_t i = 0; i < ROWS; i++) {
        if (!applies(&rows[i], environment, only))
            continue;
        /* Vertex AI sets the other variable, too. */
        bool same = chosen != NULL && chosen->form == SPEC && rows[i].form == SPEC;
        if (chosen != NULL && !same)
            return error_set(
                err, EXIT_CODE_CONFIG,
                "%s and %s both list hosts: set RINGMASTER_PLATFORM=%s or %s to choose one",
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
