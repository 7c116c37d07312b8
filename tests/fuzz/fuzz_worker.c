/* Messages from the master to a worker: the first byte is the worker's stage ('o' its link has just
 * opened, 'j' it has joined, 'b' the job has begun, 'w' it waits for the next attempt; a capital
 * letter if a stop was requested), the rest a list of messages; those of another version are
 * delivered as such. Orders go on to its host (fuzz_executor.c). No message makes it a master, and
 * a verdict does not change once it has come. */
#include "common/json/json.h"
#include "entrypoint/host/worker/worker_state.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/frames.h"

#include <ctype.h>
#include <stdint.h>
#include <sys/wait.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTS = 3, SELF = 1, MESSAGES_MAX = 64 };

static struct worker w;
static struct job job;
static struct role_state role_state;
static int far_end;

static void send_message(void *state, json_t *message) {
    CHECK(state == &w && message != NULL);
    json_decref(message);
}

static size_t queued(void *state) {
    (void)state;
    return 0;
}

static bool may_leave(void *state) {
    (void)state;
    return true;
}

static void never(void *context) {
    (void)context;
}

static const struct role role = {.send = send_message, .queued = queued, .may_leave = may_leave};
static const struct listener_events no_listener_events = {0};

static void close_house(void) {
    boot_timer_close(&w.late);
    executor_done(&w.s.host);
    control_socket_close(&w.s.local);
    console_done(&w.s.console);
    loop_done(&w.s.loop);
    role_state_close(&role_state);
    job_done(&job);
}

/* Works only at the first call; the folder is in memory. */
static void open_house(void) {
    static char path[] = "PATH=/usr/bin:/bin", names[] = "RINGMASTER_HOSTS=a,b,c",
                self[] = "RINGMASTER_HOST=b", base[] = "SAGEMAKER_BASE_DIR=/proc/nowhere",
                failover[] = "RINGMASTER_FAILOVER=1", shrink[] = "RINGMASTER_SHRINK=1",
                restarts[] = "RINGMASTER_RESTARTS=9";
    static char *environment[] = {path, names, self, base, failover, shrink, restarts, NULL};
    static const char *const words[] = {"--", "/bin/true", NULL};
    struct supervisor *s = &w.s;
    if (s->job != NULL)
        return;
    CHECK(job_read(words, environment, &job, NULL) == 0 && job.cluster.self == SELF);
    *s = (struct supervisor){.job = &job,
                             .environment = environment,
                             .role = &role,
                             .state = &w,
                             .role_state = &role_state};
    CHECK(loop_init(&s->loop, NULL) == 0);
    CHECK(control_socket_open(&s->local, &s->loop, NULL, &no_listener_events, NULL, NULL) == 0);
    console_init(&s->console, &s->loop, frames_nowhere());
    failure_writer_open(&s->failure, &s->reaper, "/proc/nowhere");
    supervisor_share(s);
    const struct executor_options options = {
        .output_upload = &s->output_upload, .send = send_message, .queued = queued, .context = &w};
    CHECK(role_state_open(&role_state, &job, NULL) == 0);
    CHECK(executor_open(&s->host, &s->services, &options, NULL) == 0);
    CHECK(boot_timer_open(&w.late, &s->loop, never, NULL, NULL) == 0);
    w.deadline = w.announce = w.lease = (struct timer){.fire = never};
    w.search = (struct find_master){.services = &s->services,
                                    .turn = {.fire = never}}; /* this search has found the link */
    (void)atexit(close_house);
}

/* Resets the worker for the next input, at the stage AT. */
static void begin_anew(char at) {
    char stage = (char)tolower((unsigned char)at);
    role_state_close(&role_state);
    CHECK(role_state_open(&role_state, &job, NULL) == 0);
    for (size_t i = 0; i < HOSTS; i++)
        job.cluster.hosts[i].gone = false;
    w.s.judged = false;
    w.s.fault = (struct error){0};
    rank_set_clear(&w.s.host.rank_set, stage == 'w' ? 0 : 1);
    w.joined = stage == 'j' || stage == 'b' || stage == 'w';
    w.ordered = stage == 'b';
    w.waits = stage == 'w';
    w.counted = false;
    w.stopping = at != stage;
    w.begun = w.dialling = true;
    w.run[0] = '\0';
    w.link = frames_link(&w.s.loop, &worker_link_events, &w, &far_end);
}

/* Drops what was begun, which other tests cover; children end by themselves. */
static void let_go(void) {
    loop_cancel(&w.s.loop, &w.deadline);
    loop_cancel(&w.s.loop, &w.announce);
    loop_cancel(&w.s.loop, &w.lease);
    loop_cancel(&w.s.loop, &w.search.turn);
    if (w.s.sweep.running)
        loop_cancel(&w.s.loop, &w.s.sweep.timer);
    w.s.sweep.running = false;
    resource_wait_cancel(&w.s.host.resource_wait);
    shared_dir_check_close(&w.s.host.proof);
    link_free(w.link);
    w.link = NULL;
    (void)close(far_end);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* Delivers MESSAGE over the new connection by which a silent link was redialled. */
static void hear_resumed(const json_t *message) {
    static const struct link_events deaf = {0};
    int other_end;
    struct link *fresh = frames_link(&w.s.loop, &deaf, NULL, &other_end);
    redial_start(&w.redial, &w.s, w.link, &w.peer, &worker_redial_events, &w);
    w.redial.fresh = fresh;
    redial_link_events.message(&w.redial, message);
    redial_stop(&w.redial);
    (void)close(other_end);
}

static void hear(const json_t *message) {
    bool judged = w.s.judged;
    int code = w.s.verdict.code;
    if (!frames_heard("worker", message))
        return;
    if (strcmp(frame_type(message), "resumed") == 0)
        hear_resumed(message);
    else if (json_integer_value(json_object_get(message, "v")) == FRAME_VERSION)
        worker_link_events.message(&w, message);
    else
        worker_link_events.foreign(&w, message);
    CHECK(!judged || (w.s.judged && w.s.verdict.code == code));
    CHECK(!w.waits || w.joined);
    CHECK(w.run[0] == '\0' || strlen(w.run) == ATTEMPT_RUN_SIZE - 1);
    CHECK(job.cluster.self == SELF && !job.cluster.hosts[0].gone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *said = NULL;
    if (size == 0 || json_parse((const char *)data + 1, size - 1, "words", &said, NULL) != 0)
        return 0;
    check_without_log();
    open_house();
    begin_anew((char)data[0]);
    /* A closed link delivers nothing. */
    for (size_t i = 0; w.link != NULL && i < json_array_size(said) && i < MESSAGES_MAX; i++)
        if (json_is_object(json_array_get(said, i)))
            hear(json_array_get(said, i));
    let_go();
    json_decref(said);
    return 0;
}
