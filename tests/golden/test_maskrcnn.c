/* A whole Mask R-CNN against torchvision's in f64: losses, what is sampled, every gradient, and
 * what an evaluation finds. The values are in tests/golden/maskrcnn/tiny.txt and come from
 * maskrcnn_torch.py, which says how weights, pictures and masks are made. Weights are of frozen
 * norms; the canvas is torchvision's padding. */
#include "golden/maskrcnn_tiny.h"
#include "ref/ref.h"
#if defined(RINGMASTER_EMULATED)
#include "cuda/emulated.h"
#elif defined(RINGMASTER_HAVE_CPU)
#include "cpu/cpu.h"
#endif

static void check_losses(struct run *r) {
    float metrics[DETECT_METRICS], losses[5];
    CU_ASSERT_EQUAL(program_read(&r->training, "metrics", metrics, sizeof(metrics), NULL), 0);
    CU_ASSERT_EQUAL(metrics[DETECT_IMAGES], PICTURES);
    for (int i = 0; i < 5; i++)
        losses[i] = metrics[DETECT_LOSS_CLASSIFIER + i] / PICTURES;
    golden_values(&r->file, "losses", losses, 5, GOLDEN_FORWARD);
    float positives = 0, anchors = 0;
    for (int n = 0; n < PICTURES; n++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "chosen_rpn%d", n);
        const char *at = golden_line(&r->file, name, NULL);
        anchors += (float)golden_number(&at);
        (void)snprintf(name, sizeof(name), "labels%d", n);
        at = golden_line(&r->file, name, NULL);
        for (int regions = (int)golden_number(&at); regions > 0; regions--)
            positives += golden_number(&at) > 0 ? 1.0F : 0.0F;
    }
    CU_ASSERT_EQUAL(metrics[DETECT_RPN_POSITIVES], anchors);
    CU_ASSERT_EQUAL(metrics[DETECT_POSITIVES], positives);
}

static void train_once(struct run *r) {
    feed_step(r);
    CU_ASSERT_EQUAL_FATAL(program_run(&r->training, NULL, NULL), 0);
    check_losses(r);
    int trained = 0;
    for (int k = 0; k < r->store.slot_count; k++) {
        const struct store_slot *slot = &r->store.slots[k];
        if (!slot->trained)
            continue;
        trained++;
        golden_tensor(&r->file, "gradient", slot->name, &slot->shape,
                      store_at(&r->store, slot, STORE_GRADIENTS), NULL, GOLDEN_GRADIENT);
    }
    CU_ASSERT_EQUAL(trained, 55);
}

struct found {
    float box[PICTURES][FOUND][4], score[PICTURES][FOUND], mask[PICTURES][FOUND][28][28];
    int32_t label[PICTURES][FOUND], count[PICTURES];
};

static double apart(const float a[4], const double b[4]) {
    double most = 0;
    for (int k = 0; k < 4; k++)
        most = golden_worse(most, fabs((double)a[k] - b[k]));
    return most;
}

#define SWAP(array, i, j)                                                                          \
    do {                                                                                           \
        char kept[sizeof((array)[0])];                                                             \
        memcpy(kept, &(array)[i], sizeof(kept));                                                   \
        memmove(&(array)[i], &(array)[j], sizeof(kept));                                           \
        memcpy(&(array)[j], kept, sizeof(kept));                                                   \
    } while (0)

/* What is found comes by falling scores; where these differ by roundings alone torchvision's order
 * is another one, and its boxes say which. */
static void take_order(struct run *r, struct found *f, int n) {
    char name[32];
    (void)snprintf(name, sizeof(name), "boxes%d", n);
    const char *at = golden_line(&r->file, name, "400");
    (void)golden_number(&at); /* torch's own error */
    for (int i = 1; i < FOUND; i++)
        CU_ASSERT(f->score[n][i - 1] >= f->score[n][i]);
    for (int i = 0; i < FOUND; i++) {
        double wanted[4];
        int nearest = i;
        for (int k = 0; k < 4; k++)
            wanted[k] = golden_number(&at);
        for (int j = i + 1; j < FOUND; j++)
            if (apart(f->box[n][j], wanted) < apart(f->box[n][nearest], wanted))
                nearest = j;
        SWAP(f->box[n], i, nearest);
        SWAP(f->score[n], i, nearest);
        SWAP(f->label[n], i, nearest);
        SWAP(f->mask[n], i, nearest);
    }
}

