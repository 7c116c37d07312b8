/* Orders of rank 0 to the slots of all ranks (slots.h).
 *
 * They are JSON:
 *
 *     {"start": [{"first": 0, "size": 2, "port": 40001, "folder": "trials/3", "name": "...",
 *                 "argv": ["ringtrain", "train", ...]}],
 *      "end": [[0, 2]], "leave": false} */
#ifndef COMMON_SLOTS_SLOT_ORDERS_H
#define COMMON_SLOTS_SLOT_ORDERS_H

#include "common/json/json.h"
#include "common/slots/slot_set.h"

/* NULL: out of memory. Owned by the caller. */
json_t *slot_orders_new(void);

/* Adds to S->orders. */
int slot_orders_start(struct slots *s, const struct slot_job *job, struct error *err);
int slot_orders_end(struct slots *s, int first, int size, struct error *err);
int slot_orders_leave(struct slots *s, struct error *err);

/* Returns true if the round waits: it does not in order to leave. */
bool slot_orders_wait(const json_t *orders);

/* Starts and ends processes in this rank's own slots. One that cannot be started has ended, with
 * the code of its error, which is logged. */
void slot_orders_follow(struct slots *s, const json_t *orders);

#endif
