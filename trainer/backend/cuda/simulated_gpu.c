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

static struct described *described_of(struct backend *backend) {
    return (struct described *)backend;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Returns addresses of unmapped pages: an access fails immediately. */
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

static void free_memory(struct backend *backend, void *memory, size_t bytes) {
    (void)munmap(memory, bytes);
    described_of(backend)->used -= bytes;
}

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

static int copy(struct backend *backend, void *to, const void *from, size_t bytes,
                struct error *err) {
    (void)to, (void)from, (void)bytes, (void)err;
    described_of(backend)->calls.copies++;
    return 0;
}

static int clear(struct backend *backend, void *memory, size_t bytes, struct error *err) {
    return copy(backend, memory, NULL, bytes, err);
}

static int set_optimizer(struct backend *backend, const struct optimizer_rule *rule,
                         struct error *err) {
    return copy(backend, NULL, rule, sizeof(*rule), err);
}

static int optimizer_state(struct backend *backend, struct backend_optimizer_state *ret,
                           struct error *err) {
    return copy(backend, ret, NULL, sizeof(*ret), err);
}

static int set_optimizer_state(struct backend *backend, const struct backend_optimizer_state *state,
                               struct error *err) {
    return copy(backend, NULL, state, sizeof(*state), err);
}

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

static int event(struct backend *backend, int number, struct error *err) {
    (void)backend, (void)number, (void)err;
    return 0;
}

static int sync(struct backend *backend, struct error *err) {
    (void)backend, (void)err;
    return 0;
}

/* Where a recording would choose among fractions of rows, counts the selecting kernel and the body
 * with all rows. */
static int choose(struct cuda *cuda, const struct switch_choice *choice,
                  const struct bound_step bodies[ROW_PARTS], struct error *err) {
    (void)cuda;
    const cudaGraphConditionalHandle none = 0;
    cudaError_t status = launch_switch(NULL, none, choice);
    return status == cudaSuccess ? bodies[ROW_PARTS - 1].run(bodies[ROW_PARTS - 1].context, err)
                                 : cuda_error(status, "a choice of rows", err);
}

static const char *describe(const struct backend *backend) {
    return ((const struct cuda *)backend)->description;
}

static void close_backend(struct backend *backend) {
    struct described *d = described_of(backend);
    launch_count_in(NULL);
    convs_close(d->cuda.convs);
    if (d->cuda.control != NULL)
        free_memory(backend, d->cuda.control, sizeof(*d->cuda.control));
    free(d);
}

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

/* Reads the members that we need ourselves; cuDNN reads the rest. */
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

struct cuda_launches cuda_simulated_launches(const struct backend *backend) {
    const struct described *d = (const struct described *)backend;
    struct cuda_launches all = d->calls;
    all.kernels = d->own.all;
    all.early = d->overlap ? d->own.early : 0;
    return all;
}

const char *cuda_simulated_name(const struct backend *backend) {
    return ((const struct described *)backend)->name;
}
