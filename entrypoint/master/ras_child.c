#include "entrypoint/master/ras_child.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/evidence/ras_client.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/master/standing.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { WORD_SIZE = 64 };

/* Returns the host's name for what NCCL calls it, an address or a name. */
static const char *host_of(const struct master *m, const char *text) {
    struct net_address address;
    const struct cluster *c = &m->s.job->cluster;
    bool is_address = net_address_parse(text, &address);
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->hosts[i].name.text, text) == 0 ||
            (is_address && net_address_equal(&c->hosts[i].address, &address)))
            return c->hosts[i].name.text;
    return text;
}

static void take_word(const json_t *value, char ret[WORD_SIZE]) {
    const char *text = json_string_value(value);
    rank_report_clean(text != NULL ? text : "", ret, WORD_SIZE);
}

static int64_t number(const json_t *found, const char *key) {
    return json_integer_value(json_object_get(found, key));
}

/* Lists the ranks that have not come, as far as RAS tells them: "rank 3 on algo-2 (process 71)".
 * Ranks of a communicator that has all ranks of the job are the job's. */
static void add_ranks(const struct master *m, const json_t *found, struct stuck_finding *ret) {
    const json_t *behind = json_object_get(found, "late");
    bool is_world = number(found, "size") == (int64_t)m->attempt.ranks;
    for (size_t i = 0; i < json_array_size(behind); i++) {
        char host[WORD_SIZE];
        size_t used = strlen(ret->text);
        const json_t *item = json_array_get(behind, i);
        int64_t rank = json_integer_value(json_array_get(item, 0));
        int64_t pid = json_integer_value(json_array_get(item, 1));
        take_word(json_array_get(item, 2), host);
        if (is_world && ret->rank < 0 && rank >= 0 && rank < (int64_t)m->attempt.ranks)
            ret->rank = (int)rank;
        (void)snprintf(ret->text + used, sizeof(ret->text) - used, "%s%s %lld on %s (process %lld)",
                       i == 0 ? ": " : ", ", is_world ? "rank" : "its rank", (long long)rank,
                       host_of(m, host), (long long)pid);
    }
}

static void describe(const struct master *m, const json_t *found, struct stuck_finding *ret) {
    char communicator[WORD_SIZE];
    char operation[WORD_SIZE];
    int64_t count = number(found, "count");
    int64_t size = number(found, "size");
    char of[32] = "";
    const char *plural = STR_PLURAL(size > 0 ? size : count);
    take_word(json_object_get(found, "communicator"), communicator);
    take_word(json_object_get(found, "operation"), operation);
    if (size > 0)
        (void)snprintf(of, sizeof(of), " of %lld", (long long)size);
    *ret = (struct stuck_finding){.rank = -1, .other = -1};
    if (operation[0] == '\0')
        (void)snprintf(ret->text, sizeof(ret->text),
                       "NCCL hears nothing of %lld%s rank%s of communicator %s", (long long)count,
                       of, plural, communicator);
    else
        (void)snprintf(ret->text, sizeof(ret->text),
                       "NCCL's %s number %lld of communicator %s waits for %lld%s rank%s",
                       operation, (long long)number(found, "ahead"), communicator, (long long)count,
                       of, plural);
    add_ranks(m, found, ret);
}

void ras_child_line(void *master, const char *line, size_t size) {
    struct master *m = master;
    struct stuck_finding finding;
    cleanup_json json_t *found = NULL;
    if (size == 0 || line[0] != '{' || json_parse(line, size, "RAS", &found, NULL) != 0)
        return;
    if (json_object_size(found) == 0) {
        if (m->standing.is_told)
            standing_goes_on(m);
        return;
    }
    if (!m->standing.is_told) {
        describe(m, found, &finding);
        standing_found(m, &finding);
    }
    int64_t seconds = number(found, "seconds");
    if (m->standing.is_told && seconds >= 0 && seconds < INT64_MAX / CLOCK_SECOND)
        standing_lasts(m, seconds * CLOCK_SECOND);
}

static void drop_line(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

static void ended(void *context, int code) {
    const struct master *m = context;
    log_warning("NCCL is not asked any more which operation is stuck: code %d: %.256s", code,
                m->standing.ras.tail.text);
}

static int start(struct master *m, const char *address, struct error *err) {
    char self[PATH_MAX];
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    if (file_self(self, sizeof(self), err) != 0 || argv_add(&argv, self, err) != 0 ||
        argv_add(&argv, "ras", err) != 0 || argv_add(&argv, address, err) != 0 ||
        argv_set_env(&environment, "LANG", "C.UTF-8", err) != 0)
        return -1;
    const struct subprocess_options options = {.prefix = "",
                                               .line = drop_line,
                                               .mark = ras_child_line,
                                               .ended = ended,
                                               .context = m,
                                               .as_user = true};
    return subprocess_start(&m->standing.ras, &m->s.loop, &m->s.reaper, &argv, &environment,
                            &options, err);
}

void ras_child_begin(struct master *m) {
    struct error err = {0};
    const struct attempt *a = &m->attempt;
    if (!m->s.job->settings.evidence || a->ranks < 2 || !attempt_is_seated(a) ||
        m->standing.ras.running)
        return;
    const char *address = ras_client_address(m->s.environment, accelerators_gpus("/dev") > 0);
    if (address != NULL && start(m, address, &err) != 0)
        log_warning("NCCL is not asked which operation is stuck: %s", err.text);
}

void ras_child_end(struct master *m) {
    if (m->standing.ras.loop == NULL)
        return;
    subprocess_signal(&m->standing.ras, SIGKILL);
    subprocess_done(&m->standing.ras);
}
