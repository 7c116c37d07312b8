/* Launch of an attempt's ranks.
 *
 * mpirun starts them (launch_mpirun.h), or the supervisors of all hosts do (launch_direct.h), as
 * the job's launcher says. Raises FAILURE if not all ranks start in time. */
#ifndef ENTRYPOINT_MASTER_LAUNCH_H
#define ENTRYPOINT_MASTER_LAUNCH_H

#include "entrypoint/master/state/state.h"

/* Chooses the interface that leads to the other hosts. */
int launch_choose_interface(struct master *m, struct error *err);
int launch_begin(struct master *m, struct error *err);
/* Fails the attempt if not all ranks have started in time. A timer calls it. */
void launch_give_up(void *context);
void launch_signal(struct master *m, int number);
void launch_close(struct master *m);

#endif
