#include "entrypoint/sweep.h"

#include "common/clock.h"
#include "support/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct stage {
    struct loop loop;
    struct reaper reaper;
    struct sweep sweep;
    size_t left;
    int calls;
    sigset_t set;
};

static void on_signal(void *context, int number) {
    struct stage *s = context;
    (void)number;
    sweep_reaped(&s->sweep, reaper_run(&s->reaper));
}

static void done(void *context, size_t left) {
    struct stage *s = context;
    s->left = left;
    s->calls++;
    loop_end(&s->loop);
}

static void stage_open(struct stage *s) {
    struct error err;
    *s = (struct stage){.left = 99};
    CU_ASSERT_EQUAL(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&s->loop, &err), 0);
    (void)sigemptyset(&s->set);
    (void)sigaddset(&s->set, SIGCHLD);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&s->loop, &s->set, on_signal, s, &err), 0);
}

static void stage_close(struct stage *s) {
    loop_done(&s->loop);
    (void)sigprocmask(SIG_UNBLOCK, &s->set, NULL);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
}

/* DEPTH generations, each in a session of its own, the parents in between gone. READY gets a byte
 * from the last one once it is set up. */
static void start_tree(int depth, bool stubborn, bool stopped) {
    int ready[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    if (fork() == 0) {
        for (int i = 1; i < depth; i++) {
            (void)setsid();
            if (fork() == 0)
                continue;
            if (i % 2 == 0)
                _exit(0);
            for (;;)
                (void)pause();
        }
        if (stubborn)
            (void)signal(SIGTERM, SIG_IGN);
        (void)!write(ready[1], "x", 1);
        if (stopped)
            (void)raise(SIGSTOP);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    char byte;
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
}

static void a_deep_tree_ends_by_sigterm(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    start_tree(4, false, false);
    start_tree(1, false, true);
    int64_t start = clock_now();
    sweep_start(&s.sweep, &s.loop, &s.reaper, 5 * CLOCK_SECOND, CLOCK_SECOND, done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.calls, 1);
    CU_ASSERT_EQUAL(s.left, 0);
    CU_ASSERT(clock_now() - start < 4 * CLOCK_SECOND);
    stage_close(&s);
}

static void what_ignores_sigterm_is_killed_at_the_deadline(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    start_tree(3, true, false);
    int64_t start = clock_now();
    sweep_start(&s.sweep, &s.loop, &s.reaper, 200 * CLOCK_MILLISECOND, 5 * CLOCK_SECOND, done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.left, 0);
    CU_ASSERT(clock_now() - start >= 200 * CLOCK_MILLISECOND);
    CU_ASSERT(clock_now() - start < 3 * CLOCK_SECOND);
    stage_close(&s);
}

static void without_children_it_is_done_at_once(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    sweep_start(&s.sweep, &s.loop, &s.reaper, 5 * CLOCK_SECOND, CLOCK_SECOND, done, &s);
    CU_ASSERT_EQUAL(s.calls, 0); /* never from within the call */
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.left, 0);
    stage_close(&s);
}

static void never(void *context, size_t left) {
    (void)left;
    done(context, 77);
}

static void a_second_sweep_takes_over_the_first(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    start_tree(2, true, false);
    sweep_start(&s.sweep, &s.loop, &s.reaper, 50 * CLOCK_MILLISECOND, CLOCK_SECOND, never, &s);
    sweep_start(&s.sweep, &s.loop, &s.reaper, 100 * CLOCK_MILLISECOND, CLOCK_SECOND, done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.calls, 1);
    CU_ASSERT_EQUAL(s.left, 0);
    stage_close(&s);
}

/* A process that is not below this one, as from docker exec: this process's own parent's child. */
static void processes_beside_us_are_left_alone(void) {
    pid_t beside = fork();
    if (beside == 0)
        for (;;)
            (void)pause();
    pid_t tester = fork();
    if (tester == 0) {
        struct stage s;
        struct error err;
        stage_open(&s);
        start_tree(2, false, false);
        sweep_start(&s.sweep, &s.loop, &s.reaper, 0, CLOCK_SECOND, done, &s);
        _exit(loop_run(&s.loop, &err) == 0 && s.left == 0 ? 0 : 1);
    }
    int status = 1;
    (void)waitpid(tester, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(waitpid(beside, &status, WNOHANG), 0);
    (void)kill(beside, SIGKILL);
    (void)waitpid(beside, &status, 0);
}

UNIT_MAIN("entrypoint.sweep", UNIT(a_deep_tree_ends_by_sigterm),
          UNIT(what_ignores_sigterm_is_killed_at_the_deadline),
          UNIT(without_children_it_is_done_at_once), UNIT(a_second_sweep_takes_over_the_first),
          UNIT(processes_beside_us_are_left_alone))
