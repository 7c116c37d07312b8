#include "trainer/app/device/device.h"

#include "common/log/log.h"
#include "trainer/app/device/locality.h"
#include "trainer/app/device/pin.h"

#include "trainer/backend/ref/ref.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

#ifdef RINGMASTER_HAVE_CUDA
#include "trainer/backend/cuda/cuda.h"
#endif
#ifdef RINGMASTER_HAVE_NCCL
#include "trainer/comm/nccl/comm_nccl.h"
#endif

#include <stdbool.h>

/* Training and the use of models learn here which backends this build has. Every function exists
 * in every build: what is missing is an error with EXIT_CODE_DEVICE, or "no" as an answer, so
 * callers need no conditions of their own.
 *
 * Commands call these functions in one order: settle the flags with all ranks, move to the cores
 * near the device, count threads, open the backend, and for a training open the all-reduce.
 * Placement comes before the threads are counted, because it may leave fewer cores.
 *
 * What is settled has to be the same on all ranks, as the order of their all-reduces follows
 * from it. So each rank tells what it has as a 0 or 1, and all take the sum. */

#ifdef RINGMASTER_HAVE_CUDA
enum { GPU_NAME_SIZE = CUDA_NAME_SIZE };
#else
/* An empty name: there is no GPU to have one. */
enum { GPU_NAME_SIZE = 1 };
#endif

/* Choices that name no narrower type compute in f32. */
enum dtype device_dtype(int choice) {
    switch (choice) {
    case OPTION_BF16:
        return DTYPE_BF16;
    case OPTION_F16:
        return DTYPE_F16;
    default:
        return DTYPE_F32;
    }
}

/* The table translates from the flag's values to those of the backend, which does not see the
 * options. */
static int open_cpu(struct backend **ret, const struct options *o, int threads, struct error *err) {
#ifdef RINGMASTER_HAVE_CPU
    static const enum cpu_convs convs[] = {[OPTION_CONVS_AUTO] = CPU_CONVS_AUTO,
                                           [OPTION_CONVS_DIRECT] = CPU_CONVS_DIRECT,
                                           [OPTION_CONVS_WINOGRAD] = CPU_CONVS_WINOGRAD};
    struct cpu_options options = {.threads = threads, .convs = convs[o->convs]};
    return cpu_open(ret, &options, err);
#else
    (void)ret, (void)o, (void)threads;
    return error_set(err, EXIT_CODE_DEVICE,
                     "this build has no backend cpu (oneDNN 3 was not found when it was made)");
#endif
}

static bool has_cpu(void) {
#ifdef RINGMASTER_HAVE_CPU
    return true;
#else
    return false;
#endif
}

bool device_has_cuda(void) {
#ifdef RINGMASTER_HAVE_CUDA
    return true;
#else
    return false;
#endif
}

#ifdef RINGMASTER_HAVE_CUDA
/* Returns true if gradients go through host memory even with GPUs. */
static bool sums_on_host(const struct options *o) {
    return o->comm == OPTION_COMM_MPI || o->comm == OPTION_COMM_TCP;
}
#endif

/* Returns true if there is a GPU for each rank of this host; NAME is that of the first one.
 * Ranks may share a GPU only if gradients go through host memory, and then a single one is
 * enough. The reason why a GPU cannot be used is dropped: with `auto` the processor is a good
 * answer, too. */
static bool has_gpu(const struct options *o, const struct comm *comm, char name[GPU_NAME_SIZE]) {
    name[0] = '\0';
#ifdef RINGMASTER_HAVE_CUDA
    struct error why = {0};
    int gpus = cuda_probe(name, &why);
    int ranks = sums_on_host(o) ? 1 : comm_local_size(comm);
    if (gpus > 0 && gpus < ranks)
        log_warning("--backend auto: %d GPUs for %d ranks of this host: ranks share a GPU only "
                    "with --comm mpi",
                    gpus, ranks);
    return gpus >= ranks;
#else
    (void)o, (void)comm;
    return false;
#endif
}

