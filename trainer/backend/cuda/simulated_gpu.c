#include "trainer/backend/cuda/simulated_gpu.h"

#include "common/json/json.h"
#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/dnn/convs.h"
#include "trainer/backend/cuda/operators.h"
#include "trainer/backend/cuda/optional/backward.h"
#include "trainer/backend/cuda/optional/graph_switch.h"
#include "trainer/backend/cuda/optional/tuned_gpus.h"
#include "trainer/backend/cuda/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Everything that decides is real: operators, cuDNN's plans for the described device, streams, the
 * memory plan, the optimizer's launches. Three things are replaced: memory is a range of addresses,
 * copies and waits are counted or ignored, and launches are counted instead of made
 * (launch_count_in, and `counted` of struct cuda for libraries).
 *
 * `ringtrain inspect plan --device` and tests/plans use it, on machines without a GPU or a
 * driver. */

/* `used` counts what was allocated, so that a network that does not fit fails as on the device. */
struct described {
    struct cuda cuda; /* must be first: steps use this */
    struct backend_table table;
    struct launch_count own;
    struct cuda_launches calls; /* of libraries, and copies; the other counts stay zero */
    char name[CUDA_NAME_SIZE];
    int major, minor;
    size_t memory, used; /* bytes */
    bool overlap;
};

/* The backend is the first member of the first member. */
static struct described *described_of(struct backend *backend) {
    return (struct described *)backend;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Returns addresses of unmapped pages: an access fails immediately. MAP_NORESERVE: hundreds of
 * gigabytes of addresses cost no memory. */
static void *alloc(struct backend *backend, size_t bytes, struct error *err) {
    struct described *d = described_of(backend);
    if (bytes > d->memory - d->used) {
        (void)error_set(err, EXIT_CODE_DEVICE, "%.1f MiB needed, %.1f MiB free",
                        (double)bytes / 1048576, (double)(d->memory - d->used) / 1048576);
        return NULL;
    }
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        (void)error_no_memory(err, "a device's addresses");
        return NULL;
    }
    d->used += bytes;
    return memory;
}

/* BYTES is what was allocated, so the count of used memory returns to zero. */
static void free_memory(struct backend *backend, void *memory, size_t bytes) {
    (void)munmap(memory, bytes);
    described_of(backend)->used -= bytes;
}

/* The host's side of copies is real memory, as the program fills it with pictures. */
static void *host_alloc(struct backend *backend, size_t bytes, struct error *err) {
    (void)backend;
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        (void)error_no_memory(err, "memory that a device reads");
    return memory;
}

static void host_free(struct backend *backend, void *memory) {
    (void)backend;
    free(memory);
}

/* --- what a device does ----------------------------------------------------------------------- */

/* Counts a copy; neither side is touched. Also stands for a blocking copy, which has the same
 * arguments. */
static int copy(struct backend *backend, void *to, const void *from, size_t bytes,
                struct error *err) {
    (void)to, (void)from, (void)bytes, (void)err;
    described_of(backend)->calls.copies++;
    return 0;
}

/* Counted as a copy: both are work of the copy engines or of a small kernel of the driver. */
static int clear(struct backend *backend, void *memory, size_t bytes, struct error *err) {
    return copy(backend, memory, NULL, bytes, err);
}

/* The rule is sent before each step, which is a copy on the device. */
static int set_optimizer(struct backend *backend, const struct optimizer_rule *rule,
                         struct error *err) {
    return copy(backend, NULL, rule, sizeof(*rule), err);
}

/* Returns without a state: RET is left unchanged, as no step has run. */
static int optimizer_state(struct backend *backend, struct backend_optimizer_state *ret,
                           struct error *err) {
    return copy(backend, ret, NULL, sizeof(*ret), err);
}

static int set_optimizer_state(struct backend *backend, const struct backend_optimizer_state *state,
                               struct error *err) {
    return copy(backend, NULL, state, sizeof(*state), err);
}

/* The launches are the real ones; the result stays what it was. */
static int squares(struct backend *backend, const struct backend_update *update, double *ret,
                   struct error *err) {
    return cuda_queue_squares(backend, update, err) != 0
               ? -1
               : copy(backend, ret, NULL, sizeof(*ret), err);
}

/* The order of launches does not matter for counting. */
static int select_stream(struct backend *backend, enum backend_stream stream, struct error *err) {
    (void)backend, (void)stream, (void)err;
    return 0;
}

/* Serves three functions of the queue with the same arguments: marking, waiting in a stream,
 * waiting on the host. */
static int event(struct backend *backend, int number, struct error *err) {
    (void)backend, (void)number, (void)err;
    return 0;
}

/* There is never anything to wait for. */
static int sync(struct backend *backend, struct error *err) {
    (void)backend, (void)err;
    return 0;
}

/* Counts the selecting kernel and the body with all rows, for a recording that would choose among
 * fractions of rows. A real recording has all bodies; only one of them runs, and the largest is the
 * safe count. */
static int choose(struct cuda *cuda, const struct switch_choice *choice,
                  const struct bound_step bodies[ROW_PARTS], struct error *err) {
    (void)cuda;
    const cudaGraphConditionalHandle none = 0;
    cudaError_t status = launch_switch(NULL, none, choice);
    return status == cudaSuccess ? bodies[ROW_PARTS - 1].run(bodies[ROW_PARTS - 1].context, err)
                                 : cuda_error(status, "a choice of rows", err);
}

