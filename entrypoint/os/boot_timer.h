/* Timer on the boot-time clock, which also counts while the machine sleeps.
 *
 * Deadlines are points of clock_boot(). A deadline that passes during sleep fires as soon as the
 * machine is awake; the loop's own timers stand still meanwhile.
 *
 * A zeroed timer is closed: setting and closing it do nothing. */
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
