#include "trainer/app/plan/simulated_gpu.h"

#ifdef RINGMASTER_HAVE_CUDA
#include "trainer/backend/cuda/simulated_gpu.h"

int device_simulate_open(struct backend **ret, const struct options *o, struct error *err) {
    const struct cuda_options options = {
        .local_ranks = 1,
        .tune = o->tune && !o->deterministic,
        .own_backward = (enum cuda_own)o->own_backward,
        .overlap = (enum cuda_own)o->launch_overlap,
        .row_choice = (enum cuda_own)o->row_choice,
        .tf32 = o->tf32,
        .deterministic = o->deterministic,
        .loss_scale = 1,
    };
    return cuda_simulated_open(ret, o->device, &options, err);
}

struct device_launches device_launches(const struct backend *backend) {
    const struct cuda_launches l = cuda_simulated_launches(backend);
    return (struct device_launches){l.kernels, l.early, l.products, l.copies};
}

/* As for the GPUs of this host (device.c). */
static int fusion_there(const struct options *o, int *ret_fusion, struct error *err) {
    struct backend *backend = NULL;
    if (device_simulate_open(&backend, o, err) != 0)
        return -1;
    *ret_fusion = cuda_is_measured(cuda_simulated_name(backend)) ? FUSION_CONV : FUSION_ALL;
    backend_close(backend);
    return 0;
}
#else
int device_simulate_open(struct backend **ret, const struct options *o, struct error *err) {
    (void)ret, (void)o;
    return error_set(err, EXIT_CODE_DEVICE,
                     "--device: this build has no backend cuda (it was made without "
                     "RINGMASTER_CUDA)");
}

struct device_launches device_launches(const struct backend *backend) {
    (void)backend;
    return (struct device_launches){0};
}

static int fusion_there(const struct options *o, int *ret_fusion, struct error *err) {
    (void)ret_fusion;
    return device_simulate_open(NULL, o, err);
}
#endif

int device_simulate_settle(struct options *o, struct error *err) {
    if (o->backend != OPTION_BACKEND_AUTO && o->backend != OPTION_BACKEND_CUDA)
        return error_set(err, EXIT_CODE_USAGE, "--device describes a GPU, which is --backend cuda");
    o->backend = OPTION_BACKEND_CUDA;
    return o->fusion == OPTION_FUSION_AUTO ? fusion_there(o, &o->fusion, err) : 0;
}
