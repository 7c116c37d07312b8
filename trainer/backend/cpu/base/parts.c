#include "trainer/backend/cpu/base/parts.h"

#include "trainer/backend/cpu/base/parallel.h"

static void add_share(void *context, struct share share) {
    const struct parts *p = context;
    size_t begin, end;
    share_range(share, p->values, BACKEND_ALIGNMENT, &begin, &end);
    for (size_t i = 1; i < p->parts; i++)
        p->cpu->loops->pointwise(POINTWISE_ADD, p->first, parts_of(p, i), ELEM_F32, p->first, begin,
                                 end);
}

void parts_add(const struct parts *parts) {
    if (parts->parts > 1)
        parallel_run(parts->cpu->threads, add_share, (void *)parts);
}
