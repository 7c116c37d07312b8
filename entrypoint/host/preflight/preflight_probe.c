#include "entrypoint/host/preflight/preflight_probe.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/system/sealed_memfd.h"
#include "entrypoint/host/preflight/net_plugin.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/wire/listener.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Three children may run at once: the examination itself, and one for each part that a driver or
 * library may stall (`parts`). `running` counts those that have not ended, and the last one to end
 * calls `done`. What each has printed until then counts, even if it is killed at its limit.
 *
 * The children run as the user of programs, so that they see what programs will see. */

/* Ports for MPI data are free during a check, as no rank runs, and firewalls that let a job pass
 * let them pass. On failure the error is that of the last port, and the host takes part without
 * being reachable. */
int preflight_probe_listen(struct preflight_probe *e, const struct net_address *address,
                           const struct ports *ports, uint16_t *ret_port, struct error *err) {
    for (unsigned i = 0; i < ports->data_count; i++) {
        uint16_t port = (uint16_t)(ports->data + i);
        int fd = listener_listen(address, port, LISTENER_CONTROL, err);
        if (fd < 0)
            continue;
        e->listener = fd;
        *ret_port = port;
        return 0;
    }
    return -1;
}

/* Parses a line of the child's output. Results are objects; other output, and half a line of a
 * child that was killed, are ignored. Each object has members of its own, so later ones replace
 * nothing. */
static void take_line(void *context, const char *line, size_t size) {
    struct preflight_probe *e = context;
    json_t *object = NULL;
    if (size > 0 && line[0] == '{' && json_parse(line, size, "what was found", &object, NULL) == 0)
        (void)json_object_update(e->found, object);
    json_decref(object);
}

static void end_one(struct preflight_probe *e) {
    if (--e->running == 0)
        e->done(e->context, e->found);
}

/* Adds the child's failure, whatever it reported before, because its last check is incomplete. Its
 * last line may be a result rather than a message for people. `fault` is for people. */
static void add_fault(struct preflight_probe *e, int code) {
    char text[sizeof(e->task.tail.text) + 64];
    const char *end = strrchr(e->task.tail.text, '\n');
    const char *said = end != NULL ? end + 1 : e->task.tail.text;
    bool has_words = said[0] != '\0' && said[0] != '{';
    (void)snprintf(text, sizeof(text), "%s: code %d%s%s",
                   json_object_size(e->found) > 0 ? "its examination did not end in time"
                                                  : "it cannot be examined",
                   code, has_words ? ": " : "", has_words ? said : "");
    (void)json_object_set_new(e->found, "fault", json_string_any(text));
}

/* Without `means` the child ended before its resources were printed, whatever its code. */
static void ended(void *context, int code) {
    struct preflight_probe *e = context;
    if (code != 0 || json_object_get(e->found, "means") == NULL)
        add_fault(e, code);
    end_one(e);
}

/* FOUND belongs to one of the parts, which is found by comparing pointers. Its whole object is
 * merged, as its member has the name of the part. */
static void part_done(void *context, const json_t *found) {
    struct preflight_probe *e = context;
    for (size_t i = 0; i < PREFLIGHT_PROBE_PARTS; i++)
        if (found != NULL && json_object_get(e->parts[i].found, e->parts[i].part) == found)
            (void)json_object_update(e->found, e->parts[i].found);
    end_one(e);
}

/* A part that cannot be started has its fault among the findings, and the others continue. */
static void start_part(struct preflight_probe *e, struct device_probe *part, const char *name,
                       const struct argv *environment) {
    const struct device_probe_options options = {.part = name,
                                                 .environment = environment,
                                                 .limit = PREFLIGHT_PROBE_MS * CLOCK_MILLISECOND,
                                                 .done = part_done,
                                                 .context = e};
    struct error err = {0};
    if (device_probe_start(part, e->services, &options, &err) == 0)
        e->running++;
    else
        (void)json_object_set_new(e->found, name,
                                  json_pack("{s:o}", "fault", json_string_any(err.text)));
}

/* Both parts need the environment of ranks: LD_LIBRARY_PATH decides which library is loaded. A part
 * that this machine does not need is left out, and its member is missing. */
static void start_parts(struct preflight_probe *e, const struct argv *environment) {
    if (environment != NULL && net_plugin_is_needed("", environment->items))
        start_part(e, &e->parts[0], "plugin", environment);
    if (environment != NULL && accelerators_gpus("/dev") > 0)
        start_part(e, &e->parts[1], "gpus", environment);
}

/* Pairs of name and address, in the form that data_look.h takes. */
static json_t *sources_json(const struct download_sources *s) {
    json_t *list = json_array();
    for (size_t i = 0; i < s->count; i++)
        (void)json_array_append_new(
            list, json_pack("[s, s]", s->channels[i].name, s->channels[i].address));
    return list;
}

/* Returns a descriptor of sealed memory: the master's order, with what this host alone knows. */
static int make_order(const struct job *job, const struct preflight_probe_options *o,
                      struct error *err) {
    cleanup_json json_t *order = json_deep_copy(o->order);
    (void)json_object_set_new(order, "base", json_string(job->settings.base_dir));
    (void)json_object_set_new(order, "sources", sources_json(&job->sources));
    (void)json_object_set_new(order, "interface", json_string(o->interface));
    (void)json_object_set_new(order, "self", json_integer((json_int_t)job->cluster.self));
    cleanup_free char *text = order != NULL ? json_dumps(order, JSON_COMPACT) : NULL;
    if (text == NULL)
        return error_no_memory(err, "an order");
    return sealed_memfd_make("what is to be looked at", text, strlen(text), err);
}

/* On failure nothing runs and DONE is not called; the caller reports the error. E counts as used in
 * any case, so that a second order starts no other examination. */
int preflight_probe_start(struct preflight_probe *e, const struct services *services,
                          const struct preflight_probe_options *o, struct error *err) {
    char self[PATH_MAX];
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    cleanup_fd int order = make_order(services->job, o, err);
    e->services = services;
    e->done = o->done;
    e->context = o->context;
    /* All findings are merged into one object, which becomes one message. */
    e->found = json_object();
    if (order < 0 || file_self(self, sizeof(self), err) != 0 || argv_add(&argv, self, err) != 0 ||
        argv_add(&argv, "examine", err) != 0 || argv_printf(&argv, err, "%d", order) != 0 ||
        argv_printf(&argv, err, "%d", e->listener) != 0 ||
        argv_set_env(&environment, "LANG", "C.UTF-8", err) != 0)
        return -1;
    /* Two descriptors are kept open in the child, under the numbers that its arguments name. */
    const struct subprocess_options options = {.prefix = "",
                                               .line = take_line,
                                               .ended = ended,
                                               .context = e,
                                               .limit = PREFLIGHT_PROBE_MS * CLOCK_MILLISECOND,
                                               .keep = {order, e->listener},
                                               .as_user = true};
    if (subprocess_start(&e->task, services->loop, services->reaper, &argv, &environment, &options,
                         err) != 0)
        return -1;
    /* The main child; start_part() adds the others. */
    e->running = 1;
    start_parts(e, o->environment);
    return 0;
}

/* Children that still run are forgotten. The listener may be open without them, if the host has
 * joined and was never examined. */
void preflight_probe_close(struct preflight_probe *e) {
    if (e->listener > 0)
        (void)close(e->listener);
    e->listener = 0;
    if (e->services == NULL)
        return;
    for (size_t i = 0; i < PREFLIGHT_PROBE_PARTS; i++)
        device_probe_close(&e->parts[i]);
    subprocess_done(&e->task);
    json_decref(e->found);
    e->found = NULL;
}
