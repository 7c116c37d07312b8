/* A timer that counts while the machine sleeps, too: deadlines are points of clock_boot(), and one
 * that has passed meanwhile fires as soon as the machine is awake. The loop's own timers stand
 * still with the machine.
 *
 * A zeroed one is closed: set and close do nothing then. */
#ifndef ENTRYPOINT_OS_BOOT_TIMER_H
#define ENTRYPOINT_OS_BOOT_TIMER_H

#include "common/error.h"
#include "entrypoint/os/loop.h"

#include <stdint.h>

struct boot_timer {
    struct loop *loop;
    struct watch watch; /* owns its descriptor */
    void (*fire)(void *context);
    void *context;
};

int boot_timer_open(struct boot_timer *t, struct loop *loop, void (*fire)(void *context),
                    void *context, struct error *err);
void boot_timer_close(struct boot_timer *t);

/* Fires once at DEADLINE, at once where that has passed; in place of the one that was set. 0: does
 * not fire. */
void boot_timer_set(struct boot_timer *t, int64_t deadline);

#endif
