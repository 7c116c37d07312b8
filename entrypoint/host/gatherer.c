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

/* The master asks for evidence when all hosts stand still, or when a rank has failed (`gather`). A
 * child reads it, `ringmaster gather`, because reading may hang: with a debugger, a driver or a
 * full disk. The child prints one JSON object per line. Each rank's is collected in `ranks`, and
 * the last one, about files, in `total`.
 *
 * A full order is answered once, when the child ends. A quick order comes when a rank has failed
 * and the others are about to be ended. It is answered twice: with the ranks, as soon as all of
 * them are read, and with the files at the end. `answered` keeps the second answer from repeating
 * the ranks.
 *
 * One child runs at a time. An order that arrives meanwhile changes only the number, so that the
 * findings of the running child answer it. gatherer_end() ends the child with the attempt, without
 * an answer. */

/* The child has its own deadline: this one is for a child that does not keep it. It gives the child
 * time to print what it has found before it is killed. */
static const int64_t grace = CLOCK_SECOND;

/* The names of all rows that were late fit; a longer list is cut. */
enum { LATE_SIZE = 256 };

/* Each attempt has a folder of its own, so that evidence of an earlier one is not overwritten. */
static void folder_of(const struct gatherer *g, char *ret, size_t size) {
    (void)snprintf(ret, size, "%s/output/data/evidence-%u", g->services->job->settings.base_dir,
                   g->rank_set->attempt);
}

/* FAULT says why nothing, or not everything, was gathered; NULL: the child did its work. The
 * findings so far are sent in either case, as some are better than none. References to them stay
 * here. */
static void answer(struct gatherer *g, const char *fault) {
    json_t *message = message_new(MESSAGE_GATHERED);
    (void)json_object_set_new(message, "number", json_integer(g->number));
    if (g->total != NULL)
        (void)json_object_update(message, g->total);
    if (g->ranks != NULL && g->answered != g->number)
        (void)json_object_set(message, "ranks", g->ranks);
    g->answered = g->number;
    if (fault != NULL)
        (void)json_object_set_new(message, "fault", json_string_any(fault));
    g->send(g->context, message);
}

static void forget(struct gatherer *g) {
    json_decref(g->ranks);
    json_decref(g->total);
    g->ranks = g->total = NULL;
}

/* Adds the exception after which the rank of OBJECT has not ended. The child cannot know it: the
 * supervisor alone reads what ranks print. `raised` is its age in milliseconds. */
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

/* Output that is no object is for people and stays in the tail. An object with a rank is about that
 * rank, and one with files ends the report. The child runs as the programs' user, so nothing of it
 * is relied on: other objects are left alone, and the master checks what it receives. */
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

/* Lines of the child's standard error are not logged as they come. The last of them are kept in the
 * task's tail and appear in the fault. */
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

/* Logs where the files are, or that there are none. No file is written where the base directory is
 * missing, as on a machine that is no SageMaker container. */
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

/* Handlers of the signal print for a while after it was sent, which is within PERIOD. Such lines
 * say nothing about progress (rank_stillness.h), and counting them would end the standstill that is
 * being examined. The grace is added as lines may be read late. */
static void expect_echo(struct gatherer *g, int64_t period) {
    if (g->services->job->settings.evidence_signal)
        rank_stillness_echo(g->rank_set, clock_now() + period + grace);
}

/* With a code other than 0, the child's last line is its error. Findings that arrived before are
 * sent all the same. */
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

/* Returns a descriptor of sealed memory, which the child inherits. The master may shorten the time
 * of the whole, but not lengthen it beyond GATHER_ORDER_SECONDS. One host of the job is asked to
 * read NCCL's RAS, which knows all ranks, as `job` in the order says. */
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
    /* A quick answer goes out when so many ranks are read. 0 is never reached, as the count is
     * compared after a rank was added. */
    g->expected = o.quick ? o.rank_count : 0;
    return gather_order_make(&o, err);
}

/* Programs that read stacks are looked for as the ranks' own are. The child gets these variables
 * and no others of the supervisor's environment. */
static int make_environment(const struct gatherer *g, struct argv *ret, struct error *err) {
    static const char *const names[] = {"PATH", "HOME", "LD_LIBRARY_PATH"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = env_get(g->services->environment, names[i]);
        if (value != NULL && argv_set_env(ret, names[i], value, err) != 0)
            return -1;
    }
    return argv_set_env(ret, "LANG", "C.UTF-8", err);
}

/* As for a program, the user is the one that programs run as: it may inspect processes of its own,
 * and needs no rights beyond that. Standard output carries the findings, standard error words for
 * people. */
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

/* `processes` needs no child: the ranks' process IDs are known here. Everything of the last order
 * is forgotten before a child starts, even if starting fails, so that a fault is never sent with
 * old findings. */
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
    g->answered = -1;
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

/* What ranks print counts as a sign again, from now on: the attempt that was examined is over. The
 * parts of a gatherer that was never used may be zeroed. */
void gatherer_end(struct gatherer *g) {
    if (g->services == NULL)
        return;
    subprocess_signal(&g->task, SIGKILL);
    subprocess_done(&g->task);
    rank_stillness_echo(g->rank_set, 0);
    forget(g);
}