/* Logged once, by rank 0, about its own GPU; the choice stands. */
static void warn_of_unmeasured_gpu(const char *name) {
#ifdef RINGMASTER_HAVE_CUDA
    if (!cuda_is_measured(name))
        log_warning("--backend auto takes the GPU, %s, which bench/results has no report on yet; "
                    "--backend cpu computes on the processor",
                    name);
#else
    (void)name;
#endif
}

/* Returns true if bench/results has a report on this host's GPU. */
static bool has_measured_gpu(void) {
#ifdef RINGMASTER_HAVE_CUDA
    char name[GPU_NAME_SIZE];
    struct error why = {0};
    return cuda_probe(name, &why) > 0 && cuda_is_measured(name);
#else
    return false;
#endif
}

/* Fuses convolutions with their neighbours on GPUs where that was seen to be correct. The same on
 * all ranks: the order of their gradients depends on it. */
static int settle_fusion(struct options *o, struct comm *comm, struct error *err) {
    if (o->backend != OPTION_BACKEND_CUDA || o->fusion != OPTION_FUSION_AUTO)
        return 0;
    double measured = has_measured_gpu() ? 1 : 0;
    /* A sum rather than a vote of rank 0: hosts may have different kinds of GPU. */
    if (comm_size(comm) > 1 && comm_sum(comm, &measured, 1, COMM_F64, err) != 0)
        return error_wrap(err, "settling on a fusion level");
    o->fusion = (int)measured == comm_size(comm) ? (int)FUSION_CONV : (int)FUSION_ALL;
    return 0;
}

/* With one rank nothing is exchanged. What is known here is that a GPU answers; it is opened later,
 * and failing to is an error then. A warning is logged if only some ranks have a GPU, since
 * these GPUs stay idle. */
static int settle_backend(struct options *o, struct comm *comm, struct error *err) {
    char name[GPU_NAME_SIZE];
    if (o->backend != OPTION_BACKEND_AUTO)
        return 0;
    /* A rank on another kind of device would slow down all the others. */
    double with_gpu = has_gpu(o, comm, name) ? 1 : 0;
    if (comm_size(comm) > 1 && comm_sum(comm, &with_gpu, 1, COMM_F64, err) != 0)
        return error_wrap(err, "settling on a backend");
    bool all = (int)with_gpu == comm_size(comm), first = comm_rank(comm) == 0;
    o->backend = all ? OPTION_BACKEND_CUDA : has_cpu() ? OPTION_BACKEND_CPU : OPTION_BACKEND_REF;
    if (all && first)
        warn_of_unmeasured_gpu(name);
    if (!all && with_gpu > 0 && first)
        log_warning("--backend auto: %d of %d ranks have a GPU: all run on the CPU", (int)with_gpu,
                    comm_size(comm));
    return 0;
}

/* Checks what depends on the build alone, before anything is opened. `auto` always passes: it is
 * settled to something that the build has. */
static int check_build(const struct options *o, struct error *err) {
#ifndef RINGMASTER_HAVE_CUDA
    if (o->backend == OPTION_BACKEND_CUDA)
        return error_set(err, EXIT_CODE_DEVICE,
                         "--backend cuda: this build has none (it was made without "
                         "RINGMASTER_CUDA); --backend cpu takes the processor");
#endif
    if (o->backend == OPTION_BACKEND_CPU && !has_cpu())
        return error_set(err, EXIT_CODE_DEVICE,
                         "--backend cpu: this build has none (oneDNN 3 was not found when it was "
                         "made); --backend ref is exact and slow");
    return 0;
}

