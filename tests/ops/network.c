#include "tests/ops/network.h"

#include "tests/support/net.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>

/* At most BATCHES batches are tried, each with its own seed. */
enum { BATCHES = 5, FIRST_SEED = 6, TRAINING_SEED = 9 };

static void run_first_step(struct net *net, struct backend *backend, const struct network_row *row,
                           enum dtype dtype, enum fusion fusion, int batch) {
    struct resnet_config config = net_config(row->model, 4, row->size, true);
    config.label_smoothing = 0.1;
    config.dtype = dtype;
    net_init(net, backend, config, (struct compile_options){.fusion = fusion});
    net_start(net);
    net_fill(net, (uint64_t)(FIRST_SEED + batch));
    net_run(net, NULL);
}

static const float *values(struct net *net, const struct store_slot *slot) {
    enum store_arena arena = slot->home == STORE_STATE ? STORE_STATE : STORE_GRADIENTS;
    struct error err = {0};
    void *host = NULL;
    CU_ASSERT_EQUAL_FATAL(store_pull(&net->store, arena, &host, &err), 0);
    return (const float *)host + slot->first;
}

/* ||a - b|| / ||b|| of one slot. A value near 0 before a ReLU may fall on either side of it, and
 * then one term of some sums is present or absent: that is much for one weight, little for all. */
static double slot_error(struct net *a, double scale, struct net *b,
                         const struct store_slot *slot) {
    const float *left = values(a, store_find(&a->store, slot->name));
    const float *right = values(b, slot);
    double apart = 0, length = 0;
    for (size_t i = 0; i < slot->count; i++) {
        apart +=
            pow((double)left[i] / (slot->home == STORE_STATE ? 1 : scale) - (double)right[i], 2);
        length += pow((double)right[i], 2);
    }
    return length == 0 ? apart : sqrt(apart / length);
}

/* The least error that a level has had with each slot of a row's network. */
enum { SLOTS_MAX = 128 };
static double least[FUSION_CONV + 1][SLOTS_MAX];

static void compare(struct net *net, struct net *ref, enum fusion level, double scale,
                    const struct network_row *row) {
    double worst = 0, loss = net_loss(ref);
    const char *where = "";
    CU_ASSERT_FATAL(ref->store.slot_count <= SLOTS_MAX);
    for (int i = 0; i < ref->store.slot_count; i++) {
        double error = slot_error(net, scale, ref, &ref->store.slots[i]);
        least[level][i] = fmin(least[level][i], error);
        if (isnan(error) || error > worst) { /* a NaN stays */
            worst = error;
            where = ref->store.slots[i].name;
        }
    }
    double loss_bound = row->dtype == DTYPE_F32 ? 1e-5 : 5e-3;
    printf("%s %s, %s: loss %.3g apart, %s %.3g (at most %.3g)\n", row->model,
           dtype_name(row->dtype), fusion_name(level), fabs(net_loss(net) - loss) / loss, where,
           worst, row->bound);
    CU_ASSERT(fabs(net_loss(net) - loss) <= loss_bound * loss);
    CU_ASSERT(worst <= row->bound);
}

/* Returns how many slots there are. */
static int compare_batch(network_opener open, const struct network_row *row, int batch) {
    struct net ref;
    run_first_step(&ref, NULL, row, DTYPE_F32, FUSION_NONE, batch);
    for (enum fusion level = row->least; level <= row->most; level++) {
        struct net net;
        run_first_step(&net, open(), row, row->dtype, level, batch);
        compare(&net, &ref, level, row->scale, row);
        net_done(&net);
    }
    int slots = ref.store.slot_count;
    net_done(&ref);
    return slots;
}

/* The largest of the least errors. */
static double farthest(const struct network_row *row, int slots) {
    double most = 0;
    for (enum fusion level = row->least; level <= row->most; level++)
        for (int i = 0; i < slots; i++)
            most = fmax(most, least[level][i]);
    return most;
}

/* The small network has so few values that none comes near a ReLU's edge: there all agree closely.
 * Among the hundreds of thousands of the large ones some do. */
void network_check_gradients(network_opener open, const struct network_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct network_row *row = &rows[i];
        double best = INFINITY;
        for (size_t k = 0; k < sizeof(least) / sizeof(**least); k++)
            least[k / SLOTS_MAX][k % SLOTS_MAX] = INFINITY;
        int batches = row->best > 0 ? BATCHES : 1;
        for (int batch = 0; batch < batches && !(best <= row->best); batch++)
            best = farthest(row, compare_batch(open, row, batch));
        printf("%s %s: each slot within %.3g with one batch or another\n", row->model,
               dtype_name(row->dtype), best);
        CU_ASSERT(row->best == 0 || best <= row->best);
    }
}

void network_check_levels(network_opener open, const struct network_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct net first;
        run_first_step(&first, open(), &rows[i], rows[i].dtype, rows[i].least, 0);
        for (enum fusion level = rows[i].least + 1; level <= rows[i].most; level++) {
            struct net net;
            run_first_step(&net, open(), &rows[i], rows[i].dtype, level, 0);
            (void)compare(&net, &first, level, 1, &rows[i]);
            net_done(&net);
        }
        net_done(&first);
    }
}

/* Trains on one batch of noise. */
static void train(struct backend *backend, enum dtype dtype, enum fusion fusion, double scale,
                  uint64_t seed, int steps, double *losses) {
    struct net net;
    struct resnet_config config = net_config("resnet20", 8, 16, true);
    config.dtype = dtype;
    net_init(&net, backend, config, (struct compile_options){.fusion = fusion});
    net_start(&net);
    net_fill(&net, seed);
    for (int i = 0; i < steps; i++) {
        net_run(&net, NULL);
        losses[i] = net_loss(&net);
        net_update(&net, 0.02F, (float)scale);
    }
    net_done(&net);
}

/* How far apart the losses of ten steps are at most, as a share of the first one. */
static double ten_steps_apart(network_opener open, enum dtype dtype, enum fusion fusion,
                              double scale, uint64_t seed) {
    enum { STEPS = 10 };
    double ref[STEPS], own[STEPS], worst = 0;
    train(NULL, DTYPE_F32, FUSION_NONE, 1, seed, STEPS, ref);
    train(open(), dtype, fusion, scale, seed, STEPS, own);
    for (int i = 0; i < STEPS; i++) {
        double apart = fabs(own[i] - ref[i]) / ref[0];
        if (isnan(apart) || apart > worst)
            worst = apart;
    }
    printf("ten steps in %s: at most %.3g apart\n", dtype_name(dtype), worst);
    CU_ASSERT(ref[STEPS - 1] < 0.5 * ref[0]);
    return worst;
}

void network_check_ten_steps(network_opener open, enum dtype dtype, enum fusion fusion,
                             double scale, double bound, double best) {
    bool close = false;
    for (int batch = 0; batch < BATCHES && !close; batch++) {
        double apart =
            ten_steps_apart(open, dtype, fusion, scale, (uint64_t)(TRAINING_SEED + batch));
        CU_ASSERT(apart <= bound);
        close = best == 0 || apart <= best;
    }
    CU_ASSERT(close);
}

void network_check_learning(network_opener open, enum dtype dtype, enum fusion fusion,
                            double scale) {
    enum { STEPS = 30 };
    double losses[STEPS];
    train(open(), dtype, fusion, scale, TRAINING_SEED, STEPS, losses);
    CU_ASSERT(losses[STEPS - 1] < 0.2 * losses[0]);
}
