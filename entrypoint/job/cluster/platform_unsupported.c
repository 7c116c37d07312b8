#include "entrypoint/job/cluster/platform_unsupported.h"

#include "common/argv.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/file_look.h"
#include "common/str.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A container that takes itself for alone while it is one of many does the worst thing possible.
 * Each of them trains the whole job by itself, and all report success. So when no platform has
 * given a list of hosts, this file looks for any sign that there are others, and makes a definite
 * sign an error.
 *
 * Signs come in two tables: variables that tell a number of hosts, and indices that make sense only
 * among several. A sign that may mean something else, or a single host, is a warning. Both messages
 * name the two ways out. Values of a variable that cannot be read are errors, too: to guess would
 * be to run alone. */

/* Form of a variable that tells the number of hosts. */
enum form {
    NUMBER,    /* 4, or 1:4 for an elastic job, which counts as 4 */
    LIST,      /* names separated by commas, blanks or newlines; repetitions allowed */
    HOST_FILE, /* path of a file with a name at the start of each line; repetitions allowed */
};

/* FILE_MAX is in bytes. SHOWN_MAX limits what a message quotes of a variable, values of which may
 * be lists. */
enum { EITHER_MAX = 3, NAMES_MAX = 6, FILE_MAX = 1024 * 1024, SHOWN_MAX = 40 };

/* The first variable of COUNTS that is set decides; with '*', the values of all that match are
 * added up. Names that other programs use, too, count only if a variable of BESIDE is set.
 * TF_CONFIG and CLUSTER_SPEC have no row: they are always read (platform_table.h), and some of the
 * hosts in them do not train. */
