/* A GPU that is described and not there: what compiles for it, what a step launches on it, and what
 * a description has to say. */
#include "common/buf.h"
#include "common/file/file.h"
#include "tests/ops/network.h"
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/app/plan/launches.h"
#include "trainer/backend/cuda/simulated_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cuda_options fixed = {
    .local_ranks = 1, .deterministic = true, .overlap = CUDA_OWN_ON, .loss_scale = 1};

static struct backend *open_device(const char *device, struct cuda_options options) {
    struct backend *backend = NULL;
    struct error err = {0};
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s.json", RINGMASTER_CUDA_DEVICES, device);
    if (cuda_simulated_open(&backend, path, &options, &err) != 0)
        printf("%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(backend);
    return backend;
}

struct counted {
    struct device_launches all;
    struct kind_launches of[OP_KINDS];
};

/* Forward and backward of ResNet-50 in f16 at level conv, not the first time. */
static struct counted run_resnet50(struct cuda_options options) {
    static struct net net;
    struct counted c = {0};
    struct error err = {0};
    struct resnet_config config = net_config("resnet50", 8, 224, true);
    config.dtype = DTYPE_F16;
    config.stem_channels = 4;
    net = (struct net){0};
    net_init(&net, open_device("h100", options), config,
             (struct compile_options){.fusion = FUSION_CONV});
    CU_ASSERT_EQUAL(launches_by_kind(&net.program, c.of, &err), 0);
    const struct device_launches before = device_launches(net.backend);
    net_run(&net, NULL);
    c.all = launches_since(net.backend, &before);
    net_done(&net);
    return c;
}

/* Counted by hand from the network's 53 convolutions and 53 norms: all norms except the stem's,
 * which a pool follows, are finalized after the convolution (52) and have a last gradient pass of
 * their own (51: the last join's is a whole gradient). 47 data gradients include the sums of the
 * norms before them and are followed by their coefficients: 32 of one norm, 11 of a join, 4 of a
 * join with two norms. The last join has a forward pass and three passes backward, the stem's norm
 * three each way. The rest: the picture, the conversion of the stem's weight gradient to f32, the
 * mean over pixels both ways, the column sums of the classifier, and the loss, two and one. */
static void launches_of_a_step_are_counted(void) {
    const struct counted c = run_resnet50(fixed);
    const unsigned long small = 52 + 51 + 47 + 1;
    CU_ASSERT_EQUAL(c.of[OP_NORM_FINALIZE].launches.kernels, 52);
    CU_ASSERT_EQUAL(c.of[OP_NORM_GRAD_APPLY].launches.kernels, 51);
    CU_ASSERT_EQUAL(c.of[OP_CONV2D_GRAD_DATA_NORM].launches.kernels, 32);
    CU_ASSERT_EQUAL(c.of[OP_CONV2D_GRAD_DATA_ADD_JOIN].launches.kernels, 11);
    CU_ASSERT_EQUAL(c.of[OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN].launches.kernels, 4);
    CU_ASSERT_EQUAL(c.all.kernels, small + 3 + 3 + 3 + 1 + 1 + 2 + 1 + 2 + 1);
    CU_ASSERT_EQUAL(c.all.early, small + 3 + 3 + 3 + 1 + 1 + 1);
    /* Each convolution three times, but for the stem's data gradient; the classifier likewise. */
    CU_ASSERT_EQUAL(c.all.products, 3 * 53 - 1 + 3);
    CU_ASSERT_EQUAL(c.all.copies, 0);

    struct cuda_options options = fixed;
    options.overlap = CUDA_OWN_OFF;
    CU_ASSERT_EQUAL(run_resnet50(options).all.kernels, c.all.kernels);
    CU_ASSERT_EQUAL(run_resnet50(options).all.early, 0);
}

/* As training would. */
static void what_the_device_does_not_do_is_refused(void) {
    struct error err = {0};
    struct backend *backend = NULL;
    struct cuda_options rows = fixed;
    rows.row_choice = CUDA_OWN_ON;
    CU_ASSERT_EQUAL(
        cuda_simulated_open(&backend, RINGMASTER_CUDA_DEVICES "/h100.json", &rows, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "--row-choice on");
}

/* Our own backward pass takes three launches, or two for a plain one, in place of two products and
 * of the last pass before them, including coefficients where there were some. It is used for the
 * last convolutions of the seven blocks of stages 1 and 2; for the first convolution and the first
 * shortcut; and for the first convolutions of the blocks after a join with one norm: one of stage
 * 1, three of stage 2, and that of stage 3. */
static void an_own_backward_pass_takes_the_place_of_products(void) {
    struct cuda_options own = fixed;
    own.own_backward = CUDA_OWN_ON;
    const struct counted with = run_resnet50(own), without = run_resnet50(fixed);
    const unsigned long plain = with.of[OP_CONV2D_BACKWARD].launches.kernels / 2,
                        norm = with.of[OP_CONV2D_BACKWARD_NORM].launches.kernels / 3,
                        join = with.of[OP_CONV2D_BACKWARD_JOIN].launches.kernels / 3;
    CU_ASSERT_EQUAL(plain, 2);
    CU_ASSERT_EQUAL(norm, 3 + 4);
    CU_ASSERT_EQUAL(join, 1 + 3 + 1);
    CU_ASSERT_EQUAL(with.all.products, without.all.products - 2 * (plain + norm + join));
    CU_ASSERT_EQUAL(with.all.kernels,
                    without.all.kernels + (2 - 1) * plain + (3 - 2) * (norm + join));
}

static void a_network_too_large_for_the_device_is_reported_with_its_sizes(void) {
    struct net net = {0};
    struct error err = {0};
    struct resnet_config config = net_config("resnet50", 4096, 224, true);
    config.dtype = DTYPE_F32;
    struct backend *backend = open_device("h100", fixed);
    CU_ASSERT_EQUAL_FATAL(resnet_build(&net.graph, &config, &net.tensors, &err), 0);
    struct compile_options options = {.fusion = FUSION_CONV};
    CU_ASSERT_EQUAL(program_compile(&net.program, &net.graph, &net.store, backend, &options, &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "memory for a batch of this size");
    ASSERT_CONTAINS(err.text, "MiB needed");
    net.backend = backend;
    net_done(&net);
}

/* The description of an H100, of which FROM has become TO. */
static int open_changed(const char *from, const char *to, struct error *err) {
    struct backend *backend = NULL;
    cleanup_buf struct buf text = {0}, changed = {0};
    char path[] = "/tmp/described-XXXXXX";
    int file = mkstemp(path);
    buf_init(&text, 65536);
    buf_init(&changed, 65536);
    CU_ASSERT_FATAL(file >= 0);
    CU_ASSERT_EQUAL_FATAL(file_read(RINGMASTER_CUDA_DEVICES "/h100.json", &text, NULL), 0);
    const char *at = strstr(buf_text(&text), from);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_EQUAL_FATAL(buf_printf(&changed, NULL, "%.*s%s%s", (int)(at - buf_text(&text)),
                                     buf_text(&text), to, at + strlen(from)),
                          0);
    CU_ASSERT_EQUAL_FATAL(write(file, buf_text(&changed), changed.size), (ssize_t)changed.size);
    (void)close(file);
    int result = cuda_simulated_open(&backend, path, &fixed, err);
    (void)unlink(path);
    backend_close(backend);
    if (result != 0)
        ASSERT_CONTAINS(err->text, strstr(err->text, "sm_") != NULL ? "sm_" : path);
    return result;
}

static void a_description_that_is_none_is_named(void) {
    static const struct {
        const char *from, *to;
        enum exit_code code;
        const char *says;
    } rows[] = {
        {"{", "[", EXIT_CODE_CONFIG, ":"},
        {"\"multiProcessorCount\": 132,", "", EXIT_CODE_CONFIG, "multiProcessorCount"},
        {"132", "0", EXIT_CODE_CONFIG, "multiProcessorCount"},
        {"132", "\"many\"", EXIT_CODE_CONFIG, "multiProcessorCount"},
        {"\"NVIDIA H100 80GB HBM3\"", "7", EXIT_CODE_CONFIG, "deviceName"},
        {"900", "-900", EXIT_CODE_CONFIG, "deviceVer"},
        {"85899345920", "0", EXIT_CODE_CONFIG, "totalGlobalMem"},
        {"900", "300", EXIT_CODE_DEVICE, "sm_30; this build is for"},
        {"\"warpSize\": 32,", "", EXIT_CODE_DEVICE, "cuDNN"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(open_changed(rows[i].from, rows[i].to, &err), -1);
        CU_ASSERT_EQUAL(err.code, rows[i].code);
        ASSERT_CONTAINS(err.text, rows[i].says);
    }
    struct error err = {0};
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL(open_changed("132", "131", &err), 0);
    CU_ASSERT_EQUAL(cuda_simulated_open(&backend, "/nowhere/x.json", &fixed, &err), -1);
    ASSERT_CONTAINS(err.text, "/nowhere/x.json");
}

static void a_described_device_says_what_it_is(void) {
    struct backend *backend = open_device("h200", fixed);
    ASSERT_CONTAINS(backend->table->describe(backend), "H200");
    ASSERT_CONTAINS(backend->table->describe(backend), "described and not there");
    ASSERT_CONTAINS(cuda_simulated_name(backend), "H200");
    CU_ASSERT_EQUAL(cuda_simulated_launches(backend).kernels, 0);
    backend_close(backend);
}

UNIT_SUITE("plans.described", UNIT(launches_of_a_step_are_counted),
           UNIT(what_the_device_does_not_do_is_refused),
           UNIT(an_own_backward_pass_takes_the_place_of_products),
           UNIT(a_network_too_large_for_the_device_is_reported_with_its_sizes),
           UNIT(a_description_that_is_none_is_named), UNIT(a_described_device_says_what_it_is))
