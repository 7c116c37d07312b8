#include "entrypoint/master/uploads.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/wire/message.h"

#include <stdio.h>

/* Added to the hosts' own limit, for processes to end before and messages to arrive after. */
enum { GRACE_SECONDS = 10, SHARE = 4 };

bool uploads_wanted(const struct master *m) {
    return !m->check && upload_targets_upload(&m->s.job->settings);
}

static int64_t stop_seconds(const struct master *m) {
    return settings_stop_seconds(&m->s.job->settings, m->s.job->cluster.grace);
}

int64_t uploads_stop_budget(const struct master *m) {
    int64_t all = stop_seconds(m) * CLOCK_SECOND;
    return uploads_wanted(m) ? all - all / SHARE : all;
}

/* Returns what is left of a stop's time if one came, after a failure, too. */
static int64_t seconds_left(const struct master *m) {
    int64_t seconds = m->s.job->settings.upload_seconds;
    int64_t began = attempt_stop_began(&m->attempt);
    if (began == 0)
        return seconds;
    int64_t end = began + stop_seconds(m) * CLOCK_SECOND;
    int64_t left = (end - clock_boot()) / CLOCK_SECOND;
    left = left > 1 ? left : 1;
    return left < seconds ? left : seconds;
}

static bool is_awaited(const struct member *b) {
    return !b->lost && !b->uploaded;
}

static void end_if_all_are_done(struct master *m) {
    if (m->phase != PHASE_UPLOADING)
        return;
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (is_awaited(&m->members[i]))
            return;
    loop_cancel(&m->s.loop, &m->uploads.deadline);
    bool good = m->verdict.code == EXIT_CODE_OK && m->uploads.fault.code == 0;
    if (!good || lease_is_sure(m))
        master_raise(m, EVENT_UPLOADED);
}

static void keep_fault(struct member *b, enum exit_code code, const char *text) {
    struct master *m = b->master;
    log_error("%s: %s", member_name(b), text);
    if (m->uploads.fault.code != 0)
        return;
    (void)error_set(&m->uploads.fault, code, "%s", text);
    m->uploads.fault_host = (int)b->index;
}

static void deadline_passed(void *context) {
    struct master *m = context;
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (is_awaited(&m->members[i]))
            keep_fault(&m->members[i], EXIT_CODE_UPLOAD,
                       "the job's output was not uploaded in time");
    master_raise(m, EVENT_UPLOAD_DEADLINE);
}

void uploads_init(struct master *m) {
    m->uploads.deadline = (struct timer){.fire = deadline_passed, .context = m};
}

void uploads_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->uploads.deadline);
}

static void send_seconds(struct master *m, enum message kind, int64_t seconds, json_t *more) {
    json_t *order = message_new(kind);
    (void)json_object_set_new(order, "seconds", json_integer(seconds));
    if (more != NULL)
        (void)json_object_update(order, more);
    json_decref(more);
    master_send_all(m, order);
    loop_after(&m->s.loop, &m->uploads.deadline, (seconds + GRACE_SECONDS) * CLOCK_SECOND);
}

void uploads_begin(struct master *m) {
    const struct verdict *v = &m->verdict;
    if (v->code == EXIT_CODE_OK)
        log_info("%s; uploading its output", v->text);
    else
        log_error("%s: %s; uploading the output so far", v->class_name, v->text);
    send_seconds(m, MESSAGE_UPLOAD, seconds_left(m), verdict_json(v));
}

void uploads_receive(struct member *b, const json_t *message) {
    struct master *m = b->master;
    int64_t code = 0;
    const char *text = NULL;
    if (m->phase != PHASE_UPLOADING || b->uploaded || b->lost)
        return;
    (void)json_member_int(message, "uploaded", "code", &code, NULL);
    (void)json_member_string(message, "uploaded", "text", &text, NULL);
    if (code != 0)
        keep_fault(b, EXIT_CODE_UPLOAD, text != NULL ? text : "a fault");
    b->uploaded = true;
    end_if_all_are_done(m);
}

void uploads_lost(struct member *b, const char *why) {
    char text[128];
    if (b->master->s.job->cluster.hosts[b->index].spare) { /* it has nothing of the job's output */
        end_if_all_are_done(b->master);
        return;
    }
    (void)snprintf(text, sizeof(text), "lost while it uploaded the job's output: %.64s", why);
    keep_fault(b, EXIT_CODE_HOST_LOST, text);
    end_if_all_are_done(b->master);
}

void uploads_shorten(struct master *m) {
    int64_t seconds = stop_seconds(m);
    if (m->uploads.deadline.deadline > clock_now() + (seconds + GRACE_SECONDS) * CLOCK_SECOND)
        send_seconds(m, MESSAGE_UPLOAD_DEADLINE, seconds, NULL);
}

void uploads_end(struct master *m) {
    log_info("the time for uploads is over");
    send_seconds(m, MESSAGE_UPLOAD_DEADLINE, 0, NULL);
}

void uploads_apply(struct master *m) {
    struct verdict *v = &m->verdict;
    const struct error *fault = &m->uploads.fault;
    bool stopped = v->code == EXIT_CODE_STOPPED;
    if (fault->code == 0 || (v->code != EXIT_CODE_OK && !stopped))
        return;
    struct verdict first = *v;
    verdict_from_error(fault, &m->s.job->cluster, m->uploads.fault_host, v);
    if (stopped)
        (void)snprintf(v->log_tail, sizeof(v->log_tail), "%.600s\n%.600s", first.text,
                       first.log_tail);
}
