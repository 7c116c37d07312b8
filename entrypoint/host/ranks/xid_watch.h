/* Xids by NVML, where the kernel's log may not be read: a child, `ringmaster examine xids`, tells
 * them as lines of the kernel's form. It lives as long as an attempt. */
#ifndef ENTRYPOINT_HOST_RANKS_XID_WATCH_H
#define ENTRYPOINT_HOST_RANKS_XID_WATCH_H

#include "entrypoint/host/monitor/kmsg.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/os/subprocess.h"

#include <stdbool.h>

struct xid_watch {
    struct kmsg *kernel; /* takes the lines; NULL: never started */
    struct subprocess task;
};

/* Starts the child if this container has GPUs and KERNEL is not readable; one that runs is ended.
 * KERNEL outlives it. That nothing comes of it is no error. */
void xid_watch_start(struct xid_watch *w, const struct services *services, struct kmsg *kernel);
/* Takes the lines that are there now: for when a rank has ended. */
void xid_watch_drain(struct xid_watch *w);
/* Returns true if a line that KERNEL or the child has since the attempt began is about a GPU which
 * cannot be used before something is done (outcome/xid.h), and describes it in an error. */
bool xid_watch_is_dead(struct xid_watch *w, struct kmsg *kernel, struct error *ret);
/* Kills the child. W may be zeroed. */
void xid_watch_close(struct xid_watch *w);

#endif
