/* Hosts of the ranks, and the all-reduces within each of them. */
#ifndef TRAINER_APP_COMM_CHECK_COMM_CHECK_HOSTS_H
#define TRAINER_APP_COMM_CHECK_COMM_CHECK_HOSTS_H

#include "trainer/app/comm_check/comm_findings.h"

/* Collective. Fills in the hosts, in the order of their first ranks, by the name that the launcher
 * gives each (SM_CURRENT_HOST), else the kernel's. */
int comm_check_hosts_find(struct comm_check *c, struct error *err);
/* Collective. All hosts at once, each among its own ranks. */
int comm_check_hosts_measure(struct comm_check *c, struct error *err);

/* Opens a reducer among the ranks that give the same GROUP, lets TAKE use it and closes it; with a
 * negative GROUP it does nothing. Collective among all ranks. */
int comm_check_among(struct comm_check *c, int group, size_t bytes,
                     int (*take)(struct reducer *r, struct comm *group, void *context,
                                 struct error *err),
                     void *context, struct error *err);

/* Bytes of a message that takes long enough to be timed. */
size_t comm_check_transfer_max(enum reducer_kind kind);

#endif
