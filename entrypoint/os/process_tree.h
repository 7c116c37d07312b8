/* Termination of all descendants of this process, however deep.
 *
 * All get SIGTERM, and those left at a deadline get SIGKILL; they are reaped until the kernel
 * reports that no child is left. This process must be PID 1 or a subreaper, so that orphans are
 * reparented to it. Processes that entered from outside (docker exec) are not descendants and are
 * left alone. */
#ifndef ENTRYPOINT_OS_PROCESS_TREE_H
#define ENTRYPOINT_OS_PROCESS_TREE_H

#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"

#include <stddef.h>

enum { PROCESS_TREE_SPARED = 2 };

struct process_tree {
    struct loop *loop;
    struct reaper *reaper;
    void (*done)(void *context, size_t left); /* LEFT processes would not die in time */
    void *context;
    struct timer timer;
    pid_t spared[PROCESS_TREE_SPARED]; /* 0: none */
    pid_t kept;                        /* 0: none */
    int64_t kill_at;
    int64_t give_up_at;
    bool running;
};

/* Sends SIGTERM to all, SIGKILL after GRACE nanoseconds (0: at once), and gives up on what even
 * that does not end (a process in uninterruptible sleep) GIVE_UP nanoseconds later. Calls DONE from
 * the loop. A sweep that runs already is taken over, and its own DONE not called. */
void process_tree_start(struct process_tree *s, struct loop *l, struct reaper *r, int64_t grace,
                        int64_t give_up, void (*done)(void *context, size_t left), void *context);

/* For the next process_tree_start(): SIGKILL spares these children (0: none), which are their
 * owners' to end. They are waited for like the others until the sweep gives up, and not counted
 * then. */
void process_tree_spare(struct process_tree *s, pid_t one, pid_t other);

/* This child stays (0: none does): it is neither signalled nor waited for, in the sweep that runs
 * and in those that follow. */
void process_tree_keep(struct process_tree *s, pid_t child);

/* To be called after each reaper_run() with its result. */
void process_tree_reaped(struct process_tree *s, bool children_left);

/* Sends NUMBER to each living descendant of this process but SPARED (0: none); returns how many
 * there were. */
size_t process_tree_signal(int number, pid_t spared);
/* The same, but for those in the process group GROUP, which one kill() has reached. */
size_t process_tree_signal_outside(int number, pid_t group);

#endif
