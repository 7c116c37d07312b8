/* A narrow network that classifies, as a golden file tells it: its line "case SEED BATCH SIDE
 * CLASSES NARROW", and inputs that are made as the file's script makes them. */
#ifndef TESTS_GOLDEN_GOLDEN_CLASSIFIER_H
#define TESTS_GOLDEN_GOLDEN_CLASSIFIER_H

#include "tests/golden/golden.h"
#include "trainer/graph/program/program.h"
#include "trainer/models/model.h"

enum { GOLDEN_BATCH_MAX = 64 };

struct golden_classifier {
    struct golden_file file;
    uint64_t seed;
    int batch, side, classes, narrow;
};

static inline void golden_classifier_read(struct golden_classifier *g, const char *name) {
    unsigned long long seed = 0;
    *g = (struct golden_classifier){0};
    golden_open(&g->file, name);
    const char *line = golden_line(&g->file, "case", NULL);
    CU_ASSERT_EQUAL_FATAL(
        sscanf(line, "%llu %d %d %d %d", &seed, &g->batch, &g->side, &g->classes, &g->narrow), 5);
    g->seed = seed;
}

static inline struct model_options golden_classifier_options(int batch, int side, int classes,
                                                             bool training) {
    return (struct model_options){.batch = batch,
                                  .height = side,
                                  .width = side,
                                  .classes = classes,
                                  .training = training,
                                  .dtype = DTYPE_F32,
                                  .mean = {0.485f, 0.456f, 0.406f},
                                  .std = {0.229f, 0.224f, 0.225f}};
}

static inline void golden_classifier_inputs(const struct golden_classifier *g,
                                            struct program *program) {
    size_t pixels = (size_t)(g->batch * g->side * g->side * 3), samples = (size_t)g->batch;
    uint8_t *image = malloc(pixels);
    int32_t label[GOLDEN_BATCH_MAX];
    float weight[GOLDEN_BATCH_MAX];
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    CU_ASSERT_FATAL(samples <= GOLDEN_BATCH_MAX);
    for (size_t i = 0; i < pixels; i++)
        image[i] = (uint8_t)(hashed(hashed_name("image"), g->seed, i) >> 56);
    for (size_t i = 0; i < samples; i++) {
        label[i] = (int32_t)(hashed(hashed_name("label"), g->seed, i) % (uint64_t)g->classes);
        weight[i] = 1;
    }
    CU_ASSERT_EQUAL(program_write(program, "image", image, pixels, NULL), 0);
    CU_ASSERT_EQUAL(program_write(program, "label", label, samples * sizeof(*label), NULL), 0);
    CU_ASSERT_EQUAL(program_write(program, "weight", weight, samples * sizeof(*weight), NULL), 0);
    free(image);
}

#endif
