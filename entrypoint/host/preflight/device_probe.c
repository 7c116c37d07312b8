#include "entrypoint/host/preflight/device_probe.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>

static void take_line(void *context, const char *line, size_t size) {
    struct device_probe *p = context;
    json_t *object = NULL;
    if (size > 0 && line[0] == '{' && json_parse(line, size, "what was found", &object, NULL) == 0)
        (void)json_object_update(p->found, object);
    json_decref(object);
}

static json_t *fault_of(const struct device_probe *p, int code) {
    char text[128];
    if (p->task.late)
        (void)snprintf(text, sizeof(text), "no answer within %.1f s",
                       (double)p->limit / (double)CLOCK_SECOND);
    else if (p->task.signal != 0)
        (void)snprintf(text, sizeof(text), "the process that asked for it died of signal %d",
                       p->task.signal);
    else
        (void)snprintf(text, sizeof(text), "the process that asked for it ended with code %d",
                       code);
    return json_pack("{s:o, s:b}", "fault", json_string_any(text), "lost", 1);
}

static void ended(void *context, int code) {
    struct device_probe *p = context;
    if (json_object_get(p->found, p->part) == NULL)
        (void)json_object_set_new(p->found, p->part, fault_of(p, code));
    p->done(p->context, json_object_get(p->found, p->part));
}

int device_probe_start(struct device_probe *p, const struct services *services,
                       const struct device_probe_options *o, struct error *err) {
    char self[PATH_MAX];
    cleanup_argv struct argv argv = {0};
    *p = (struct device_probe){.part = o->part,
                               .limit = o->limit,
                               .found = json_object(),
                               .done = o->done,
                               .context = o->context};
    const struct subprocess_options options = {.prefix = "",
                                               .line = take_line,
                                               .ended = ended,
                                               .context = p,
                                               .limit = o->limit,
                                               .as_user = true};
    if (file_self(self, sizeof(self), err) != 0 || argv_add(&argv, self, err) != 0 ||
        argv_add(&argv, "examine", err) != 0 || argv_add(&argv, o->part, err) != 0)
        return -1;
    return subprocess_start(&p->task, services->loop, services->reaper, &argv, o->environment,
                            &options, err);
}

void device_probe_close(struct device_probe *p) {
    if (p->part == NULL)
        return;
    subprocess_signal(&p->task, SIGKILL);
    subprocess_done(&p->task);
    json_decref(p->found);
    *p = (struct device_probe){0};
}
