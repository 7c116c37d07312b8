#include "tests/support/unit.h"
#include "trainer/checkpoint/array.h"

#include <string.h>

static void bytes_are_values_times_size(void) {
    const struct array scalar = {.type = ARRAY_I64};
    const struct array weight = {.type = ARRAY_BF16, .rank = 4, .shape = {64, 3, 7, 7}};
    const struct array none = {.type = ARRAY_F32, .rank = 2, .shape = {0, 5}};
    CU_ASSERT_EQUAL(array_bytes(&scalar), 8);
    CU_ASSERT_EQUAL(array_bytes(&weight), 64 * 3 * 49 * 2);
    CU_ASSERT_EQUAL(array_bytes(&none), 0);
}

static void impossible_shapes_are_negative(void) {
    const struct array negative = {.type = ARRAY_F32, .rank = 1, .shape = {-1}};
    const struct array huge = {.type = ARRAY_F32, .rank = 2, .shape = {INT64_MAX, 2}};
    const struct array by_size = {.type = ARRAY_F32, .rank = 1, .shape = {INT64_MAX / 2}};
    const struct array rank = {.type = ARRAY_F32, .rank = 9};
    CU_ASSERT_EQUAL(array_count(&negative), -1);
    CU_ASSERT_EQUAL(array_count(&huge), -1);
    CU_ASSERT(array_count(&by_size) > 0);
    CU_ASSERT_EQUAL(array_bytes(&by_size), -1);
    CU_ASSERT_EQUAL(array_bytes(&rank), -1);
}

static void transposes_undo_each_other(void) {
    enum { O = 3, I = 4, H = 2, W = 5, N = O * I * H * W };
    float in[N], there[N], back[N];
    for (int n = 0; n < N; n++)
        in[n] = (float)n;
    array_ohwi_to_oihw(in, there, O, I, H, W);
    for (int o = 0; o < O; o++)
        for (int i = 0; i < I; i++)
            for (int h = 0; h < H; h++)
                for (int w = 0; w < W; w++)
                    CU_ASSERT_EQUAL(there[((o * I + i) * H + h) * W + w],
                                    in[((o * H + h) * W + w) * I + i]);
    array_oihw_to_ohwi(there, back, O, I, H, W);
    CU_ASSERT_EQUAL(memcmp(in, back, sizeof(in)), 0);
}

static void every_type_has_name_and_size(void) {
    for (int type = 0; type < ARRAY_TYPES; type++) {
        CU_ASSERT_PTR_NOT_NULL(array_type_name((enum array_type)type));
        CU_ASSERT(array_type_size((enum array_type)type) > 0);
    }
}

static void only_weights_of_convolutions_have_another_order(void) {
    static const struct {
        struct array array;
        int64_t inputs, plane;
    } rows[] = {
        {{.ohwi = true, .rank = 4, .shape = {64, 3, 7, 5}}, 3, 35},
        {{.ohwi = true, .rank = 2, .shape = {10, 12}, .inputs = 3}, 3, 4},
        {{.ohwi = true, .rank = 2, .shape = {10, 12}, .inputs = 1}, 1, 12},
        {{.ohwi = true, .rank = 2, .shape = {10, 12}, .inputs = 5}, 0, 0},
        {{.ohwi = true, .rank = 2, .shape = {10, 12}}, 0, 0},
        {{.ohwi = true, .rank = 1, .shape = {10, 12}, .inputs = 3}, 0, 0},
        {{.ohwi = true, .rank = 3, .shape = {10, 12, 2}, .inputs = 3}, 0, 0},
        {{.ohwi = true, .rank = 5, .shape = {2, 3, 4, 5, 6}}, 0, 0},
        {{.ohwi = true, .rank = 4, .shape = {64, 3, 7, 5}, .type = ARRAY_F16}, 0, 0},
        {{.rank = 4, .shape = {64, 3, 7, 5}}, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CU_ASSERT_EQUAL(array_inputs(&rows[i].array), rows[i].inputs);
        if (rows[i].inputs > 0)
            CU_ASSERT_EQUAL(array_plane(&rows[i].array), rows[i].plane);
    }
}

UNIT_SUITE("checkpoint.array", UNIT(only_weights_of_convolutions_have_another_order),
           UNIT(bytes_are_values_times_size), UNIT(impossible_shapes_are_negative),
           UNIT(transposes_undo_each_other), UNIT(every_type_has_name_and_size))
