/* What a device has been given to do, counted. */
#ifndef TRAINER_BACKEND_CUDA_BASE_LAUNCHES_H
#define TRAINER_BACKEND_CUDA_BASE_LAUNCHES_H

struct cuda_launches {
    unsigned long kernels;  /* of our own */
    unsigned long early;    /* those of them that may begin while others end (overlap.h) */
    unsigned long products; /* plans of cuDNN's and products of cuBLASLt's: a call each, which may
                               be several kernels */
    unsigned long copies;   /* and fills of memory */
};

#endif
