#include "entrypoint/os/process_tree.h"

#include "common/clock.h"
#include "tests/support/lag.h"
#include "tests/support/refused_call.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Replaces the C library's function: one process cannot be killed, like one in disk sleep, and one
 * is dead before the call returns, however slow the machine is. */
static pid_t immune;
static pid_t mortal;
int kill(pid_t pid, int number) {
    siginfo_t info;
    int result = pid == immune ? 0 : (int)syscall(SYS_kill, pid, number);
    if (result == 0 && number == SIGKILL && pid > 0 && pid == mortal)
        (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    return result;
}

struct stage {
    struct loop loop;
    struct reaper reaper;
    struct process_tree sweep;
    size_t left;
    int calls;
    sigset_t set;
};

static void on_signal(void *context, int number) {
    struct stage *s = context;
    (void)number;
    process_tree_reaped(&s->sweep, reaper_run(&s->reaper));
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

/* Starts DEPTH generations, each in a session of its own; every second parent exits. Returns once
 * the last generation is set up. */
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
    struct lag lag;
    lag_begin(&lag);
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 5 * CLOCK_SECOND, CLOCK_SECOND, done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.calls, 1);
    CU_ASSERT_EQUAL(s.left, 0);
    ASSERT_WITHIN(&lag, 4 * CLOCK_SECOND);
    stage_close(&s);
}

static void what_ignores_sigterm_is_killed_at_the_deadline(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    start_tree(3, true, false);
    int64_t start = clock_now();
    struct lag lag;
    lag_begin(&lag);
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 200 * CLOCK_MILLISECOND, 60 * CLOCK_SECOND,
                       done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.left, 0);
    CU_ASSERT(clock_now() - start >= 200 * CLOCK_MILLISECOND);
    ASSERT_WITHIN(&lag, 3 * CLOCK_SECOND);
    stage_close(&s);
}

static void without_children_it_is_done_at_once(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 5 * CLOCK_SECOND, CLOCK_SECOND, done, &s);
    CU_ASSERT_EQUAL(s.calls, 0); /* never called from within the start */
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
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 50 * CLOCK_MILLISECOND, CLOCK_SECOND, never,
                       &s);
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 100 * CLOCK_MILLISECOND, 60 * CLOCK_SECOND,
                       done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.calls, 1);
    CU_ASSERT_EQUAL(s.left, 0);
    stage_close(&s);
}

/* A child that ignores SIGTERM has a child that does not ignore it and has to end. */
static int sweep_where(bool (*prepare)(void)) {
    int alive[2];
    char byte;
    if (pipe(alive) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGTERM, SIG_IGN);
        if (fork() == 0) {
            (void)signal(SIGTERM, SIG_DFL);
            (void)!write(alive[1], "x", 1);
            for (;;)
                (void)pause();
        }
        (void)close(alive[1]);
        for (;;)
            (void)pause();
    }
    (void)close(alive[1]);
    if (read(alive[0], &byte, 1) != 1)
        return 2;
    if (!prepare())
        return 4;
    size_t count = process_tree_signal(SIGTERM, 0);
    struct pollfd end = {.fd = alive[0], .events = POLLIN};
    bool ended = poll(&end, 1, 60000) == 1 && read(alive[0], &byte, 1) == 0;
    (void)process_tree_signal(SIGKILL, 0);
    (void)waitpid(child, NULL, 0);
    return count == 2 && ended ? 0 : 3;
}

/* The pidfd of a process is descriptor 0 then. */
static bool stdin_is_closed(void) {
    return close(0) == 0;
}

static bool pidfds_are_refused(void) {
    return refuse_call(SYS_pidfd_open, EPERM);
}

static bool pidfds_take_no_signal(void) {
    return refuse_call(SYS_pidfd_send_signal, EPERM);
}

static int sweep_without_stdin(void) {
    return sweep_where(stdin_is_closed);
}

static int sweep_without_pidfds(void) {
    return sweep_where(pidfds_are_refused);
}

static int sweep_without_their_signals(void) {
    return sweep_where(pidfds_take_no_signal);
}

static void a_grandchild_is_reached_where_this_process_has_no_stdin(void) {
    CU_ASSERT_EQUAL(unit_in_child(sweep_without_stdin), 0);
}

static void a_grandchild_is_reached_where_a_filter_refuses_pidfds(void) {
    CU_ASSERT_EQUAL(unit_in_child(sweep_without_pidfds), 0);
    CU_ASSERT_EQUAL(unit_in_child(sweep_without_their_signals), 0);
}

/* A process that is not a descendant of the sweeping one, such as one that docker exec started;
 * here it is a sibling. */
static void processes_beside_us_are_left_alone(void) {
    pid_t beside = fork();
    if (beside == 0)
        for (;;)
            (void)pause();
    pid_t tester = fork();
    if (tester == 0) {
        struct stage s;
        struct error err;
        unsigned before = CU_get_number_of_failures();
        stage_open(&s);
        start_tree(2, false, false);
        process_tree_start(&s.sweep, &s.loop, &s.reaper, 0, 60 * CLOCK_SECOND, done, &s);
        bool good = loop_run(&s.loop, &err) == 0 && s.left == 0 && s.calls == 1;
        stage_close(&s);
        _exit(good && CU_get_number_of_failures() == before ? 0 : 1);
    }
    int status = 1;
    (void)waitpid(tester, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(waitpid(beside, &status, WNOHANG), 0);
    (void)kill(beside, SIGKILL);
    (void)waitpid(beside, &status, 0);
}

/* Starts a child named NAME that does nothing until it is killed. */
static pid_t start_idle(const char *name) {
    int ready[2];
    char byte;
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_NAME, name);
        (void)signal(SIGTERM, SIG_IGN);
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return pid;
}

