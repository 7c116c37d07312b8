#include "entrypoint/host/gatherer.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/evidence/flight_recorder.h"
#include "entrypoint/evidence/gather_order.h"
#include "entrypoint/evidence/ras_client.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/host/ranks/rank_owners.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/ranks/rank_stillness.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/wire/message.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The child has its own deadline: this one is for a child that does not keep it. */
static const int64_t grace = CLOCK_SECOND;

enum { LATE_SIZE = 256 };

static void folder_of(const struct gatherer *g, char *ret, size_t size) {
    (void)snprintf(ret, size, "%s/output/data/evidence-%u", g->services->job->settings.base_dir,
                   g->rank_set->attempt);
}

static void answer(struct gatherer *g, const char *fault) {
    json_t *message = message_new(MESSAGE_GATHERED);
    (void)json_object_set_new(message, "number", json_integer(g->number));
    if (g->total != NULL)
        (void)json_object_update(message, g->total);
    if (g->ranks != NULL && g->told != g->number)
        (void)json_object_set(message, "ranks", g->ranks);
    g->told = g->number;
    if (fault != NULL)
        (void)json_object_set_new(message, "fault", json_string_any(fault));
    g->send(g->context, message);
}

static void forget(struct gatherer *g) {
    json_decref(g->ranks);
    json_decref(g->total);
    g->ranks = g->total = NULL;
}

/* Adds the exception after which the rank of OBJECT has not ended. */
static void add_exception(const struct gatherer *g, json_t *object) {
    char text[TRACEBACK_TEXT_SIZE];
    json_int_t rank = json_integer_value(json_object_get(object, "rank"));
    int64_t ago = rank >= 0 && rank <= UINT_MAX
                      ? rank_set_exception(g->rank_set, (unsigned)rank, clock_now(), text)
                      : 0;
    if (ago == 0)
        return;
    (void)json_object_set_new(object, "exception", json_string_any(text));
    (void)json_object_set_new(object, "raised", json_integer(ago / CLOCK_MILLISECOND));
}

/* Output that is no object is for people and stays in the tail. */
static void take_line(void *context, const char *line, size_t size) {
    struct gatherer *g = context;
    cleanup_json json_t *object = NULL;
    if (size == 0 || line[0] != '{' ||
        json_parse(line, size, "what was gathered", &object, NULL) != 0)
        return;
    if (json_object_get(object, "rank") != NULL) {
        add_exception(g, object);
        (void)json_array_append(g->ranks, object);
        if (json_array_size(g->ranks) == g->expected)
            answer(g, NULL);
    } else if (json_object_get(object, "files") != NULL)
        (void)json_object_update(g->total, object);
}

