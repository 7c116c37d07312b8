#include "trainer/app/options/recipe.h"

#include "tests/support/unit.h"
#include "trainer/app/options/options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void a_recipe_says_what_it_sets(void) {
    const struct recipe *recipe = recipe_need("imagenet-90", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
    CU_ASSERT_EQUAL(recipe->tasks, MODEL_CLASSIFY);
    CU_ASSERT_STRING_EQUAL(recipe_value(recipe, "epochs"), "90");
    CU_ASSERT_PTR_NULL(recipe_value(recipe, "epoch"));
}

/* The values of AWS's scripts, on a scale from 0 to 255. */
static void the_samples_of_aws_bring_their_normalization(void) {
    static const char *const expected[][3] = {
        {"aws-2018", "123.68,116.779,103.939", "58.393,57.12,57.375"},
        {"aws-dlami-256", "121,115,100", "70,68,71"},
    };
    for (int i = 0; i < 2; i++) {
        struct options options;
        const char *const words[] = {"--recipe", expected[i][0]};
        CU_ASSERT_EQUAL_FATAL(
            options_parse(&options, COMMAND_TRAIN, 2, (char *const *)(uintptr_t)words, NULL), 0);
        CU_ASSERT_STRING_EQUAL(options.mean, expected[i][1]);
        CU_ASSERT_STRING_EQUAL(options.std, expected[i][2]);
    }
}

static struct options parse(const char *const *words, struct buf *learned) {
    struct options o;
    struct error err = {0};
    int argc = 0;
    while (words[argc] != NULL)
        argc++;
    buf_init(learned, 64 * 1024);
    CU_ASSERT_EQUAL_FATAL(
        options_parse(&o, COMMAND_TRAIN, argc, (char *const *)(uintptr_t)words, &err), 0);
    CU_ASSERT_EQUAL(options_learning(learned, &o, &err), 0);
    return o;
}

/* The flags with which bench/flowers.sh was measured beside PyTorch, on three ranks. */
static void the_flowers_are_trained_as_beside_pytorch(void) {
    static const char *const recipe[] = {"--recipe", "flowers", "--batch-size", "32", "--lr-batch",
                                         "96",       NULL};
    static const char *const measured[] = {"--model",
                                           "resnet18",
                                           "--image-size",
                                           "112",
                                           "--dtype",
                                           "bf16",
                                           "--epochs",
                                           "12",
                                           "--batch-size",
                                           "32",
                                           "--lr",
                                           "0.05",
                                           "--lr-batch",
                                           "96",
                                           "--warmup-epochs",
                                           "1",
                                           "--schedule",
                                           "cosine",
                                           "--momentum",
                                           "0.9",
                                           "--nesterov",
                                           "true",
                                           "--weight-decay",
                                           "5e-4",
                                           "--label-smoothing",
                                           "0.1",
                                           "--min-area",
                                           "0.25",
                                           NULL};
    cleanup_buf struct buf ours = {0}, theirs = {0};
    const struct options o = parse(recipe, &ours), m = parse(measured, &theirs);
    CU_ASSERT_STRING_EQUAL(buf_text(&ours), buf_text(&theirs));
    CU_ASSERT_STRING_EQUAL(o.model, m.model);
    CU_ASSERT_EQUAL(o.resize, 112 * 8 / 7); /* as flowers_torch.py; the default of this size */
    CU_ASSERT_EQUAL(recipe_need("flowers", NULL)->images, 3 * m.batch_size);
}

/* What --print shows is what is trained at the recipe's own batch. */
static void a_rule_begins_with_the_settings(void) {
    const struct recipe *recipe = recipe_need("mlperf-resnet", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe->rates);
    const struct recipe_rate *first = recipe_rate_for(recipe->rates, 1);
    CU_ASSERT_EQUAL(first->lr, strtod(recipe_value(recipe, "lr"), NULL));
    CU_ASSERT_EQUAL(first->warmup_epochs, strtod(recipe_value(recipe, "warmup-epochs"), NULL));
    CU_ASSERT_PTR_NULL(recipe_rate_for(NULL, 1));
}

/* Compares with a line of --print. */
static void shows(const char *name, const char *line) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    recipe_print_flags(out, recipe_need(name, NULL));
    CU_ASSERT_EQUAL(fclose(out), 0);
    ASSERT_CONTAINS(text, line);
    free(text);
}

static void where_a_recipe_departs_from_its_source_is_printed(void) {
    shows("aws-dlami-256", "\n# images a step in the source: 65536\n");
    shows("aws-dlami-256", "\n# differs from the source: its change of brightness is left out");
    shows("aws-dlami-256", "\n# differs from the source: it evaluates on the middle 0.8 of");
    shows("aws-2018", "\n# differs from the source: AWS's article names a change of hue;");
    shows("mlperf-resnet", "\n# differs from the source: its decay after the warm-up is one step");
}

/* Every recipe is parsed like a command line: each flag exists and accepts its value. */
static void every_recipe_can_be_run(void) {
    char *text = NULL;
    size_t size = 0;
    int count = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    recipe_print(out, MODEL_CLASSIFY | MODEL_DETECT);
    CU_ASSERT_EQUAL(fclose(out), 0);
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1, count++) {
        char name[64] = "";
        struct options options;
        struct error err = {0};
        CU_ASSERT_EQUAL_FATAL(sscanf(line, "%63s", name), 1);
        const char *const words[] = {"--recipe", name};
        CU_ASSERT_EQUAL(
            options_parse(&options, COMMAND_TRAIN, 2, (char *const *)(uintptr_t)words, &err), 0);
    }
    CU_ASSERT(count > 0);
    free(text);
}

UNIT_SUITE("app.recipe", UNIT(a_recipe_says_what_it_sets),
           UNIT(the_samples_of_aws_bring_their_normalization), UNIT(every_recipe_can_be_run),
           UNIT(the_flowers_are_trained_as_beside_pytorch), UNIT(a_rule_begins_with_the_settings),
           UNIT(where_a_recipe_departs_from_its_source_is_printed))
