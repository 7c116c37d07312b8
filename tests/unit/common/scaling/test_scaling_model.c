#include "common/scaling/scaling_model.h"
#include "tests/support/unit.h"

#include <math.h>

/* The constants of a made-up machine, which the model has to find. */
static const double LATENCY = 20e-6, BYTE = 1e-9, BYTES = 100e6, BUCKETS = 5, BASE = 0.2;

static double all_reduce(int ranks, double bytes) {
    return LATENCY * log2(ranks) + BYTE * 2 * (ranks - 1) / ranks * bytes;
}

static struct scaling_comm measured_comm(void) {
    static const double sizes[] = {8, 1 << 20, 16 << 20};
    struct scaling_reduce list[9];
    struct scaling_comm comm = {.bytes = BYTES, .buckets = BUCKETS, .per_step = 1};
    size_t count = 0;
    for (int ranks = 2; ranks <= 8; ranks *= 2)
        for (int i = 0; i < 3; i++)
            list[count++] = (struct scaling_reduce){ranks, sizes[i], all_reduce(ranks, sizes[i])};
    CU_ASSERT_EQUAL(scaling_comm_fit(&comm, list, count), 0);
    return comm;
}

static double step_of(int ranks, double hidden) {
    const double comm = BUCKETS * LATENCY * log2(ranks) + BYTE * 2 * (ranks - 1) / ranks * BYTES;
    return BASE + fmax(0, comm - hidden);
}

static void latency_and_bandwidth_are_found(void) {
    const struct scaling_comm comm = measured_comm();
    CU_ASSERT_EQUAL(comm.ranks, 8);
    CU_ASSERT_DOUBLE_EQUAL(comm.latency, LATENCY, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(comm.byte, BYTE, 1e-13);
    CU_ASSERT_DOUBLE_EQUAL(scaling_comm_seconds(&comm, 8), BUCKETS * LATENCY * 3 + 0.175, 1e-6);
}

static void one_size_does_not_tell_both(void) {
    struct scaling_comm comm = {.ranks = 3};
    const struct scaling_reduce list[] = {{2, 1000, 1e-3}, {1, 1000, 1e-3}};
    CU_ASSERT_EQUAL(scaling_comm_fit(&comm, list, 2), -1);
    CU_ASSERT_EQUAL(comm.ranks, 0);
}

static void what_is_hidden_is_found_and_projected(void) {
    const double hidden = 0.12;
    const struct scaling_comm comm = measured_comm();
    struct scaling_model m;
    struct scaling_sample list[4];
    for (int i = 0; i < 4; i++)
        list[i] = (struct scaling_sample){1 << i, step_of(1 << i, hidden), 1};
    scaling_model_fit(&m, list, 4, &comm);
    CU_ASSERT_EQUAL(m.form, SCALING_MEASURED);
    CU_ASSERT_DOUBLE_EQUAL(m.hidden, hidden, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(m.slope, 0, 1e-3);
    const double far = step_of(1024, hidden);
    CU_ASSERT_DOUBLE_EQUAL(scaling_model_seconds(&m, &comm, 1024, 1) / far, 1, 0.01);
}

static void held_out_sizes_show_the_error(void) {
    const struct scaling_comm comm = measured_comm();
    struct scaling_check check;
    struct scaling_sample list[4];
    for (int i = 0; i < 4; i++)
        list[i] = (struct scaling_sample){1 << i, step_of(1 << i, 0), 1};
    scaling_check_held_out(&check, list, 4, &comm);
    CU_ASSERT_EQUAL(check.fitted, 2);
    CU_ASSERT_EQUAL(check.held_out, 2);
    CU_ASSERT_DOUBLE_EQUAL(check.error, 0, 0.01);
    /* The largest size takes twice as long as predicted: its throughput is half the promised
     * one. */
    list[3].seconds *= 2;
    scaling_check_held_out(&check, list, 4, &comm);
    CU_ASSERT_EQUAL(check.worst, 8);
    CU_ASSERT_DOUBLE_EQUAL(check.error, 1, 0.02);
    scaling_check_held_out(&check, list, 2, &comm);
    CU_ASSERT_EQUAL(check.fitted, 0);
}

static void growth_beyond_communication_is_a_slope(void) {
    const struct scaling_comm comm = measured_comm();
    struct scaling_model m;
    struct scaling_sample list[4];
    for (int i = 0; i < 4; i++)
        list[i] = (struct scaling_sample){1 << i, step_of(1 << i, 0) + 0.05 * i, 1};
    scaling_model_fit(&m, list, 4, &comm);
    CU_ASSERT_DOUBLE_EQUAL(m.slope, 0.05, 2e-3);
}

static void without_measurements_a_term_is_fitted(void) {
    const struct scaling_comm none = {.per_step = 1};
    const struct scaling_sample logarithmic[] = {{1, 1, 1}, {2, 1.1, 1}, {4, 1.2, 1}, {8, 1.3, 1}};
    const struct scaling_sample ring[] = {{1, 1, 1}, {2, 1.2, 1}, {4, 1.3, 1}, {8, 1.35, 1}};
    struct scaling_model m;
    scaling_model_fit(&m, logarithmic, 4, &none);
    CU_ASSERT_EQUAL(m.form, SCALING_LATENCY);
    CU_ASSERT_DOUBLE_EQUAL(scaling_model_seconds(&m, &none, 1024, 1), 2, 1e-6);
    scaling_model_fit(&m, ring, 4, &none);
    CU_ASSERT_EQUAL(m.form, SCALING_RING);
    CU_ASSERT_DOUBLE_EQUAL(scaling_model_seconds(&m, &none, 1024, 1), 1.4, 1e-3);
    scaling_model_fit(&m, ring, 1, &none);
    CU_ASSERT_EQUAL(m.form, SCALING_NO_MODEL);
    CU_ASSERT(isnan(scaling_model_seconds(&m, &none, 8, 1)));
}

/* There are two cores: with more than two ranks each one computes longer, and no other term may
 * explain that. */
static void cores_that_ranks_share_are_known(void) {
    const struct scaling_comm comm = measured_comm();
    struct scaling_model m;
    struct scaling_check check;
    struct scaling_sample list[4];
    for (int i = 0; i < 4; i++) {
        const double crowd = i < 2 ? 1 : (1 << i) / 2.0;
        list[i] =
            (struct scaling_sample){1 << i, step_of(1 << i, 0.05) + BASE * (crowd - 1), crowd};
    }
    scaling_check_held_out(&check, list, 4, &comm);
    CU_ASSERT_EQUAL(check.fitted, 2);
    CU_ASSERT_DOUBLE_EQUAL(check.error, 0, 0.03);
    scaling_model_fit(&m, list, 4, &comm);
    CU_ASSERT_DOUBLE_EQUAL(m.slope, 0, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(scaling_model_seconds(&m, &comm, 8, 4) / list[3].seconds, 1, 0.01);
    /* Each rank has as many cores as a single rank has. */
    CU_ASSERT_DOUBLE_EQUAL(scaling_model_seconds(&m, &comm, 8, 1) / step_of(8, 0.05), 1, 0.01);
}

UNIT_SUITE("common.scaling.scaling_model", UNIT(latency_and_bandwidth_are_found),
           UNIT(one_size_does_not_tell_both), UNIT(what_is_hidden_is_found_and_projected),
           UNIT(held_out_sizes_show_the_error), UNIT(growth_beyond_communication_is_a_slope),
           UNIT(without_measurements_a_term_is_fitted), UNIT(cores_that_ranks_share_are_known))
