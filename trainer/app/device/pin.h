/* This process moves to the cores beside a device: every thread that it has, and with them all that
 * they will start. Memory follows by first touch, which is Linux's policy unless it was told
 * otherwise: so this comes before buffers are made, pinned ones too.
 *
 * The cores that the process was given (affinity mask, and with it the cgroup's cpuset) are never
 * left: it stays on those of them that lie beside the device, or where it is if there are none. */
#ifndef TRAINER_APP_DEVICE_PIN_H
#define TRAINER_APP_DEVICE_PIN_H

#include "trainer/app/device/locality.h"

/* Moves to the cores of L that this process has. *RET_CORES: how many those are, 0 if it stays
 * where it is because there are none, or all of its cores are beside the device. */
int pin_to(const struct locality *l, int *ret_cores, struct error *err);

#endif