static void evaluate_once(struct run *r) {
    static struct found f;
    const struct batch *batch = &r->batch;
    PUT(&r->evaluation, image);
    PUT(&r->evaluation, image_size);
    CU_ASSERT_EQUAL_FATAL(program_run(&r->evaluation, NULL, NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_box", f.box, sizeof(f.box), NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_score", f.score, sizeof(f.score), NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_label", f.label, sizeof(f.label), NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_count", f.count, sizeof(f.count), NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_mask", f.mask, sizeof(f.mask), NULL), 0);
    for (int n = 0; n < PICTURES; n++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "found%d", n);
        const char *at = golden_line(&r->file, name, "100");
        CU_ASSERT_EQUAL_FATAL(f.count[n], FOUND);
        take_order(r, &f, n);
        for (int i = 0; i < FOUND; i++)
            CU_ASSERT_EQUAL(f.label[n][i], golden_number(&at));
        (void)snprintf(name, sizeof(name), "scores%d", n);
        golden_values(&r->file, name, f.score[n], FOUND, GOLDEN_FORWARD);
        (void)snprintf(name, sizeof(name), "boxes%d", n);
        golden_values(&r->file, name, f.box[n][0], FOUND * 4, GOLDEN_FORWARD);
    }
    struct shape masks = shape_3(PICTURES * FOUND, 28, 28);
    golden_tensor(&r->file, "masks", "masks", &masks, f.mask[0][0][0], NULL, GOLDEN_FORWARD);
}

static void check(struct backend *backend, enum fusion fusion) {
    static struct run r;
    open_run(&r, backend, fusion, DTYPE_F32, 1);
    evaluate_once(&r);
    train_once(&r);
    evaluate_once(&r);
    close_run(&r);
}

#ifdef RINGMASTER_EMULATED
/* Our kernels on the emulated device, on which two pictures' objects fill one share of the masks'
 * rows, forward and backward. */
static void the_device_is_torchvisions(void) {
    static const enum fusion levels[] = {FUSION_ALL, FUSION_CONV};
    for (int i = 0; i < 2; i++) {
        struct backend *device = NULL;
        int chosen[ROW_PARTS] = {0};
        CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, NULL), 0);
        emulated_choose_rows(device, chosen);
        check(device, levels[i]);
        int shares = 0;
        for (int k = 0; k < ROW_PARTS; k++)
            shares += chosen[k] > 0;
        CU_ASSERT_EQUAL(shares, 1);
        CU_ASSERT_EQUAL(chosen[ROW_PARTS - 1], 0);
    }
}

UNIT_MAIN("cuda.maskrcnn", UNIT(the_device_is_torchvisions))
#else
static void the_reference_is_torchvisions(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    check(backend, FUSION_NONE);
}

/* Norms in weights, ReLUs and their sums in the data gradients: what GPUs do at that level. */
static void the_reference_is_torchvisions_when_convolutions_are_fused(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    check(backend, FUSION_CONV);
}

#ifdef RINGMASTER_HAVE_CPU
static struct backend *fast(void) {
    struct backend *backend = NULL;
    /* Bounds are a few times torch's own errors, of which Winograd's products have ten times. */
    struct cpu_options options = {.threads = 2, .convs = CPU_CONVS_DIRECT};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
    return backend;
}

static void the_cpu_is_torchvisions(void) {
    check(fast(), FUSION_NONE);
    check(fast(), FUSION_ALL);
}

UNIT_MAIN("golden.maskrcnn", UNIT(the_reference_is_torchvisions),
          UNIT(the_reference_is_torchvisions_when_convolutions_are_fused),
          UNIT(the_cpu_is_torchvisions))
#else
UNIT_MAIN("golden.maskrcnn", UNIT(the_reference_is_torchvisions),
          UNIT(the_reference_is_torchvisions_when_convolutions_are_fused))
#endif
#endif
