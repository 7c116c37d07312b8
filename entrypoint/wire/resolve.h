/* Non-blocking resolution of host names: the system's resolver runs in a child, which is ended at
 * the deadline.
 *
 * The result is the IPv4 addresses, or, if there are none, the IPv6 addresses that every host may
 * use; each once. */
#ifndef ENTRYPOINT_WIRE_RESOLVE_H
#define ENTRYPOINT_WIRE_RESOLVE_H

#include "common/net_address.h"
#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"

#include <stdbool.h>
#include <stddef.h>

enum { RESOLVE_MAX = 8, RESOLVE_SECONDS = 5 };

struct resolve {
    struct loop *loop;
    struct reaper *reaper;
    struct child child;
    struct watch watch; /* the child's pipe; fd -1: none */
    struct timer deadline;
    struct net_address found[RESOLVE_MAX];
    size_t count;
    /* COUNT is 0 if the name is unknown or was not resolved in time. */
    void (*done)(void *context, const struct net_address *found, size_t count);
    void *context;
};

/* DONE is called from the loop, unless resolve_cancel() comes first. */
int resolve_start(struct resolve *r, struct loop *loop, struct reaper *reaper, const char *name,
                  void (*done)(void *context, const struct net_address *found, size_t count),
                  void *context, struct error *err);
/* Does nothing if it is not running. */
void resolve_cancel(struct resolve *r);

#endif
