#include "entrypoint/host/resource_wait.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/gpu/gpu_child.h"
#include "entrypoint/job/machine/accelerators.h"

/* The child's own limit, and what it may take to ask once more: less, with the end of all
 * processes before it, than a master waits for a host. */
enum { MEMORY_SECONDS = GPU_CHILD_MEMORY_SECONDS + 3, TOLD_MS = 100 };

static void end_if_ready(struct resource_wait *w) {
    if (w->waits_for_ports || w->waits_for_memory)
        return;
    if (w->ranks != NULL && resource_wait_unfit(w) == NULL)
        (void)xid_watch_is_dead(&w->ranks->xids, &w->ranks->kernel, &w->failure);
    w->done(w->context, w->failure.code != 0 ? &w->failure : NULL);
}

const struct error *resource_wait_unfit(const struct resource_wait *w) {
    return w->failure.code == EXIT_CODE_DEVICE ? &w->failure : NULL;
}

static void ports_free(void *context, const struct error *failure) {
    struct resource_wait *w = context;
    w->waits_for_ports = false;
    if (failure != NULL && resource_wait_unfit(w) == NULL)
        w->failure = *failure;
    end_if_ready(w);
}

static void memory_free(void *context, const json_t *found) {
    struct resource_wait *w = context;
    const char *fault = json_string_value(json_object_get(found, "fault"));
    json_int_t waited = json_integer_value(json_object_get(found, "waited"));
    const json_t *text = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(found, "busy"), i, text) {
        if (json_is_string(text))
            log_warning("memory is in use after %d s: %s; the next attempt begins all the same",
                        GPU_CHILD_MEMORY_SECONDS, json_string_value(text));
    }
    text = json_array_get(json_object_get(found, "dead"), 0);
    if (json_is_string(text))
        (void)error_set(&w->failure, EXIT_CODE_DEVICE, "%.200s", json_string_value(text));
    if (fault != NULL)
        log_warning("whether the GPUs' memory is free is not known: %s", fault);
    else if (waited > TOLD_MS && i == 0)
        log_info("the GPUs' memory was free after %lld ms", (long long)waited);
    w->waits_for_memory = false;
    end_if_ready(w);
}

static void await_memory(struct resource_wait *w, const struct services *services) {
    struct error err = {0};
    cleanup_argv struct argv environment = {0};
    const struct device_probe_options options = {.part = "memory",
                                                 .environment = &environment,
                                                 .limit = MEMORY_SECONDS * CLOCK_SECOND,
                                                 .done = memory_free,
                                                 .context = w};
    if (services->environment == NULL || accelerators_gpus("/dev") == 0)
        return;
    w->waits_for_memory =
        argv_add_all(&environment, (const char *const *)services->environment, &err) == 0 &&
        device_probe_start(&w->memory, services, &options, &err) == 0;
    if (!w->waits_for_memory)
        log_warning("whether the GPUs' memory is free is not known: %s", err.text);
}

void resource_wait_await(struct resource_wait *w, const struct services *services,
                         struct rank_set *ranks,
                         void (*done)(void *context, const struct error *failure), void *context) {
    resource_wait_cancel(w);
    *w = (struct resource_wait){
        .waits_for_ports = true, .ranks = ranks, .done = done, .context = context};
    await_memory(w, services);
    port_wait_await(&w->ports, services, PORT_WAIT_AGAIN_SECONDS, ports_free, w);
}

void resource_wait_cancel(struct resource_wait *w) {
    port_wait_cancel(&w->ports);
    device_probe_close(&w->memory);
}
