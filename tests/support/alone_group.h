/* Group of a single rank (common/slots/slot_group.h), which hears only itself. */
#ifndef TESTS_SUPPORT_ALONE_GROUP_H
#define TESTS_SUPPORT_ALONE_GROUP_H

#include "common/slots/slot_group.h"

#include <string.h>

static inline int alone_group_gather(void *context, const void *bytes, size_t size, void *all,
                                     struct error *err) {
    (void)context, (void)err;
    memcpy(all, bytes, size);
    return 0;
}

static inline int alone_group_broadcast(void *context, void *bytes, size_t size,
                                        struct error *err) {
    (void)context, (void)bytes, (void)size, (void)err;
    return 0;
}

static inline struct slot_group alone_group(void) {
    return (struct slot_group){.rank = 0,
                               .size = 1,
                               .local_size = 1,
                               .gather = alone_group_gather,
                               .broadcast = alone_group_broadcast};
}

#endif