/* Checks the type of activations for the chosen backend. */
static int check_type(const struct options *o, struct error *err) {
    return o->dtype == OPTION_F16 && o->backend != OPTION_BACKEND_CUDA
               ? error_set(err, EXIT_CODE_USAGE,
                           "--dtype f16 needs --backend cuda; the processor "
                           "computes in f32 and, where it can, bf16")
               : 0;
}

/* The order follows from what depends on what: the type of activations and the level of fusion
 * are judged by the backend that was chosen. */
int device_settle(struct options *o, struct comm *comm, struct error *err) {
    if (check_build(o, err) != 0 || settle_backend(o, comm, err) != 0 || check_type(o, err) != 0)
        return -1;
    return settle_fusion(o, comm, err);
}

/* A build without the backend cpu still has ref, which `auto` then means, as in settle_backend. */
static bool takes_ref(const struct options *o) {
    return o->backend == OPTION_BACKEND_REF || (o->backend == OPTION_BACKEND_AUTO && !has_cpu());
}

enum fusion device_fusion(const struct options *o) {
    if (o->fusion != OPTION_FUSION_AUTO)
        return (enum fusion)o->fusion;
    /* settle_fusion has replaced `auto` for cuda. FUSION_ALL is what is left for a GPU that was
     * not asked about. */
    return takes_ref(o) || o->backend == OPTION_BACKEND_CUDA ? FUSION_ALL : FUSION_CONV;
}

#ifdef RINGMASTER_HAVE_CUDA
/* Returns true if gradients are all-reduced by NCCL: there are several ranks, the build has it, and
 * --comm does not ask for another way. */
static bool sums_by_nccl(const struct options *o, const struct comm *comm) {
#ifdef RINGMASTER_HAVE_NCCL
    return !sums_on_host(o) && comm_size(comm) > 1;
#else
    (void)o, (void)comm;
    return false;
#endif
}
#endif

#ifdef RINGMASTER_HAVE_CUDA
/* Both device_place and open_cuda ask for the options here, so that they mean the same GPU.
 *
 * --deterministic turns off whatever depends on measurements: tuning, and plans that an earlier run
 * has kept. A loss scale applies to f16 alone; other types have the range of f32. */
static struct cuda_options cuda_options_of(const struct options *o, const struct comm *comm,
                                           bool sums) {
    struct cuda_options options = {
        .local_rank = comm_local_rank(comm),
        .local_ranks = comm_local_size(comm),
        /* NCCL needs a GPU for each rank; without it several ranks may have the same one. */
        .share = !sums || !sums_by_nccl(o, comm),
        .tune = o->tune && !o->deterministic,
        .decide = o->tune && !o->deterministic && comm_size(comm) == 1,
        .own_backward = (enum cuda_own)o->own_backward,
        .overlap = (enum cuda_own)o->launch_overlap,
        .row_choice = (enum cuda_own)o->row_choice,
        .tf32 = o->tf32,
        .deterministic = o->deterministic,
        .plan_cache = o->deterministic ? NULL : o->plan_cache,
        .loss_scale = o->dtype == OPTION_F16 ? (float)o->loss_scale : 1,
        .growth_interval = o->dtype == OPTION_F16 ? (int)o->loss_scale_growth : 0,
    };
#ifdef RINGMASTER_HAVE_NCCL
    if (sums && sums_by_nccl(o, comm))
        options.summed = (struct backend_memory){comm_nccl_alloc, comm_nccl_free};
#endif
    return options;
}

/* Only an optimization: if it fails, the process stays where it is, and a warning says why. A
 * process that already has only near cores is left alone without a word. */
static void move_beside(const char *address) {
    struct error unknown = {0};
    cleanup_locality struct locality l = {0};
    int cores = 0;
    if (locality_read(&l, LOCALITY_SYSFS, address, &unknown) != 0) {
        log_warning("staying on all cores: the location of GPU %s is unknown (%s)", address,
                    unknown.text);
        return;
    }
    /* CORES stays 0 if the process has no near core, or no other, and is not moved. */
    if (pin_to(&l, &cores, &unknown) != 0)
        log_warning("staying on all cores: cannot move to those near GPU %s (%s)", address,
                    unknown.text);
    else if (cores > 0)
        log_info("GPU %s: moved to the %d cores near it, NUMA node %d", address, cores, l.node);
}

