#include "entrypoint/job/sm_variables.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "common/system/cpus.h"
#include "common/table.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/job/sagemaker/big_integers.h"
#include "entrypoint/job/sagemaker/instance_groups.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All variables are first gathered as JSON by name, because SM_TRAINING_ENV repeats most of them as
 * members; only at the end are they written out as text (export_all). Failures of memory on the way
 * only set a flag, which is looked at once: a missing variable must not reach the program
 * unnoticed.
 *
 * Names and spellings follow SageMaker's training toolkit, also where they are odd, as scripts rely
 * on them. Hosts that run no ranks, lost ones and spares, appear in none of the lists. */

/* --- values ---------------------------------------------------------------------------------- */

/* All variables by name, as JSON: a string is used as text, any other value is written as JSON. */
struct values {
    json_t *all;
    bool failed; /* memory ran out */
};

/* Takes ownership of VALUE. */
static void put(struct values *v, const char *name, json_t *value) {
    v->failed |= json_object_set_new(v->all, name, value) != 0;
}

/* Text that is no UTF-8 is kept as well as JSON allows (json_string_any). */
static void put_text(struct values *v, const char *name, const char *text) {
    put(v, name, json_string_any(text));
}

/* Appending to NULL or appending NULL fails, so a failed allocation is noticed here. */
static void append(struct values *v, json_t *list, json_t *value) {
    v->failed |= json_array_append_new(list, value) != 0;
}

/* Sets PREFIX followed by NAME in upper case. As in the toolkit '-' stays, although shells cannot
 * refer to such a variable. */
static void put_named(struct values *v, const char *prefix, const char *name, const char *text) {
    /* Room for the longest prefix and a name of HYPERPARAMETER_NAME_MAX bytes. */
    char variable[320];
    (void)snprintf(variable, sizeof(variable), "%s%s", prefix, name);
    for (char *c = variable; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    put_text(v, variable, text);
}

/* A new reference to OBJECT, or an empty object for NULL. Programs expect {} if the platform gives
 * nothing. */
static json_t *kept(json_t *object) {
    return object != NULL ? json_incref(object) : json_object();
}

/* --- hosts ----------------------------------------------------------------------------------- */

/* A name that is none of the job's hosts may belong to another job of the platform's, and is kept.
 */
static bool has_no_ranks(const struct cluster *c, const char *name) {
    struct host_name parsed;
    int host = -1;
    if (name != NULL && host_name_parse(name, strlen(name), &parsed, NULL) == 0)
        host = cluster_find(c, &parsed);
    return host >= 0 && !cluster_has_ranks(&c->hosts[host]);
}

/* A copy of a list of the platform's, without hosts that run no ranks. The order of the platform is
 * kept. */
static json_t *still_here(struct values *v, const struct cluster *c, const json_t *given) {
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(given); i++) {
        json_t *name = json_array_get(given, i);
        if (!has_no_ranks(c, json_string_value(name)))
            append(v, list, json_incref(name));
    }
    return list;
}

/* The hosts in the platform's order if it lists them, else in ours, as where a spare may have taken
 * another host's place. Returns a new list. */
static json_t *host_list(struct values *v, const struct cluster *c) {
    const json_t *given = json_object_get(c->resource_config, "hosts");
    if (given != NULL && c->spares == 0)
        return still_here(v, c, given);
    size_t order[CLUSTER_HOSTS_MAX];
    size_t count = cluster_order(c, order);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        append(v, list, json_string(c->hosts[order[i]].name.text));
    return list;
}

/* The ranks of those hosts in the platform's list HOSTS that are in this job. The list is in the
 * order of ranks. */
static json_t *ranks_of(struct values *v, const struct cluster *c, const json_t *hosts) {
    json_t *list = json_array();
    for (size_t rank = 0; rank < cluster_ranks(c); rank++) {
        const char *own = c->hosts[cluster_host_of_rank(c, rank)].name.text;
        for (size_t i = 0; i < json_array_size(hosts); i++)
            if (strcmp(own, json_string_value(json_array_get(hosts, i))) == 0)
                append(v, list, json_integer((json_int_t)rank));
    }
    return list;
}