static void any_name_is_found(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    (void)start_idle("a) S 1 (b) Z");
    (void)start_idle(") R 1 1");
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 0, 60 * CLOCK_SECOND, done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.left, 0);
    stage_close(&s);
}

static void what_cannot_be_killed_is_given_up(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    immune = start_idle("immune");
    mortal = start_idle("mortal");
    int64_t start = clock_now();
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 50 * CLOCK_MILLISECOND,
                       200 * CLOCK_MILLISECOND, done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.left, 1);
    CU_ASSERT(clock_now() - start >= 250 * CLOCK_MILLISECOND);
    CU_ASSERT(clock_now() - start < 30 * CLOCK_SECOND);
    (void)waitpid(mortal, NULL, 0); /* where the sweep had no time to reap it */
    pid_t last = immune;
    immune = mortal = 0;
    (void)kill(last, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(last, NULL, 0), last);
    stage_close(&s);
}

/* Children that others have to end are waited for, but not killed. */
static void the_spared_child_is_waited_for(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    process_tree_spare(&s.sweep, start_idle("spared"), start_idle("spared, too"));
    mortal = start_idle("other");
    int64_t start = clock_now();
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 0, 300 * CLOCK_MILLISECOND, done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT(clock_now() - start >= 300 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(s.left, 0);
    (void)waitpid(mortal, NULL, 0); /* where the sweep had no time to reap it */
    mortal = 0;
    for (size_t i = 0; i < PROCESS_TREE_SPARED; i++) {
        CU_ASSERT_EQUAL(waitpid(s.sweep.spared[i], NULL, WNOHANG), 0);
        (void)kill(s.sweep.spared[i], SIGKILL);
        (void)waitpid(s.sweep.spared[i], NULL, 0);
    }
    stage_close(&s);
}

static void the_dead_are_not_counted(void) {
    struct stage s;
    int ready[2];
    char byte;
    stage_open(&s);
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        siginfo_t info;
        (void)waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    CU_ASSERT_EQUAL(process_tree_signal(SIGCONT, 0), 1);
    (void)kill(parent, SIGKILL);
    (void)waitpid(parent, NULL, 0);
    (void)waitpid(-1, NULL, 0); /* the zombie was reparented when its parent ended */
    (void)close(ready[0]);
    (void)close(ready[1]);
    stage_close(&s);
}

/* PIDs wrap around: a child's may be lower than its parent's. */
static void a_tree_whose_pids_fall_is_found(void) {
    struct stage s;
    struct error err;
    int ready[2];
    char byte = 0;
    stage_open(&s);
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    if (fork() == 0) {
        bool made = true;
        for (int i = 0; i < 3 && made; i++) {
            long child = -1;
            for (pid_t lower = getpid() - 1; lower > 300 && child < 0; lower--) {
                struct clone_args args = {.exit_signal = SIGCHLD,
                                          .set_tid = (uint64_t)(uintptr_t)&lower,
                                          .set_tid_size = 1};
                child = syscall(SYS_clone3, &args, sizeof(args));
                if (child < 0 && errno != EEXIST)
                    break;
            }
            made = child >= 0;
            if (child > 0)
                for (;;)
                    (void)pause();
        }
        (void)!write(ready[1], made ? "y" : "n", 1);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    size_t expected = byte == 'y' ? 4 : 1;
    CU_ASSERT_EQUAL(process_tree_signal(SIGCONT, 0), expected);
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 0, 60 * CLOCK_SECOND, done, &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT_EQUAL(s.left, 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
    stage_close(&s);
    if (byte != 'y')
        unit_skip("pids cannot be chosen here");
}

/* One child is kept: it is neither signalled nor waited for, and delays nothing. */
static void the_kept_child_stays(void) {
    struct stage s;
    struct error err;
    stage_open(&s);
    pid_t kept = fork();
    if (kept == 0)
        for (;;)
            (void)pause();
    pid_t other = fork();
    if (other == 0)
        for (;;)
            (void)pause();
    process_tree_keep(&s.sweep, kept);
    int64_t begin = clock_now();
    process_tree_start(&s.sweep, &s.loop, &s.reaper, 60 * CLOCK_SECOND, 60 * CLOCK_SECOND, done,
                       &s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT(clock_now() - begin < 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(s.left, 0);
    CU_ASSERT_EQUAL(kill(other, 0), -1);
    CU_ASSERT_EQUAL(kill(kept, 0), 0);
    (void)kill(kept, SIGKILL);
    (void)waitpid(kept, NULL, 0);
    stage_close(&s);
}

UNIT_SUITE("os.process_tree", UNIT(the_kept_child_stays), UNIT(a_deep_tree_ends_by_sigterm),
           UNIT(what_ignores_sigterm_is_killed_at_the_deadline),
           UNIT(without_children_it_is_done_at_once), UNIT(a_second_sweep_takes_over_the_first),
           UNIT(a_grandchild_is_reached_where_this_process_has_no_stdin),
           UNIT(a_grandchild_is_reached_where_a_filter_refuses_pidfds),
           UNIT(processes_beside_us_are_left_alone), UNIT(any_name_is_found),
           UNIT(what_cannot_be_killed_is_given_up), UNIT(the_spared_child_is_waited_for),
           UNIT(the_dead_are_not_counted), UNIT(a_tree_whose_pids_fall_is_found))
