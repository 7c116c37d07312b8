#include "entrypoint/master/members/lease.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* A master that looks after nobody else. */
static struct job alone = {.cluster = {.count = 1}};
static struct master nobody = {.s = {.job = &alone}};

static void alive(struct member *b, int64_t trip, int64_t ahead) {
    json_t *message = frame_new("alive");
    int64_t now = clock_boot();
    (void)json_object_set_new(message, "echo", json_integer(now - trip));
    (void)json_object_set_new(message, "time", json_integer(now - trip / 2 + ahead));
    lease_alive(b, message);
    json_decref(message);
}

/* A host with a clock 5 s ahead; the slow heartbeat would give a wrong offset. */
static void the_fastest_heartbeat_tells_the_clocks_apart(void) {
    struct member b = {.master = &nobody};
    held_clock_begin();
    alive(&b, 2 * CLOCK_MILLISECOND, 5 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(b.offset, 5 * CLOCK_SECOND);
    alive(&b, 60 * CLOCK_SECOND, 9 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(b.offset, 5 * CLOCK_SECOND);
    held_clock_end();
}

static void nonsense_is_left_alone(void) {
    struct member b = {.master = &nobody};
    alive(&b, -5 * CLOCK_SECOND, 0);
    CU_ASSERT_EQUAL(b.trip, 0);
    json_t *message = frame_new("alive");
    lease_alive(&b, message);
    (void)json_object_set_new(message, "echo", json_string("soon"));
    lease_alive(&b, message);
    json_decref(message);
    CU_ASSERT_EQUAL(b.trip, 0);
    CU_ASSERT_EQUAL(b.offset, 0);
    alive(&b, CLOCK_MILLISECOND, INT64_MIN / 2);
    alive(&b, CLOCK_MILLISECOND, INT64_MAX / 2);
    CU_ASSERT_EQUAL(b.trip, 0);
    CU_ASSERT_EQUAL(b.offset, 0);
}

/* A master of COUNT hosts in the middle of attempt 1 that may be followed. */
static struct cluster_host hosts[8];
static struct job job;
static struct role_state role_state;
static struct member members[8];
static struct master m;

static int64_t dead = 10; /* seconds */

static void set_up(size_t count) {
    struct error err;
    for (size_t i = 0; i < count; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        members[i] = (struct member){.master = &m, .index = i};
    }
    job = (struct job){.settings = {.failover = true, .dead_seconds = dead},
                       .cluster = {.hosts = hosts, .count = count}};
    CU_ASSERT_EQUAL_FATAL(role_state_open(&role_state, &job, &err), 0);
    m = (struct master){
        .s = {.job = &job, .role_state = &role_state}, .members = members, .phase = PHASE_RUNNING};
}

/* Returns whether the lease is out if, of COUNT hosts, those in the bits ANSWERED have answered a
 * heartbeat sent NEW ago, and all others one sent OLD ago. */
static bool is_out(size_t count, unsigned answered, int64_t new, int64_t old) {
    set_up(count);
    for (size_t i = 1; i < count; i++)
        members[i].last_ack = clock_boot() - ((answered >> i & 1) != 0 ? new : old);
    bool out = lease_is_out(&m);
    CU_ASSERT(out || lease_heard(&m) > 0);
    role_state_close(&role_state);
    return out;
}

static void a_master_that_too_few_answer_is_out(void) {
    held_clock_begin();
    for (dead = 5; dead <= 60; dead += 5)
        for (size_t count = 2; count <= 8; count++)
            for (unsigned answered = 0; answered < 1U << count; answered += 2) {
                size_t here = 1 + (size_t)__builtin_popcount(answered);
                CU_ASSERT_EQUAL(
                    is_out(count, answered, dead * CLOCK_SECOND, dead * CLOCK_SECOND + 1),
                    2 * here < count);
            }
    dead = 10;
    held_clock_end();
}

/* Paused for so long it has not been heard by anybody, whatever lies unread. */
static void what_counts_is_when_a_heartbeat_was_sent(void) {
    set_up(3);
    lease_begin(&m, clock_boot());
    CU_ASSERT_FALSE(lease_is_out(&m));
    for (size_t i = 1; i < 3; i++)
        members[i].last_ack = clock_boot() - 11 * CLOCK_SECOND;
    CU_ASSERT(lease_is_out(&m));
    members[1].heard = members[2].heard = clock_now();
    alive(&members[1], 60 * CLOCK_SECOND, 0); /* an answer that was a minute on its way */
    CU_ASSERT(lease_is_out(&m));
    alive(&members[1], CLOCK_SECOND, 0);
    CU_ASSERT_FALSE(lease_is_out(&m));
    alive(&members[1], 60 * CLOCK_SECOND, 0);
    CU_ASSERT_FALSE(lease_is_out(&m));
    members[1].lost = true;
    CU_ASSERT(lease_is_out(&m));
    m.phase = PHASE_JUDGED;
    CU_ASSERT_FALSE(lease_is_out(&m));
    m.phase = PHASE_UPLOADING;
    CU_ASSERT(lease_is_out(&m));
    m.s.role_state = NULL;
    CU_ASSERT_FALSE(lease_is_out(&m));
    role_state_close(&role_state);
}

/* Answers to a heartbeat wake a master once where nothing else goes on, and at once where a failure
 * may be among them. */
static void only_a_calm_master_lets_answers_gather(void) {
    static const struct rank_report good = {.rank = 0, .end = RANK_EXITED};
    struct error err;
    held_clock_begin();
    set_up(3);
    m.s.role_state = NULL;
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
    CU_ASSERT_EQUAL_FATAL(lease_open(&m, &err), 0);
    m.lease.beat.fire(m.lease.beat.context);
    CU_ASSERT_EQUAL(m.s.loop.rest, 0); /* ranks start */
    for (int rank = 0; rank < 3; rank++)
        (void)attempt_rank_started(&m.attempt, (size_t)rank, rank);
    m.lease.beat.fire(m.lease.beat.context);
    CU_ASSERT_EQUAL(m.s.loop.rest, clock_now() + 50 * CLOCK_MILLISECOND);
    m.s.loop.rest = 0;
    m.s.role_state = &role_state; /* with failover nothing may stay unread */
    m.lease.beat.fire(m.lease.beat.context);
    CU_ASSERT_EQUAL(m.s.loop.rest, 0);
    m.s.role_state = NULL;
    m.phase = PHASE_CLEARING;
    m.lease.beat.fire(m.lease.beat.context);
    m.phase = PHASE_RUNNING;
    CU_ASSERT(attempt_report(&m.attempt, &good));
    m.lease.beat.fire(m.lease.beat.context);
    CU_ASSERT_EQUAL(m.s.loop.rest, 0);
    lease_close(&m);
    attempt_done(&m.attempt);
    role_state_close(&role_state);
    loop_done(&m.s.loop);
    held_clock_end();
}

static int losses;

static void count_loss(struct master *master, const struct raised *what) {
    (void)master;
    losses += what->event == EVENT_HOST_GONE;
}

static void heard_of(void *context, const json_t *message) {
    (void)message;
    member_heard(context);
}

static char last_why[64];

static void keep_why(struct master *master, const struct raised *what) {
    (void)master;
    (void)snprintf(last_why, sizeof(last_why), "%s", what->why);
}

/* The second look is sure. */
static void a_host_is_silent_for_as_long_as_was_asked_for(void) {
    held_clock_begin();
    for (dead = 5; dead <= 60; dead += 55) {
        char why[64];
        struct error err;
        set_up(2);
        m.s.role_state = NULL;
        m.raise = keep_why;
        CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
        CU_ASSERT_EQUAL_FATAL(lease_open(&m, &err), 0);
        int64_t until = m.lease.beat.deadline - clock_now();
        CU_ASSERT(until > 0 && until <= 500 * CLOCK_MILLISECOND);
        int ends[2];
        static const struct link_events deaf = {0};
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        members[1].link = link_new(&m.s.loop, ends[0], NULL, false, &deaf, NULL, &err);
        members[1].heard = clock_now();
        held_clock_pass(dead * CLOCK_SECOND - 1);
        m.lease.look.fire(&m);
        CU_ASSERT_FALSE(m.lease.doubts);
        held_clock_pass(1);
        last_why[0] = '\0';
        m.lease.look.fire(&m);
        CU_ASSERT_TRUE(m.lease.doubts);
        m.lease.look.fire(&m);
        (void)snprintf(why, sizeof(why), "no heartbeat for %lld s", (long long)dead);
        CU_ASSERT_STRING_EQUAL(last_why, why);
        CU_ASSERT_PTR_NULL(members[1].link);
        (void)close(ends[1]);
        lease_close(&m);
        role_state_close(&role_state);
        loop_done(&m.s.loop);
    }
    dead = 10;
    held_clock_end();
}

static void end_loop(void *context) {
    loop_end(context);
}

/* A host's answer has arrived but is still unread when the host is checked, in the same round in
 * which a heartbeat is sent (after which a calm master would rest): before the heartbeat, and after
 * it. */
static void answers_are_read_before_a_host_is_lost(void) {
    static const struct link_events events = {.message = heard_of};
    held_clock_begin();
    for (int first = 0; first < 2; first++) {
        int ends[2];
        struct error err;
        struct timer end = {.fire = end_loop, .context = &m.s.loop};
        cleanup_buf struct buf answer;
        cleanup_json json_t *message = frame_new("alive");
        set_up(2);
        losses = 0;
        m.raise = count_loss;
        m.s.role_state = NULL;
        buf_init(&answer, 65536);
        CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
        CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
        for (int rank = 0; rank < 2; rank++)
            (void)attempt_rank_started(&m.attempt, (size_t)rank, rank);
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        members[1].link = link_new(&m.s.loop, ends[0], NULL, false, &events, &members[1], &err);
        members[1].heard = clock_now() - 10 * CLOCK_SECOND;
        CU_ASSERT_EQUAL(frame_put(&answer, message, &err), 0);
        CU_ASSERT_EQUAL(file_write_all(ends[1], answer.data, answer.size, &err), 0);
        CU_ASSERT_EQUAL_FATAL(lease_open(&m, &err), 0);
        struct timer *one = first == 0 ? &m.lease.beat : &m.lease.look;
        struct timer *other = first == 0 ? &m.lease.look : &m.lease.beat;
        one->fire(one->context);
        other->fire(other->context);
        loop_after(&m.s.loop, &end, CLOCK_SECOND / 5);
        CU_ASSERT_EQUAL(loop_run(&m.s.loop, &err), 0);
        CU_ASSERT_EQUAL(losses, 0);
        CU_ASSERT_PTR_NOT_NULL(members[1].link);
        link_free(members[1].link);
        (void)close(ends[1]);
        lease_close(&m);
        attempt_done(&m.attempt);
        role_state_close(&role_state);
        loop_done(&m.s.loop);
    }
    held_clock_end();
}

static int64_t out_at;
static unsigned looks;

static void note_out(struct master *master, const struct raised *what) {
    CU_ASSERT_EQUAL(what->event, EVENT_QUORUM_LOST);
    out_at = clock_boot();
    loop_end(&master->s.loop);
}

/* The master's own check, wrapped to count its calls. */
static void (*own_look)(void *context);
static void count_look(void *context) {
    if (++looks <= 10)
        own_look(context);
    else /* it would look for ever at a time that stands still */
        loop_end(&m.s.loop);
}

static void open_out(size_t count) {
    struct error err;
    held_clock_begin();
    set_up(count);
    out_at = 0;
    looks = 0;
    m.raise = note_out;
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
    CU_ASSERT_EQUAL_FATAL(lease_open(&m, &err), 0);
    own_look = m.lease.out.fire;
    m.lease.out.fire = count_look;
}

static void run_for(int64_t nanoseconds) {
    struct timer end = {.fire = end_loop, .context = &m.s.loop};
    loop_after(&m.s.loop, &end, nanoseconds);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    loop_cancel(&m.s.loop, &end);
}

static void close_out(void) {
    lease_close(&m);
    attempt_done(&m.attempt);
    role_state_close(&role_state);
    loop_done(&m.s.loop);
    held_clock_end();
}

/* Of four hosts two are enough, as the master is one of them. Nobody sends anything meanwhile. */
static void a_master_is_out_when_the_last_answer_is_too_old(void) {
    open_out(4);
    int64_t first = clock_boot();
    for (int i = 1; i < 4; i++)
        members[i].last_ack = first + i * 100 * CLOCK_MILLISECOND;
    lease_begin(&m, 1);
    run_for(20 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(out_at, members[3].last_ack + 10 * CLOCK_SECOND + 1);
    CU_ASSERT_EQUAL(looks, 3); /* as often as a host falls silent */
    close_out();
}

/* The latest fence of all hosts counts. */
static void a_lost_host_has_its_fence(void) {
    open_out(5);
    for (int i = 1; i < 5; i++)
        members[i].last_ack = clock_boot();
    members[1].exited = true;
    lease_lose(&members[1], "its process has ended");
    CU_ASSERT_EQUAL(m.lease.fence, clock_boot() + CLOCK_SECOND);
    CU_ASSERT_FALSE(members[1].exited);
    lease_lose(&members[2], "silence");
    CU_ASSERT_EQUAL(m.lease.fence, clock_boot() + 14 * CLOCK_SECOND);
    const int64_t fence = m.lease.fence;
    members[3].exited = true;
    lease_lose(&members[3], "its process has ended");
    CU_ASSERT_EQUAL(m.lease.fence, fence);
    close_out();
}

/* Half a second between heartbeats. */
static void without_failover_it_has_time_to_notice_and_to_end(void) {
    open_out(4);
    role_state.on = false;
    members[1].heard = members[2].heard = members[3].heard = clock_now();
    lease_lose(&members[1], "its link has closed");
    CU_ASSERT_EQUAL(m.lease.fence, clock_boot() + CLOCK_SECOND);
    members[2].heard -= 10 * CLOCK_SECOND;
    lease_lose(&members[2], "silence");
    CU_ASSERT_EQUAL(m.lease.fence, clock_boot() + 2 * CLOCK_SECOND);
    held_clock_pass(CLOCK_SECOND / 2);
    lease_lose(&members[3], "its link has closed");
    CU_ASSERT_EQUAL(m.lease.fence, clock_boot() + 3 * CLOCK_SECOND / 2);
    role_state.on = true;
    close_out();
}

static void a_master_that_loses_hosts_is_out_at_once(void) {
    open_out(3);
    members[1].last_ack = members[2].last_ack = clock_boot();
    lease_lose(&members[1], "silence");
    run_for(9 * CLOCK_SECOND);
    CU_ASSERT(out_at == 0 && looks == 0);
    lease_lose(&members[2], "silence");
    int64_t lost = clock_boot();
    run_for(2 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(out_at, lost);
    CU_ASSERT_EQUAL(looks, 1);
    close_out();
}

static unsigned answered;

static void count_answers(struct master *master, const struct raised *what) {
    (void)master;
    answered += what->event == EVENT_ALL_ANSWERED;
}

static void open_answers(void) {
    set_up(3);
    m.s.role_state = NULL;
    m.raise = count_answers;
    answered = 0;
    for (size_t i = 1; i < 3; i++)
        members[i].last_ack = clock_boot() - CLOCK_SECOND;
}

/* Of a lease of 10 s: what it has answered it waits for at least five more. */
static void a_good_end_is_sure_while_all_hosts_have_answered_lately(void) {
    open_answers();
    CU_ASSERT(lease_is_sure(&m));
    alive(&members[1], 0, 0);
    CU_ASSERT_EQUAL(answered, 0);
    members[2].last_ack = clock_boot() - 6 * CLOCK_SECOND;
    CU_ASSERT_FALSE(lease_is_sure(&m));
    members[2].lost = true;
    CU_ASSERT(lease_is_sure(&m));
    role_state_close(&role_state);
}

/* This host has stood still for longer than a lease. */
static void who_has_not_answered_lately_is_asked(void) {
    open_answers();
    for (size_t i = 1; i < 3; i++)
        members[i].last_ack = clock_boot() - 11 * CLOCK_SECOND;
    CU_ASSERT_FALSE(lease_is_sure(&m));
    CU_ASSERT_FALSE(lease_is_sure(&m));
    alive(&members[1], 0, 0);
    alive(&members[2], 7 * CLOCK_SECOND, 0); /* what was sent before that */
    CU_ASSERT_EQUAL(answered, 0);
    alive(&members[2], 0, 0);
    CU_ASSERT_EQUAL(answered, 1);
    alive(&members[2], 0, 0);
    CU_ASSERT_EQUAL(answered, 1);
    CU_ASSERT(lease_is_sure(&m));
    role_state_close(&role_state);
}

static unsigned answered;

static void count_answered(struct master *raised, const struct raised *what) {
    (void)raised;
    answered += what->event == EVENT_ALL_ANSWERED;
}

/* Nothing of it can run; but a success may have waited for its answer. */
static void a_lost_spare_has_no_fence(void) {
    for (int waits = 0; waits < 2; waits++) {
        answered = 0;
        set_up(4);
        job.cluster.spares = 1;
        hosts[3].spare = true;
        m.raise = count_answered;
        m.s.loop = (struct loop){0};
        lease_begin(&m, clock_boot());
        m.lease.asked = waits != 0 ? clock_boot() - CLOCK_SECOND : 0;
        members[1].last_ack = members[2].last_ack = clock_boot();
        members[3].last_ack = clock_boot() - 2 * CLOCK_SECOND;
        lease_drop_spare(&members[3], "silence");
        CU_ASSERT(members[3].lost);
        CU_ASSERT_EQUAL(m.lease.fence, 0);
        CU_ASSERT_EQUAL(m.attempt.loss_count, 0);
        CU_ASSERT_EQUAL(answered, (unsigned)waits);
        role_state_close(&role_state);
    }
}

UNIT_SUITE("master.lease", UNIT(a_lost_spare_has_no_fence),
           UNIT(a_good_end_is_sure_while_all_hosts_have_answered_lately),
           UNIT(who_has_not_answered_lately_is_asked),
           UNIT(a_master_is_out_when_the_last_answer_is_too_old), UNIT(a_lost_host_has_its_fence),
           UNIT(without_failover_it_has_time_to_notice_and_to_end),
           UNIT(a_master_that_loses_hosts_is_out_at_once),
           UNIT(answers_are_read_before_a_host_is_lost),
           UNIT(a_host_is_silent_for_as_long_as_was_asked_for),
           UNIT(only_a_calm_master_lets_answers_gather),
           UNIT(the_fastest_heartbeat_tells_the_clocks_apart), UNIT(nonsense_is_left_alone),
           UNIT(a_master_that_too_few_answer_is_out),
           UNIT(what_counts_is_when_a_heartbeat_was_sent))
