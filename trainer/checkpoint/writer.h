/* Writer thread, which works off one order while training continues.
 *
 * It holds at most one order. The state is idle, writing, and then done or failed until it is
 * polled, which tells the outcome once and makes the writer idle again. All functions but the
 * order's own run on one thread, the one that submits. */
#ifndef TRAINER_CHECKPOINT_WRITER_H
#define TRAINER_CHECKPOINT_WRITER_H

#include "common/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum writer_state { WRITER_IDLE, WRITER_WRITING, WRITER_DONE, WRITER_FAILED };

/* Runs on the writer's thread. What USER points to belongs to it until the outcome is known. */
typedef int writer_order(void *user, struct error *err);

struct writer {
    pthread_t thread;
    bool running; /* the thread is */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum writer_state state;
    bool closing;
    writer_order *order;
    void *user;
    struct error failure; /* of the last order */
};

/* Starts the thread, which takes no signals. A zeroed WRITER is closed. */
int writer_open(struct writer *w, struct error *err);
/* Ends the thread, after the order that it is at. Nothing for a closed one. */
void writer_close(struct writer *w);

/* Gives an idle writer an order. Fails with EXIT_CODE_INTERNAL if it is not idle. */
int writer_submit(struct writer *w, writer_order *order, void *user, struct error *err);
/* Returns the state without waiting. WRITER_DONE and WRITER_FAILED are returned once; ERR then has
 * the failure. */
enum writer_state writer_poll(struct writer *w, struct error *err);
/* The same, but waits until the order has ended, or DEADLINE (clock.h) has passed: still
 * WRITER_WRITING then. */
enum writer_state writer_drain(struct writer *w, int64_t deadline, struct error *err);

#endif
