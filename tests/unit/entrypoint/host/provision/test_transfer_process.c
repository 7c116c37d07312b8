#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/host/provision/transfer_process.h"
#include "tests/support/beside.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>
#include <time.h>

static char region[] = "AWS_REGION=eu-west-1";
static char other[] = "HOME=/root";
static char similar[] = "AWSOME=x";
static char endpoint[] = "S3_ENDPOINT_URL=http://x";
static char *environment[] = {region, other, similar, endpoint, NULL};

static void only_what_s3_needs_is_handed_on(void) {
    struct job job = {0};
    cleanup_json json_t *list = transfer_process_environment(&job, environment);
    CU_ASSERT_EQUAL(json_array_size(list), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(list, 0)), region);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(list, 1)), endpoint);
}

/* Beside the tests' own programs there is none that transfers. */
static void a_build_without_it_says_so(void) {
    struct job job = {0};
    struct subprocess task = {0};
    struct error err = {0};
    const struct services services = {.job = &job};
    const struct transfer_process_options options = {.verb = "fetch"};
    CU_ASSERT_EQUAL(transfer_process_start(&task, &services, &options, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "was built without libcurl, libarchive or Expat");
}

/* --- a copy of this program, beside one that transfers -----------------------------------------
 */

static struct loop loop;
static int code;

static void ended(void *context, int exit_code) {
    (void)context;
    code = exit_code;
    loop_end(&loop);
}

static void ignore(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

/* That program: it does nothing but to wait for what it has been told. Were it not held back, that
 * would be its death by now. */
static int transfer(void) {
    const struct timespec patience = {.tv_sec = 60};
    sigset_t told;
    (void)sigemptyset(&told);
    (void)sigaddset(&told, SIGUSR1);
    (void)sigaddset(&told, SIGUSR2);
    return sigtimedwait(&told, NULL, &patience);
}

/* A job may be over, and have no time left, before it listens. */
static void what_it_is_told_at_once_waits_for_it(void) {
    static const int numbers[] = {SIGUSR1, SIGUSR2};
    static struct cluster_host hosts[] = {{.name = {"algo-1"}}};
    struct job job = {.cluster = {.hosts = hosts, .count = 1}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct reaper reaper = {0};
        struct subprocess task = {0};
        struct error err = {0};
        cleanup_json json_t *order = json_object();
        reaping_open(&loop, &reaper);
        const struct services services = {.loop = &loop, .reaper = &reaper, .job = &job};
        const struct transfer_process_options options = {
            .verb = "upload", .order = order, .line = ignore, .ended = ended};
        CU_ASSERT_EQUAL_FATAL(transfer_process_start(&task, &services, &options, &err), 0);
        subprocess_signal(&task, numbers[i]);
        CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
        CU_ASSERT_EQUAL(code, numbers[i]); /* 128 more where it died of it */
        subprocess_done(&task);
        loop_done(&loop);
    }
}

static char beside[] = "beside";

static void its_signals_wait_until_it_listens(void) {
    CU_ASSERT_EQUAL(beside_run("ringmaster-transfer", NULL, beside), 0);
}

static void the_last_line_is_its_word(void) {
    struct subprocess task = {0};
    CU_ASSERT_STRING_EQUAL(transfer_process_last_word(&task), "");
    static const char text[] = "first\nlast";
    memcpy(task.tail.text, text, sizeof(text) - 1);
    task.tail.size = sizeof(text) - 1;
    CU_ASSERT_STRING_EQUAL(transfer_process_last_word(&task), "last");
}

int main(int argc, char **argv) {
    static const struct unit_case cases[] = {
        UNIT(only_what_s3_needs_is_handed_on), UNIT(a_build_without_it_says_so),
        UNIT(its_signals_wait_until_it_listens), UNIT(the_last_line_is_its_word)};
    static const struct unit_case of_copies[] = {UNIT(what_it_is_told_at_once_waits_for_it)};
    if (str_ends_with(argv[0], "/ringmaster-transfer"))
        return transfer();
    if (argc == 2 && strcmp(argv[1], beside) == 0)
        return unit_main("host.transfer_task beside one", of_copies, 1);
    return unit_main("host.transfer_task", cases, sizeof(cases) / sizeof(cases[0]));
}
