#include "trainer/app/options/flag_word.h"

#include "tests/support/unit.h"
#include "trainer/app/options/options.h"

#include <stdio.h>
#include <string.h>

static void refused(const char *flag, const char *words) {
    struct options o;
    struct error err = {0};
    char text[80];
    (void)snprintf(text, sizeof(text), "--%s", flag);
    char one[] = "1";
    char *argv[] = {text, one, NULL};
    CU_ASSERT_EQUAL(options_parse(&o, COMMAND_TRAIN, 2, argv, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, words);
}

static void names_of_other_trainers_lead_to_ours(void) {
    refused("learning-rate", "unknown flag --learning-rate; did you mean --lr?");
    refused("learning_rate", "did you mean --lr?");
    refused("Learning-Rate", "did you mean --lr?");
    refused("wd", "did you mean --weight-decay?");
    refused("arch", "did you mean --model?");
    refused("pretrained", "did you mean --init?");
    refused("workers", "did you mean --data-threads?");
    refused("bs", "did you mean --batch-size?");
    refused("output", "--model-dir is the folder of the model, --out that of pictures");
    refused("amp", "did you mean --dtype?");
    refused("fp16-allreduce", "did you mean --reduce-dtype?");
    refused("val-dir", "did you mean --validation?");
    refused("world-size", "unknown flag --world-size: ranks are started by ringmaster");
    refused("gpus", "ranks are started by");
    refused("images",
            "unknown flag --images: pictures lie in images/ or NAME/ beside the annotations");
    refused("ann-file", "did you mean --data?");
    refused("opt", "did you mean --optimizer?");
    refused("num-classes", "classes are the folders of the data");
    refused("device", "did you mean --backend?"); /* a flag of another command */
}

static void letters_lead_to_the_nearest_one_still(void) {
    refused("bach-size", "did you mean --batch-size?");
    refused("epoch", "did you mean --epochs?");
    refused("qqqqqq", "unknown flag --qqqqqq");
}

/* A row is useless if it suggests no existing flag, or if its word is a flag of ours. */
static void every_row_leads_to_a_flag_of_ours(void) {
    size_t count = 0;
    const struct flag_word *rows = flag_word_table(&count);
    CU_ASSERT(count > 60);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(flag_word_find(rows[i].word, strlen(rows[i].word)), &rows[i]);
        CU_ASSERT(rows[i].flag != NULL || rows[i].hint != NULL);
        if (rows[i].flag != NULL)
            refused(rows[i].word, rows[i].flag);
    }
    CU_ASSERT_PTR_NULL(flag_word_find("learning-rate-x", 15));
    CU_ASSERT_PTR_NULL(flag_word_find("learning", 8));
    CU_ASSERT_PTR_NULL(flag_word_find("", 0));
}

UNIT_SUITE("app.flag_word", UNIT(names_of_other_trainers_lead_to_ours),
           UNIT(letters_lead_to_the_nearest_one_still), UNIT(every_row_leads_to_a_flag_of_ours))
