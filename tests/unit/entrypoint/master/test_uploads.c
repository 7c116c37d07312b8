#include "entrypoint/master/uploads.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { HOSTS = 3 };

static struct master m;
static struct job job;
static struct cluster_host hosts[HOSTS];
static struct member members[HOSTS];
static unsigned raised[EVENT_COUNT];
static json_t *order; /* the last that the first host got */

static void note(struct master *master, const struct raised *what) {
    (void)master;
    raised[what->event]++;
}

static void hear_order(void *context, const json_t *message) {
    (void)context;
    json_decref(order);
    order = json_deep_copy(message);
    loop_end(&m.s.loop);
}

static void open_stage(int code) {
    memset(raised, 0, sizeof(raised));
    memset(members, 0, sizeof(members));
    job = (struct job){.settings = {.output = "s3://b/o",
                                    .stop_seconds = 40,
                                    .upload_seconds = 600,
                                    .dead_seconds = 10},
                       .cluster = {.hosts = hosts, .count = HOSTS}};
    m = (struct master){
        .s = {.job = &job}, .phase = PHASE_UPLOADING, .members = members, .raise = note};
    for (size_t i = 0; i < HOSTS; i++) {
        (void)snprintf(hosts[i].name.text, HOST_NAME_SIZE, "algo-%zu", i + 1);
        members[i] = (struct member){.master = &m, .index = i, .last_ack = clock_boot()};
    }
    m.verdict = (struct verdict){.code = code, .text = "as it was", .log_tail = "its story"};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, hear_order, NULL, NULL), 0);
    uploads_init(&m);
}

static void close_stage(void) {
    uploads_close(&m);
    message_queue_done(&m.to_self);
    loop_done(&m.s.loop);
    json_decref(order);
    order = NULL;
}

/* The seconds that an order of that type gives. */
static int64_t seconds_of(const char *type) {
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    CU_ASSERT_STRING_EQUAL(frame_type(order), type);
    return json_integer_value(json_object_get(order, "seconds"));
}

static void told(size_t host, const char *text) {
    cleanup_json json_t *message = frame_new("uploaded");
    if (text != NULL) {
        (void)json_object_set_new(message, "code", json_integer(EXIT_CODE_UPLOAD));
        (void)json_object_set_new(message, "text", json_string(text));
    }
    uploads_receive(&members[host], message);
}

static void it_ends_with_the_last_host(void) {
    open_stage(EXIT_CODE_OK);
    uploads_begin(&m);
    CU_ASSERT_EQUAL(seconds_of("upload"), 600);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(order, "code")), 0);
    told(2, NULL);
    told(2, NULL);
    told(0, NULL);
    CU_ASSERT_EQUAL(raised[EVENT_UPLOADED], 0);
    told(1, NULL);
    CU_ASSERT_EQUAL(raised[EVENT_UPLOADED], 1);
    CU_ASSERT_FALSE(m.uploads.deadline.active);
    uploads_apply(&m);
    CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_OK);
    close_stage();
}

static void a_stop_leaves_what_is_left_of_its_time(void) {
    open_stage(EXIT_CODE_STOPPED);
    CU_ASSERT_EQUAL(uploads_stop_budget(&m), 30 * CLOCK_SECOND);
    m.attempt.stop_asked = clock_boot() - 15 * CLOCK_SECOND;
    uploads_begin(&m);
    int64_t seconds = seconds_of("upload");
    CU_ASSERT(seconds >= 20 && seconds <= 25);
    close_stage();
    open_stage(EXIT_CODE_STOPPED);
    m.attempt.stop_asked = clock_boot() - 100 * CLOCK_SECOND;
    uploads_begin(&m);
    CU_ASSERT_EQUAL(seconds_of("upload"), 1);
    close_stage();
}

static void a_stop_meanwhile_shortens_it(void) {
    open_stage(EXIT_CODE_OK);
    uploads_begin(&m);
    CU_ASSERT_EQUAL(seconds_of("upload"), 600);
    uploads_shorten(&m);
    CU_ASSERT_EQUAL(seconds_of("upload_deadline"), 40);
    int64_t deadline = m.uploads.deadline.deadline;
    uploads_shorten(&m); /* another host's */
    CU_ASSERT_EQUAL(m.uploads.deadline.deadline, deadline);
    uploads_end(&m);
    CU_ASSERT_EQUAL(seconds_of("upload_deadline"), 0);
    CU_ASSERT(m.uploads.deadline.deadline < deadline);
    close_stage();
}

