/* Slots for processes of a job: places in which its ranks start them, all of them or some at a
 * time.
 *
 * Under a launcher each rank has one slot; without one, this process has as many as are asked for.
 * Rank 0 decides what runs where: jobs on slices, which are slots beside each other. The ranks of a
 * slice find each other over TCP, as if torchrun had started them; where a slice is one slot, the
 * process is alone. All ranks of the job meet in rounds: rank 0 says what to start and to end, each
 * waits a moment for its own processes, and all say how these are.
 *
 *     slots_open(&s, &group, 1, err);
 *     if (group.rank > 0)
 *         return slots_serve(&s, err);
 *     slots_start(&s, &(struct slot_job){...}, err);
 *     while (slots_running(&s, 0, 2))
 *         slots_round(&s, err);
 *     slots_leave(&s, err);
 *
 * A process that crashes or hangs is reported by its slot, and nothing else is touched. */
#ifndef COMMON_SLOTS_SLOTS_H
#define COMMON_SLOTS_SLOTS_H

#include "common/error.h"
#include "common/slots/slot_set.h"

#include <stdbool.h>

/* Collective. OWN slots a rank, which has to be 1 if there are several ranks. Listens for stops. */
int slots_open(struct slots *s, const struct slot_group *group, int own, struct error *err);
/* Kills what runs here. Safe on a zeroed one. */
void slots_done(struct slots *s);

/* On rank 0: orders for the next round. */
int slots_start(struct slots *s, const struct slot_job *job, struct error *err);
int slots_end(struct slots *s, int first, int size, struct error *err);

/* Collective: carries out the orders, waits up to SLOTS_ROUND_MS for the end of a process here, and
 * fills `reports`. */
int slots_round(struct slots *s, struct error *err);
/* On all other ranks: takes part in rounds until rank 0 leaves. */
int slots_serve(struct slots *s, struct error *err);
/* On rank 0: the last round. */
int slots_leave(struct slots *s, struct error *err);

bool slots_running(const struct slots *s, int first, int size);
/* Returns true if a rank was asked to stop. */
bool slots_stopping(const struct slots *s);
/* The exit code of a slice that has ended: that of the first rank that failed by itself, 0: none
 * did. *RET_RANK says which. Ranks that ended because another one had are looked at last. */
int slots_code(const struct slots *s, int first, int size, int *ret_rank);
/* How many hosts the slots FIRST .. FIRST + SIZE - 1 are on. */
int slots_hosts(const struct slots *s, int first, int size);
/* How many of them are on the host that has most. */
int slots_on_one_host(const struct slots *s, int first, int size);

#define cleanup_slots __attribute__((cleanup(slots_done)))

#endif
