/* GPU architectures that this build has code for. */
#ifndef TRAINER_BACKEND_CUDA_BASE_ARCHITECTURES_H
#define TRAINER_BACKEND_CUDA_BASE_ARCHITECTURES_H

#include <stdbool.h>

/* Return the list, "sm 80 89 90 100", and whether a GPU of compute capability MAJOR.MINOR can run
 * the code. */
const char *cuda_architectures(void);
bool cuda_has_code(int major, int minor);

#endif
