#include "entrypoint/host/worker/worker_messages.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/quiet_link.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct cluster_host hosts[2] = {{.name = {"algo-1"}, .slots = 1},
                                       {.name = {"algo-2"}, .slots = 1}};
static struct job job;
static struct role_state role_state;
static struct supervisor s;
static struct link *ours;
static int theirs;

static int begins;

/* Beside the tests' own programs there is none that fetches. */
static void note_begin(void *context, const struct error *failure) {
    (void)context;
    begins += failure != NULL;
}

static void set_up(void) {
    int pair[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                          0);
    job = (struct job){.settings = {.shrink = true, .restarts = 1},
                       .cluster = {.hosts = hosts, .count = 2, .self = 1}};
    CU_ASSERT_EQUAL_FATAL(role_state_open(&role_state, &job, NULL), 0);
    (void)snprintf(role_state.run, sizeof(role_state.run), "0123456789abcdef");
    s = (struct supervisor){.job = &job, .role_state = &role_state};
    CU_ASSERT_EQUAL_FATAL(loop_init(&s.loop, NULL), 0);
    ours = link_new(&s.loop, pair[0], NULL, false, &quiet_link, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ours);
    theirs = pair[1];
}

static void tear_down(void) {
    link_free(ours);
    (void)close(theirs);
    loop_done(&s.loop);
    role_state_close(&role_state);
}

/* What was sent last, of the type TYPE; the caller's. */
static json_t *sent(const char *type) {
    cleanup_buf struct buf in;
    char bytes[8192];
    json_t *message = NULL;
    buf_init(&in, FRAME_MAX);
    if (ours != NULL)
        link_flush(ours);
    ssize_t got = recv(theirs, bytes, sizeof(bytes), 0);
    CU_ASSERT_FATAL(got > 0);
    CU_ASSERT_EQUAL(buf_add(&in, bytes, (size_t)got, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(frame_take(&in, &message, NULL), 1);
    CU_ASSERT_STRING_EQUAL(frame_type(message), type);
    return message;
}

static const char *text(const json_t *message, const char *key) {
    const char *value = json_string_value(json_object_get(message, key));
    return value != NULL ? value : "";
}

static void a_first_join_tells_nothing_of_the_job_so_far(void) {
    set_up();
    worker_send_join(&s, ours);
    cleanup_json json_t *message = sent("join");
    CU_ASSERT_STRING_EQUAL(text(message, "host"), "algo-2");
    CU_ASSERT_PTR_NULL(json_object_get(message, "succession"));
    CU_ASSERT_PTR_NULL(json_object_get(message, "back"));
    CU_ASSERT_PTR_NULL(json_object_get(message, "fault_code"));
    CU_ASSERT_PTR_NOT_NULL(json_object_get(message, "cpus"));
    tear_down();
}

static void later_ones_do_and_say_what_they_ask_for(void) {
    struct error fault = {0};
    set_up();
    role_state.again = true;
    worker_send_join(&s, ours);
    cleanup_json json_t *follows = sent("join");
    CU_ASSERT_STRING_EQUAL(text(json_object_get(follows, "succession"), "run"), role_state.run);
    CU_ASSERT_PTR_NULL(json_object_get(follows, "back"));
    role_state.back = true;
    (void)error_set(&fault, EXIT_CODE_DEVICE, "no device");
    s.fault = fault;
    worker_send_join(&s, ours);
    cleanup_json json_t *back = sent("join");
    CU_ASSERT(json_is_true(json_object_get(back, "back")));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(back, "fault_code")), EXIT_CODE_DEVICE);
    CU_ASSERT_STRING_EQUAL(text(back, "fault_text"), "no device");
    tear_down();
}

static void a_heartbeat_brings_back_what_it_carried(void) {
    set_up();
    cleanup_json json_t *beat = frame_new("beat");
    (void)json_object_set_new(beat, "time", json_integer(4711));
    worker_answer_beat(&s, ours, beat);
    cleanup_json json_t *message = sent("alive");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "echo")), 4711);
    CU_ASSERT(json_integer_value(json_object_get(message, "time")) > 0);
    CU_ASSERT_PTR_NULL(json_object_get(message, "ranks")); /* none shows progress */
    tear_down();
}

static void a_stop_says_whether_it_is_the_second(void) {
    set_up();
    worker_send_stop(ours, true);
    cleanup_json json_t *again = sent("stop");
    CU_ASSERT(json_is_true(json_object_get(again, "again")));
    worker_send_stop(ours, false);
    cleanup_json json_t *first = sent("stop");
    CU_ASSERT(json_is_false(json_object_get(first, "again")));
    tear_down();
}

