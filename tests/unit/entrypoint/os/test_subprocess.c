#include "entrypoint/os/subprocess.h"

#include "common/clock.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>

static struct loop loop;
static struct reaper reaper;
static struct subprocess task;
static struct buf seen;
static int code;
static bool hold_user_signals;
static int64_t limit;
static int hold; /* a signal to block, along with SIGUSR2; 0: none */

static void keep(void *context, const char *line, size_t size) {
    (void)context;
    CU_ASSERT_EQUAL(buf_add(&seen, line, size, NULL), 0);
}

static void ended(void *context, int exit_code) {
    (void)context;
    code = exit_code;
    loop_end(&loop);
}

static int start_words(const char *const *words, struct error *err) {
    struct argv argv = {0};
    struct argv environment = {0};
    buf_init(&seen, 4096);
    reaping_open(&loop, &reaper);
    CU_ASSERT_EQUAL(argv_add_all(&argv, words, err), 0);
    CU_ASSERT_EQUAL(argv_add(&environment, "PATH=/usr/bin:/bin", err), 0);
    struct subprocess_options options = {.prefix = "[t] ",
                                         .line = keep,
                                         .ended = ended,
                                         .limit = limit,
                                         .hold = {hold, hold > 0 ? SIGUSR2 : 0},
                                         .hold_user_signals = hold_user_signals};
    int result = subprocess_start(&task, &loop, &reaper, &argv, &environment, &options, err);
    argv_done(&argv);
    argv_done(&environment);
    return result;
}

static int start(const char *script, struct error *err) {
    const char *const words[] = {script[0] == '/' ? script : "/bin/sh", "-c", script, NULL};
    return start_words(words, err);
}

static void stop(void) {
    subprocess_done(&task);
    loop_done(&loop);
    buf_done(&seen);
}

static void its_words_are_complete_when_its_end_is_reported(void) {
    struct error err;
    CU_ASSERT_EQUAL_FATAL(start("echo out; echo err >&2; printf rest; exit 5", &err), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(code, 5);
    CU_ASSERT_EQUAL(task.signal, 0);
    ASSERT_CONTAINS(buf_text(&seen), "[t] out\n");
    ASSERT_CONTAINS(buf_text(&seen), "[t] err\n");
    ASSERT_CONTAINS(buf_text(&seen), "[t] rest\n");
    ASSERT_CONTAINS(task.tail.text, "rest");
    stop();
}

/* A signal that arrives before the program is ready for it must not kill it. grep runs without a
 * shell, which would unblock the signals. */
static void signals_wait_where_they_are_to(void) {
    static const struct {
        int hold;
        bool users;
        const char *blocked;
    } cases[] = {{0, false, "SigBlk:\t0000000000000000\n"},
                 {SIGUSR1, false, "SigBlk:\t0000000000000a00\n"},
                 {0, true, "SigBlk:\t0000000000022a04\n"}};
    static const char *const words[] = {"/bin/grep", "SigBlk", "/proc/self/status", NULL};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err;
        hold = cases[i].hold;
        hold_user_signals = cases[i].users;
        CU_ASSERT_EQUAL_FATAL(start_words(words, &err), 0);
        hold = 0;
        hold_user_signals = false;
        CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
        ASSERT_CONTAINS(buf_text(&seen), cases[i].blocked);
        stop();
    }
}

static void a_signal_reaches_its_whole_group(void) {
    struct error err;
    int64_t begin = clock_now();
    CU_ASSERT_EQUAL_FATAL(start("sleep 60 & wait", &err), 0);
    subprocess_signal(&task, SIGTERM);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(code, 128 + SIGTERM);
    CU_ASSERT_EQUAL(task.signal, SIGTERM);
    CU_ASSERT(clock_now() - begin < 30 * CLOCK_SECOND);
    subprocess_signal(&task, SIGTERM); /* there is no process: nothing happens */
    stop();
}

/* A program may exit with a code that a shell uses for a signal. */
static void a_code_like_a_signals_is_a_code(void) {
    struct error err;
    CU_ASSERT_EQUAL_FATAL(start("exit 137", &err), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(code, 137);
    CU_ASSERT_EQUAL(task.signal, 0);
    stop();
}

static void what_is_not_there_is_an_error(void) {
    struct error err;
    CU_ASSERT_EQUAL(start("/no/such/mpirun", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
    CU_ASSERT_FALSE(task.running);
    stop();
}

static void it_is_killed_at_its_limit(void) {
    struct error err;
    limit = 50 * CLOCK_MILLISECOND;
    CU_ASSERT_EQUAL_FATAL(start("echo begun; exec sleep 600", &err), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(code, 128 + SIGKILL);
    CU_ASSERT_EQUAL(task.signal, SIGKILL);
    CU_ASSERT_TRUE(task.late);
    stop();
    limit = 600 * CLOCK_SECOND;
    CU_ASSERT_EQUAL_FATAL(start("exit 3", &err), 0);
    CU_ASSERT_TRUE(task.deadline.active);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(code, 3);
    CU_ASSERT_FALSE(task.late || task.deadline.active);
    stop();
    CU_ASSERT_EQUAL_FATAL(start("exec sleep 600", &err), 0);
    stop(); /* while it runs: no timer is left to fire */
    CU_ASSERT_FALSE(task.deadline.active);
    (void)kill(-task.child.pid, SIGKILL);
    limit = 0;
}

UNIT_SUITE("os.subprocess", UNIT(its_words_are_complete_when_its_end_is_reported),
           UNIT(signals_wait_where_they_are_to), UNIT(a_signal_reaches_its_whole_group),
           UNIT(a_code_like_a_signals_is_a_code), UNIT(what_is_not_there_is_an_error),
           UNIT(it_is_killed_at_its_limit))
