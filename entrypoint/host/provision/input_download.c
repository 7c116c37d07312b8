#include "entrypoint/host/provision/input_download.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/host/provision/transfer_process.h"
#include "entrypoint/job/key.h"
#include "entrypoint/wire/listener.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The supervisor writes an order and reads lines: progress on the child's standard output, words
 * for people on its standard error. All transfers are in the child (transfer/), so that no disk or
 * server holds up this process.
 *
 * The order is a list of tasks. Each says what it is for the log ("code", a channel), from where,
 * to where, and whether other hosts may fetch it here. Targets of uploads come first: that they can
 * be written is found out before hours of downloads.
 *
 * Hosts that share downloads form a binary tree with the first host at its root. Host i fetches
 * from host (i - 1) / 2. Its part of the order is "sharing": a listener, the key that both
 * sides prove, and the place of the upstream host. */

enum {
    GRACE_SECONDS = 10, /* the child's own deadline comes first and gives a better error */
    /* How long a host waits for the one from which it fetches, at most half of the time for all
       hosts to meet; then it fetches from the source. */
    PATIENCE_SECONDS = 60,
};

/* The child's last mark; it then stays to serve others (transfer/download_order.h). */
static const char all_here[] = "all is here\n";

/* --- the order -------------------------------------------------------------------------------- */

/* A file on this machine needs no transfer, so no host requests it from another. "unpack": code is
 * an archive. */
static json_t *code_json(const struct job *job, const char *code) {
    return json_pack("{s:s, s:o, s:o, s:b, s:b}", "what", "code", "from",
                     json_sprintf("%s%s", code[0] == '/' ? "file://" : "", code), "to",
                     json_sprintf("%s/code", job->settings.base_dir), "unpack", 1, "pass",
                     download_sources_is_remote(code));
}

/* A channel that is divided over hosts is not passed on: each host has another part of it. */
static json_t *channel_json(const struct job *job, const struct download_source *s) {
    const struct cluster *c = &job->cluster;
    return json_pack("{s:s, s:s, s:o, s:I, s:I, s:b}", "what", s->name, "from", s->address, "to",
                     json_sprintf("%s/input/data/%s", job->settings.base_dir, s->name), "shard",
                     (json_int_t)(s->sharded ? c->self : 0), "shards",
                     (json_int_t)(s->sharded ? c->count : 1), "pass", !s->sharded);
}

/* A target is a folder, "DIRECTORY/". Jobs that share one would overwrite each other's model and
 * abort each other's uploads. `part` keeps those of several jobs apart; it may be empty. The result
 * ends with a slash. */
static json_t *folder_json(const struct job *job, const char *target, const char *below) {
    const char *slash = str_ends_with(target, "/") ? "" : "/";
    return json_sprintf("%s%s%s%s%s", target, slash, job->part, job->part[0] != '\0' ? "/" : "",
                        below);
}

/* The output of each host has a folder of its own, named after the host. Checkpoints and the first
 * host's model belong to the whole job. */
json_t *input_download_target(const struct job *job, enum input_download_target which) {
    const struct cluster *c = &job->cluster;
    static const char *const own[] = {[INPUT_DOWNLOAD_OUTPUT] = "",
                                      [INPUT_DOWNLOAD_DATA] = "data/",
                                      [INPUT_DOWNLOAD_OTHER_MODEL] = "model/"};
    char below[HOST_NAME_SIZE + 32] = "";
    if (which == INPUT_DOWNLOAD_CHECKPOINTS)
        return folder_json(job, job->settings.checkpoints, "");
    if (which == INPUT_DOWNLOAD_MODEL)
        return folder_json(job, job->settings.output, "model/");
    (void)snprintf(below, sizeof(below), "output/%s/%s", c->hosts[c->self].name.text, own[which]);
    return folder_json(job, job->settings.output, below);
}

/* Returns true if this host may abort old uploads to shared targets: the first host does so. With
 * failover, another host may lead the job by now and be uploading there. */
static bool tidies_for_all(const struct job *job) {
    return cluster_is_master(&job->cluster) && !job->settings.failover;
}

/* Checkpoints come back from the target of their uploads, and may be passed on. */
static json_t *back_json(const struct job *job) {
    return json_pack("{s:s, s:o, s:o, s:b, s:b, s:b}", "what", "checkpoints", "from",
                     input_download_target(job, INPUT_DOWNLOAD_CHECKPOINTS), "to",
                     json_sprintf("%s/checkpoints", job->settings.base_dir), "back", 1, "tidy",
                     tidies_for_all(job), "pass", 1);
}

/* A task without a source: the child only finds out whether the target can be written, and aborts
 * uploads that an earlier job has left unfinished there (`tidy`). */
static json_t *target_json(const struct job *job, const char *what,
                           enum input_download_target which, bool tidies) {
    return json_pack("{s:s, s:o, s:b, s:b}", "what", what, "to", input_download_target(job, which),
                     "target", 1, "tidy", tidies);
}

