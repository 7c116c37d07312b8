#include "common/json/json.h"
#include "entrypoint/master/members/fetch_wait.h"
#include "entrypoint/master/members/join.h"
#include "tests/support/held_clock.h"
#include "tests/support/quiet_link.h"
#include "tests/unit/entrypoint/hand.h"

static struct stage_host master;
static struct stage_host worker;

static const char *const words[] = {"--", "/bin/true", NULL};
static const char hosts[] = "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2";

static void start_master(const char *ready) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.1", ready, NULL};
    stage_start(&master, "master", settings, words);
}

/* --- deadlines, on a held clock -----------------------------------------------------------------
 */

/* A master that is ready itself and waits for the other hosts. */
static struct cluster_host cluster[3];
static struct job job;
static struct member members[3];
static struct master m;
static int64_t begun;
static int64_t over_at; /* ns after begun; 0: there is time left */
static struct buf sent; /* to the second host */
static int second_end;

static void note_end(struct master *raised, const struct raised *what) {
    CU_ASSERT_EQUAL(what->event, EVENT_READY_DEADLINE);
    over_at = clock_now() - begun;
    loop_end(&raised->s.loop);
}

static void end_loop(void *context) {
    loop_end(context);
}

static void begin_waiting(size_t count, int64_t seconds, bool check) {
    static const struct net_address address = {0};
    static const struct link_events events = {.message = quiet_message, .closed = quiet_end};
    int ends[2];
    held_clock_begin();
    begun = clock_now();
    over_at = 0;
    job = (struct job){.settings = {.ready_seconds = seconds},
                       .cluster = {.hosts = cluster, .count = count}};
    m = (struct master){.s = {.job = &job},
                        .members = members,
                        .phase = PHASE_JOINING,
                        .check = check,
                        .join = {.begun = true, .count = 1},
                        .accept = {.events = &events, .rejected_peers = {.known = -1}},
                        .raise = note_end};
    for (size_t i = 0; i < count; i++) {
        cluster[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(cluster[i].name.text, HOST_NAME_SIZE, "algo-%zu", i + 1);
        members[i] = (struct member){.master = &m, .index = i, .joined = i == 0};
    }
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
                          0);
    members[1].link = link_new(&m.s.loop, ends[0], NULL, true, &quiet_link, NULL, NULL);
    members[1].address = address;
    second_end = ends[1];
    buf_init(&sent, FRAME_MAX);
    join_init(&m);
    fetch_wait_open(&m);
    join_open(&m);
}

static void end_waiting(void) {
    for (size_t i = 0; i < job.cluster.count; i++)
        free(members[i].fault);
    link_free(members[1].link);
    (void)close(second_end);
    join_close(&m);
    loop_done(&m.s.loop);
    buf_done(&sent);
    held_clock_end();
}

/* Runs the loop until NANOSECONDS after the beginning, or until the time to join is over. */
static void wait_until(int64_t nanoseconds) {
    struct timer last = {.fire = end_loop, .context = &m.s.loop};
    loop_at(&m.s.loop, &last, begun + nanoseconds);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    loop_cancel(&m.s.loop, &last);
}

