/* What processes of this container say on its socket, a JSON message a line. The first one is
 * 'h' and a shim's hello, which comes with the pipes of a program, and then what that shim says, or
 * 'a' and what an agent of mpirun's asks for. A rank sits on its host, once, and reports are about
 * it; an agent waits for a host that mpirun starts a daemon on. */
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/master/launch.h"
#include "entrypoint/master/launch_mpirun.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/frames.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTS = 2, SLOTS = 2, MESSAGES_MAX = 32 };

static struct loop loop;
static struct rank_set rank_set;
static struct services services;
static unsigned reports;
static unsigned rank_starts;

static void tell(void *context, json_t *message) {
    struct rank_report r;
    (void)context;
    CHECK(message != NULL);
    if (strcmp(frame_type(message), "report") == 0) {
        CHECK(rank_report_parse(message, HOSTS * SLOTS, HOSTS, &r, NULL) == 0);
        CHECK(r.host == 1 && r.rank >= SLOTS);
        reports++;
    }
    rank_starts += strcmp(frame_type(message), "rank_started") == 0;
    json_decref(message);
}

static void drop_line(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

/* As the listener does it. */
static struct link *shim_link;
static bool arrived;
static void hear(void *context, const json_t *message) {
    (void)context;
    arrived = true;
    rank_set_register(&rank_set, shim_link, message);
}
static void leave(void *context, const struct error *why) {
    (void)context;
    (void)why;
    link_free(shim_link);
    arrived = true;
}
static const struct link_events shim_events = {.message = hear, .closed = leave};

static void end_loop(void *context) {
    loop_end(context);
}

static void turn(void) {
    struct timer end = {.fire = end_loop, .context = &loop};
    loop.ended = false;
    loop_after(&loop, &end, CLOCK_MILLISECOND);
    CHECK(loop_run(&loop, NULL) == 0);
}

static void say(int fd, const json_t *message) {
    struct buf wire;
    buf_init(&wire, (size_t)FRAME_MAX * 2);
    if (frame_put(&wire, message, NULL) == 0)
        (void)send(fd, wire.data, wire.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_done(&wire);
}

/* The lines of TEXT as messages; how many there are. */
static size_t read_messages(const char *text, size_t size, json_t *ret[MESSAGES_MAX]) {
    size_t count = 0;
    for (const char *end = text + size; text < end && count < MESSAGES_MAX;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop != NULL ? stop : end) - text);
        json_t *message = NULL;
        if (json_parse(text, length, "a message", &message, NULL) == 0) {
            json_t *frame = json_pack("{s:i}", "v", FRAME_VERSION); /* which comes first */
            (void)json_object_del(message, "v");
            (void)json_object_update(frame, message);
            json_decref(message);
            ret[count++] = frame;
        }
        text += length + 1;
    }
    return count;
}

static void open_rank_set(struct job *job) {
    static char path[] = "PATH=/usr/bin:/bin", names[] = "RINGMASTER_HOSTS=a:2,b:2",
                self[] = "RINGMASTER_HOST=b", stall[] = "RINGMASTER_STALL_SECONDS=0";
    static char *environment[] = {path, names, self, stall, NULL};
    static const char *const words[] = {"--", "/bin/true", NULL};
    const struct rank_sinks sinks = {.send = tell, .line = drop_line};
    CHECK(job_read(words, environment, job, NULL) == 0 && loop_init(&loop, NULL) == 0);
    services = (struct services){.loop = &loop, .job = job, .environment = environment};
    CHECK(rank_set_open(&rank_set, &services, &sinks, NULL) == 0);
    reports = rank_starts = 0;
    arrived = false;
}

static void try_shim(json_t *const *messages, size_t count) {
    static struct job job;
    int ends[2];
    int out[2];
    open_rank_set(&job);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 && pipe(out) == 0);
    shim_link = link_new(&loop, ends[0], NULL, true, &shim_events, NULL, NULL);
    CHECK(shim_link != NULL);
    const int pipes[] = {out[0], out[0]};
    (void)frames_heard("supervisor", messages[0]);
    if (link_send_fds(ends[1], messages[0], pipes, 2, NULL) == 0)
        turn();
    size_t taken = rank_set.slots != NULL;
    for (size_t i = 1; taken && i < count; i++) {
        (void)frames_heard("supervisor", messages[i]);
        say(ends[1], messages[i]);
    }
    turn();
    CHECK(rank_set.slots == NULL ||
          (rank_set.slots->next == NULL && rank_set.slots->rank >= SLOTS &&
           rank_set.slots->rank < HOSTS * SLOTS));
    CHECK(!rank_set.started && rank_starts == 0 && reports <= taken * count);
    (void)close(ends[1]);
    turn(); /* and a shim that has sent nothing has vanished */
    CHECK(!taken || reports > 0);
    if (!arrived)
        link_free(shim_link);
    rank_set_done(&rank_set);
    loop_done(&loop);
    job_done(&job);
    (void)close(out[0]);
    (void)close(out[1]);
}

static void never(struct master *m, const struct raised *what) {
    (void)m;
    (void)what;
}

static void try_agent(json_t *message) {
    struct cluster_host hosts[HOSTS] = {{.slots = 1}, {.slots = 1}};
    struct member members[HOSTS] = {{0}};
    struct job job = {.cluster = {.hosts = hosts, .count = HOSTS}};
    struct master m = {
        .s = {.job = &job}, .members = members, .phase = PHASE_RUNNING, .raise = never};
    static const struct link_events deaf = {0};
    int ends[2];
    CHECK(net_address_parse("10.0.0.1", &hosts[0].address));
    CHECK(net_address_parse("10.0.0.2", &hosts[1].address));
    for (size_t i = 0; i < HOSTS; i++)
        members[i] = (struct member){.master = &m, .index = i};
    CHECK(loop_init(&m.s.loop, NULL) == 0 && attempt_open(&m.attempt, 1, &job.cluster, NULL) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    struct link *link = link_new(&m.s.loop, ends[0], NULL, true, &deaf, NULL, NULL);
    CHECK(link != NULL);
    (void)frames_heard("supervisor", message);
    launch_agent(&m, link, message); /* whatever its type is */
    CHECK(members[0].agent == NULL);
    CHECK(members[1].agent == NULL ||
          (json_is_string(json_object_get(message, "command")) &&
           json_integer_value(json_object_get(message, "attempt")) == 1));
    launch_close(&m);
    attempt_done(&m.attempt);
    loop_done(&m.s.loop);
    (void)close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *messages[MESSAGES_MAX];
    if (size == 0)
        return 0;
    check_without_log();
    size_t count = read_messages((const char *)data + 1, size - 1, messages);
    if (count > 0 && data[0] == 'h')
        try_shim(messages, count);
    else if (count > 0 && data[0] == 'a')
        try_agent(messages[0]);
    for (size_t i = 0; i < count; i++)
        json_decref(messages[i]);
    return 0;
}
