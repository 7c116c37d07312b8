#include "trainer/app/device/pin.h"

#include "common/str.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>

/* Threads that end meanwhile are no error. */
static int move_threads(const cpu_set_t *set, size_t size, struct error *err) {
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "/proc/self/task");
    int result = 0;
    for (struct dirent *entry = readdir(threads); entry != NULL && result == 0;
         entry = readdir(threads)) {
        int64_t thread = 0;
        if (str_parse_int(entry->d_name, 1, INT_MAX, &thread, NULL) != 0)
            continue;
        if (sched_setaffinity((pid_t)thread, size, set) != 0 && errno != ESRCH)
            result = error_set_errno(err, EXIT_CODE_INTERNAL, "moving to other cores");
    }
    (void)closedir(threads);
    return result;
}

int pin_to(const struct locality *l, int *ret_cores, struct error *err) {
    *ret_cores = 0;
    cpu_set_t *own = CPU_ALLOC(LOCALITY_CORES);
    cpu_set_t *both = CPU_ALLOC(LOCALITY_CORES);
    int result = own == NULL || both == NULL ? error_no_memory(err, "a set of cores") : 0;
    if (result == 0) {
        CPU_ZERO_S(l->size, own);
        if (sched_getaffinity(0, l->size, own) != 0)
            result = error_set_errno(err, EXIT_CODE_INTERNAL, "asking for this process' cores");
    }
    if (result == 0) {
        CPU_AND_S(l->size, both, own, l->near);
        int cores = CPU_COUNT_S(l->size, both);
        if (cores > 0 && cores < CPU_COUNT_S(l->size, own)) {
            result = move_threads(both, l->size, err);
            *ret_cores = result == 0 ? cores : 0;
        }
    }
    if (own != NULL)
        CPU_FREE(own);
    if (both != NULL)
        CPU_FREE(both);
    return result;
}
