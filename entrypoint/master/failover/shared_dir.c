#include "entrypoint/master/failover/shared_dir.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/wire/message.h"

#include <stdio.h>
#include <string.h>

/* the host's own deadline comes first */
enum { ANSWER_SECONDS = SHARED_DIR_PROBE_SECONDS + 5 };

static size_t before(const struct master *m, size_t host) {
    return host > 0 ? host - 1 : m->s.job->cluster.count - 1;
}

static json_t *order_of(enum shared_dir_probe_step step, size_t of, const char *word) {
    json_t *message = message_new(MESSAGE_PROBE_DIR);
    (void)json_object_set_new(message, "step", json_integer(step));
    (void)json_object_set_new(message, "of", json_integer((json_int_t)of));
    (void)json_object_set_new(message, "word", json_string(word));
    return message;
}

static void order(struct master *m, size_t host, enum shared_dir_probe_step step, size_t of,
                  const char *word) {
    master_send(m, host, order_of(step, of, word));
}

static void await(struct master *m) {
    loop_after(&m->s.loop, &m->shared_dir.deadline, ANSWER_SECONDS * CLOCK_SECOND);
}

void shared_dir_begin(struct master *m) {
    m->shared_dir.step = SHARED_DIR_PROBE_WRITE;
    await(m);
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        order(m, i, SHARED_DIR_PROBE_WRITE, i, "");
}

/* This host gets the message at once: a queued message would come after the end of the job. */
void shared_dir_end(struct master *m) {
    cleanup_json json_t *own = order_of(SHARED_DIR_PROBE_REMOVE, 0, "");
    (void)json_object_set_new(own, "attempt", json_integer(m->attempt.number));
    loop_cancel(&m->s.loop, &m->shared_dir.deadline);
    executor_order(&m->s.host, own);
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        order(m, i, SHARED_DIR_PROBE_REMOVE, i, "");
}

static void go_on(struct master *m) {
    size_t count = m->s.job->cluster.count;
    for (size_t i = 0; i < count; i++)
        if (!m->members[i].probed)
            return;
    if (m->shared_dir.step == SHARED_DIR_PROBE_WRITE) {
        m->shared_dir.step = SHARED_DIR_PROBE_READ;
        m->shared_dir.asked = clock_boot();
        await(m);
        for (size_t i = 0; i < count; i++) {
            m->members[i].probed = false;
            order(m, i, SHARED_DIR_PROBE_READ, before(m, i), m->members[before(m, i)].word);
        }
        return;
    }
    /* Of two hosts the second never leads the job. */
    log_info("all hosts share the checkpoint directory%s",
             count > 2 ? ": the job can survive the loss of its first host" : "");
    master_raise(m, EVENT_DIR_SHARED);
}

/* The error names the directory, as the host sees it, and both hosts. */
static void refuse(struct member *b, const char *why) {
    struct master *m = b->master;
    const char *writer = member_name(&m->members[before(m, b->index)]);
    m->fault_host = (int)b->index;
    if (m->shared_dir.step == SHARED_DIR_PROBE_WRITE)
        (void)error_set(&m->fault, EXIT_CODE_CONFIG,
                        "RINGMASTER_FAILOVER=1 needs one checkpoint directory shared by all hosts, "
                        "but %s cannot write to it: %.400s",
                        member_name(b), why);
    else
        (void)error_set(
            &m->fault, EXIT_CODE_CONFIG,
            "RINGMASTER_FAILOVER=1 needs one checkpoint directory shared by all hosts (EFS, FSx, "
            "NFS), but %s does not find the file that %s has written: %.400s",
            member_name(b), writer, why);
    master_raise(m, EVENT_LAUNCH_FAILED);
}

/* The host answers heartbeats, but its disk does not respond. */
static void deadline_passed(void *context) {
    struct master *m = context;
    char why[64];
    (void)snprintf(why, sizeof(why), "no answer within %d s", ANSWER_SECONDS);
    for (size_t i = 0; i < m->s.job->cluster.count && m->phase == PHASE_PROBING; i++)
        if (!m->members[i].probed) {
            refuse(&m->members[i], why);
            return;
        }
}

void shared_dir_init(struct master *m) {
    m->shared_dir.deadline = (struct timer){.fire = deadline_passed, .context = m};
}

void shared_dir_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->shared_dir.deadline);
}

void shared_dir_receive(struct member *b, const json_t *message) {
    struct master *m = b->master;
    const char *fault = json_string_value(json_object_get(message, "fault"));
    const char *word = json_string_value(json_object_get(message, "word"));
    const json_t *step = json_object_get(message, "step");
    if (m->phase != PHASE_PROBING || b->probed || !json_is_integer(step) ||
        json_integer_value(step) != (json_int_t)m->shared_dir.step)
        return;
    if (fault != NULL || word == NULL || strlen(word) != SHARED_DIR_PROBE_WORD_SIZE - 1) {
        refuse(b, fault != NULL ? fault : "it gave no reason");
        return;
    }
    if (m->shared_dir.step == SHARED_DIR_PROBE_WRITE)
        (void)snprintf(b->word, sizeof(b->word), "%s", word);
    b->probed = true;
    go_on(m);
}