static const struct row {
    const char *platform;
    enum form form;
    const char *counts[EITHER_MAX];
    const char *beside[EITHER_MAX];
    const char *index; /* shown in the message */
} rows[] = {
    {"AWS Batch", NUMBER, {"AWS_BATCH_JOB_NUM_NODES"}, {0}, "AWS_BATCH_JOB_NODE_INDEX"},
    {"Slurm",
     NUMBER,
     {"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
     {0},
     "SLURM_NODEID"},
    {"Slurm", NUMBER, {"SLURM_STEP_NUM_TASKS"}, {0}, "SLURM_PROCID"},
    {"mpirun", NUMBER, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, {0}, "OMPI_COMM_WORLD_RANK"},
    {"MPI Operator", HOST_FILE, {"OMPI_MCA_orte_default_hostfile"}, {0}, NULL},
    {"torchrun", NUMBER, {"PET_NNODES"}, {0}, "PET_NODE_RANK"},
    {"Azure ML", NUMBER, {"AZUREML_NODE_COUNT"}, {0}, "NODE_RANK"},
    {"Azure Batch", LIST, {"AZ_BATCH_HOST_LIST"}, {0}, "AZ_BATCH_IS_CURRENT_NODE_MASTER"},
    {"SkyPilot", NUMBER, {"SKYPILOT_NUM_NODES"}, {0}, "SKYPILOT_NODE_RANK"},
    {"SkyPilot", LIST, {"SKYPILOT_NODE_IPS"}, {0}, "SKYPILOT_NODE_RANK"},
    {"dstack", NUMBER, {"DSTACK_NODES_NUM"}, {0}, "DSTACK_NODE_RANK"},
    {"dstack", LIST, {"DSTACK_NODES_IPS"}, {0}, "DSTACK_NODE_RANK"},
    {"Volcano", NUMBER, {"VC_*_NUM"}, {0}, "VC_TASK_INDEX"},
    {"Volcano", LIST, {"VC_*_HOSTS"}, {0}, "VC_TASK_INDEX"},
    {"RunPod", NUMBER, {"NUM_NODES"}, {"PRIMARY_ADDR", "NODE_RANK"}, "NODE_RANK"},
    {"the usual variables of torch",
     NUMBER,
     {"WORLD_SIZE"},
     {"MASTER_ADDR", "RANK", "NODE_RANK"},
     "RANK"},
    {"the usual variables of torch", NUMBER, {"NNODES"}, {"MASTER_ADDR", "NODE_RANK"}, "NODE_RANK"},
    {"LSF", LIST, {"LSB_HOSTS"}, {0}, NULL},
    {"LSF", HOST_FILE, {"LSB_DJOB_HOSTFILE"}, {0}, NULL},
    {"PBS", NUMBER, {"PBS_NUM_NODES"}, {0}, "PBS_NODENUM"},
    {"PBS", HOST_FILE, {"PBS_NODEFILE"}, {0}, "PBS_NODENUM"},
};

/* An index implies that there are other hosts, unless a variable of COUNTS gives their number; some
 * row above always reads those. If FIRST_MAY_BE_ALONE is set, index 0 implies nothing: a single
 * host has the variable, too, or other programs use its name. */
static const struct index_row {
    const char *platform;
    const char *index;
    const char *counts[NAMES_MAX];
    bool first_may_be_alone;
} indices[] = {
    {"a Kubernetes Indexed Job: its manifest says in RINGMASTER_COUNT how many",
     "JOB_COMPLETION_INDEX",
     {"RINGMASTER_COUNT", "PET_NNODES", "TF_CONFIG"},
     false},
    {"Nomad", "NOMAD_ALLOC_INDEX", {0}, true},
    {"AWS Batch", "AWS_BATCH_JOB_NODE_INDEX", {"AWS_BATCH_JOB_NUM_NODES"}, false},
    {"Slurm",
     "SLURM_NODEID",
     {"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_TASKS"},
     false},
    {"mpirun", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, false},
    {"mpirun", "PMI_RANK", {"PMI_SIZE"}, false},
    {"torchrun", "PET_NODE_RANK", {"PET_NNODES"}, false},
    {"Azure Batch", "AZ_BATCH_IS_CURRENT_NODE_MASTER", {"AZ_BATCH_HOST_LIST"}, false},
    {"SkyPilot", "SKYPILOT_NODE_RANK", {"SKYPILOT_NUM_NODES", "SKYPILOT_NODE_IPS"}, false},
    {"dstack", "DSTACK_NODE_RANK", {"DSTACK_NODES_NUM", "DSTACK_NODES_IPS"}, false},
    {"Volcano", "VC_TASK_INDEX", {"VC_*_NUM", "VC_*_HOSTS"}, false},
    {"Volcano", "VK_TASK_INDEX", {"VC_*_NUM", "VC_*_HOSTS"}, false},
    {"torch", "NODE_RANK", {"NNODES", "NUM_NODES", "WORLD_SIZE", "AZUREML_NODE_COUNT"}, true},
    {"torch", "RANK", {"WORLD_SIZE"}, true},
};

#define WAYS_OUT                                                                                   \
    "set RINGMASTER_HOSTS to all hosts for one job, or RINGMASTER_PLATFORM=none for a job of "     \
    "this "                                                                                        \
    "host alone"
#define LONE "this host runs alone; " WAYS_OUT

/* --- variables ------------------------------------------------------------------------------- */

/* Returns true if the name of VARIABLE (NAME=VALUE) matches PATTERN and the value, at *VALUE, is
 * not empty. */
static bool is_called(const char *variable, const char *pattern, const char **value) {
    if (!platform_variable_fits(variable, pattern))
        return false;
    *value = strchr(variable, '=') + 1;
    return true;
}

static bool is_set(char *const *environment, const char *pattern) {
    const char *value = NULL;
    for (; *environment != NULL; environment++)
        if (is_called(*environment, pattern, &value))
            return true;
    return false;
}

/* Returns true if one of NAMES is set; unused entries are NULL. MOST is the size of the array,
 * which need not end with NULL. */
static bool any_set(char *const *environment, const char *const *names, size_t most) {
    for (size_t i = 0; i < most && names[i] != NULL; i++)
        if (is_set(environment, names[i]))
            return true;
    return false;
}

/* --- counting -------------------------------------------------------------------------------- */

/* The upper end of a range counts: an elastic job may have as many. */
static int count_number(const char *text, int64_t *ret, struct error *err) {
    const char *colon = strchr(text, ':');
    return str_parse_int(colon != NULL ? colon + 1 : text, 0, INT32_MAX, ret, err);
}

/* Counts the words in TEXT: 0, 1, or 2 for two or more different ones. Two different ones are
 * enough to know that this host is not alone, so more are not counted. */
static int64_t count_words(const char *text, const char *between) {
    const char *first = NULL;
    size_t first_size = 0;
    for (const char *at = text + strspn(text, between); *at != '\0';) {
        size_t size = strcspn(at, between);
        if (first == NULL) {
            first = at;
            first_size = size;
        } else if (size != first_size || memcmp(at, first, size) != 0) {
            return 2;
        }
        at += size;
        at += strspn(at, between);
    }
    return first != NULL ? 1 : 0;
}

/* Counts the first words of all lines in a file; lines that begin with # are skipped. A file with
 * one host on many lines is a job of one host with several slots. */
static int count_file(const char *path, int64_t *ret, struct error *err) {
    cleanup_buf struct buf text;
    cleanup_buf struct buf names;
    buf_init(&text, FILE_MAX);
    buf_init(&names, FILE_MAX + 1);
    if (file_read(path, &text, err) != 0)
        return -1;
    for (const char *at = buf_text(&text); *at != '\0'; at += strcspn(at, "\n")) {
        at += strspn(at, " \t\r\n");
        size_t size = strcspn(at, " \t\r\n:");
        if (*at != '#' && size > 0 &&
            (buf_add(&names, at, size, err) != 0 || buf_add(&names, "\n", 1, err) != 0))
            return -1;
    }
    *ret = count_words(buf_text(&names), "\n");
    return 0;
}

/* The value of one variable, by the form of its row. */
static int count_value(const struct row *row, const char *value, int64_t *ret, struct error *err) {
    switch (row->form) {
    case NUMBER:
        return count_number(value, ret, err);
    case LIST:
        *ret = count_words(value, " ,;\t\r\n");
        return 0;
    case HOST_FILE:
        return count_file(value, ret, err);
    }
    return 0;
}

/* --- the rows -------------------------------------------------------------------------------- */

/* Writes "NAME=VALUE" to TEXT, or the name alone if the value is long. */
static void show(char text[128], const char *variable) {
    size_t name = strcspn(variable, "=");
    /* A value of several lines is left out, too. */
    bool brief = strlen(variable + name) <= SHOWN_MAX && strchr(variable, '\n') == NULL;
    (void)snprintf(text, 128, "%.*s", brief ? 127 : (int)name, variable);
}

/* Adds up all variables that match. Two or more hosts are the error that this file is for. A file
 * that does not exist is only a warning: a file of the machine may not be visible in the container.
 */
static int weigh(char *const *environment, const struct row *row, const char *pattern,
                 struct warnings *warnings, struct error *err) {
    struct error failed = {0};
    char shown[128] = "";
    char index[128] = "";
    int64_t total = 0;
    for (char *const *variable = environment; *variable != NULL; variable++) {
        const char *value = NULL;
        int64_t count = 0;
        if (row->index != NULL && is_called(*variable, row->index, &value))
            show(index, *variable);
        if (!is_called(*variable, pattern, &value))
            continue;
        show(shown, *variable);
        if (count_value(row, value, &count, &failed) != 0 && !file_is_absence(failed.os_errno))
            return error_set(err, EXIT_CODE_CONFIG, "%s (%s): %s; " WAYS_OUT, shown, row->platform,
                             failed.text);
        if (file_is_absence(failed.os_errno))
            warnings_add(warnings, "%s (%s) names a file that is not here: " LONE, shown,
                         row->platform);
        total += count;
    }
    if (total < 2)
        return 0;
    char number[32] = "several";
    if (row->form == NUMBER)
        (void)snprintf(number, sizeof(number), "%lld", (long long)total);
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s: a job of %s (%s%s%s), but nothing here names its hosts: " WAYS_OUT,
                     row->platform, number, shown, index[0] != '\0' ? ", " : "", index);
}