/* Adds the targets first, because fetching may take hours before a failure to upload is found. */
static void add_targets(const struct job *job, json_t *tasks) {
    if (job->settings.output != NULL)
        (void)json_array_append_new(tasks, target_json(job, "output", INPUT_DOWNLOAD_OUTPUT, true));
    if (job->settings.output != NULL && cluster_is_master(&job->cluster))
        (void)json_array_append_new(
            tasks, target_json(job, "model", INPUT_DOWNLOAD_MODEL, tidies_for_all(job)));
    if (job->settings.checkpoints != NULL)
        (void)json_array_append_new(tasks, back_json(job));
}

/* NULL if memory is out, which transfer_process_start() reports. */
json_t *input_download_order(const struct job *job, char *const *environment) {
    const struct download_sources *s = &job->sources;
    json_t *tasks = json_array();
    add_targets(job, tasks);
    if (s->code != NULL)
        (void)json_array_append_new(tasks, code_json(job, s->code));
    for (size_t i = 0; i < s->count; i++)
        (void)json_array_append_new(tasks, channel_json(job, &s->channels[i]));
    return json_pack("{s:o, s:I, s:o}", "environment",
                     transfer_process_environment(job, environment), "seconds",
                     (json_int_t)job->settings.fetch_seconds, "tasks", tasks);
}

/* "https://algo-1:7074", "https://[fd00::1]:7074" */
static json_t *place_json(const struct job *job, const char *name) {
    bool ipv6 = strchr(name, ':') != NULL;
    return json_sprintf("https://%s%s%s:%u", ipv6 ? "[" : "", name, ipv6 ? "]" : "",
                        (unsigned)job->ports.passing);
}

/* The name or address of the upstream host of this one, as in the description. If the
 * platform gives only the number of hosts, that is known for the first host alone, and perhaps not
 * even then; NULL: unknown. */
static const char *known_parent(const struct cluster *c) {
    const size_t parent = (c->self - 1) / 2;
    if (!c->counted)
        return c->hosts[parent].name.text;
    return parent == 0 ? c->master_at.text : NULL;
}

/* How long this host waits for it, in seconds. At least one. */
static int64_t patience_of(const struct job *job) {
    int64_t patience = job->settings.ready_seconds / 2;
    if (patience > PATIENCE_SECONDS)
        return PATIENCE_SECONDS;
    return patience > 0 ? patience : 1;
}

/* The digits on the stack are wiped here, the text of the order by transfer_process.c. */
static json_t *key_json(const unsigned char *key) {
    char digits[2 * KEY_SIZE + 1];
    for (size_t i = 0; i < KEY_SIZE; i++)
        (void)snprintf(digits + 2 * i, 3, "%02x", key[i]);
    json_t *text = json_string(digits);
    explicit_bzero(digits, sizeof(digits));
    return text;
}

/* The upstream host checks that it speaks to a host of the job, and this host that the answer comes
 * from there: both have the key. `name` is for messages. */
json_t *input_download_sharing(const struct job *job, int listener, const unsigned char *key,
                               const char *parent) {
    const struct cluster *c = &job->cluster;
    json_t *sharing = json_pack("{s:i, s:o}", "listener", listener, "key", key_json(key));
    if (cluster_is_master(c)) {
        (void)json_object_set_new(sharing, "first", json_true());
        return sharing;
    }
    const char *place = parent != NULL ? parent : known_parent(c);
    if (place == NULL)
        return sharing;
    (void)json_object_set_new(sharing, "from", place_json(job, place));
    (void)json_object_set_new(sharing, "name", json_string(c->hosts[(c->self - 1) / 2].name.text));
    (void)json_object_set_new(sharing, "patience", json_integer(patience_of(job)));
    return sharing;
}

/* --- the child -------------------------------------------------------------------------------- */

static void hear(void *context, const char *line, size_t size) {
    const struct input_download *s = context;
    s->o.line(s->o.context, line, size);
}

/* After the last mark the child stays to serve other hosts, and its deadline no longer holds. */
static void hear_mark(void *context, const char *line, size_t size) {
    struct input_download *s = context;
    if (size == sizeof(all_here) - 1 && memcmp(line, all_here, size) == 0) {
        s->all_here = true;
        loop_cancel(s->services->loop, &s->deadline);
        s->o.done(s->o.context, NULL);
        return;
    }
    s->o.mark(s->o.context, line, size);
}

/* The child's last line is its error. A child that has everything and then ends has only stopped
 * serving: hosts below it fetch from the source. */
