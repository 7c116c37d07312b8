#include "entrypoint/command/plan.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/str.h"
#include "common/system/cpus.h"
#include "common/text/redact.h"
#include "entrypoint/command/command_output.h"
#include "entrypoint/command/manual.h"
#include "entrypoint/command/probe.h"
#include "entrypoint/command/trainer_flags.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/job/machine/nic_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The plan is one JSON object: what the job's settings say comes from struct job, and what only
 * this container can tell (network, Open MPI) from probe.c. Both were made by the functions that a
 * real job uses, so the plan shows what would run and not a second opinion of it.
 *
 * Secrets are kept out at three places: words that follow a secret flag, the query of an address,
 * and values of variables, of which only the names are shown. plan_run() then passes the whole text
 * through redact_text(), for secrets in places that nobody thought of.
 *
 * Jansson's packing functions return NULL without memory or for text that is not UTF-8, and
 * appending NULL does nothing. Lists are therefore built without checks, and the object as a whole
 * is checked where it is packed. */

/* By enum cluster_source: where the list of hosts came from. */
static const char *const sources[] = {"alone", "sagemaker", "environment", "platform"};

/* The first host is the master. A spare has slots, but no ranks until a host is lost. The list is
 * whole, for any number of hosts. */
static json_t *hosts_json(const struct cluster *c) {
    json_t *list = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(list, json_pack("{s:s, s:i, s:s}", "name", c->hosts[i].name.text,
                                              "slots", (int)c->hosts[i].slots, "role",
                                              c->hosts[i].spare ? "spare"
                                              : i == 0          ? "master"
                                                                : "worker"));
    return list;
}

/* Words as JSON. A word is replaced if the flag before it, or its own --name=, says that it is
 * secret. A name too long for OWN is not recognised as secret here; redact_text() still sees the
 * whole text. */
static json_t *words_json(const struct argv *words) {
    json_t *list = json_array();
    bool secret = false;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        bool flag = str_starts_with(word, "--");
        size_t name = strcspn(word, "=");
        char own[128] = {0};
        if (flag && name < sizeof(own))
            memcpy(own, word + 2, name - 2);
        bool assigns = flag && word[name] == '=' && redact_is_secret_name(own);
        json_t *text = assigns ? json_sprintf("--%s=***", own) : json_string(secret ? "***" : word);
        json_array_append_new(list, text != NULL ? text : json_string("(not UTF-8)"));
        secret = flag && word[name] == '\0' && redact_is_secret_name(own);
    }
    return list;
}

/* The ports are those that this job would use, one above another from its first on. */
static json_t *ports_json(const struct ports *p) {
    return json_pack("{s:i, s:[i,i], s:i, s:i, s:i, s:i, s:i}", "control", (int)p->control,
                     "daemons", (int)p->daemons_v4, (int)p->daemons_v6, "master", (int)p->master,
                     "passing", (int)p->passing, "coordinator", (int)p->coordinator, "data",
                     (int)p->data, "data_count", (int)p->data_count);
}

/* Names only: the folders follow from them, and their content is not looked at. */
static json_t *channels_json(const struct channels *c) {
    json_t *list = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(list, json_string(c->names[i]));
    return list;
}

/* An address without the part after '?', which may be secret. */
static json_t *place_json(const char *what, const char *address) {
    bool is_url = str_starts_with(address, "https://") || str_starts_with(address, "http://");
    int size = (int)(is_url ? strcspn(address, "?#") : strlen(address));
    json_t *from = json_sprintf("%.*s", size, address);
    return json_pack("{s:s, s:o}", "what", what, "from",
                     from != NULL ? from : json_string("(not UTF-8)"));
}

/* Sources that would be fetched before the program is resolved, as it may be among them. */
static json_t *fetched_json(const struct download_sources *s) {
    json_t *list = json_array();
    if (s->code != NULL)
        json_array_append_new(list, place_json("code", s->code));
    for (size_t i = 0; i < s->count; i++)
        json_array_append_new(list, place_json(s->channels[i].name, s->channels[i].address));
    return list;
}

