#include "trainer/backend/cpu/dense/norm.h"
#include "trainer/math/relu.h"

#include <math.h>

/* Batch norm as factors: the forward pass is y = x * scale + shift per channel, the backward pass
 * dx = dz * a + x * b + c, and the loops know nothing else. This file computes the factors from
 * sums over the batch; norm_forward.c, norm_grad.c, norm_pool.c and conv_norm_grad.c apply them.
 *
 * Sums are taken in f32 by blocks and in double above (reduce.h). A one-pass variance, E[x^2] -
 * E[x]^2, cancels badly if the mean is large, so all sums are of x minus a shift near the mean.
 *
 * Scratch of an operator: the reduction's, then rows of channels, 2 for each forward branch (scale,
 * shift) and 5 for each gradient branch (scale, shift, a, b, c). */

enum { FORWARD_ROWS = 4, GRAD_ROWS = 10 };

/* Rows are whole vectors, so that loops may read them without a tail. */
static float *row_of(char *rows, size_t channels, int index) {
    return (float *)(void *)(rows + norm_row_bytes(channels) * (size_t)index);
}

size_t norm_forward_scratch(const struct cpu *cpu, size_t channels) {
    return reduce_scratch(cpu, channels, 2) + FORWARD_ROWS * norm_row_bytes(channels);
}

/* Both branches have places even if an operator uses one. */
void norm_forward_place(const struct cpu *cpu, size_t channels, char *scratch, int index,
                        struct norm_branch *branch) {
    char *rows = scratch + reduce_scratch(cpu, channels, 2);
    branch->scale = row_of(rows, channels, 2 * index);
    branch->shift = row_of(rows, channels, 2 * index + 1);
}

/* Context of add_rows(). The branch's `shift` holds the centers of the sums during the pass. */
struct statistics_pass {
    const struct cpu *cpu;
    const struct norm_size *size;
    const struct norm_branch *branch;
};

static void add_rows(void *context, int thread, float *const *sum, size_t begin, size_t end) {
    (void)thread;
    const struct statistics_pass *s = context;
    s->cpu->loops->norm_sums(s->branch->x, s->size->elem, s->size->channels, s->branch->shift,
                             sum[0], sum[1], begin, end);
}

/* In double: scale and shift are rounded once, after the subtraction, which may cancel. */
static void set_factors(const struct norm_branch *branch, size_t c, double mean, double invstd) {
    double scale = (double)branch->gamma[c] * invstd;
    branch->scale[c] = (float)scale;
    branch->shift[c] = (float)((double)branch->beta[c] - mean * scale);
}

/* As in PyTorch, MOMENTUM is the weight of the new value. */
static void run_average(float *running, double batch, double momentum) {
    *running = (float)((double)*running + momentum * (batch - (double)*running));
}

/* Computes mean and variance of channel C from its sums around branch->shift. */
struct moments {
    double offset, variance;
};

/* The variance is clamped at 0, below which rounding may push it for a constant channel. */
static struct moments moments_of(const double *const *sums, size_t c, size_t rows) {
    double n = (double)rows, offset = sums[0][c] / n;
    return (struct moments){.offset = offset, .variance = relu(sums[1][c] / n - offset * offset)};
}

/* If the shift is this many variances from the mean, the sums have lost too many digits. */
static const double far_off = 64;

/* Moves the shift to the mean where the mean turned out to be far from it. Returns true if the sums
 * must be taken again. They are taken again at most once. NaN is left
 * alone, as no shift would mend it. */
static bool move_centers(const struct statistics_pass *s, const double *const *sums) {
    bool moved = false;
    for (size_t c = 0; c < s->size->channels; c++) {
        struct moments m = moments_of(sums, c, s->size->rows);
        if (m.offset * m.offset <= far_off * m.variance || m.offset == 0 || isnan(m.offset))
            continue;
        s->branch->shift[c] = (float)((double)s->branch->shift[c] + m.offset);
        moved = true;
    }
    return moved;
}

/* Running variances are unbiased (n - 1) and the factors biased (n), as in PyTorch. A batch with a
 * single row per channel keeps the biased one, instead of dividing by 0. */