/* Adds for each named group its hosts, and the ranks that they have in this job. */
static void put_places(struct values *v, const struct cluster *c, const json_t *names) {
    json_t *hosts = json_object();
    json_t *ranks = json_object();
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        /* The members of one group. */
        json_t *here = still_here(v, c, instance_groups_of_group(c, name));
        v->failed |= json_object_set_new(ranks, name, ranks_of(v, c, here)) != 0 ||
                     json_object_set_new(hosts, name, here) != 0;
    }
    put(v, "SM_INSTANCE_GROUPS_HOSTS", hosts);
    put(v, "SM_INSTANCE_GROUPS_RANKS", ranks);
}

/* This host's group; if the platform has none, the name that the toolkit and the service use. */
static const char *own_group(const struct cluster *c) {
    return c->group[0] != '\0' ? c->group : "homogeneousCluster";
}

/* SageMaker's heterogeneous clusters divide hosts into groups of one instance type. */
static bool has_groups(const struct cluster *c) {
    return json_array_size(json_object_get(c->resource_config, "instance_groups")) > 0;
}

/* A group without a name is left out. With groups or without, the variables are all set. */
static void put_groups(struct values *v, const struct cluster *c) {
    const json_t *groups = json_object_get(c->resource_config, "instance_groups");
    json_t *names = json_array();
    json_t *by_name = json_object();
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        json_t *name = json_object_get(group, "instance_group_name");
        if (!json_is_string(name))
            continue;
        append(v, names, json_incref(name));
        v->failed |= json_object_set(by_name, json_string_value(name), (json_t *)(uintptr_t)group);
    }
    if (has_groups(c))
        put_places(v, c, names);
    /* A single group is no heterogeneous cluster. */
    put(v, "SM_IS_HETERO", json_boolean(json_array_size(groups) > 1));
    put(v, "SM_INSTANCE_GROUPS", names);
    put_text(v, "SM_CURRENT_INSTANCE_GROUP", own_group(c));
    put(v, "SM_INSTANCE_GROUPS_DICT", by_name);
    put(v, "SM_CURRENT_INSTANCE_GROUP_HOSTS",
        still_here(v, c, instance_groups_of_group(c, own_group(c))));
}

/* The groups that form one job and their hosts, for SM_TRAINING_ENV. Without groups, all hosts are
 * in the one default group, and MPI applies to it. */
static json_t *put_distribution(struct values *v, const struct job *job) {
    const struct cluster *c = &job->cluster;
    json_t *groups = instance_groups_groups(&job->request.mpi_options, c);
    /* Each group adds its own below. */
    json_t *hosts = has_groups(c) ? json_array() : host_list(v, c);
    if (!has_groups(c) && job->request.mpi_options.mpi == WISH_YES && json_array_size(groups) == 0)
        append(v, groups, json_string(own_group(c)));
    for (size_t i = 0; i < json_array_size(groups); i++) {
        json_t *own = still_here(
            v, c, instance_groups_of_group(c, json_string_value(json_array_get(groups, i))));
        v->failed |= json_array_extend(hosts, own) != 0;
        json_decref(own);
    }
    put(v, "SM_DISTRIBUTION_INSTANCE_GROUPS", groups);
    return hosts;
}

/* An interface or type that the platform does not tell has the toolkit's default value. */
static void put_hosts(struct values *v, const struct cluster *c) {
    put_text(v, "CURRENT_HOST", c->hosts[c->self].name.text);
    put_text(v, "SM_CURRENT_HOST", c->hosts[c->self].name.text);
    put(v, "SM_HOSTS", host_list(v, c));
    put_text(v, "SM_NETWORK_INTERFACE_NAME", c->interface[0] != '\0' ? c->interface : "eth0");
    put_text(v, "SM_CURRENT_INSTANCE_TYPE",
             c->instance_type[0] != '\0' ? c->instance_type : "local");
    put(v, "SM_RESOURCE_CONFIG", kept(c->resource_config));
    put_groups(v, c);
    /* Given only for machines that have one; null counts as not given. */
    const json_t *topology = json_object_get(c->resource_config, "topology");
    if (topology != NULL && !json_is_null(topology))
        put(v, "SM_TOPOLOGY", json_incref((json_t *)(uintptr_t)topology));
}

