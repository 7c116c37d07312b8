#include "entrypoint/mpi/mpirun_banner.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void add(struct mpirun_banner *b, struct tail *t, const char *line) {
    mpirun_banner_add(b, line, strlen(line));
    tail_add(t, line, strlen(line));
}

static const char *log_tail(const struct mpirun_banner *b, const struct tail *t) {
    static char text[2048];
    cleanup_buf struct buf ret;
    buf_init(&ret, 4096);
    CU_ASSERT_EQUAL(mpirun_banner_text(b, t, &ret, NULL), 0);
    (void)snprintf(text, sizeof(text), "%s", buf_text(&ret));
    return text;
}

static void a_few_lines_come_once(void) {
    struct mpirun_banner b = {0};
    struct tail t = {0};
    CU_ASSERT_STRING_EQUAL(log_tail(&b, &t), "");
    add(&b, &t, "one");
    add(&b, &t, "two");
    CU_ASSERT_STRING_EQUAL(log_tail(&b, &t), "one\ntwo");
}

static void of_many_the_first_and_the_last_are_kept(void) {
    struct mpirun_banner b = {0};
    struct tail t = {0};
    add(&b, &t, "-------------------------");
    add(&b, &t, "There are not enough slots available to satisfy the 2");
    add(&b, &t, "slots that were requested.");
    for (int i = 0; i < 40; i++) {
        char line[64];
        (void)snprintf(line, sizeof(line), "advice number %d", i);
        add(&b, &t, line);
    }
    const char *text = log_tail(&b, &t);
    CU_ASSERT_EQUAL(strncmp(text,
                            "There are not enough slots available to satisfy the 2\n"
                            "slots that were requested.\nadvice number 0\n...\n",
                            98),
                    0);
    CU_ASSERT_STRING_EQUAL(strrchr(text, '\n'), "\nadvice number 39");
}

static void long_lines_fit(void) {
    struct mpirun_banner b = {0};
    struct tail t = {0};
    char line[3000];
    memset(line, 'x', sizeof(line));
    for (int i = 0; i < 5; i++) {
        line[0] = (char)('a' + i);
        mpirun_banner_add(&b, line, sizeof(line));
        tail_add(&t, line, sizeof(line));
    }
    const char *text = log_tail(&b, &t);
    CU_ASSERT_EQUAL(text[0], 'a');
    CU_ASSERT(strlen(text) <= MPIRUN_BANNER_HEAD_SIZE + MPIRUN_BANNER_TAIL_MAX + 4);
    ASSERT_CONTAINS(text, "\nex");
}

UNIT_SUITE("mpi.mpirun_banner", UNIT(a_few_lines_come_once),
           UNIT(of_many_the_first_and_the_last_are_kept), UNIT(long_lines_fit))
