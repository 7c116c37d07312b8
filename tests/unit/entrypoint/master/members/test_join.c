#include "common/json.h"
#include "entrypoint/master/members/join.h"
#include "tests/unit/entrypoint/hand.h"

static struct stage_host master;
static struct stage_host worker;

static const char *const words[] = {"--", "/bin/true", NULL};
static const char hosts[] = "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2";

static void start_master(const char *ready) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.1", ready, NULL};
    stage_start(&master, "master", settings, words);
}

static void a_missing_host_is_named_at_the_deadline(void) {
    start_master("RINGMASTER_READY_SECONDS=1");
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&master), "missing 127.0.0.2");
}

static int hand_fetches(const struct hand *h, int marks) {
    json_t *message = frame_new("fetching");
    (void)json_object_set_new(message, "host", json_string("127.0.0.2"));
    (void)json_object_set_new(message, "marks", json_integer(marks));
    (void)json_object_set_new(message, "text", json_sprintf("train: %d of 99", marks));
    return put_frame(h->ssl, message);
}

/* The verdict's code; -1 when the link ends without. Other words may come first. */
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

static void a_host_that_fetches_has_as_long_as_it_gets_further(void) {
    enum { STEPS = 16 };
    struct hand hand;
    start_master("RINGMASTER_READY_SECONDS=4");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 hosts"));
    hand_connect(&hand);
    for (int i = 1; i <= STEPS; i++) {
        CU_ASSERT_EQUAL(hand_fetches(&hand, i), 1);
        (void)poll(NULL, 0, 500); /* twice as long as it may take in all */
    }
    CU_ASSERT_EQUAL(waitpid(master.pid, NULL, WNOHANG), 0);
    ASSERT_CONTAINS(stage_output(&master), "127.0.0.2 is here and downloads what it needs");
    CU_ASSERT_EQUAL(hand_hears_verdict(&hand), EXIT_CODE_NOT_READY);
    hand_done(&hand);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&master),
                    "127.0.0.2: downloads have stalled for 4 s; last progress: train: 16 of 99");
}

/* A word of its own that tells of no step, however often, is none. */
static void a_host_that_stands_still_is_not_waited_for(void) {
    struct hand hand;
    start_master("RINGMASTER_READY_SECONDS=4");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 hosts"));
    hand_connect(&hand);
    int times = 0;
    for (; times < 100 && strstr(stage_output(&master), "downloads have stalled") == NULL;
         times++) {
        (void)hand_fetches(&hand, 3);
        (void)poll(NULL, 0, 100);
    }
    CU_ASSERT(times < 100);
    hand_done(&hand);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&master), "127.0.0.2: downloads have stalled");
}

/* Neither a fault of the one nor a stop waits until the other has all. */
static void a_host_that_fetches_hears_of_a_fault_at_once(void) {
    struct hand hand;
    const char *const bad[] = {hosts, "RINGMASTER_HOST=127.0.0.1",
                               "RINGMASTER_CHANNEL_TRAIN=s3://b/k", NULL};
    const char *const third[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2",
                                 "RINGMASTER_HOST=127.0.0.1", "RINGMASTER_READY_SECONDS=600", NULL};
    stage_start(&master, "master", bad, words); /* beside the tests lies nothing that fetches */
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 hosts"));
    hand_connect(&hand);
    CU_ASSERT_EQUAL(hand_fetches(&hand, 1), 1);
    CU_ASSERT_EQUAL(hand_hears_verdict(&hand), EXIT_CODE_CONFIG);
    hand_done(&hand);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_CONFIG);

    stage_start(&master, "stopped", third, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 hosts"));
    hand_connect(&hand);
    CU_ASSERT_EQUAL(hand_fetches(&hand, 1), 1);
    CU_ASSERT(stage_wait_for(&master, "127.0.0.2 is here and downloads"));
    (void)kill(master.pid, SIGTERM);
    CU_ASSERT_EQUAL(hand_hears_verdict(&hand), EXIT_CODE_STOPPED);
    hand_done(&hand);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_STOPPED);
}

/* Its link ends, it comes again, and joins. */
static void a_host_that_fetched_comes_again(void) {
    struct hand hand;
    start_master("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 hosts"));
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

static int beats; /* with a welcome */