/* --- folders and channels -------------------------------------------------------------------- */

/* The layout below BASE is SageMaker's. */
static void put_folders(struct values *v, const char *base) {
    static const struct {
        const char *name, *folder;
    } folders[] = {
        {"SM_INPUT_DIR", "input"},
        {"SM_INPUT_CONFIG_DIR", "input/config"},
        {"SM_OUTPUT_DIR", "output"},
        {"SM_OUTPUT_DATA_DIR", "output/data"},
        {"SM_OUTPUT_INTERMEDIATE_DIR", "output/intermediate"},
        {"SM_MODEL_DIR", "model"},
    };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        put(v, folders[i].name, json_sprintf("%s/%s", base, folders[i].folder));
}

/* Adds the folders by channel and returns them; owned by the caller. The folder is asked for its
 * text only if memory has sufficed: it would be NULL otherwise. */
static json_t *put_channels(struct values *v, const struct channels *c, const char *base) {
    json_t *names = json_array();
    json_t *folders = json_object();
    for (size_t i = 0; i < c->count; i++) {
        json_t *folder = json_sprintf("%s/input/data/%s", base, c->names[i]);
        append(v, names, json_string(c->names[i]));
        v->failed |= json_object_set_new(folders, c->names[i], folder) != 0;
        if (!v->failed)
            put_named(v, "SM_CHANNEL_", c->names[i], json_string_value(folder));
    }
    put(v, "SM_CHANNELS", names);
    put(v, "SM_INPUT_DATA_CONFIG", kept(c->config));
    return folders;
}

/* --- hyperparameters and program ------------------------------------------------------------- */

/* The value of a hyperparameter as the toolkit decodes it: JSON if it parses as JSON, else the
 * text. Returns a new reference. */
static json_t *decoded(struct values *v, const struct hyperparameters *h, const char *name) {
    json_t *raw = json_object_get(h->root, name);
    json_t *value = NULL;
    if (json_is_string(raw) && big_integers_digits(raw) == NULL)
        v->failed |= big_integers_decode(json_string_value(raw), &value, NULL) != 0;
    return value != NULL ? value : json_incref(raw);
}

/* Returns true for hyperparameters that the toolkit consumes itself and does not pass on to
 * frameworks. */
static bool is_of_toolkit(const char *name) {
    static const char *const names[] = {"sagemaker_program",
                                        "sagemaker_submit_directory",
                                        "sagemaker_enable_cloudwatch_metrics",
                                        "sagemaker_region",
                                        "sagemaker_container_log_level",
                                        "sagemaker_job_name",
                                        "default_user_module_name",
                                        "_tuning_objective_metric",
                                        "sagemaker_s3_output"};
    return TABLE_INDEX(names, name) < TABLE_COUNT(names);
}

/* SM_HPS has the program's own parameters, SM_FRAMEWORK_PARAMS those for the toolkit's frameworks.
 * Each of the former is also a variable SM_HP_NAME. */
static void put_hyperparameters(struct values *v, const struct hyperparameters *h) {
    json_t *user = json_object();
    json_t *framework = json_object();
    for (size_t i = 0; i < h->count; i++) {
        const struct hyperparameter *p = &h->items[i];
        if (!is_of_toolkit(p->name))
            v->failed |= json_object_set_new(p->hidden ? framework : user, p->name,
                                             decoded(v, h, p->name)) != 0;
        if (!p->hidden && !p->odd)
            put_named(v, "SM_HP_", p->name, p->text);
    }
    put(v, "SM_HPS", user);
    put(v, "SM_FRAMEWORK_PARAMS", framework);
}

/* Without an entry point the names are empty. The module's name is that of the file without .py. */
static void put_program(struct values *v, const struct user_program *p, const char *base) {
    json_t *args = json_array();
    for (size_t i = 0; i < p->user_args.count; i++)
        append(v, args, json_string_any(p->user_args.items[i]));
    put(v, "SM_USER_ARGS", args);
    const char *entry_point = p->entry_point != NULL ? p->entry_point : "";
    size_t size = strlen(entry_point);
    if (size > 3 && strcmp(entry_point + size - 3, ".py") == 0)
        size -= 3;
    cleanup_free char *module = strndup(entry_point, size);
    put_text(v, "SM_USER_ENTRY_POINT", entry_point);
    put_text(v, "SM_MODULE_NAME", module != NULL ? module : "");
    if (p->directory != NULL)
        put_text(v, "SM_MODULE_DIR", p->directory);
    else
        put(v, "SM_MODULE_DIR", json_sprintf("%s/code", base));
}