void norm_use_batch(const struct cpu *cpu, const struct norm_size *size,
                    const struct norm_branch *branch, char *scratch) {
    struct statistics_pass s = {.cpu = cpu, .size = size, .branch = branch};
    struct reduce reduce = {.cpu = cpu,
                            .rows = size->rows,
                            .block = REDUCE_ROWS,
                            .channels = size->channels,
                            .sums = 2,
                            .add = add_rows,
                            .context = &s,
                            .scratch = scratch};
    const double *sums[REDUCE_SUMS_MAX];
    /* The sums are taken around the first row: a value of the channel avoids cancellation in the
     * variance, unless it is an outlier. Until the factors are known their memory holds it. */
    cpu->loops->sum_columns(branch->x, size->elem, size->channels, 1, branch->shift);
    reduce_run(&reduce, sums);
    if (move_centers(&s, sums))
        reduce_run(&reduce, sums);
    double n = (double)size->rows;
    for (size_t c = 0; c < size->channels; c++) {
        struct moments m = moments_of(sums, c, size->rows);
        double mean = (double)branch->shift[c] + m.offset;
        double invstd = 1 / sqrt(m.variance + size->epsilon);
        if (branch->saved_mean != NULL)
            branch->saved_mean[c] = (float)mean;
        if (branch->saved_invstd != NULL)
            branch->saved_invstd[c] = (float)invstd;
        double unbiased = size->rows > 1 ? m.variance * n / (n - 1) : m.variance;
        if (branch->mean != NULL)
            run_average(&branch->mean[c], mean, size->momentum);
        if (branch->variance != NULL)
            run_average(&branch->variance[c], unbiased, size->momentum);
        set_factors(branch, c, mean, invstd);
    }
}

/* For evaluation: no sums, and nothing is updated. */
void norm_use_running(const struct norm_size *size, const struct norm_branch *branch) {
    for (size_t c = 0; c < size->channels; c++)
        set_factors(branch, c, (double)branch->mean[c],
                    1 / sqrt((double)branch->variance[c] + size->epsilon));
}

size_t norm_grad_scratch(const struct cpu *cpu, size_t channels) {
    return reduce_scratch(cpu, channels, 3) + GRAD_ROWS * norm_row_bytes(channels);
}

void norm_grad_place(const struct cpu *cpu, size_t channels, char *scratch, int index,
                     struct norm_grad_branch *branch) {
    char *rows = scratch + reduce_scratch(cpu, channels, 3);
    float **places[] = {&branch->scale, &branch->shift, &branch->a, &branch->b, &branch->c};
    for (int i = 0; i < GRAD_ROWS / 2; i++)
        *places[i] = row_of(rows, channels, GRAD_ROWS / 2 * index + i);
}

/* Factors of the forward pass from the saved mean and invstd, so that gradients can repeat it
 * instead of storing its result. Without beta the caller needs no shift. */
static void recall(size_t channels, const struct norm_grad_branch *branch) {
    for (size_t c = 0; c < channels; c++) {
        double scale = (double)branch->gamma[c] * (double)branch->invstd[c];
        branch->scale[c] = (float)scale;
        branch->shift[c] = branch->beta == NULL
                               ? 0
                               : (float)((double)branch->beta[c] - (double)branch->mean[c] * scale);
    }
}

/* With xhat = (x - mean) * invstd, dx = gamma * invstd * (dz - mean(dz) - xhat * mean(dz * xhat));
 * a, b and c collect the terms of dz, of x and the constant ones. */
static void set_grad_factors(size_t rows, size_t channels, const struct norm_grad_branch *branch,
                             const double *dz, const double *dz_x) {
    double n = (double)rows;
    for (size_t c = 0; c < channels; c++) {
        double invstd = (double)branch->invstd[c];
        double a = (double)branch->gamma[c] * invstd, dgamma = dz_x[c] * invstd;
        double b = -a * invstd * dgamma / n;
        if (branch->dgamma != NULL)
            branch->dgamma[c] = (float)dgamma;
        if (branch->dbeta != NULL)
            branch->dbeta[c] = (float)dz[c];
        branch->a[c] = (float)a;
        branch->b[c] = (float)b;
        branch->c[c] = (float)(-a * dz[c] / n - b * (double)branch->mean[c]);
    }
}

/* All branches share dz and its sum; branch i has its own sum of dz * (x - mean) at index 1 + i. */
void norm_grad_reduce(const struct reduce *reduce, size_t rows,
                      const struct norm_grad_branch *branches, int count) {
    const double *sums[REDUCE_SUMS_MAX];
    for (int i = 0; i < count; i++)
        recall(reduce->channels, &branches[i]);
    reduce_run(reduce, sums);
    for (int i = 0; i < count; i++)
        set_grad_factors(rows, reduce->channels, &branches[i], sums[0], sums[1 + i]);
}