/* The address is found without opening the GPU, because opening it allocates buffers, which
 * should lie near it (pin.h). */
int device_place(const struct options *o, struct comm *comm, bool sums, struct error *err) {
    if (o->backend != OPTION_BACKEND_CUDA)
        return 0;
    struct cuda_options options = cuda_options_of(o, comm, sums);
    char address[16];
    if (cuda_address(&options, address, err) != 0)
        return -1;
    move_beside(address);
    return 0;
}

static int open_cuda(struct backend **ret, const struct options *o, const struct comm *comm,
                     bool sums, struct error *err) {
    struct cuda_options options = cuda_options_of(o, comm, sums);
    return cuda_open(ret, &options, err);
}
#else
int device_place(const struct options *o, struct comm *comm, bool sums, struct error *err) {
    (void)o, (void)comm, (void)sums, (void)err;
    return 0;
}

static int open_cuda(struct backend **ret, const struct options *o, const struct comm *comm,
                     bool sums, struct error *err) {
    (void)ret, (void)o, (void)comm, (void)sums;
    return error_set(err, EXIT_CODE_DEVICE,
                     "--backend cuda: this build has none (it was made without RINGMASTER_CUDA); "
                     "--backend cpu computes on the processor");
}
#endif

/* Repeats the check of f16 in check_type, which device_settle makes. An `auto` that was not
 * settled opens a backend of the processor. */
int device_open(struct backend **ret, const struct options *o, int threads, struct comm *comm,
                bool sums, struct error *err) {
    if (o->backend == OPTION_BACKEND_CUDA)
        return open_cuda(ret, o, comm, sums, err);
    if (o->dtype == OPTION_F16)
        return error_set(err, EXIT_CODE_USAGE, "--dtype f16 needs --backend cuda");
    if (takes_ref(o))
        return ref_open(ret, err);
    return open_cpu(ret, o, threads, err);
}

/* Only a backend with a device can sum there; gradients of others are in host memory already,
 * and the communicator sums them. A build without NCCL refuses an explicit --comm nccl rather
 * than taking a slower way in silence. */
int device_sum_open(struct device_sum **ret, const struct options *o, struct comm *comm,
                    struct backend *backend, void *memory, size_t bytes, struct error *err) {
    *ret = NULL;
    if (backend->table->device == NULL)
        return 0;
#ifdef RINGMASTER_HAVE_NCCL
    if (sums_by_nccl(o, comm))
        return comm_nccl_open(ret, comm, memory, bytes, err);
#else
    (void)comm, (void)memory, (void)bytes;
    if (o->comm == OPTION_COMM_NCCL)
        return error_set(err, EXIT_CODE_DEVICE, "--comm nccl: this build has no NCCL");
#endif
    return 0;
}

/* A line for each backend, in this build or not, and one for the way of gradients between GPUs. */
void device_print(FILE *out) {
    fprintf(out, "backend ref: the reference of every operator, exact and slow\n");
#ifdef RINGMASTER_HAVE_CPU
    fprintf(out, "backend cpu: %s\n", cpu_describe_machine());
#else
    fprintf(out, "backend cpu: not in this build\n");
#endif
#ifdef RINGMASTER_HAVE_CUDA
    fprintf(out, "backend cuda: %s\n", cuda_build_text());
#else
    fprintf(out, "backend cuda: not in this build\n");
#endif
#ifdef RINGMASTER_HAVE_NCCL
    fprintf(out, "all-reduce between GPUs: %s\n", comm_nccl_text());
#else
    fprintf(out, "all-reduce between GPUs: through host memory (no NCCL in this build)\n");
#endif
}
