#include "trainer/backend/cuda/base/architectures.h"

#include <stdio.h>
#include <stdlib.h>

/* CMake's list, "80 89 90 100". Each entry stands for its machine code and for what a driver
 * compiles from it for newer GPUs. */
#define LIST RINGMASTER_CUDA_SM

/* Which GPUs a build can use is decided when it is configured. The program says so by itself
 * (`ringtrain inspect --cuda`, and the error of a GPU without code), instead of failing at the
 * first launch with CUDA's "no kernel image is available". */

/* The text is static. */
const char *cuda_architectures(void) {
    return "sm " LIST;
}

/* True if an entry is for this compute capability or an older one. Text that is no number ends the
 * list. */
bool cuda_has_code(int major, int minor) {
    for (const char *at = LIST; *at != '\0';) {
        char *end = NULL;
        long sm = strtol(at, &end, 10);
        if (end == at)
            return false;
        if (sm <= major * 10 + minor)
            return true;
        at = end;
    }
    return false;
}
