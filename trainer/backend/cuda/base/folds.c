#include "trainer/backend/cuda/base/folds.h"

#include "trainer/backend/cuda/base/device.h"

int folds_launch(struct cuda *cuda, struct error *err) {
    const int count = cuda->folds.count;
    cuda->folds.count = 0;
    if (count == 0)
        return 0;
    const cudaError_t status = launch_fold(cuda->stream, cuda->folds.type, cuda->folds.args, count);
    return status == cudaSuccess ? 0 : cuda_error(status, "folding norms into weights", err);
}

int folds_add(struct cuda *cuda, enum dtype type, const struct fold_args *args, struct error *err) {
    struct folds_pending *folds = &cuda->folds;
    if ((folds->count == LAUNCH_FOLDS_MAX || folds->type != type) && folds_launch(cuda, err) != 0)
        return -1;
    folds->type = type;
    folds->args[folds->count++] = *args;
    return 0;
}
