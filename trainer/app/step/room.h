/* Memory check for a network, its batches and its threads. It runs before any memory is
 * taken. A batch that is too large becomes an error that names one that fits, instead of an
 * out-of-memory kill of the process or container during the run. */
#ifndef TRAINER_APP_STEP_ROOM_H
#define TRAINER_APP_STEP_ROOM_H

#include "trainer/app/device/memory_left.h"
#include "trainer/app/device/threads.h"
#include "trainer/app/step/network.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"

/* Input of the check; all borrowed. */
struct room {
    struct backend *backend;
    struct comm *comm;
    const struct task_data *data;
    const struct network_options *network;
    const struct threads *threads;
    int depth; /* batches of the training set in the ring; 0: no training */
};

/* Callback for network_options.memory; ROOM is a struct room. Too little memory is
 * EXIT_CODE_CONFIG, on a device EXIT_CODE_DEVICE. */
int room_check(void *room, const struct sizes *sizes, struct error *err);

/* Function that returns the bytes for a batch of that size, or -1 if unknown. */
struct room_need {
    int64_t (*of)(void *user, int batch);
    void *user;
};

/* Returns the largest tried batch below BATCH that fits into LEFT bytes; 0: none does. BATCH
 * itself does not fit. NEED is called only a few times, so a larger one may fit. */
int room_largest(const struct room_need *need, int batch, int64_t left);

#endif