/* The interface that the job's traffic takes, with its network as "10.0.0.0/24". */
static json_t *interface_json(const struct interface *i) {
    char address[NET_ADDRESS_TEXT];
    char network[INTERFACE_TEXT_SIZE];
    net_address_text(&i->address, address);
    interface_cidr(i, network);
    return json_pack("{s:s, s:s, s:s}", "name", i->name, "address", address, "network", network);
}

/* For qsort; the elements are pointers to texts NAME=VALUE. */
static int compare_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of variables without their values, which are private and sometimes secret. These are the
 * variables that ranks of this host would get, sorted, so that two plans can be compared. */
static int names_json(const struct job *job, char *const *environment, json_t **ret,
                      struct error *err) {
    cleanup_argv struct argv list = {0};
    if (environment_host(job, environment, &list, err) != 0 ||
        environment_set_threads(&list, environment_threads(job, &list, cpus_usable("")), err) != 0)
        return -1;
    qsort(list.items, list.count, sizeof(list.items[0]), compare_text);
    *ret = json_array();
    for (size_t i = 0; i < list.count; i++)
        json_array_append_new(*ret, json_stringn(list.items[i], strcspn(list.items[i], "=")));
    return 0;
}

/* Network variables for other libraries, and where each was set. The user's own value wins, as in a
 * job. A host alone needs none. The text is split at its "=" in place. */
static json_t *network_json(const struct openmpi_request *request, char *const *environment) {
    cleanup_argv struct argv variables = {0};
    json_t *object = json_object();
    if (request->cluster->count == 1 ||
        nic_environment_add(request->interface->name, "", &variables, NULL) != 0)
        return object;
    for (size_t i = 0; i < variables.count; i++) {
        char *value = strchr(variables.items[i], '=');
        *value++ = '\0';
        const char *own = env_get(environment, variables.items[i]);
        json_object_set_new(object, variables.items[i],
                            json_pack("{s:s, s:s}", "value", own != NULL ? own : value, "by",
                                      own != NULL ? "the job" : "ringmaster"));
    }
    return object;
}

/* Reasons for choices that a reader may wonder about. The interface is null where none was probed,
 * as without mpirun or a network. */
static json_t *why_json(const struct job *job, const struct openmpi_request *request) {
    const struct cluster *c = &job->cluster;
    const char *interface = NULL;
    if (request != NULL && strcmp(c->interface, request->interface->name) == 0)
        interface = "as configured";
    else if (request != NULL && c->interface[0] != '\0')
        interface = "the configured one is not here, or not up; this one is";
    else if (request != NULL && c->count == 1)
        interface = "any will do for a host alone";
    else if (request != NULL)
        interface = "none is configured; a job takes the one that leads to the other hosts, which "
                    "are not asked here";
    json_t *why = json_pack("{s:s, s:s}", "hosts", c->described_by, "master",
                            c->count == 1     ? "this host is alone"
                            : c->master_named ? "the platform names it"
                                              : "the first of the hosts in natural order");
    if (why != NULL)
        (void)json_object_set_new(why, "launcher", json_string_any(job->launcher.why));
    if (why != NULL)
        (void)json_object_set_new(why, "interface",
                                  interface != NULL ? json_string(interface) : json_null());
    return why;
}

/* Adds the members about the network and mpirun; they are null if REQUEST is NULL, the latter also
 * if ranks are started without it. */
