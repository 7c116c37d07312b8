#include "entrypoint/host/observe/openmetrics.h"

#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct openmetrics gauges;

static void take(const char *line) {
    openmetrics_line(&gauges, line, strlen(line));
}

static double value_of(const char *name) {
    for (size_t i = 0; i < gauges.count; i++)
        if (strcmp(gauges.items[i].name, name) == 0)
            return gauges.items[i].value;
    return -1;
}

static void the_newest_value_of_each_metric_is_kept(void) {
    gauges = (struct openmetrics){0};
    take("train step=20 epoch=1 loss=2.30259 images_per_second=812.5 skipped=0\n");
    take("eval epoch=1 top1=0.9125 loss=nan\n");
    take("train step=40 epoch=1.5 loss=-1e-3\n");
    CU_ASSERT_EQUAL(value_of("train_step"), 40);
    CU_ASSERT_EQUAL(value_of("train_loss"), -1e-3);
    CU_ASSERT_EQUAL(value_of("train_images_per_second"), 812.5);
    CU_ASSERT_EQUAL(value_of("eval_top1"), 0.9125);
    CU_ASSERT(isnan(value_of("eval_loss")));
}

static void what_is_no_metric_line_changes_nothing(void) {
    static char longest[10000];
    static const char *const lines[] = {"",
                                        "\n",
                                        "training step=1\n",
                                        "train\n",
                                        "trainstep=1\n",
                                        "train =1\n",
                                        "train a\n",
                                        "train a=\n",
                                        "train a=1x\n",
                                        "train a\"}b=1\n",
                                        "train \xff=1\n",
                                        "train a=\t1\n",
                                        "hello a=1\n",
                                        " train a=1\n"};
    gauges = (struct openmetrics){0};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        take(lines[i]);
    memset(longest, 'a', sizeof(longest) - 1);
    memcpy(longest, "train ", 6);
    take(longest);
    longest[200] = '=';
    longest[201] = '1';
    longest[202] = '\0';
    take(longest);
    CU_ASSERT_EQUAL(gauges.count, 0);
}

static void there_are_so_many_and_no_more(void) {
    gauges = (struct openmetrics){0};
    for (int i = 0; i < 1000; i++) {
        char line[64];
        (void)snprintf(line, sizeof(line), "train n%d=%d\n", i, i);
        take(line);
    }
    CU_ASSERT_EQUAL(gauges.count, OPENMETRICS_MAX);
    take("train n0=7\n");
    CU_ASSERT_EQUAL(value_of("train_n0"), 7);
}

static void they_are_printed_as_openmetrics_wants(void) {
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    gauges = (struct openmetrics){0};
    take("train loss=0.5 x=inf\n");
    CU_ASSERT_EQUAL(openmetrics_print(&gauges, &text, NULL), 0);
    CU_ASSERT_EQUAL(openmetrics_sample(&text, "ringmaster_age", NULL, "host=\"a\"", 2, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text),
                           "# TYPE ringmaster_train_loss gauge\n"
                           "# HELP ringmaster_train_loss of the newest metric line\n"
                           "ringmaster_train_loss 0.5\n"
                           "# TYPE ringmaster_train_x gauge\n"
                           "# HELP ringmaster_train_x of the newest metric line\n"
                           "ringmaster_train_x +Inf\n"
                           "ringmaster_age{host=\"a\"} 2\n");
}

UNIT_SUITE("host.openmetrics", UNIT(the_newest_value_of_each_metric_is_kept),
           UNIT(what_is_no_metric_line_changes_nothing), UNIT(there_are_so_many_and_no_more),
           UNIT(they_are_printed_as_openmetrics_wants))
