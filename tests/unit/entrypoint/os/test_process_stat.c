#include "entrypoint/os/process_stat.h"

#include "tests/support/unit.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void this_process_is_known(void) {
    struct process_stat me;
    /* A name that looks like the end of one. */
    (void)prctl(PR_SET_NAME, "a) Z 1 2");
    CU_ASSERT_FATAL(process_stat_read(getpid(), &me));
    CU_ASSERT_EQUAL(me.pid, getpid());
    CU_ASSERT_EQUAL(me.parent, getppid());
    CU_ASSERT_EQUAL(me.group, getpgrp());
    CU_ASSERT_FALSE(me.dead);
    CU_ASSERT(me.born > 0);
}

/* Its time becomes its parent's with the wait for it. */
static void a_childs_time_is_its_own_and_then_its_parents(void) {
    struct process_stat before;
    struct process_stat child;
    struct process_stat after;
    const pid_t pid = fork();
    if (pid == 0) {
        while (clock() < CLOCKS_PER_SEC / 5)
            ;
        _exit(0);
    }
    siginfo_t info;
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    CU_ASSERT_FATAL(process_stat_read(pid, &child));
    CU_ASSERT(child.dead);
    CU_ASSERT(child.own > 0);
    CU_ASSERT_EQUAL(child.parent, getpid());
    CU_ASSERT_FATAL(process_stat_read(getpid(), &before));
    CU_ASSERT(child.born >= before.born);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    CU_ASSERT_FATAL(process_stat_read(getpid(), &after));
    CU_ASSERT(after.reaped >= before.reaped + child.own);
    CU_ASSERT_FALSE(process_stat_read(pid, &child));
}

UNIT_SUITE("os.process_stat", UNIT(this_process_is_known),
           UNIT(a_childs_time_is_its_own_and_then_its_parents))
