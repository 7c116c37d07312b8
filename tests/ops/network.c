#include "ops/network.h"

#include "support/net.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>

static void run_first_step(struct net *net, struct backend *backend, const struct network_row *row,
                           enum dtype dtype, enum fusion fusion) {
    struct resnet_config config = net_config(row->model, 4, row->size, true);
    config.label_smoothing = 0.1;
    config.dtype = dtype;
    net_init(net, backend, config, (struct compile_options){.fusion = fusion});
    net_start(net);
    net_fill(net, 6);
    net_run(net, NULL);
}

static const float *values(struct net *net, const struct store_slot *slot) {
    enum store_arena arena = slot->home == STORE_STATE ? STORE_STATE : STORE_GRADIENTS;
    struct error err = {0};
    void *host = NULL;
    CU_ASSERT_EQUAL_FATAL(store_pull(&net->store, arena, &host, &err), 0);
    return (const float *)host + slot->first;
}

/* ||a - b|| / ||b|| of one slot. A value near 0 in front of a ReLU may fall on either side of it,
 * and then one term of some sums is there or not: that is much for one weight, little for all. */
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

static void compare(struct net *net, struct net *ref, enum fusion level, double scale,
                    const struct network_row *row) {
    double worst = 0, loss = net_loss(ref);
    const char *where = "";
    for (int i = 0; i < ref->store.slot_count; i++) {
        double error = slot_error(net, scale, ref, &ref->store.slots[i]);
        if (!(error <= worst)) {
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

/* The small network has so few values that none comes near a ReLU's edge: there all agree closely.
 * Among the hundreds of thousands of the large ones some do, and what an operator gets wrong shows
 * as a difference of order one. */
void network_check_gradients(network_opener open, const struct network_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct net ref;
        run_first_step(&ref, NULL, &rows[i], DTYPE_F32, FUSION_NONE);
        for (enum fusion level = rows[i].least; level <= rows[i].most; level++) {
            struct net net;
            run_first_step(&net, open(), &rows[i], rows[i].dtype, level);
            compare(&net, &ref, level, rows[i].scale, &rows[i]);
            net_done(&net);
        }
        net_done(&ref);
    }
}

void network_check_levels(network_opener open, const struct network_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct net first;
        run_first_step(&first, open(), &rows[i], rows[i].dtype, rows[i].least);
        for (enum fusion level = rows[i].least + 1; level <= rows[i].most; level++) {
            struct net net;
            run_first_step(&net, open(), &rows[i], rows[i].dtype, level);
            compare(&net, &first, level, 1, &rows[i]);
            net_done(&net);
        }
        net_done(&first);
    }
}

/* Trains on one batch of noise. */
static void train(struct backend *backend, enum dtype dtype, enum fusion fusion, double scale,
                  int steps, double *losses) {
    struct net net;
    struct resnet_config config = net_config("resnet20", 8, 16, true);
    config.dtype = dtype;
    net_init(&net, backend, config, (struct compile_options){.fusion = fusion});
    net_start(&net);
    net_fill(&net, 9);
    for (int i = 0; i < steps; i++) {
        net_run(&net, NULL);
        losses[i] = net_loss(&net);
        net_update(&net, 0.02F, (float)scale);
    }
    net_done(&net);
}

void network_check_ten_steps(network_opener open, enum dtype dtype, enum fusion fusion,
                             double scale, double bound) {
    enum { STEPS = 10 };
    double ref[STEPS], own[STEPS];
    train(NULL, DTYPE_F32, FUSION_NONE, 1, STEPS, ref);
    train(open(), dtype, fusion, scale, STEPS, own);
    for (int i = 0; i < STEPS; i++) {
        if (!(fabs(own[i] - ref[i]) <= bound * ref[0]))
            printf("step %d in %s: loss %.6f, the reference's %.6f\n", i + 1, dtype_name(dtype),
                   own[i], ref[i]);
        CU_ASSERT_DOUBLE_EQUAL(own[i], ref[i], bound * ref[0]);
    }
    CU_ASSERT(ref[STEPS - 1] < 0.5 * ref[0]);
}

void network_check_learning(network_opener open, enum dtype dtype, enum fusion fusion,
                            double scale) {
    enum { STEPS = 30 };
    double losses[STEPS];
    train(open(), dtype, fusion, scale, STEPS, losses);
    CU_ASSERT(losses[STEPS - 1] < 0.2 * losses[0]);
}