static void drop_line(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

/* Lists the rows that were ended at their limit, "; not in time: gpus", or nothing. */
static void list_late(const struct gatherer *g, char ret[LATE_SIZE]) {
    const json_t *late = json_object_get(g->total, "late");
    ret[0] = '\0';
    for (size_t i = 0; i < json_array_size(late); i++) {
        const char *name = json_string_value(json_array_get(late, i));
        const size_t used = strlen(ret);
        if (name != NULL && strstr(ret, name) == NULL)
            (void)snprintf(ret + used, LATE_SIZE - used, "%s%.32s",
                           i == 0 ? "; not in time: " : ", ", name);
    }
}

static void say(const struct gatherer *g) {
    char folder[PATH_MAX];
    char late[LATE_SIZE];
    json_int_t files = json_integer_value(json_object_get(g->total, "files"));
    json_int_t bytes = json_integer_value(json_object_get(g->total, "bytes"));
    json_int_t milliseconds = json_integer_value(json_object_get(g->total, "milliseconds"));
    folder_of(g, folder, sizeof(folder));
    list_late(g, late);
    if (files == 0)
        log_info("evidence: no file was written to %s after %lld.%lld s%s", folder,
                 (long long)(milliseconds / 1000), (long long)(milliseconds % 1000 / 100), late);
    else
        log_info("evidence: %lld file%s, %lld KiB in %s after %lld.%lld s%s", (long long)files,
                 STR_PLURAL(files), (long long)((bytes + 1023) / 1024), folder,
                 (long long)(milliseconds / 1000), (long long)(milliseconds % 1000 / 100), late);
}

/* Handlers of the signal print for a while after it was sent, which is within PERIOD. */
static void expect_echo(struct gatherer *g, int64_t period) {
    if (g->services->job->settings.evidence_signal)
        rank_stillness_echo(g->rank_set, clock_now() + period + grace);
}

static void ended(void *context, int code) {
    struct gatherer *g = context;
    char fault[sizeof(g->task.tail.text) + 64];
    const char *end = strrchr(g->task.tail.text, '\n');
    (void)snprintf(fault, sizeof(fault), "code %d%s%s", code,
                   g->task.tail.text[0] != '\0' ? ": " : "",
                   end != NULL ? end + 1 : g->task.tail.text);
    if (code == 0)
        say(g);
    else
        log_warning("evidence was not gathered: %s", fault);
    expect_echo(g, 0);
    answer(g, code == 0 ? NULL : fault);
    forget(g);
}

static int make_order(struct gatherer *g, const json_t *order, struct error *err) {
    const struct job *job = g->services->job;
    static struct gather_order o; /* too large for the stack */
    o = (struct gather_order){.milliseconds = GATHER_ORDER_SECONDS * 1000,
                              .signal = job->settings.evidence_signal ? SIGUSR2 : 0,
                              .quick = json_is_true(json_object_get(order, "quick"))};
    folder_of(g, o.folder, sizeof(o.folder));
    (void)snprintf(o.base, sizeof(o.base), "%s", job->settings.base_dir);
    (void)snprintf(o.host, sizeof(o.host), "%s", job->cluster.hosts[job->cluster.self].name.text);
    int64_t milliseconds = json_integer_value(json_object_get(order, "milliseconds"));
    if (milliseconds > 0 && milliseconds < o.milliseconds)
        o.milliseconds = milliseconds;
    struct flight_recorder recorder;
    environment_recorder(g->services, &recorder);
    (void)snprintf(o.recorder, sizeof(o.recorder), "%s", recorder.file);
    (void)snprintf(o.fifo, sizeof(o.fifo), "%s", recorder.fifo);
    o.gpus = accelerators_gpus("/dev") > 0;
    const char *ras = ras_client_address(g->services->environment, o.gpus);
    if (ras != NULL && json_is_true(json_object_get(order, "job")))
        (void)snprintf(o.ras, sizeof(o.ras), "%s", ras);
    o.rank_count = rank_stillness_list(g->rank_set, o.ranks, GATHER_ORDER_RANKS_MAX);
    g->expected = o.quick ? o.rank_count : 0;
    return gather_order_make(&o, err);
}

/* Programs that read stacks are looked for as the ranks' own are. */
static int make_environment(const struct gatherer *g, struct argv *ret, struct error *err) {
    static const char *const names[] = {"PATH", "HOME", "LD_LIBRARY_PATH"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = env_get(g->services->environment, names[i]);
        if (value != NULL && argv_set_env(ret, names[i], value, err) != 0)
            return -1;
    }
    return argv_set_env(ret, "LANG", "C.UTF-8", err);
}

static int start(struct gatherer *g, const json_t *order, struct error *err) {
    char self[PATH_MAX];
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    cleanup_fd int fd = make_order(g, order, err);
    if (fd < 0 || file_self(self, sizeof(self), err) != 0 || argv_add(&argv, self, err) != 0 ||
        argv_add(&argv, "gather", err) != 0 || argv_printf(&argv, err, "%d", fd) != 0 ||
        make_environment(g, &environment, err) != 0)
        return -1;
    const struct subprocess_options options = {.prefix = "",
                                               .line = drop_line,
                                               .mark = take_line,
                                               .ended = ended,
                                               .context = g,
                                               .limit = GATHER_ORDER_SECONDS * CLOCK_SECOND + grace,
                                               .keep = {fd},
                                               .as_user = true};
    return subprocess_start(&g->task, g->services->loop, g->services->reaper, &argv, &environment,
                            &options, err);
}

void gatherer_start(struct gatherer *g, const json_t *order) {
    struct error err = {0};
    if (message_kind(order) == MESSAGE_PROCESSES) {
        g->send(g->context, rank_owners_answer(g->rank_set, order));
        return;
    }
    g->number = json_integer_value(json_object_get(order, "number"));
    if (g->task.running)
        return;
    forget(g);
    g->told = -1;
    g->ranks = json_array();
    g->total = json_object();
    if (start(g, order, &err) == 0) {
        expect_echo(g, GATHER_ORDER_SECONDS * CLOCK_SECOND + grace);
        return;
    }
    log_warning("evidence was not gathered: %s", err.text);
    answer(g, err.text);
    forget(g);
}

void gatherer_end(struct gatherer *g) {
    if (g->services == NULL)
        return;
    subprocess_signal(&g->task, SIGKILL);
    subprocess_done(&g->task);
    rank_stillness_echo(g->rank_set, 0);
    forget(g);
}
