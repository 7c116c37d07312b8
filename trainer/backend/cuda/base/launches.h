/* Counts of the work enqueued on a device. */
#ifndef TRAINER_BACKEND_CUDA_BASE_LAUNCHES_H
#define TRAINER_BACKEND_CUDA_BASE_LAUNCHES_H

struct cuda_launches {
    unsigned long kernels;  /* of this backend, without those of libraries */
    unsigned long early;    /* those that may begin before preceding ones end (kernels/vec.cuh) */
    unsigned long products; /* plans of cuDNN and products of cuBLASLt: one call each, possibly
                             * several kernels */
    unsigned long copies;   /* copies and fills of memory */
};

#endif