/* Lets Python find the modules next to the entry point, whatever the working directory. What is set
 * already stays, after the folder of code. */
static void put_python_path(struct values *v, const struct user_program *p, const char *given) {
    if (p->entry_point == NULL || p->directory == NULL)
        return;
    bool more = given != NULL && given[0] != '\0';
    put(v, "PYTHONPATH", json_sprintf("%s%s%s", p->directory, more ? ":" : "", more ? given : ""));
}

/* Python's numeric log level. */
enum { LOG_LEVEL_INFO = 20 };

/* The job's region, else the container's. The toolkit asks boto3, which uses AWS_DEFAULT_REGION,
 * and the service sets AWS_REGION. An empty variable counts as not set. */
static const char *region_of(const struct sagemaker_request *request, const struct argv *given) {
    static const char *const names[] = {"SAGEMAKER_REGION", "AWS_DEFAULT_REGION", "AWS_REGION"};
    const char *region = request->region;
    for (size_t i = 0; region == NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        region = argv_get_env(given, names[i]);
        if (region != NULL && region[0] == '\0')
            region = NULL;
    }
    return region;
}

/* Adds the variables that the toolkit derives from its own hyperparameters. A level that is no
 * number from 0 to 100 is ignored. */
static void put_service(struct values *v, const struct job *job, const struct argv *given) {
    const char *region = region_of(&job->request, given);
    const char *level = job->request.log_level;
    /* As the service or the image has it. */
    const char *module = argv_get_env(given, "SAGEMAKER_TRAINING_MODULE");
    int64_t number = LOG_LEVEL_INFO;
    if (level != NULL && str_parse_whole(level, 0, 100, &number, NULL) != 0)
        number = LOG_LEVEL_INFO;
    if (region != NULL)
        put_text(v, "SAGEMAKER_REGION", region);
    put_text(v, "SAGEMAKER_JOB_NAME", job->cluster.job);
    put_text(v, "SM_FRAMEWORK_MODULE", module != NULL ? module : "");
    put(v, "SM_LOG_LEVEL", json_integer((json_int_t)number));
}

/* --- SM_TRAINING_ENV ------------------------------------------------------------------------- */

/* SM_TRAINING_ENV: its members have the toolkit's names, and most are also variables of their own.
 * Takes ownership of FOLDERS and DISTRIBUTED. */
