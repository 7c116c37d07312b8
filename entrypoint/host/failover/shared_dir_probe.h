/* Probe of a checkpoint directory that all hosts share.
 *
 * A child with a deadline does it, so that its supervisor waits for no disk.
 *
 * Each host writes a random word into a file of its own there, the next host reads it, and then
 * each removes its own file and the one that it has read, as the host that wrote it may be lost. */
#ifndef ENTRYPOINT_HOST_FAILOVER_SHARED_DIR_PROBE_H
#define ENTRYPOINT_HOST_FAILOVER_SHARED_DIR_PROBE_H

#include "common/error.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"

#include <limits.h>
#include <stddef.h>

enum { SHARED_DIR_PROBE_WORD_SIZE = 33, SHARED_DIR_PROBE_SECONDS = 10 };

enum shared_dir_probe_step {
    SHARED_DIR_PROBE_WRITE,
    SHARED_DIR_PROBE_READ,
    SHARED_DIR_PROBE_REMOVE
};

struct shared_dir_probe {
    const struct services *services; /* NULL: never started */
    struct child child;
    struct timer deadline;
    enum shared_dir_probe_step step;
    int answer; /* the child's result; closed if it has no pid */
    char folder[PATH_MAX];
    void (*done)(void *context, const struct error *fault); /* NULL: success */
    void *context;
};

struct shared_dir_probe_options {
    const char *run;
    size_t host; /* the host that wrote the file */
    enum shared_dir_probe_step step;
    const char *word; /* to write, or expected when reading */
    void (*done)(void *context, const struct error *fault);
    void *context;
};

/* Draws 32 hexadecimal digits that no other run has. */
int shared_dir_probe_word(char ret[SHARED_DIR_PROBE_WORD_SIZE], struct error *err);

/* Starts in the `checkpoints` of the job's base directory; a probe under way is abandoned. DONE is
 * called from the loop. */
int shared_dir_probe_start(struct shared_dir_probe *p, const struct services *services,
                           const struct shared_dir_probe_options *options, struct error *err);
void shared_dir_probe_close(struct shared_dir_probe *p);

#endif
