/* Whose BASE/output is, where several processes have it: containers that share one /opt/ml, by
 * mistake or as hosts of one job. `failure` and `success` there are one process's at a time, the
 * first one's for as long as it lives; what another one would clear away or write there would pass
 * for that one's.
 *
 * It is a lock on a file of that folder, BASE/output/.failure-owner, which is empty and goes with
 * the last process that has it. The kernel lets go of a lock when its process is gone, however that
 * ends; a server of files does when it has given up the machine. Where there are no locks the
 * folder is everybody's.
 *
 * Locks touch the disk, which may stall, so a child takes them (failure_writer.h) and hands over
 * the descriptor that holds them. This process has one claim, which ends with it: to close that
 * descriptor may take a disk, too. */
#ifndef ENTRYPOINT_HOST_OBSERVE_OUTPUT_LOCK_H
#define ENTRYPOINT_HOST_OBSERVE_OUTPUT_LOCK_H

#include <stdbool.h>
#include <stddef.h>

enum output_lock {
    OUTPUT_LOCK_NONE,      /* not asked for yet, or there are no locks */
    OUTPUT_LOCK_OURS,      /* this process's, to its end */
    OUTPUT_LOCK_INHERITED, /* it was another's, and that one is gone */
    OUTPUT_LOCK_ANOTHERS,  /* another process that lives has it */
};

/* Of which folder it is; one of another folder is given up. */
void output_lock_begin(const char *base_dir);
/* The last of all that a process does, as this may take the disk. */
void output_lock_end(void);
/* A child that may have it was killed, and is not waited for: the next one has patience with a lock
 * in its way, until that one is gone. */
void output_lock_child_killed(void);

/* The rest but output_lock_receive() is the child's, of a fork. */

/* Leaves the socket TO as descriptor 3 and the claim's file as 4; closes all above. */
void output_lock_close_others(int to);
/* Takes it, or tries once more. Where there is no BASE nothing is made. ANEW: what stands there is
 * cleared away next, so that an inherited folder is as good as any. */
enum output_lock output_lock_take(bool anew);
/* Whether other processes that live have the folder as well. */
bool output_lock_is_shared(void);
/* The last word is written: where nobody else has the folder nothing of the claim stays there. */
void output_lock_leave(void);
/* Tells the parent what came of it, and TEXT, which is below OUTPUT_LOCK_TEXT_SIZE. */
void output_lock_send(const char *text);

/* What the child has sent to the socket FROM, without waiting; "" where that is nothing. */
enum { OUTPUT_LOCK_TEXT_SIZE = 1024 };
void output_lock_receive(int from, char ret[OUTPUT_LOCK_TEXT_SIZE]);

#endif