static void ended(void *context, int code) {
    struct input_download *s = context;
    struct error err = {0};
    loop_cancel(s->services->loop, &s->deadline);
    if (s->all_here)
        return;
    if (code == EXIT_CODE_OK) {
        s->o.done(s->o.context, NULL);
        return;
    }
    if (s->late)
        (void)error_set(&err, EXIT_CODE_NOT_READY,
                        "downloads did not finish within %lld s (RINGMASTER_FETCH_SECONDS)",
                        (long long)s->services->job->settings.fetch_seconds);
    else if (code > 128)
        (void)error_set(&err, EXIT_CODE_INTERNAL,
                        "downloads failed: the transfer process was killed by signal %d%s%s",
                        code - 128, s->task.tail.size > 0 ? "; its last output: " : "",
                        transfer_process_last_word(&s->task));
    else
        (void)error_set(&err, (enum exit_code)code, "downloads failed: %s",
                        transfer_process_last_word(&s->task));
    s->o.done(s->o.context, &err);
}

/* The child has a deadline of its own and has not kept it, so it is not asked but killed. ended()
 * then reports the time. */
static void late(void *context) {
    struct input_download *s = context;
    s->late = true;
    subprocess_signal(&s->task, SIGKILL);
}

/* The port is opened here, so that a port in use is reported as this container's error. */
static int add_sharing(const struct input_download *s, const char *parent, json_t *order,
                       int *listener, struct error *err) {
    const struct net_address any = {0};
    const struct job *job = s->services->job;
    *listener = listener_listen(&any, job->ports.passing, "what hosts pass on", err);
    if (*listener < 0)
        return -1;
    (void)json_object_set_new(order, "sharing",
                              input_download_sharing(job, *listener, s->key, parent));
    return 0;
}

/* The key is wiped in any case, as the order has it by then. The listener is closed here once the
 * child has it. */
static int start_child(struct input_download *s, const char *parent, struct error *err) {
    const struct job *job = s->services->job;
    cleanup_json json_t *order = input_download_order(job, s->services->environment);
    cleanup_fd int listener = -1;
    int opened = s->o.key != NULL ? add_sharing(s, parent, order, &listener, err) : 0;
    explicit_bzero(s->key, sizeof(s->key));
    if (opened != 0)
        return -1;
    const struct transfer_process_options options = {.verb = "fetch",
                                                     .order = order,
                                                     .listener = listener > 0 ? listener : 0,
                                                     .line = hear,
                                                     .mark = hear_mark,
                                                     .ended = ended,
                                                     .context = s};
    if (transfer_process_start(&s->task, s->services, &options, err) != 0)
        return -1;
    log_info("downloading %s%zu channels%s", job->sources.code != NULL ? "code and " : "",
             job->sources.count, job->settings.checkpoints != NULL ? ", checkpoints" : "");
    s->deadline.fire = late;
    loop_after(s->services->loop, &s->deadline,
               (job->settings.fetch_seconds + GRACE_SECONDS) * CLOCK_SECOND);
    return 0;
}

/* Starting after a wait: a failure has no caller, so it goes to `done`. */
static void begin(struct input_download *s, const char *parent) {
    struct error err = {0};
    s->waits = false;
    if (start_child(s, parent, &err) != 0)
        s->o.done(s->o.context, &err);
}

/* The master has not named the upstream host within the time that this host would wait for it. */
static void parent_missed(void *context) {
    struct input_download *s = context;
    log_warning(
        "the upstream host did not connect in time: downloading everything from the source");
    begin(s, NULL);
}

/* If the upstream host is not known by name, the start is put off until the master names it.
 * Success then means only that this host waits. */
int input_download_start(struct input_download *s, const struct services *services,
                         const struct input_download_options *options, struct error *err) {
    const struct cluster *c = &services->job->cluster;
    *s = (struct input_download){.services = services, .o = *options};
    s->deadline.context = s;
    if (s->o.key != NULL)
        memcpy(s->key, s->o.key, sizeof(s->key));
    if (s->o.key == NULL || cluster_is_master(c) || known_parent(c) != NULL)
        return start_child(s, NULL, err);
    s->waits = true;
    s->deadline.fire = parent_missed;
    loop_after(s->services->loop, &s->deadline, patience_of(s->services->job) * CLOCK_SECOND);
    return 0;
}

void input_download_ask(struct input_download *s, const char *address) {
    if (s->services == NULL || !s->waits)
        return;
    loop_cancel(s->services->loop, &s->deadline);
    begin(s, address);
}

void input_download_rest(struct input_download *s) {
    if (s->services != NULL && s->all_here)
        input_download_close(s);
}

/* A child that still downloads is only forgotten, and ends with the other processes. One that
 * serves others is ended at once. The key is wiped in any case. */
void input_download_close(struct input_download *s) {
    if (s->services == NULL)
        return;
    if (s->all_here)
        subprocess_signal(&s->task, SIGKILL);
    loop_cancel(s->services->loop, &s->deadline);
    subprocess_done(&s->task);
    explicit_bzero(s->key, sizeof(s->key));
    s->services = NULL;
}