static int add_launch(const struct openmpi_request *request, bool direct, char *const *environment,
                      json_t *plan, struct error *err) {
    cleanup_argv struct argv words = {0};
    if (request == NULL) {
        json_object_set_new(plan, "interface", json_null());
        json_object_set_new(plan, "network", json_null());
        json_object_set_new(plan, "openmpi", json_null());
        json_object_set_new(plan, "mpirun", json_null());
        return 0;
    }
    json_object_set_new(plan, "interface", interface_json(request->interface));
    json_object_set_new(plan, "network", network_json(request, environment));
    if (direct) {
        json_object_set_new(plan, "openmpi", json_null());
        json_object_set_new(plan, "mpirun", json_null());
        return 0;
    }
    if (openmpi_command(request, &words, err) != 0)
        return -1;
    json_object_set_new(plan, "openmpi",
                        json_sprintf("%u.%u.%u", request->version.major, request->version.minor,
                                     request->version.release));
    json_object_set_new(plan, "mpirun", words_json(&words));
    return 0;
}

/* A warning may quote a path of any bytes, which is replaced here as a whole: plans are read by
 * other programs. */
static json_t *warnings_json(const struct warnings *w) {
    json_t *list = json_array();
    for (size_t i = 0; i < w->count; i++) {
        json_t *text = json_string(w->text[i]);
        json_array_append_new(list, text != NULL ? text : json_string("(not UTF-8)"));
    }
    return list;
}

/* Numbers that the job keeps in other types are cast for json_pack(), which takes int for "i". "s"
 * refuses text that is not UTF-8, and then the whole plan fails. */
static int add_job(const struct job *job, json_t *plan) {
    const struct cluster *c = &job->cluster;
    const char *directory = job->program.directory;
    return json_object_update_new(
        plan,
        json_pack(
            "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
            "job", c->job, "described_by", sources[c->source], "host", c->hosts[c->self].name.text,
            "role", cluster_is_master(c) ? "master" : "worker", "launcher",
            launcher_name(job->launcher.kind), "ranks", (int)cluster_ranks(c), "platform_attempt",
            (int)c->before + 1, "grace_seconds", (int)c->grace, "stop_seconds",
            (json_int_t)settings_stop_seconds(&job->settings, c->grace), "hosts", hosts_json(c),
            "ports", ports_json(&job->ports), "program", words_json(&job->program.argv),
            "directory", directory != NULL ? json_string(directory) : json_null(), "channels",
            channels_json(&job->channels), "fetched", fetched_json(&job->sources), "settings",
            settings_json(&job->settings), "warnings", warnings_json(&job->warnings)));
}

/* The names are taken over by the object; on an error before that they are NULL. An incomplete
 * object is an error: half a plan would mislead. */
int plan_print(const struct job *job, const struct openmpi_request *request,
               char *const *environment, struct buf *ret, struct error *err) {
    cleanup_json json_t *plan = json_object();
    json_t *names = NULL;
    if (add_job(job, plan) != 0)
        return error_no_memory(err, "the plan");
    if (add_launch(request, job->launcher.kind == LAUNCHER_DIRECT, environment, plan, err) != 0 ||
        names_json(job, environment, &names, err) != 0)
        return -1;
    if (json_object_set_new(plan, "why", why_json(job, request)) != 0 ||
        json_object_set_new(plan, "environment", names) != 0)
        return error_no_memory(err, "the plan");
    return json_add_text(plan, ret, err);
}

/* Nothing is started except `mpirun --version`, and nothing is written. The job is read as by
 * `train`, so errors of settings are the same ones and have the same codes. A word `train` may come
 * first, so that a whole command line can be planned. */
int plan_run(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    cleanup_buf struct buf clean; /* the words may include secret hyperparameters */
    struct job job = {0};
    struct probe probe;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    buf_init(&clean, COMMAND_OUTPUT_MAX);
    int code = -1;
    if (manual_takes("plan", words[0]))
        words++; /* the full command line that is planned */
    if (job_read(words, environ, &job, err) == 0 && trainer_flags_check(&job, err) == 0 &&
        probe_settings(&job, environ, err) == 0) {
        probe_run(&job, environ, &probe);
        if (plan_print(&job, probe.complete ? &probe.request : NULL, environ, &text, err) == 0 &&
            redact_text(&clean, buf_text(&text), err) == 0)
            code = command_output_print(&clean);
        probe_done(&probe);
    }
    job_done(&job);
    return code;
}
