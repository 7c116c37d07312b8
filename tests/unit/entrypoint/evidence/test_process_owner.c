#include "entrypoint/evidence/process_owner.h"

#include "tests/support/unit.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that plays a shim, and below it one that plays the program; with SPACE the program is
 * number 1 of a namespace of its own. */
struct family {
    pid_t shim;
    pid_t program; /* for itself */
};

static bool start(bool space, struct family *ret) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    ret->shim = fork();
    if (ret->shim == 0) {
        pid_t pid = -1;
        if (!space || unshare(CLONE_NEWPID) == 0)
            pid = fork();
        if (pid == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            pid = getpid();
            (void)!write(ends[1], &pid, sizeof(pid));
            (void)pause();
        } else if (pid < 0) {
            (void)!write(ends[1], &pid, sizeof(pid));
        }
        (void)pause();
        _exit(0);
    }
    CU_ASSERT_EQUAL(read(ends[0], &ret->program, sizeof(ret->program)), sizeof(ret->program));
    (void)close(ends[0]);
    (void)close(ends[1]);
    return ret->program > 0;
}

/* The program ends with its shim. */
static void end(const struct family *f) {
    (void)kill(f->shim, SIGKILL);
    (void)waitpid(f->shim, NULL, 0);
}

static void a_process_has_the_rank_of_its_shim(void) {
    struct family a, b;
    CU_ASSERT_TRUE_FATAL(start(false, &a));
    CU_ASSERT_TRUE_FATAL(start(false, &b));
    const struct process_owner_rank ranks[] = {{3, a.shim}, {5, b.shim}};
    const int64_t pids[] = {b.program, a.program, getpid(), -1, INT64_MAX, 0, a.shim};
    int64_t owners[7];
    process_owner_find(ranks, 2, pids, 7, owners);
    CU_ASSERT_EQUAL(owners[0], 5);
    CU_ASSERT_EQUAL(owners[1], 3);
    for (size_t i = 2; i < 7; i++)
        CU_ASSERT_EQUAL(owners[i], -1);
    process_owner_find(ranks, 0, pids, 2, owners);
    CU_ASSERT_EQUAL(owners[0], -1);
    end(&a);
    end(&b);
}

/* The number of a namespace of its own is that which a library there knows. */
static void a_namespace_has_its_own_numbers(void) {
    struct family a, b, c;
    if (geteuid() != 0 || !start(true, &a)) {
        CU_PASS("no namespaces here");
        return;
    }
    CU_ASSERT_EQUAL(a.program, 1);
    CU_ASSERT_TRUE_FATAL(start(false, &b));
    const struct process_owner_rank ranks[] = {{0, a.shim}, {1, b.shim}};
    const int64_t pids[] = {1, b.program};
    int64_t owners[2];
    process_owner_find(ranks, 2, pids, 2, owners);
    CU_ASSERT_EQUAL(owners[0], 0);
    CU_ASSERT_EQUAL(owners[1], 1);
    /* Two ranks that both have a number 1: it cannot be told which is meant. */
    CU_ASSERT_TRUE_FATAL(start(true, &c));
    const struct process_owner_rank three[] = {{0, a.shim}, {1, b.shim}, {2, c.shim}};
    process_owner_find(three, 3, pids, 2, owners);
    CU_ASSERT_EQUAL(owners[0], -1);
    CU_ASSERT_EQUAL(owners[1], 1);
    end(&a);
    end(&b);
    end(&c);
}

UNIT_SUITE("evidence.process_owner", UNIT(a_process_has_the_rank_of_its_shim),
           UNIT(a_namespace_has_its_own_numbers))
