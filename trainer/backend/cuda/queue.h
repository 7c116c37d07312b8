/* CUDA backend as a device with its own queues: see struct backend_device. Enqueuing works the
 * same if kernels run on the host (in tests); recording needs a GPU. */
#ifndef TRAINER_BACKEND_CUDA_QUEUE_H
#define TRAINER_BACKEND_CUDA_QUEUE_H

#include "trainer/backend/cuda/base/context.h"

extern const struct backend_device cuda_queue;

/* Creates streams and events; the main stream is selected then. */
int cuda_queue_open(struct cuda *cuda, struct error *err);
void cuda_queue_close(struct cuda *cuda);

/* Functions that only launch kernels of this backend; squares leaves its sum in `control`. */
int cuda_queue_add(struct backend *backend, const struct backend_sum *sum, struct error *err);
int cuda_queue_refresh_half(struct backend *backend, const struct half_copy *copy,
                            struct error *err);
int cuda_queue_optimizer(struct backend *backend, const struct backend_update *update,
                         struct error *err);
int cuda_queue_squares(struct backend *backend, const struct backend_update *update,
                       struct error *err);

#endif
