/* Whole networks on the device: compared with the reference, every fusion level with no fusion, and
 * over ten steps. Bounds in f16 and bf16 are twice the reference's own error when it rounds to
 * these types. */
#include "tests/gpu/gpu.h"
#include "tests/ops/network.h"
#include "tests/support/unit.h"

/* As in training: scaled by this, gradients stay clear of f16's smallest numbers. */
static const double LOSS_SCALE = 1024;

static struct backend *exact(void) {
    return gpu_open(GPU_EXACT);
}

static struct backend *scaled(void) {
    return gpu_open(
        (struct cuda_options){.local_ranks = 1, .deterministic = true, .loss_scale = 1024});
}

static void one_step_in_f32_gives_the_gradients_of_the_reference(void) {
    static const struct network_row rows[] = {
        {"bottleneck", 12, DTYPE_F32, FUSION_NONE, FUSION_CONV, 1, 1e-4, 0},
        {"wide", 16, DTYPE_F32, FUSION_NONE, FUSION_CONV, 1, 1e-4, 0},
        {"resnet20", 16, DTYPE_F32, FUSION_NONE, FUSION_CONV, 1, 5e-2, 0}};
    if (gpu_here())
        network_check_gradients(exact, rows, sizeof(rows) / sizeof(rows[0]));
}

static void one_step_in_f16_gives_the_gradients_of_the_reference(void) {
    static const struct network_row rows[] = {
        {"wide", 16, DTYPE_F16, FUSION_NONE, FUSION_CONV, 1024, 0.4, 0},
        {"resnet20", 16, DTYPE_F16, FUSION_NONE, FUSION_CONV, 1024, 0.4, 0},
        {"resnet18", 64, DTYPE_F16, FUSION_CONV, FUSION_CONV, 1024, 0.4, 0}};
    if (gpu_here())
        network_check_gradients(scaled, rows, sizeof(rows) / sizeof(rows[0]));
}

static void one_step_in_bf16_gives_the_gradients_of_the_reference(void) {
    static const struct network_row rows[] = {
        {"wide", 16, DTYPE_BF16, FUSION_NONE, FUSION_CONV, 1, 0.9, 0}};
    if (gpu_here())
        network_check_gradients(exact, rows, 1);
}

static void every_level_gives_what_none_gives(void) {
    static const struct network_row rows[] = {
        {"wide", 16, DTYPE_F32, FUSION_NONE, FUSION_CONV, 1, 1e-4, 0},
        {"wide", 16, DTYPE_F16, FUSION_NONE, FUSION_CONV, 1024, 0.4, 0},
        {"resnet20", 16, DTYPE_F16, FUSION_NONE, FUSION_CONV, 1024, 0.4, 0}};
    if (gpu_here())
        network_check_levels(scaled, rows, sizeof(rows) / sizeof(rows[0]));
}

static void ten_steps_follow_the_reference(void) {
    if (!gpu_here())
        return;
    network_check_ten_steps(exact, DTYPE_F32, FUSION_ALL, 1, 8e-3, 0);
    network_check_ten_steps(scaled, DTYPE_F16, FUSION_CONV, LOSS_SCALE, 2e-2, 0);
    network_check_ten_steps(exact, DTYPE_BF16, FUSION_CONV, 1, 3e-2, 0);
}

static void half_precision_learns_noise_by_heart(void) {
    if (!gpu_here())
        return;
    network_check_learning(scaled, DTYPE_F16, FUSION_CONV, LOSS_SCALE);
    network_check_learning(exact, DTYPE_BF16, FUSION_NORM, 1);
}

UNIT_SUITE("gpu.network", UNIT(one_step_in_f32_gives_the_gradients_of_the_reference),
           UNIT(one_step_in_f16_gives_the_gradients_of_the_reference),
           UNIT(one_step_in_bf16_gives_the_gradients_of_the_reference),
           UNIT(every_level_gives_what_none_gives), UNIT(ten_steps_follow_the_reference),
           UNIT(half_precision_learns_noise_by_heart))