/* Only the first variable of the row that is set counts. */
static int check_row(char *const *environment, const struct row *row, struct warnings *warnings,
                     struct error *err) {
    if (row->beside[0] != NULL && !any_set(environment, row->beside, EITHER_MAX))
        return 0;
    for (size_t i = 0; i < EITHER_MAX && row->counts[i] != NULL; i++)
        if (is_set(environment, row->counts[i]))
            return weigh(environment, row, row->counts[i], warnings, err);
    return 0;
}

/* Does nothing if a variable with the number is set: the rows above have judged that one. Where a
 * lone host may have index 0, another index still proves that there are others. */
static int check_index(char *const *environment, const struct index_row *row,
                       struct warnings *warnings, struct error *err) {
    int64_t index = 0;
    const char *value = env_get(environment, row->index);
    if (value == NULL || value[0] == '\0' || any_set(environment, row->counts, NAMES_MAX))
        return 0;
    if (!row->first_may_be_alone ||
        (str_parse_int(value, 0, INT32_MAX, &index, NULL) == 0 && index > 0))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s=%.32s (%s) says that there are others, but not how many: " WAYS_OUT,
                         row->index, value, row->platform);
    warnings_add(warnings, "%s=%.32s (%s): there may be others; " LONE, row->index, value,
                 row->platform);
    return 0;
}

/* The first error ends it; warnings before that are kept. */
int platform_unsupported_check(char *const *environment, struct warnings *warnings,
                               struct error *err) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (check_row(environment, &rows[i], warnings, err) != 0)
            return -1;
    for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++)
        if (check_index(environment, &indices[i], warnings, err) != 0)
            return -1;
    return 0;
}
