#include "tests/support/unit.h"
#include "trainer/comm/ordered_sum.h"

enum { COUNT = 5000, RANKS = 4 };

/* Numbers with a sum that depends on their order. */
static double value_of(int rank, int i) {
    static const double scale[] = {1, 1e-7, 3e7, 1};
    return scale[(rank + i) % RANKS] * (i % 13 - 6) / (rank + 3);
}

static void sums_are_added_in_the_order_of_the_ranks(void) {
    static float f[RANKS][COUNT];
    static double d[RANKS][COUNT];
    const void *fs[RANKS], *ds[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < COUNT; i++)
            d[rank][i] = f[rank][i] = (float)value_of(rank, i);
        fs[rank] = f[rank];
        ds[rank] = d[rank];
    }
    static float f_sum[COUNT];
    static double d_sum[COUNT];
    int differ = 0;
    for (int i = 0; i < COUNT; i++) {
        volatile float a = f[0][i] + f[1][i];
        volatile float b = a + f[2][i];
        f_sum[i] = b + f[3][i];
        d_sum[i] = ((d[0][i] + d[1][i]) + d[2][i]) + d[3][i];
        volatile float c = f[3][i] + f[2][i];
        volatile float e = c + f[1][i];
        differ += f_sum[i] != e + f[0][i];
    }
    CU_ASSERT(differ > 100); /* the order shows */
    ordered_sum(f[2], fs, RANKS, COUNT, COMM_F32);
    ordered_sum(d[0], ds, RANKS, COUNT, COMM_F64);
    CU_ASSERT_EQUAL(memcmp(f[2], f_sum, sizeof(f_sum)), 0);
    CU_ASSERT_EQUAL(memcmp(d[0], d_sum, sizeof(d_sum)), 0);
}

UNIT_SUITE("comm.tcp.ordered_sum", UNIT(sums_are_added_in_the_order_of_the_ranks))
