/* Whether a network, its batches and the threads that fill them have room in memory: asked before
 * any of it is taken, so that a batch that is too large is an error which names one that fits, and
 * not the end of the process, or of the container, in the middle of a run. */
#ifndef TRAINER_APP_STEP_ROOM_H
#define TRAINER_APP_STEP_ROOM_H

#include "trainer/app/device/memory_left.h"
#include "trainer/app/device/threads.h"
#include "trainer/app/step/network.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"

/* What is asked for, all borrowed. */
struct room {
    struct backend *backend;
    struct comm *comm;
    const struct task_data *data;
    const struct network_options *network;
    const struct threads *threads;
    int depth; /* batches of the training set in the ring; 0: nothing is trained */
};

/* For network_options.memory, with a struct room. Too little is EXIT_CODE_CONFIG, on a device
 * EXIT_CODE_DEVICE. */
int room_check(void *room, const struct sizes *sizes, struct error *err);

/* What a batch of so many pictures takes, in bytes; -1 where that cannot be told. */
struct room_need {
    int64_t (*of)(void *user, int batch);
    void *user;
};

/* The largest batch below BATCH, which does not fit into LEFT bytes, that was seen to fit; 0: none
 * does. NEED is asked a few times alone, so it may not be the largest there is. */
int room_largest(const struct room_need *need, int batch, int64_t left);

#endif
