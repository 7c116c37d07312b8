#include "tests/support/unit.h"
#include "trainer/app/task/class_tally.h"
#include "trainer/data/dataset/labelled.h"

#include <math.h>
#include <string.h>

enum { CLASSES = 3, PICTURES = 6 };

static float logits[PICTURES][CLASSES] = {{1, 2, 0}, {3, 2, 1},       {5, 5, 0},
                                          {0, 0, 9}, {NAN, NAN, NAN}, {9, 0, 0}};

static size_t size_of(void *user, const char *name) {
    (void)user;
    return strcmp(name, "logits") == 0 ? sizeof(logits) : 0;
}

static int read_them(void *user, const char *name, void *ret, size_t bytes, struct error *err) {
    (void)user, (void)name, (void)err;
    memcpy(ret, logits, bytes);
    return 0;
}

static void name_of(const struct source *source, size_t sample, char *text, size_t size) {
    (void)source;
    snprintf(text, size, "%zu.jpg", sample);
}

static const struct source_table names_alone = {.sample_name = name_of};
static const struct source pictures = {.table = &names_alone};

static void pictures_count_for_their_class(void) {
    char cat[] = "cat", dog[] = "dog", emu[] = "emu";
    char *names[] = {cat, dog, emu};
    int32_t labels[PICTURES] = {1, 1, 0, 0, 0, 0};
    float weights[PICTURES] = {1, 1, 1, 1, 1, 0}; /* the last picture is unusable */
    int64_t samples[PICTURES + 1] = {0};
    struct batch batch = {.count = PICTURES, .samples = samples};
    const struct task_outputs outputs = {.bytes = size_of, .read = read_them};
    cleanup_class_tally struct class_tally tally = {0};
    cleanup_comm struct comm *alone = NULL;
    cleanup_buf struct buf out = {.max = 4096};
    for (int i = 0; i < PICTURES; i++)
        batch.samples[i] = 10 + i;
    batch.fields[LABELLED_LABEL] = labels;
    batch.fields[LABELLED_WEIGHT] = weights;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(class_tally_open(&tally, CLASSES, true, NULL), 0);
    CU_ASSERT_EQUAL(class_tally_add(&tally, &batch, &outputs, NULL), 0);
    CU_ASSERT_EQUAL(class_tally_sum(&tally, alone, NULL), 0);
    /* Of equal logits the first one counts; NaN is not an answer. */
    CU_ASSERT_EQUAL(class_tally_print(&tally, names, &pictures, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "top-1 by class, the worst first:\n"
                                           "   33.33 %  of      3  cat\n"
                                           "   50.00 %  of      2  dog\n"
                                           "most frequent confusions:\n"
                                           "       1  cat taken for emu\n"
                                           "       1  dog taken for cat\n"
                                           "worst mistakes:\n"
                                           "   99.98 %  13.jpg  cat taken for emu\n"
                                           "   66.52 %  11.jpg  dog taken for cat\n");
    batch.count = PICTURES + 1;
    struct error err = {0};
    CU_ASSERT_EQUAL(class_tally_add(&tally, &batch, &outputs, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
}

static void many_classes_are_cut_short(void) {
    enum { MANY = CLASS_TALLY_SHOWN + 5 };
    char text[MANY][16];
    char *names[MANY];
    cleanup_class_tally struct class_tally tally = {0};
    cleanup_buf struct buf out = {.max = 4096};
    CU_ASSERT_EQUAL_FATAL(class_tally_open(&tally, MANY, true, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof(text[i]), "c%d.", i);
        names[i] = text[i];
        tally.sums[i] = 100;
        tally.sums[MANY + i] = i;
    }
    tally.pairs[3 * MANY + 4] = 7;
    tally.pairs[4 * MANY + 3] = 9;
    for (int i = 6; i < 20; i++)
        tally.pairs[i * MANY + 1] = 5;
    CU_ASSERT_EQUAL(class_tally_print(&tally, names, &pictures, &out, NULL), 0);
    ASSERT_CONTAINS(buf_text(&out), "confusions:\n       9  c4. taken for c3.\n"
                                    "       7  c3. taken for c4.\n"
                                    "       5  c6. taken for c1.\n");
    ASSERT_CONTAINS(buf_text(&out), "c13. taken for c1.\n");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&out), "c14. taken"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&out), "mistakes"));
    ASSERT_CONTAINS(buf_text(&out), "(20 of them):\n    0.00 %  of    100  c0.\n");
    ASSERT_CONTAINS(buf_text(&out), "c19.");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&out), "c20."));
}

/* The ten most confident mistakes are kept, in whatever order they come. */
static void the_worst_mistakes_are_kept(void) {
    enum { MANY = CLASS_TALLY_MISTAKES + 5 };
    char a[] = "a", b[] = "b";
    char *names[] = {a, b};
    int32_t labels[MANY] = {0};
    float weights[MANY] = {1};
    int64_t samples[PICTURES] = {0};
    struct batch batch = {.count = 1, .samples = samples};
    const struct task_outputs outputs = {.bytes = size_of, .read = read_them};
    cleanup_class_tally struct class_tally tally = {0};
    cleanup_comm struct comm *alone = NULL;
    cleanup_buf struct buf out = {.max = 4096};
    batch.fields[LABELLED_LABEL] = labels;
    batch.fields[LABELLED_WEIGHT] = weights;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(class_tally_open(&tally, 2, true, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        logits[0][0] = 0;
        logits[0][1] = (float)((i * 7) % MANY + 1) / 4;
        batch.samples[0] = (i * 7) % MANY;
        CU_ASSERT_EQUAL(class_tally_add(&tally, &batch, &outputs, NULL), 0);
    }
    CU_ASSERT_EQUAL(class_tally_sum(&tally, alone, NULL), 0);
    CU_ASSERT_EQUAL(class_tally_print(&tally, names, &pictures, &out, NULL), 0);
    for (int i = 0; i < CLASS_TALLY_MISTAKES; i++)
        CU_ASSERT_EQUAL(tally.mistakes[i].sample, MANY - 1 - i);
    ASSERT_CONTAINS(buf_text(&out), "worst mistakes:\n   97.70 %  14.jpg  a taken for b\n");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&out), " 4.jpg"));
}

UNIT_SUITE("app.class_tally", UNIT(the_worst_mistakes_are_kept),
           UNIT(pictures_count_for_their_class), UNIT(many_classes_are_cut_short))