static void put_training_env(struct values *v, const struct job *job, json_t *folders,
                             json_t *distributed) {
    static const struct {
        const char *member, *variable;
    } members[] = {
        {"additional_framework_parameters", "SM_FRAMEWORK_PARAMS"},
        {"current_host", "SM_CURRENT_HOST"},
        {"current_instance_group", "SM_CURRENT_INSTANCE_GROUP"},
        {"current_instance_group_hosts", "SM_CURRENT_INSTANCE_GROUP_HOSTS"},
        {"current_instance_type", "SM_CURRENT_INSTANCE_TYPE"},
        {"distribution_instance_groups", "SM_DISTRIBUTION_INSTANCE_GROUPS"},
        {"framework_module", "SM_FRAMEWORK_MODULE"},
        {"hosts", "SM_HOSTS"},
        {"hyperparameters", "SM_HPS"},
        {"input_config_dir", "SM_INPUT_CONFIG_DIR"},
        {"input_data_config", "SM_INPUT_DATA_CONFIG"},
        {"input_dir", "SM_INPUT_DIR"},
        {"instance_groups", "SM_INSTANCE_GROUPS"},
        {"instance_groups_dict", "SM_INSTANCE_GROUPS_DICT"},
        {"is_hetero", "SM_IS_HETERO"},
        {"log_level", "SM_LOG_LEVEL"},
        {"model_dir", "SM_MODEL_DIR"},
        {"module_dir", "SM_MODULE_DIR"},
        {"module_name", "SM_MODULE_NAME"},
        {"network_interface_name", "SM_NETWORK_INTERFACE_NAME"},
        {"num_cpus", "SM_NUM_CPUS"},
        {"num_gpus", "SM_NUM_GPUS"},
        {"num_neurons", "SM_NUM_NEURONS"},
        {"output_data_dir", "SM_OUTPUT_DATA_DIR"},
        {"output_dir", "SM_OUTPUT_DIR"},
        {"output_intermediate_dir", "SM_OUTPUT_INTERMEDIATE_DIR"},
        {"resource_config", "SM_RESOURCE_CONFIG"},
        {"topology", "SM_TOPOLOGY"},
        {"user_entry_point", "SM_USER_ENTRY_POINT"},
    };
    /* Its failures are added to V's at the end. */
    struct values inner = {.all = json_object()};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        /* Some variables are set only where the platform tells them. */
        json_t *value = json_object_get(v->all, members[i].variable);
        if (value != NULL)
            put(&inner, members[i].member, json_incref(value));
    }
    /* Parts of the toolkit that this program does not have. */
    static const char *const absent[] = {"is_modelparallel_enabled", "is_smddpmprun_installed",
                                         "is_smddprun_installed"};
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        put(&inner, absent[i], json_false());
    put(&inner, "channel_input_dirs", folders);
    put(&inner, "distribution_hosts", distributed);
    put(&inner, "is_master", json_boolean(cluster_is_master(&job->cluster)));
    put_text(&inner, "job_name", job->cluster.job);
    put_text(&inner, "master_hostname", job->cluster.hosts[0].name.text);
    v->failed |= inner.failed;
    put(v, "SM_TRAINING_ENV", inner.all);
}

/* Checks the size of a variable. One that holds all values (SM_HPS) also exists as many small ones
 * (SM_HP_*), so leaving it out is better than failing to start the program. SIZE counts the sign
 * between both and the NUL. */
static bool fits(const char *name, const char *value) {
    size_t size = strlen(name) + 1 + strlen(value) + 1;
    if (size <= SM_VARIABLE_MAX)
        return true;
    log_warning("%s is left out of the programs' environment: it has %zu bytes, and Linux passes "
                "on at most %d",
                name, size, SM_VARIABLE_MAX);
    return false;
}

/* ASCII and sorted keys, as the toolkit writes JSON. RET replaces what the environment had of the
 * same name. */
static int export_all(const json_t *all, struct argv *ret, struct error *err) {
    const size_t form = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_ENCODE_ANY;
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)all, name, value) {
        const char *text = json_string_value(value);
        /* Text is used as it is; anything else is written as JSON. */
        cleanup_free char *dumped = text == NULL ? big_integers_dump(value, form) : NULL;
        if (text == NULL && dumped == NULL)
            return error_no_memory(err, name);
        if (!fits(name, text != NULL ? text : dumped))
            continue;
        if (argv_set_env(ret, name, text != NULL ? text : dumped, err) != 0)
            return -1;
    }
    return 0;
}

/* The order matters at the end: SM_TRAINING_ENV is made of the variables before it. */
int sm_variables_add(const struct job *job, struct argv *ret, struct error *err) {
    cleanup_json json_t *all = json_object();
    struct values v = {.all = all};
    const char *base = job->settings.base_dir;
    put_hosts(&v, &job->cluster);
    put_folders(&v, base);
    json_t *folders = put_channels(&v, &job->channels, base);
    put_hyperparameters(&v, &job->request.hyperparameters);
    put_program(&v, &job->program, base);
    put_python_path(&v, &job->program, argv_get_env(ret, "PYTHONPATH"));
    put_service(&v, job, ret);
    put(&v, "SM_NUM_CPUS", json_integer(cpus_affinity()));
    put(&v, "SM_NUM_GPUS", json_integer((json_int_t)accelerators_gpus("/dev")));
    put(&v, "SM_NUM_NEURONS", json_integer((json_int_t)accelerators_neurons("/sys")));
    json_t *distributed = put_distribution(&v, job);
    put_training_env(&v, job, folders, distributed);
    if (v.failed)
        return error_no_memory(err, "the SM_ variables");
    return export_all(all, ret, err);
}