static void a_missing_host_is_named_at_the_deadline(void) {
    begin_waiting(2, 60, false);
    link_free(members[1].link);
    members[1].link = NULL;
    wait_until(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(over_at, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.fault.code, EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(m.fault.text, "only 1 of 2 hosts within 60 s, missing algo-2");
    end_waiting();
}

static bool is_missing_here(void *context, size_t host) {
    (void)context;
    return members[host].link == NULL;
}

/* The refused peer must have had the missing host's address; any other refusal explains nothing. */
static void a_refused_key_is_why_a_host_is_missing(void) {
    for (int known = -1; known <= 1; known += 2) {
        begin_waiting(2, 60, false);
        link_free(members[1].link);
        members[1].link = NULL;
        m.accept.rejected_peers.known = known;
        m.accept.rejected_peers.is_missing = is_missing_here;
        CU_ASSERT(net_address_parse("10.0.0.2", &m.accept.rejected_peers.known_address));
        wait_until(3600 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(over_at, 60 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(m.fault.code, known < 0 ? EXIT_CODE_NOT_READY : EXIT_CODE_KEY_REFUSED);
        CU_ASSERT_EQUAL(strstr(m.fault.text, "algo-2 at 10.0.0.2 was refused") != NULL, known > 0);
        end_waiting();
    }
}

static void tell_fetching(int marks) {
    cleanup_json json_t *message = frame_new("fetching");
    (void)json_object_set_new(message, "marks", json_integer(marks));
    (void)json_object_set_new(message, "text", json_sprintf("train: %d of 99", marks));
    join_receive(&members[1], message);
}

/* Each step of progress comes just before the deadline. */
static void a_host_that_fetches_has_as_long_as_it_gets_further(void) {
    begin_waiting(2, 60, false);
    for (int i = 1; i <= 16; i++) {
        wait_until(i * (60 * CLOCK_SECOND - CLOCK_MILLISECOND));
        CU_ASSERT_EQUAL(over_at, 0);
        tell_fetching(i);
    }
    wait_until(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(over_at, 17 * 60 * CLOCK_SECOND - 16 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(m.fault.code, EXIT_CODE_NOT_READY);
    CU_ASSERT_EQUAL(m.fault_host, 1);
    CU_ASSERT_STRING_EQUAL(
        m.fault.text, "algo-2: downloads have stalled for 60 s; last progress: train: 16 of 99");
    end_waiting();
}

/* Messages without a new step, however frequent, are no progress. */
static void a_host_that_stands_still_is_not_waited_for(void) {
    begin_waiting(2, 60, false);
    wait_until(10 * CLOCK_SECOND);
    for (int i = 11; i <= 69; i++) {
        tell_fetching(3);
        wait_until(i * CLOCK_SECOND);
        CU_ASSERT_EQUAL(over_at, 0);
    }
    wait_until(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(over_at, 70 * CLOCK_SECOND);
    ASSERT_CONTAINS(m.fault.text, "algo-2: downloads have stalled for 60 s");
    end_waiting();
}

/* Returns the next message that was sent to the second host; the caller frees it. */
static json_t *next_sent(void) {
    char bytes[4096];
    json_t *message = NULL;
    link_flush(members[1].link);
    ssize_t got = recv(second_end, bytes, sizeof(bytes), 0);
    if (got > 0)
        CU_ASSERT_EQUAL(buf_add(&sent, bytes, (size_t)got, NULL), 0);
    return frame_take(&sent, &message, NULL) == 1 ? message : NULL;
}

static bool is_sent(const char *type) {
    cleanup_json json_t *message = next_sent();
    return message != NULL && strcmp(frame_type(message), type) == 0;
}

/* However often a host with a fault joins, the third host keeps its deadline. A heartbeat follows
 * each welcome, so that clocks are compared from the start. */
static void a_fault_moves_no_deadline_of_a_check(void) {
    begin_waiting(3, 60, true);
    for (int i = 1; i < 60; i++) {
        cleanup_json json_t *join = frame_new("join");
        (void)json_object_set_new(join, "fault_code", json_integer(EXIT_CODE_DATA));
        (void)json_object_set_new(join, "fault_text", json_string("no such object"));
        wait_until(i * CLOCK_SECOND);
        join_receive(&members[1], join);
        CU_ASSERT(is_sent("welcome"));
        CU_ASSERT(is_sent("beat"));
        join_left(&members[1]);
    }
    CU_ASSERT_EQUAL(over_at, 0);
    wait_until(3600 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(over_at, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.fault.code, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(members[1].fault);
    CU_ASSERT_STRING_EQUAL(members[1].fault->text, "no such object");
    CU_ASSERT_PTR_NULL(members[2].fault);
    end_waiting();
}

/* In a job, the master waits no longer than that for the other hosts, so that they hear of the
 * fault. */
static void a_fault_of_a_job_leaves_half_a_minute(void) {
    static const int64_t rows[][2] = {{600, 30}, {20, 20}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct error fault = {.code = EXIT_CODE_DATA, .text = "no such object"};
        begin_waiting(3, rows[i][0], false);
        wait_until(7 * CLOCK_SECOND);
        join_fault(&m, &fault, 1);
        wait_until(3600 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(over_at, (7 + rows[i][1]) * CLOCK_SECOND);
        CU_ASSERT_EQUAL(m.fault.code, EXIT_CODE_DATA);
        CU_ASSERT_EQUAL(m.fault_host, 1);
        end_waiting();
    }
}

/* A check warns of clock differences, so they are measured when a join arrives, even if it has to
 * wait while this host looks for another one with its name. */
static void a_join_that_waits_tells_the_clocks_of_when_it_came(void) {
    begin_waiting(2, 60, false);
    m.duplicate_name.pending = true;
    struct host_info theirs = {.boot = clock_boot() + 5, .clock = clock_wall() + 60 * CLOCK_SECOND};
    cleanup_json json_t *join = host_info_json(&theirs);
    (void)json_object_set_new(join, "type", json_string("join"));
    join_receive(&members[1], join);
    CU_ASSERT_PTR_NOT_NULL(members[1].pending_join);
    CU_ASSERT_EQUAL(members[1].skew, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(members[1].offset, 5);
    held_clock_pass(20 * CLOCK_SECOND);
    struct error fault = {0};
    join_weigh(&members[1], members[1].pending_join, &fault);
    CU_ASSERT_EQUAL(members[1].skew, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(members[1].offset, 5);
    json_decref(members[1].pending_join);
    end_waiting();
}

/* --- whole jobs ----------------------------------------------------------------------------------
 */

static int hand_fetches(const struct hand *h, int marks) {
    json_t *message = frame_new("fetching");
    (void)json_object_set_new(message, "host", json_string("127.0.0.2"));
    (void)json_object_set_new(message, "marks", json_integer(marks));
    (void)json_object_set_new(message, "text", json_sprintf("train: %d of 99", marks));
    return put_frame(h->ssl, message);
}

/* Returns the verdict's code, or -1 if the link ends without one. Other messages may come first. */
static int64_t hand_hears_verdict(struct hand *h) {
    char bytes[4096];
    size_t got = 0;
    while (SSL_read_ex(h->ssl, bytes, sizeof(bytes), &got) == 1 &&
           buf_add(&h->heard, bytes, got, NULL) == 0) {
        for (json_t *message = NULL; frame_take(&h->heard, &message, NULL) == 1;) {
            bool is = strcmp(frame_type(message), "verdict") == 0;
            int64_t code = json_integer_value(json_object_get(message, "code"));
            json_decref(message);
            if (is)
                return code;
        }
    }
    return -1;
}

/* Neither a fault of one host nor a stop waits until the other one has downloaded everything. */
static void a_host_that_fetches_hears_of_a_fault_at_once(void) {
    struct hand hand;
    const char *const bad[] = {hosts, "RINGMASTER_HOST=127.0.0.1",
                               "RINGMASTER_CHANNEL_TRAIN=s3://b/k", NULL};
    const char *const third[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2",
                                 "RINGMASTER_HOST=127.0.0.1", "RINGMASTER_READY_SECONDS=600", NULL};
    stage_start(&master, "master", bad, words); /* there is no downloader beside the tests */
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    hand_connect(&hand);
    CU_ASSERT_EQUAL(hand_fetches(&hand, 1), 1);
    CU_ASSERT_EQUAL(hand_hears_verdict(&hand), EXIT_CODE_CONFIG);
    hand_done(&hand);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_CONFIG);

    stage_start(&master, "stopped", third, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    hand_connect(&hand);
    CU_ASSERT_EQUAL(hand_fetches(&hand, 1), 1);
    CU_ASSERT(stage_wait_for(&master, "127.0.0.2 is here and downloads"));
    (void)kill(master.pid, SIGTERM);
    CU_ASSERT_EQUAL(hand_hears_verdict(&hand), EXIT_CODE_STOPPED);
    hand_done(&hand);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_STOPPED);
}

/* Its link ends; it connects again and joins. */
static void a_host_that_fetched_comes_again(void) {
    struct hand hand;
    start_master("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    hand_connect(&hand);
    CU_ASSERT_EQUAL(hand_fetches(&hand, 1), 1);
    CU_ASSERT(stage_wait_for(&master, "127.0.0.2 is here and downloads"));
    hand_done(&hand);
    CU_ASSERT(stage_wait_for(&master, "127.0.0.2 has disconnected"));
    hand_connect(&hand);
    CU_ASSERT_EQUAL(hand_fetches(&hand, 1), 1);
    json_t *join = frame_new("join");
    (void)json_object_set_new(join, "host", json_string("127.0.0.2"));
    (void)json_object_set_new(join, "fault_code", json_integer(EXIT_CODE_DATA));
    (void)json_object_set_new(join, "fault_text", json_string("no such object"));
    CU_ASSERT_EQUAL(put_frame(hand.ssl, join), 1);
    CU_ASSERT_EQUAL(hand_hears_verdict(&hand), EXIT_CODE_DATA);
    hand_done(&hand);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_DATA);
    ASSERT_CONTAINS(stage_failure(&master), "127.0.0.2: no such object");
}

static void a_host_that_was_told_otherwise_is_an_error_for_both(void) {
    const char *const settings[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2:7",
                                    "RINGMASTER_HOST=127.0.0.2", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    start_master("RINGMASTER_READY_SECONDS=20");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    stage_start(&worker, "worker", settings, words);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&worker), "slots");
}

STAGE_SUITE("master.join", UNIT(a_fault_moves_no_deadline_of_a_check),
            UNIT(a_fault_of_a_job_leaves_half_a_minute),
            UNIT(a_refused_key_is_why_a_host_is_missing),
            UNIT(a_host_that_fetches_has_as_long_as_it_gets_further),
            UNIT(a_host_that_stands_still_is_not_waited_for),
            UNIT(a_host_that_fetches_hears_of_a_fault_at_once),
            UNIT(a_join_that_waits_tells_the_clocks_of_when_it_came),
            UNIT(a_host_that_fetched_comes_again), UNIT(a_missing_host_is_named_at_the_deadline),
            UNIT(a_host_that_was_told_otherwise_is_an_error_for_both))
