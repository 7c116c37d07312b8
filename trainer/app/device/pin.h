/* Placement of this process on the cores near a device: of all its threads, and thus of those they
 * will start. Memory follows by first touch, Linux's default policy, so call it before buffers are
 * allocated, pinned ones too.
 *
 * The process never leaves the cores it was given (affinity mask, and with it the cgroup's
 * cpuset): it moves to those of them near the device, or stays where it is if there are none. */
#ifndef TRAINER_APP_DEVICE_PIN_H
#define TRAINER_APP_DEVICE_PIN_H

#include "trainer/app/device/locality.h"

/* Moves to the cores of L that this process has. *RET_CORES: how many those are; 0 if it stays
 * where it is because there are none, or all of its cores are near the device. */
int pin_to(const struct locality *l, int *ret_cores, struct error *err);

#endif