/* Whether it is welcome yet with a fault of its own. */
static bool hand_is_welcome(struct hand *h) {
    json_t *join = frame_new("join");
    (void)json_object_set_new(join, "host", json_string("127.0.0.2"));
    (void)json_object_set_new(join, "fault_code", json_integer(EXIT_CODE_DATA));
    (void)json_object_set_new(join, "fault_text", json_string("no such object"));
    json_t *answer = put_frame(h->ssl, join) == 1 ? next_frame(h->ssl, &h->heard) : NULL;
    bool is = answer != NULL && strcmp(frame_type(answer), "welcome") == 0;
    json_t *beat =
        is ? next_frame(h->ssl, &h->heard) : NULL; /* clocks are told apart from the start */
    if (beat != NULL && strcmp(frame_type(beat), "beat") == 0)
        beats++;
    json_decref(beat);
    json_decref(answer);
    return is;
}

/* However often it comes, the third host has the time that it had. */
static void a_fault_moves_no_deadline_of_a_check(void) {
    const char *const settings[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3",
                                    "RINGMASTER_HOST=127.0.0.1", "RINGMASTER_READY_SECONDS=6",
                                    NULL};
    bool welcome = true;
    int times = 0;
    stage_start(&master, "checked", settings, NULL);
    CU_ASSERT(stage_wait_for(&master, "waiting for 2 hosts"));
    for (; welcome && times < 100; times++) {
        struct hand hand;
        welcome = hand_reaches(&hand, 3) && hand_is_welcome(&hand);
        hand_done(&hand);
        (void)poll(NULL, 0, 100);
    }
    CU_ASSERT(times > 1 && times < 100);
    CU_ASSERT(beats > 1);
    CU_ASSERT(stage_end(&master) > 0);
    ASSERT_CONTAINS(stage_output(&master), "127.0.0.2: no such object");
    ASSERT_CONTAINS(stage_output(&master), "127.0.0.3: missing");
}

/* A check warns of it: while this host looks whether another one has its name, joins wait. */
static void a_join_that_waits_tells_the_clocks_of_when_it_came(void) {
    struct cluster_host two[2] = {{.slots = 1}, {.slots = 1}};
    struct job job = {.cluster = {.hosts = two, .count = 2}};
    struct member members[2];
    struct master m = {.s = {.job = &job}, .members = members, .phase = PHASE_JOINING};
    m.duplicate_name.pending = true;
    members[1] = (struct member){.master = &m, .index = 1};
    struct host_info theirs = {.boot = clock_boot(), .clock = clock_wall() + 60 * CLOCK_SECOND};
    cleanup_json json_t *join = host_info_json(&theirs);
    (void)json_object_set_new(join, "type", json_string("join"));
    join_told(&members[1], join);
    CU_ASSERT_PTR_NOT_NULL(members[1].pending_join);
    const int64_t skew = members[1].skew;
    const int64_t offset = members[1].offset;
    CU_ASSERT(skew > 0 && skew <= 60 * CLOCK_SECOND);
    (void)poll(NULL, 0, 20);
    struct error fault = {0};
    join_weigh(&members[1], members[1].pending_join, &fault);
    CU_ASSERT_EQUAL(members[1].skew, skew);
    CU_ASSERT_EQUAL(members[1].offset, offset);
    json_decref(members[1].pending_join);
}

static void a_host_that_was_told_otherwise_is_an_error_for_both(void) {
    const char *const settings[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2:7",
                                    "RINGMASTER_HOST=127.0.0.2", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    start_master("RINGMASTER_READY_SECONDS=20");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 hosts"));
    stage_start(&worker, "worker", settings, words);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&worker), "slots");
}

STAGE_SUITE("master.join", UNIT(a_fault_moves_no_deadline_of_a_check),
            UNIT(a_host_that_fetches_has_as_long_as_it_gets_further),
            UNIT(a_host_that_stands_still_is_not_waited_for),
            UNIT(a_host_that_fetches_hears_of_a_fault_at_once),
            UNIT(a_join_that_waits_tells_the_clocks_of_when_it_came),
            UNIT(a_host_that_fetched_comes_again), UNIT(a_missing_host_is_named_at_the_deadline),
            UNIT(a_host_that_was_told_otherwise_is_an_error_for_both))
