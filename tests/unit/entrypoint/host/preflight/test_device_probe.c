/* The child is this program, started anew as `examine PART`. */
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/host/preflight/device_probe.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct loop loop;
static struct reaper reaper;
static json_t *told;

static void on_signal(void *context, int number) {
    (void)number;
    (void)reaper_run(context);
}

static void open_loop(sigset_t *set) {
    reaper = (struct reaper){.children = NULL};
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGCHLD);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&loop, set, on_signal, &reaper, NULL), 0);
}

static void done(void *context, const json_t *found) {
    (void)context;
    told = json_deep_copy(found);
    loop_end(&loop);
}

static const char *find(const char *part, int64_t limit, const char *key) {
    static char text[256];
    struct device_probe probe = {0};
    struct argv environment = {0};
    sigset_t set;
    const struct services services = {.loop = &loop, .reaper = &reaper};
    const struct device_probe_options options = {
        .part = part, .environment = &environment, .limit = limit, .done = done};
    open_loop(&set);
    CU_ASSERT_EQUAL_FATAL(argv_set_env(&environment, "A", "b", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(device_probe_start(&probe, &services, &options, NULL), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    const char *value = json_string_value(json_object_get(told, key));
    (void)snprintf(text, sizeof(text), "%s%s", value != NULL ? value : "",
                   json_is_true(json_object_get(told, "lost")) ? " (lost)" : "");
    json_decref(told);
    device_probe_close(&probe);
    device_probe_close(&probe);
    argv_done(&environment);
    loop_done(&loop);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    return text;
}

static void what_the_child_tells_is_found(void) {
    CU_ASSERT_STRING_EQUAL(find("good-part", 60 * CLOCK_SECOND, "word"), "found");
}

static void a_child_that_says_nothing_is_a_fault(void) {
    CU_ASSERT_STRING_EQUAL(find("bad-part", 60 * CLOCK_SECOND, "fault"),
                           "the process that asked for it ended with code 3 (lost)");
    CU_ASSERT_STRING_EQUAL(find("crashing-part", 60 * CLOCK_SECOND, "fault"),
                           "the process that asked for it died of signal 6 (lost)");
}

static void one_that_hangs_is_killed(void) {
    CU_ASSERT_STRING_EQUAL(find("hanging-part", CLOCK_SECOND / 2, "fault"),
                           "no answer within 0.5 s (lost)");
}

static int role(int argc, char **argv) {
    if (argc != 3 || strcmp(argv[1], "examine") != 0 || strstr(argv[2], "-part") == NULL)
        return -1;
    if (strcmp(argv[2], "good-part") == 0)
        (void)puts("{\"good-part\": {\"word\": \"found\"}}");
    if (strcmp(argv[2], "crashing-part") == 0)
        (void)raise(SIGABRT);
    (void)alarm(60);
    while (strcmp(argv[2], "hanging-part") == 0)
        (void)pause();
    return strcmp(argv[2], "bad-part") == 0 ? 3 : 0;
}

int main(int argc, char **argv) {
    static const struct unit_case cases[] = {UNIT(what_the_child_tells_is_found),
                                             UNIT(a_child_that_says_nothing_is_a_fault),
                                             UNIT(one_that_hangs_is_killed)};
    int code = role(argc, argv);
    return code >= 0 ? code
                     : unit_main("host.device_probe", cases, sizeof(cases) / sizeof(cases[0]));
}
