#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

enum { ROWS = 5, WIDEST = 33 };
static const size_t widths[] = {1, 3, 16, WIDEST};

/* Rows [1, ROWS - 1): those beside them stay as they are. */
static void check(const struct loops *loops, enum elem elem, size_t channels, int form) {
    size_t count = ROWS * channels;
    bool masks = form & 1, sides = form & 2, scales = form & 4;
    void *dy = loop_values(count, elem, 0, 1), *y = loop_values(count, elem, 0, 2);
    void *dx = loop_values(count, elem, 0, 3), *dside = loop_values(count, elem, 0, 4);
    float *scale = loop_values(channels, ELEM_F32, 0, 5);
    float *side_scale = loop_values(channels, ELEM_F32, 0, 6);
    float kept = loop_get(dx, 0, elem), kept_last = loop_get(dside, count - 1, elem);
    loop_put(y, channels, elem, 0);
    loop_put(y, 2 * channels, elem, NAN);
    struct frozen_backward frozen = {.elem = elem,
                                     .channels = channels,
                                     .dy = dy,
                                     .y = masks ? y : NULL,
                                     .scale = scale,
                                     .side_scale = scales ? side_scale : NULL,
                                     .dx = dx,
                                     .dside = sides ? dside : NULL};
    loops->frozen_backward(&frozen, 1, 2);
    loops->frozen_backward(&frozen, 2, ROWS - 1);
    for (size_t at = channels; at < count - channels; at++) {
        double g = (double)loop_get(dy, at, elem);
        g = masks && loop_get(y, at, elem) <= 0 ? 0 : g;
        double side = scales ? g * (double)side_scale[at % channels] : g;
        CU_ASSERT(loop_near(loop_get(dx, at, elem), g * (double)scale[at % channels], elem, 1));
        if (sides)
            CU_ASSERT(loop_near(loop_get(dside, at, elem), side, elem, 1));
    }
    CU_ASSERT_EQUAL(loop_get(dx, 0, elem), kept);
    CU_ASSERT_EQUAL(loop_get(dside, count - 1, elem), kept_last);
    void *all[] = {dy, y, dx, dside, scale, side_scale};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

/* FORM is three switches: a mask, a side input, a scale of it. */
static void gradients_are_masked_and_scaled(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
            for (int form = 0; form < 8; form++) {
                check(*loops, ELEM_F32, widths[i], form);
                check(*loops, ELEM_BF16, widths[i], form);
            }
}

UNIT_SUITE("cpu.loop_frozen", UNIT(gradients_are_masked_and_scaled))
