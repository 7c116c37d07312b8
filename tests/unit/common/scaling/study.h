/* A study of sizes that is known in full: 1,000,000 images, sizes of 1, 2 and 4 ranks, and one that
 * failed. */
#ifndef TESTS_UNIT_COMMON_SCALING_STUDY_H
#define TESTS_UNIT_COMMON_SCALING_STUDY_H

#include "common/scaling/scaling_page.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const struct price_table STUDY_PRICES = {
    .currency = "USD", .list = {{"four", 4, 36}}, .count = 1};

static inline void fill(struct scaling_study *s) {
    static const double rates[] = {100, 180, 320};
    *s = (struct scaling_study){.program = "test",
                                .job = "train <this>",
                                .place = "2 hosts",
                                .unit = "images/s",
                                .total = 1e6,
                                .batch = 32,
                                .projected = {16},
                                .projected_count = 1,
                                .prices = &STUDY_PRICES};
    for (int i = 0; i < 3; i++) {
        struct scaling_point *p = scaling_add(s, 1 << i, 1);
        p->rate = rates[i];
        p->start_seconds = 10;
    }
    s->points[1].exposed = 0.1;
    (void)snprintf(scaling_add(s, 8, 2)->failure, SCALING_TEXT_SIZE, "rank 3 ended with 66");
    scaling_conclude(s);
}

static inline void has(const struct buf *text, const char *words) {
    CU_ASSERT_PTR_NOT_NULL(strstr(buf_text(text), words));
    if (strstr(buf_text(text), words) == NULL)
        printf("missing: %s\n%s\n", words, buf_text(text));
}

#endif
