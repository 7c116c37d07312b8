#include "entrypoint/evidence/rank_processes.h"

#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void ignore(int number) {
    (void)number;
}

/* A child that has stopped, with a handler for SIGUSR1. */
static pid_t start(void) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGUSR1, ignore);
        (void)raise(SIGSTOP);
        _exit(1);
    }
    CU_ASSERT_EQUAL_FATAL(waitpid(pid, NULL, WUNTRACED), pid);
    return pid;
}

static void end(pid_t pid) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void processes_below_are_listed(void) {
    pid_t pids[RANK_PROCESSES_MAX];
    pid_t child = start();
    CU_ASSERT_EQUAL(rank_processes(getpid(), pids), 1);
    CU_ASSERT_EQUAL(pids[0], child);
    CU_ASSERT_EQUAL(rank_processes(child, pids), 0);
    end(child);
    CU_ASSERT_EQUAL(rank_processes(getpid(), pids), 0);
}

static void a_list_is_cut_at_its_size(void) {
    pid_t pids[RANK_PROCESSES_MAX];
    pid_t children[RANK_PROCESSES_MAX + 2];
    for (size_t i = 0; i < RANK_PROCESSES_MAX + 2; i++)
        children[i] = start();
    CU_ASSERT_EQUAL(rank_processes(getpid(), pids), RANK_PROCESSES_MAX);
    for (size_t i = 0; i < RANK_PROCESSES_MAX + 2; i++)
        end(children[i]);
}

/* A signal without a handler would end the process. */
static void a_handler_is_known(void) {
    pid_t child = start();
    CU_ASSERT_TRUE(rank_processes_catches(child, SIGUSR1));
    CU_ASSERT_FALSE(rank_processes_catches(child, SIGUSR2));
    CU_ASSERT_FALSE(rank_processes_catches(child, 0));
    CU_ASSERT_FALSE(rank_processes_catches(child, 65));
    end(child);
    CU_ASSERT_FALSE(rank_processes_catches(child, SIGUSR1));
}

static void a_state_is_a_letter(void) {
    pid_t child = start();
    CU_ASSERT_EQUAL(rank_processes_state(child), 'T');
    end(child);
    CU_ASSERT_EQUAL(rank_processes_state(child), '?');
    CU_ASSERT_EQUAL(rank_processes_state(getpid()), 'R');
}

UNIT_SUITE("evidence.rank_processes", UNIT(processes_below_are_listed),
           UNIT(a_list_is_cut_at_its_size), UNIT(a_handler_is_known), UNIT(a_state_is_a_letter))
