/* Assertion of an invariant in fuzz targets, in every build.
 *
 * CHECK holds even where assert is compiled out. */
#ifndef TESTS_FUZZ_CHECK_H
#define TESTS_FUZZ_CHECK_H

#include "common/log/log.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline void check_drop_line(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

/* Discards the log: a fuzzer would fill a disk with it. */
static inline void check_without_log(void) {
    (void)log_set_sink((struct log_sink){.put = check_drop_line});
}

#endif
