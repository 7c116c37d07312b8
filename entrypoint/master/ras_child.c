#include "entrypoint/master/ras_child.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/evidence/ras_client.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/master/ras_finding.h"
#include "entrypoint/master/standing.h"

#include <limits.h>
#include <signal.h>

void ras_child_line(void *master, const char *line, size_t size) {
    struct master *m = master;
    cleanup_json json_t *found = NULL;
    if (size == 0 || line[0] != '{' || json_parse(line, size, "RAS", &found, NULL) != 0)
        return;
    if (json_object_size(found) == 0) {
        ras_finding_drop(m);
        if (m->standing.is_reported)
            standing_goes_on(m);
        return;
    }
    if (!m->standing.is_reported)
        ras_finding_take(m, found);
    int64_t seconds = json_integer_value(json_object_get(found, "seconds"));
    if (m->standing.is_reported && seconds >= 0 && seconds < INT64_MAX / CLOCK_SECOND)
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
    if (!m->s.job->settings.evidence || a->ranks < 2 || !attempt_all_started(a) ||
        m->standing.ras.running)
        return;
    const char *address = ras_client_address(m->s.environment, accelerators_gpus("/dev") > 0);
    if (address != NULL && start(m, address, &err) != 0)
        log_warning("NCCL is not asked which operation is stuck: %s", err.text);
}

void ras_child_end(struct master *m) {
    ras_finding_drop(m);
    if (m->standing.ras.loop == NULL)
        return;
    subprocess_signal(&m->standing.ras, SIGKILL);
    subprocess_done(&m->standing.ras);
}
