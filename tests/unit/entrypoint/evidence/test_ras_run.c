#include "entrypoint/evidence/ras_run.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing listens at that address, as NCCL may not have started yet: nothing is reported. */
static void without_an_answer_nothing_is_known(void) {
    static struct ras_watch watch;
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    bool told = true;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_EQUAL(ras_run_once(&watch, "127.0.0.1:1", &told, out, &err), 0);
    (void)fclose(out);
    CU_ASSERT_EQUAL(size, 0);
    CU_ASSERT_TRUE(told);
    free(text);
}

static void it_wants_an_address(void) {
    const char *const words[] = {NULL};
    struct error err = {0};
    CU_ASSERT_EQUAL(ras_run(words, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("evidence.ras_run", UNIT(without_an_answer_nothing_is_known), UNIT(it_wants_an_address))