/* The description says that the device is not there. */
static const char *describe(const struct backend *backend) {
    return ((const struct cuda *)backend)->description;
}

/* Counting ends first: the counters are part of D. */
static void close_backend(struct backend *backend) {
    struct described *d = described_of(backend);
    launch_count_in(NULL);
    convs_close(d->cuda.convs);
    if (d->cuda.control != NULL)
        free_memory(backend, d->cuda.control, sizeof(*d->cuda.control));
    free(d);
}

/* Without functions for recording: a step is enqueued anew each time, and counted each time. */
static const struct backend_device queue = {
    .select = select_stream,
    .event = event,
    .wait = event,
    .reach = event,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .copy = copy,
    .clear = clear,
    .refresh_half = cuda_queue_refresh_half,
    .half_gradient = cuda_half_gradient,
    .add = cuda_queue_add,
    .set_optimizer = set_optimizer,
    .update = cuda_queue_optimizer,
    .optimizer_state = optimizer_state,
    .set_optimizer_state = set_optimizer_state,
    .squares = squares,
};

/* --- opening ---------------------------------------------------------------------------------- */

/* Reads the members that this file needs; cuDNN reads the rest. The version is 100 times the
 * compute capability: 900 is 9.0. The limits only keep nonsense out of later arithmetic. A GPU
 * newer than this file passes. */
static int read_description(struct described *d, const char *path, struct error *err) {
    cleanup_json json_t *root = NULL;
    const char *name = NULL;
    int64_t version = 0, multiprocessors = 0, memory = 0;
    if (json_read_file(path, &root, err) != 0)
        return -1;
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CONFIG, "%s: a device is an object", path);
    if (json_member_string(root, path, "deviceName", &name, err) != 0 ||
        json_member_int(root, path, "deviceVer", &version, err) != 0 ||
        json_member_int(root, path, "multiProcessorCount", &multiprocessors, err) != 0 ||
        json_member_int(root, path, "totalGlobalMem", &memory, err) != 0)
        return -1;
    if (name == NULL || version < 100 || version > 9999 || multiprocessors < 1 ||
        multiprocessors > 4096 || memory < 1)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: deviceName, deviceVer, multiProcessorCount and totalGlobalMem are "
                         "wanted of a device",
                         path);
    (void)snprintf(d->name, sizeof(d->name), "%s", name);
    d->major = (int)version / 100;
    d->minor = (int)version % 100 / 10;
    d->cuda.multiprocessors = (int)multiprocessors;
    d->memory = (size_t)memory;
    return 0;
}

/* The same choices as cuda_open() makes for a real GPU, except that no driver can be asked for
 * switch nodes. */
static int settle(struct described *d, const struct cuda_options *o, struct error *err) {
    bool rows = false;
    if (!cuda_has_code(d->major, d->minor))
        return error_set(err, EXIT_CODE_DEVICE, "CUDA: %s is sm_%d%d; this build is for %s",
                         d->name, d->major, d->minor, cuda_architectures());
    if (cuda_graph_switch_wanted(o->row_choice, d->name, o->deterministic, &rows, err) != 0 ||
        cuda_overlap_choose(o->overlap, d->name, d->major, &d->overlap, err) != 0)
        return -1;
    if (rows)
        d->cuda.choose = choose;
    return cuda_backward_choose(o->own_backward, d->name, d->major, d->minor, &d->cuda.own_backward,
                                err);
}

/* Plans are neither timed nor remembered, as times would be those of no device. The table is copied
 * from the real backend, and the functions that would touch a device are replaced. On failure
 * nothing is left open. */
int cuda_simulated_open(struct backend **ret, const char *path, const struct cuda_options *options,
                        struct error *err) {
    struct described *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return error_no_memory(err, "a described device");
    d->table = cuda_table;
    d->table.device = &queue;
    d->table.alloc = alloc;
    d->table.free = free_memory;
    d->table.copy_in = copy;
    d->table.copy_out = copy;
    d->table.sync = sync;
    d->table.describe = describe;
    d->table.close = close_backend;
    d->cuda.base.table = &d->table;
    d->cuda.options = *options;
    d->cuda.options.decide = false;
    d->cuda.options.plan_cache = NULL;
    d->cuda.counted = &d->calls;
    if (read_description(d, path, err) != 0 || settle(d, options, err) != 0 ||
        convs_describe(&d->cuda, path, err) != 0 ||
        (d->cuda.control = alloc(&d->cuda.base, sizeof(*d->cuda.control), err)) == NULL) {
        close_backend(&d->cuda.base);
        return -1;
    }
    (void)snprintf(d->cuda.description, sizeof(d->cuda.description),
                   "%.128s (sm_%d%d), described and not there, %s", d->name, d->major, d->minor,
                   cuda_build_text());
    launch_count_in(&d->own);
    *ret = &d->cuda.base;
    return 0;
}

/* Early launches count only if overlap was chosen; the launchers count them in any case. */
struct cuda_launches cuda_simulated_launches(const struct backend *backend) {
    const struct described *d = (const struct described *)backend;
    struct cuda_launches all = d->calls;
    all.kernels = d->own.all;
    all.early = d->overlap ? d->own.early : 0;
    return all;
}

/* The name is that of the description and lives as long as the backend. */
const char *cuda_simulated_name(const struct backend *backend) {
    return ((const struct described *)backend)->name;
}
