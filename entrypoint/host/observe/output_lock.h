/* Ownership of BASE/output among processes that share it: containers with one /opt/ml, by mistake
 * or as hosts of one job.
 *
 * `failure` and `success` there belong to one process at a time, the first one, for its lifetime;
 * another process must not remove or write them, as that would pass for the owner's result.
 *
 * The lock is on BASE/output/.failure-owner, an empty file that is removed with the last process
 * that has it. The kernel releases a lock when its process ends, however that happens; a file
 * server does when it has given up the machine. Without locks the directory belongs to everybody.
 *
 * Locks touch the disk, which may stall, so a child takes them (failure_writer.h) and hands over
 * the descriptor. This process has one lock until its end, as closing the descriptor may need a
 * disk, too. */
#ifndef ENTRYPOINT_HOST_OBSERVE_OUTPUT_LOCK_H
#define ENTRYPOINT_HOST_OBSERVE_OUTPUT_LOCK_H

#include <stdbool.h>
#include <stddef.h>

enum output_lock {
    OUTPUT_LOCK_NONE,      /* not requested yet, or there are no locks */
    OUTPUT_LOCK_OURS,      /* this process's until its end */
    OUTPUT_LOCK_INHERITED, /* the former owner is gone */
    OUTPUT_LOCK_ANOTHERS,  /* another live process has it */
};

/* Sets the directory; a lock of another directory is given up. */
void output_lock_begin(const char *base_dir);
/* Call it last of all, as it may need the disk. */
void output_lock_end(void);
/* A child that may have the lock was killed and is not awaited: the next one waits for a lock in
 * its way until that child is gone. */
void output_lock_child_killed(void);

/* The functions below, except output_lock_receive(), are for the forked child. */

/* Moves the socket TO to descriptor 3 and the lock's file to 4; closes everything above. */
void output_lock_close_others(int to);
/* Takes the lock, or tries again. Creates nothing if there is no BASE. ANEW: the content is removed
 * next, so that an inherited directory is as good as a new one. */
enum output_lock output_lock_take(bool anew);
/* Returns true if other live processes have the directory as well. */
bool output_lock_is_shared(void);
/* Everything is written: removes the lock's file unless another process has the directory. */
void output_lock_leave(void);
/* Sends the result to the parent, and TEXT, shorter than OUTPUT_LOCK_TEXT_SIZE. */
void output_lock_send(const char *text);

/* Receives what the child has sent to the socket FROM, without waiting; "" if there is nothing. */
enum { OUTPUT_LOCK_TEXT_SIZE = 1024 };
void output_lock_receive(int from, char ret[OUTPUT_LOCK_TEXT_SIZE]);

#endif