static void what_is_missing_changes_a_good_end_alone(void) {
    static const struct {
        int before, after;
    } cases[] = {{EXIT_CODE_OK, EXIT_CODE_UPLOAD}, {EXIT_CODE_STOPPED, EXIT_CODE_UPLOAD}, {42, 42}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        open_stage(cases[i].before);
        told(1, "the server answers 403");
        told(2, "later");
        told(0, NULL);
        CU_ASSERT_EQUAL(raised[EVENT_UPLOADED], 1);
        uploads_apply(&m);
        CU_ASSERT_EQUAL(m.verdict.code, cases[i].after);
        ASSERT_CONTAINS(m.verdict.text,
                        cases[i].after == 42 ? "as it was" : "algo-2: the server answers 403");
        if (cases[i].before == EXIT_CODE_STOPPED)
            ASSERT_CONTAINS(m.verdict.log_tail, "as it was\nits story");
        close_stage();
    }
}

static void nobody_waits_for_a_lost_host(void) {
    open_stage(EXIT_CODE_OK);
    told(0, NULL);
    told(2, NULL);
    members[1].lost = true;
    uploads_lost(&members[1], "its link closed");
    CU_ASSERT_EQUAL(raised[EVENT_UPLOADED], 1);
    uploads_apply(&m);
    CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_HOST_LOST);
    ASSERT_CONTAINS(m.verdict.text, "lost while it uploaded the job's output: its link closed");
    close_stage();
}

/* Hosts with messages still unread here may have given this host up meanwhile. */
static void after_a_pause_a_good_end_waits_for_a_sign_of_life(void) {
    open_stage(EXIT_CODE_OK);
    members[1].last_ack = clock_boot() - 11 * CLOCK_SECOND;
    for (size_t i = 0; i < HOSTS; i++)
        told(i, NULL);
    CU_ASSERT_EQUAL(raised[EVENT_UPLOADED], 0);
    CU_ASSERT_NOT_EQUAL(m.lease.asked, 0);
    members[1].lost = true;
    uploads_lost(&members[1], "its link closed");
    CU_ASSERT_EQUAL(raised[EVENT_UPLOADED], 1);
    close_stage();
    open_stage(42);
    members[1].last_ack = 0;
    for (size_t i = 0; i < HOSTS; i++)
        told(i, NULL);
    CU_ASSERT_EQUAL(raised[EVENT_UPLOADED], 1);
    close_stage();
}

static void a_host_that_says_nothing_is_named(void) {
    open_stage(EXIT_CODE_OK);
    told(0, NULL);
    told(2, NULL);
    m.uploads.deadline.fire(&m);
    CU_ASSERT_EQUAL(raised[EVENT_UPLOAD_DEADLINE], 1);
    uploads_apply(&m);
    CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_UPLOAD);
    ASSERT_CONTAINS(m.verdict.text, "algo-2: the job's output was not uploaded in time");
    close_stage();
}

static void jobs_without_targets_upload_nothing(void) {
    open_stage(EXIT_CODE_OK);
    CU_ASSERT_TRUE(uploads_wanted(&m));
    m.check = true;
    CU_ASSERT_FALSE(uploads_wanted(&m));
    m.check = false;
    job.settings.output = NULL;
    CU_ASSERT_FALSE(uploads_wanted(&m));
    CU_ASSERT_EQUAL(uploads_stop_budget(&m), 40 * CLOCK_SECOND);
    close_stage();
}

UNIT_SUITE("master.uploads", UNIT(it_ends_with_the_last_host),
           UNIT(a_stop_leaves_what_is_left_of_its_time), UNIT(a_stop_meanwhile_shortens_it),
           UNIT(what_is_missing_changes_a_good_end_alone), UNIT(nobody_waits_for_a_lost_host),
           UNIT(after_a_pause_a_good_end_waits_for_a_sign_of_life),
           UNIT(a_host_that_says_nothing_is_named), UNIT(jobs_without_targets_upload_nothing))
