#include "trainer/comm/share_works.h"

#include "trainer/comm/half_sum.h"

int share_works_perform(const struct shares_exchange *x, const struct work *work,
                        struct error *err) {
    if (work->kind == WORK_SUM)
        return half_sum(x, work->data, work->count, work->type, err);
    return work->kind == WORK_SHARE_SUM ? shares_sum(x, work->data, work->shares, err)
                                        : shares_spread(x, work->data, work->shares, err);
}
