#include "entrypoint/master/failover/shared_dir.h"

#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <string.h>

enum { HOSTS = 3 };

static struct cluster_host hosts[HOSTS];
static struct job job;
static struct member members[HOSTS];
static struct master m;
static enum phase_event raised;
static int raises;
static json_t *orders[8]; /* to our own host */
static size_t order_count;

static void raise_event(struct master *master, const struct raised *what) {
    (void)master;
    raised = what->event;
    raises++;
}

static void order_self(void *context, const json_t *message) {
    (void)context;
    orders[order_count++] = json_deep_copy(message);
}

static void end_turn(void *context) {
    loop_end(context);
}

static void set_up(void) {
    held_clock_begin();
    struct error err;
    job = (struct job){.cluster = {.hosts = hosts, .count = HOSTS, .job = "job"}};
    m = (struct master){
        .s = {.job = &job}, .members = members, .phase = PHASE_PROBING, .raise = raise_event};
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
        members[i] = (struct member){.master = &m, .index = i, .joined = true};
    }
    raises = 0;
    order_count = 0;
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, order_self, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
    shared_dir_init(&m);
}

static void tear_down(void) {
    held_clock_end();
    for (size_t i = 0; i < order_count; i++)
        json_decref(orders[i]);
    shared_dir_close(&m);
    attempt_done(&m.attempt);
    message_queue_done(&m.to_self);
    loop_done(&m.s.loop);
}

/* One by one, until all have been delivered. */
static void run_posts(void) {
    while (m.to_self.timer.active) {
        struct error err;
        struct timer end = {.fire = end_turn, .context = &m.s.loop};
        loop_after(&m.s.loop, &end, 0);
        CU_ASSERT_EQUAL(loop_run(&m.s.loop, &err), 0);
    }
}

static void tell_of(size_t host, enum shared_dir_probe_step step, const char *word,
                    const char *fault) {
    json_t *message = frame_new("dir_probed");
    (void)json_object_set_new(message, "step", json_integer(step));
    if (word != NULL)
        (void)json_object_set_new(message, "word", json_string(word));
    if (fault != NULL)
        (void)json_object_set_new(message, "fault", json_string(fault));
    shared_dir_receive(&members[host], message);
    json_decref(message);
}

static void tell(size_t host, const char *word, const char *fault) {
    tell_of(host, m.shared_dir.step, word, fault);
}

static const char *const words[HOSTS] = {"00000000000000000000000000000000",
                                         "11111111111111111111111111111111",
                                         "22222222222222222222222222222222"};

static json_int_t member_of(size_t order, const char *name) {
    return json_integer_value(json_object_get(orders[order], name));
}

static void each_reads_what_the_one_before_it_has_written(void) {
    set_up();
    shared_dir_begin(&m);
    for (size_t i = 0; i < HOSTS; i++) {
        CU_ASSERT_EQUAL(raises, 0);
        tell_of(i, SHARED_DIR_PROBE_WRITE, words[i], NULL);
        tell_of(i, SHARED_DIR_PROBE_WRITE, words[0], NULL); /* once is enough */
    }
    run_posts();
    CU_ASSERT_EQUAL_FATAL(order_count, 2);
    CU_ASSERT_EQUAL(member_of(0, "step"), SHARED_DIR_PROBE_WRITE);
    CU_ASSERT_EQUAL(member_of(1, "step"), SHARED_DIR_PROBE_READ);
    CU_ASSERT_EQUAL(member_of(1, "of"), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(orders[1], "word")), words[2]);
    CU_ASSERT_NOT_EQUAL(m.shared_dir.asked, 0);
    for (size_t i = 0; i < HOSTS; i++) {
        CU_ASSERT_EQUAL(raises, 0);
        tell(i, words[i], NULL);
    }
    CU_ASSERT_EQUAL(raises, 1);
    CU_ASSERT_EQUAL(raised, EVENT_DIR_SHARED);
    CU_ASSERT(m.shared_dir.deadline.active);
    shared_dir_end(&m);
    CU_ASSERT_FALSE(m.shared_dir.deadline.active);
    tear_down();
}

static void a_folder_of_ones_own_is_reported_with_both_hosts(void) {
    set_up();
    shared_dir_begin(&m);
    for (size_t i = 0; i < HOSTS; i++)
        tell(i, words[i], NULL);
    tell(1, words[1], "/opt/ml/checkpoints: No such file or directory");
    CU_ASSERT_EQUAL(raised, EVENT_LAUNCH_FAILED);
    CU_ASSERT_EQUAL(m.fault.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(m.fault_host, 1);
    ASSERT_CONTAINS(m.fault.text, "algo-2 does not find the file that algo-1 has written");
    ASSERT_CONTAINS(m.fault.text, "/opt/ml/checkpoints: No such file");
    tear_down();
}

/* Its heart may beat all the same. */
static void a_host_that_does_not_answer_is_reported(void) {
    for (enum shared_dir_probe_step step = SHARED_DIR_PROBE_WRITE; step <= SHARED_DIR_PROBE_READ;
         step++) {
        set_up();
        shared_dir_begin(&m);
        for (size_t i = 0; step == SHARED_DIR_PROBE_READ && i < HOSTS; i++)
            tell_of(i, SHARED_DIR_PROBE_WRITE, words[i], NULL);
        tell(0, words[0], NULL);
        tell(2, words[2], NULL);
        CU_ASSERT(m.shared_dir.deadline.active);
        CU_ASSERT_EQUAL(m.shared_dir.deadline.deadline, clock_now() + 15 * CLOCK_SECOND);
        m.shared_dir.deadline.fire(m.shared_dir.deadline.context);
        CU_ASSERT_EQUAL(raised, EVENT_LAUNCH_FAILED);
        CU_ASSERT_EQUAL(m.fault_host, 1);
        ASSERT_CONTAINS(m.fault.text, "no answer within 15 s");
        tear_down();
    }
}

static void a_folder_that_cannot_be_written_is_reported(void) {
    set_up();
    shared_dir_begin(&m);
    tell(2, words[2], "/opt/ml/checkpoints: Read-only file system");
    CU_ASSERT_EQUAL(raised, EVENT_LAUNCH_FAILED);
    ASSERT_CONTAINS(m.fault.text, "algo-3 cannot write to it");
    tear_down();
}

static void an_answer_without_a_word_is_a_fault(void) {
    for (int wrong = 0; wrong < 2; wrong++) {
        set_up();
        shared_dir_begin(&m);
        tell(0, wrong == 0 ? NULL : "short", NULL);
        CU_ASSERT_EQUAL(raises, 1);
        CU_ASSERT_EQUAL(raised, EVENT_LAUNCH_FAILED);
        tear_down();
    }
}

/* Nobody has asked. */
static void words_at_another_time_are_left_alone(void) {
    set_up();
    m.phase = PHASE_RUNNING;
    shared_dir_begin(&m);
    tell(1, words[1], "late");
    CU_ASSERT_EQUAL(raises, 0);
    CU_ASSERT_FALSE(members[1].probed);
    tear_down();
}

UNIT_SUITE("master.shared_dir", UNIT(each_reads_what_the_one_before_it_has_written),
           UNIT(a_folder_of_ones_own_is_reported_with_both_hosts),
           UNIT(a_folder_that_cannot_be_written_is_reported),
           UNIT(a_host_that_does_not_answer_is_reported), UNIT(an_answer_without_a_word_is_a_fault),
           UNIT(words_at_another_time_are_left_alone))
