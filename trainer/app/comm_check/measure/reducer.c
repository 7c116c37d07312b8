#include "trainer/app/comm_check/measure/reducer.h"

#include "common/clock.h"
#ifdef RINGMASTER_HAVE_NCCL
#include "trainer/comm/nccl/nccl_trial.h"
#endif

#include <stdlib.h>

static int open_nccl(struct reducer *r, int gpu, size_t bytes, struct error *err) {
#ifdef RINGMASTER_HAVE_NCCL
    return nccl_trial_open(&r->nccl, r->group, gpu, bytes, err);
#else
    (void)r, (void)gpu, (void)bytes;
    return error_set(
        err, EXIT_CODE_DEVICE,
        "this build has no NCCL: build it with RINGMASTER_CUDA and RINGMASTER_NCCL, or "
        "check MPI instead");
#endif
}

int reducer_open(struct reducer *r, enum reducer_kind kind, struct comm *group, int gpu,
                 size_t bytes, struct error *err) {
    *r = (struct reducer){.group = group, .values = malloc(bytes)};
    if (r->values == NULL)
        return error_no_memory(err, "values to sum");
    return kind == REDUCER_NCCL ? open_nccl(r, gpu, bytes, err) : 0;
}

int reducer_close(struct reducer *r) {
    int result = 0;
#ifdef RINGMASTER_HAVE_NCCL
    if (r->nccl != NULL)
        result = nccl_trial_close(r->nccl);
#endif
    free(r->values);
    *r = (struct reducer){0};
    return result;
}

int reducer_sum(struct reducer *r, size_t count, double *ret_seconds, struct error *err) {
#ifdef RINGMASTER_HAVE_NCCL
    if (r->nccl != NULL)
        return nccl_trial_sum(r->nccl, r->values, count, ret_seconds, err);
#endif
    if (comm_barrier(r->group, err) != 0)
        return -1;
    const int64_t began = clock_now();
    if (comm_sum(r->group, r->values, count, COMM_F32, err) != 0)
        return -1;
    *ret_seconds = (double)(clock_now() - began) / CLOCK_SECOND;
    return 0;
}