static void progress_of_fetching_is_reported(void) {
    set_up();
    s.mark.count = 3;
    worker_send_fetching(&s, ours);
    cleanup_json json_t *message = sent("fetching");
    CU_ASSERT_STRING_EQUAL(text(message, "host"), "algo-2");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "marks")), 3);
    tear_down();
}

/* What is no address is not taken for one; nothing waits for it here. */
static void whom_to_ask_is_an_address(void) {
    static char *none_set[] = {NULL};
    static const char *const texts[] = {"10.0.0.2", "fd00::2", "algo-1", ""};
    set_up();
    s.environment = none_set;
    supervisor_share(&s);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cleanup_json json_t *message =
            frame_with("parent", json_pack("{s:s}", "address", texts[i]));
        s.input_download = (struct input_download){
            .services = &s.services, .o = {.done = note_begin}, .waits = true};
        begins = 0;
        worker_take_above(&s, message);
        CU_ASSERT_EQUAL(begins, i < 2);
        CU_ASSERT_EQUAL(s.input_download.waits, i >= 2);
        s.input_download.services = NULL;
    }
    cleanup_json json_t *none = frame_new("parent");
    s.input_download = (struct input_download){.services = &s.services, .waits = true};
    worker_take_above(&s, none);
    CU_ASSERT_TRUE(s.input_download.waits);
    s.input_download.services = NULL;
    tear_down();
}

static void the_name_of_a_run_is_one_or_none(void) {
    static const char *const bad[] = {"", "0123456789abcde", "0123456789abcdef0",
                                      "0123456789abcdeg", "../../../../../../"};
    char run[ATTEMPT_RUN_SIZE] = "before";
    cleanup_json json_t *message = frame_new("welcome");
    CU_ASSERT_FALSE(worker_read_run(message, run));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)json_object_set_new(message, "run", json_string(bad[i]));
        CU_ASSERT_FALSE(worker_read_run(message, run));
    }
    CU_ASSERT_STRING_EQUAL(run, "before");
    (void)json_object_set_new(message, "run", json_string("fedcba9876543210"));
    CU_ASSERT(worker_read_run(message, run));
    CU_ASSERT_STRING_EQUAL(run, "fedcba9876543210");
}

static void a_refusal_is_never_a_success(void) {
    static const int bad[] = {0, -1, 256};
    struct error why;
    cleanup_json json_t *message = frame_new("refuse");
    worker_read_refusal(message, &why);
    CU_ASSERT_EQUAL(why.code, EXIT_CODE_CONFIG);
    CU_ASSERT_STRING_EQUAL(why.text, "no reason given");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)json_object_set_new(message, "code", json_integer(bad[i]));
        worker_read_refusal(message, &why);
        CU_ASSERT_EQUAL(why.code, EXIT_CODE_CONFIG);
    }
    (void)json_object_set_new(message, "code", json_integer(EXIT_CODE_HOST_LOST));
    (void)json_object_set_new(message, "text", json_string("too late"));
    worker_read_refusal(message, &why);
    CU_ASSERT_EQUAL(why.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_STRING_EQUAL(why.text, "too late");
    (void)json_object_set_new(message, "text", json_string(""));
    worker_read_refusal(message, &why);
    CU_ASSERT_STRING_EQUAL(why.text, "no reason given");
}

static void a_master_of_another_version_hears_so_in_its_own(void) {
    char expected[64];
    set_up();
    worker_part_from_older(&s, ours, FRAME_VERSION - 1);
    ours = NULL;
    cleanup_json json_t *message = sent("join");
    CU_ASSERT_EQUAL(frame_version(message), FRAME_VERSION - 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "fault_code")), EXIT_CODE_CONFIG);
    (void)snprintf(expected, sizeof(expected), "speaks version %d", FRAME_VERSION);
    ASSERT_CONTAINS(text(message, "fault_text"), expected);
    tear_down();
}

UNIT_SUITE("host.worker_messages", UNIT(a_first_join_tells_nothing_of_the_job_so_far),
           UNIT(later_ones_do_and_say_what_they_ask_for),
           UNIT(a_heartbeat_brings_back_what_it_carried),
           UNIT(a_stop_says_whether_it_is_the_second), UNIT(progress_of_fetching_is_reported),
           UNIT(whom_to_ask_is_an_address), UNIT(the_name_of_a_run_is_one_or_none),
           UNIT(a_refusal_is_never_a_success),
           UNIT(a_master_of_another_version_hears_so_in_its_own))
