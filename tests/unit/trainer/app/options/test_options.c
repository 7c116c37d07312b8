#include "tests/support/unit.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/help_group.h"
#include "trainer/app/options/options.h"
#include "trainer/app/run/run_state.h"
#include "trainer/optim/schedule.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The table of options and its layers, from the outside: command lines go in, values and help come
 * out. What single flags do is tested with the parser (test_flag.c), what recipes hold in
 * test_recipe.c. */

/* Parses WORDS, which end with NULL, over a fresh error. The cast drops const alone: words are not
 * changed. */
static int parse(struct options *o, unsigned command, struct error *err, const char *const *words) {
    int argc = 0;
    while (words[argc] != NULL)
        argc++;
    *err = (struct error){0};
    return options_parse(o, command, argc, (char *const *)(uintptr_t)words, err);
}
#define PARSE(command, ...) parse(&o, command, &err, (const char *const[]){__VA_ARGS__, NULL})

/* The defaults that users see most; a change here must be meant. Without --model the network is
 * resnet50. */
static void nothing_given_is_a_run_that_makes_sense(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(parse(&o, COMMAND_TRAIN, &err, (const char *const[]){NULL}), 0);
    CU_ASSERT_STRING_EQUAL(o.model, "resnet50");
    CU_ASSERT_STRING_EQUAL(o.resume, "auto");
    CU_ASSERT(o.batch_size == 32 && o.accumulate == 1 && o.epochs == 90 && o.steps == 0);
    CU_ASSERT(o.lr == 0.1 && o.lr_batch == 256 && o.momentum == 0.9);
    CU_ASSERT(o.schedule == SCHEDULE_COSINE && o.dtype == OPTION_F32);
    CU_ASSERT(o.backend == OPTION_BACKEND_AUTO && o.log == OPTION_LOG_AUTO && o.flip);
}

/* SageMaker's spelling of names, and Python's of true. */
static void hyperparameters_come_as_flags_with_underscores(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--batch_size", "96", "--warmup_epochs", "1", "--schedule",
                          "poly2", "--nesterov", "True", "--dtype", "bf16"),
                    0);
    CU_ASSERT(o.batch_size == 96 && o.warmup_epochs == 1 && o.schedule == SCHEDULE_POLY2);
    CU_ASSERT(o.nesterov && o.dtype == OPTION_BF16);
}

/* Commands share the table, but not every row. */
static void evaluation_refuses_flags_of_training(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(PARSE(COMMAND_EVAL, "--model-dir", "m", "--data", "d"), 0);
    CU_ASSERT_EQUAL(PARSE(COMMAND_EVAL, "--momentum", "0.9"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

/* One below the least, one above the most, and a sign where none is allowed. */
static void numbers_have_bounds(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--batch-size", "0"), -1);
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--label-smoothing", "1.5"), -1);
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--steps", "-1"), -1);
    ASSERT_CONTAINS(err.text, "--steps");
}

/* What a checkpoint tells of the recipe: every bit of a number, choices and truth as typed. The
 * text must fit into half of its place in the state, so that options can be added. A buffer that is
 * too small by any number of bytes is an error, never a shorter record. */
static void what_changes_bits_is_recorded(void) {
    struct options o;
    struct error err;
    cleanup_buf struct buf text = {0};
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--lr", "0.30000000000000004", "--schedule", "step",
                          "--nesterov", "1", "--lr-batch", "0"),
                    0);
    CU_ASSERT_EQUAL_FATAL(options_record(&text, &o, &err), 0);
    CU_ASSERT(text.size < RUN_STATE_OPTIONS / 2);
    ASSERT_CONTAINS(buf_text(&text), "lr=0.30000000000000004 lr-batch=0 schedule=step ");
    ASSERT_CONTAINS(buf_text(&text), " momentum=0.9 ");
    ASSERT_CONTAINS(buf_text(&text), " nesterov=true ");
    ASSERT_CONTAINS(buf_text(&text), " bad-samples=fail ");
    ASSERT_CONTAINS(buf_text(&text), " tune=true own-backward=auto row-choice=auto tf32=true "
                                     "deterministic=false ");
    /* A state has members of their own for these. */
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "seed="));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "batch-size="));
    /* It ends with a value and no blank. */
    CU_ASSERT_EQUAL(text.data[text.size - 1], '0');
    const size_t whole = text.size;
    for (size_t room = 0; room < whole; room++) {
        buf_done(&text);
        buf_init(&text, room);
        CU_ASSERT_EQUAL(options_record(&text, &o, &err), -1);
    }
}

/* Two runs with this text equal learn the same, on whatever machine. What the machine or a fault of
 * the data may change is left out. */
static void what_is_learned_is_listed_without_the_machine(void) {
    struct options o;
    struct error err;
    cleanup_buf struct buf text = {0};
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--lr", "0.5", "--epochs", "7", "--batch-size", "3"), 0);
    CU_ASSERT_EQUAL_FATAL(options_learning(&text, &o, &err), 0);
    CU_ASSERT_EQUAL(strncmp(buf_text(&text), "epochs=7 batch-size=3 ", 22), 0);
    ASSERT_CONTAINS(buf_text(&text), " accumulate=1 ");
    ASSERT_CONTAINS(buf_text(&text), " lr=0.5 lr-batch=256 ");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "tf32"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "bad-samples"));
}

/* Defaults, recipe, command line: the later one counts. A recipe that does not exist lists those
 * that do, and an evaluation takes none. */
static void a_recipe_lies_between_the_defaults_and_the_command_line(void) {
    struct options o;
    struct error err;
    CU_ASSERT_EQUAL(
        PARSE(COMMAND_TRAIN, "--warmup-epochs", "2", "--recipe", "imagenet-90", "--momentum=0.8"),
        0);
    CU_ASSERT_STRING_EQUAL(o.recipe, "imagenet-90");
    /* The first line is the recipe's alone, the second has two flags of the line, one before
     * --recipe and one after it: the order on the line does not matter. */
    CU_ASSERT(o.schedule == SCHEDULE_STEP && o.nesterov && !o.decay_all && o.zero_gamma);
    CU_ASSERT(o.warmup_epochs == 2 && o.momentum == 0.8 && o.epochs == 90);
    CU_ASSERT_EQUAL(PARSE(COMMAND_TRAIN, "--recipe", "imagenet"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--recipe: unknown recipe 'imagenet'; expected one of imagenet-90");
    CU_ASSERT_EQUAL(PARSE(COMMAND_EVAL, "--recipe", "imagenet-90"), -1);
}

/* A network that finds objects has no use for a crop of the whole picture. The network is made
 * here, so that the message does not depend on a real one; the names in parentheses are of those
 * that would do. */
static void a_flag_of_another_task_is_an_error_that_says_so(void) {
    const struct model detects = {.name = "finder", .task = MODEL_DETECT};
    const char *const words[] = {"--batch-size", "4", "--resize=9", "--threads", "1"};
    struct error err = {0};
    char *const *argv = (char *const *)(uintptr_t)words;
    CU_ASSERT_EQUAL(options_fit(COMMAND_EVAL, &detects, 5, argv, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--resize does not apply to finder: it is for networks that classify "
                              "(resnet18, ");
    CU_ASSERT_EQUAL(options_fit(COMMAND_EVAL, &detects, 2, argv, &err), 0);
    CU_ASSERT_EQUAL(options_fit(COMMAND_EVAL, model_find("resnet18"), 5, argv, &err), 0);
    /* A value is no flag. */
    /* A flag of both tasks has a row for each. */
    const char *const both[] = {"--data", "d", "--validation=v"};
    CU_ASSERT_EQUAL(options_fit(COMMAND_EVAL, &detects, 3, (char *const *)(uintptr_t)both, &err),
                    0);
    CU_ASSERT_EQUAL(
        options_fit(COMMAND_EVAL, model_find("resnet18"), 3, (char *const *)(uintptr_t)both, &err),
        0);
    const char *const value[] = {"--model-dir", "--resize"};
    CU_ASSERT_EQUAL(options_fit(COMMAND_EVAL, &detects, 2, (char *const *)(uintptr_t)value, &err),
                    0);
}

/* A command that learns of its network later has that network's batch, too; what is given counts.
 * Values that were settled in between, such as the backend, stay. */
static void what_a_network_brings_counts_for_other_commands(void) {
    const struct model *model = model_find("maskrcnn_resnet50_fpn");
    const char *const given[] = {"--batch_size=7", "--threads", "1"};
    char *const *words = (char *const *)(uintptr_t)given;
    struct options o;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(options_parse(&o, COMMAND_PREDICT, 0, words, &err), 0);
    /* Before the network is known, the batch is the table's; afterwards it is that of the
     * network. */
    CU_ASSERT_EQUAL(o.batch_size, 32);
    o.backend = OPTION_BACKEND_CPU; /* settled meanwhile */
    CU_ASSERT_EQUAL(options_suit(&o, COMMAND_PREDICT, model, 0, words, &err), 0);
    CU_ASSERT(o.batch_size == 2 && o.backend == OPTION_BACKEND_CPU);
    CU_ASSERT_EQUAL_FATAL(options_parse(&o, COMMAND_EVAL, 3, words, &err), 0);
    CU_ASSERT_EQUAL(options_suit(&o, COMMAND_EVAL, model, 3, words, &err), 0);
    CU_ASSERT(o.batch_size == 7 && o.threads == 1);
    /* A network without settings of its own changes nothing. */
    CU_ASSERT_EQUAL(options_suit(&o, COMMAND_EVAL, model_find("resnet50"), 3, words, &err), 0);
    CU_ASSERT_EQUAL(o.batch_size, 7);
    CU_ASSERT_EQUAL(PARSE(COMMAND_PLAN, "--model", "maskrcnn_resnet50_fpn"), 0);
    CU_ASSERT_EQUAL(o.batch_size, 2);
    CU_ASSERT_EQUAL(PARSE(COMMAND_PLAN, "--batch-size", "3", "--model", "maskrcnn_tiny"), 0);
    CU_ASSERT_EQUAL(o.batch_size, 3);
}

/* Returns the help of `train` for these words, to be freed; as in a build with CUDA. */
static char *help_for(const char *const *words, int count) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    options_print(out, COMMAND_TRAIN, count, (char *const *)(uintptr_t)words, true);
    CU_ASSERT_EQUAL(fclose(out), 0);
    return text;
}

/* One word names no network: the table's defaults are shown. With all five, the recipe's schedule
 * is. */
static void help_shows_what_a_network_and_a_recipe_bring(void) {
    const char *const words[] = {"--help", "--model", "resnet20", "--recipe", "imagenet-90"};
    char *text = help_for(words, 1);
    ASSERT_CONTAINS(text, "warm-up [cosine]");
    ASSERT_CONTAINS(text, "models: resnet18, ");
    free(text);
    text = help_for(words, 5);
    ASSERT_CONTAINS(text, "warm-up [step]");
    ASSERT_CONTAINS(text, "--lr X");
    ASSERT_CONTAINS(text, "--resize N");
    ASSERT_CONTAINS(text, "  imagenet-90  ");
    free(text);
}

/* A flag that is in no group is missing in the help, one that is in two stands there twice. Neither
 * could be seen by the compiler, as groups are lists of names. */
static void every_flag_is_in_one_group_of_the_help(void) {
    size_t rows = 0, groups = 0;
    const struct flag *flags = options_flags(&rows);
    const struct help_group *group = help_groups(&groups);
    for (size_t i = 0; i < rows; i++) {
        int found = 0;
        for (size_t g = 0; g < groups; g++)
            for (size_t k = 0; group[g].flags[k] != NULL; k++)
                found += strcmp(group[g].flags[k], flags[i].name) == 0;
        CU_ASSERT_EQUAL(found, 1);
        if (found != 1)
            printf("--%s is in %d groups\n", flags[i].name, found);
    }
}

/* What to choose from and what people need every day comes first; no flag stands there twice, each
 * has the words of both tasks. The three flags below have a row for each task, and "detection:"
 * begins the words of the second one. */
static void help_begins_with_everyday_flags(void) {
    char *text = help_for(NULL, 0);
    CU_ASSERT_EQUAL(strncmp(text, "models: resnet18, ", 18), 0);
    ASSERT_CONTAINS(text, "\n\neveryday flags:\n  --model NAME  ");
    ASSERT_CONTAINS(text, "\n\noptimizer:\n  --optimizer ");
    CU_ASSERT_PTR_NULL(strstr(text, "\nserver:\n")); /* a group without flags of the command */
    static const char *const twice[] = {"\n  --data ", "\n  --validation ", "\n  --out "};
    for (size_t i = 0; i < sizeof(twice) / sizeof(twice[0]); i++) {
        const char *first = strstr(text, twice[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(first);
        CU_ASSERT_PTR_NULL(strstr(first + 1, twice[i]));
        const char *end = strstr(first + 1, "\n  --");
        const char *both = strstr(first, "detection:");
        CU_ASSERT(both != NULL && end != NULL && both < end);
    }
    free(text);
}

/* For every command: a flag is lower-case words with dashes, and its value follows it. The help of
 * `serve` is not among them. */
static void help_names_every_flag_and_its_value(void) {
    static const unsigned commands[] = {COMMAND_TRAIN, COMMAND_EVAL, COMMAND_PLAN, COMMAND_PREDICT};
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char *text = NULL;
        size_t size = 0;
        int flags = 0;
        FILE *out = open_memstream(&text, &size);
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        options_print(out, commands[i], 0, NULL, true);
        CU_ASSERT_EQUAL(fclose(out), 0);
        for (const char *line = strstr(text, "  --"); line != NULL;
             line = strstr(line, "\n  --"), flags++) {
            line += strspn(line, "\n -");
            size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789-");
            CU_ASSERT(name > 0 && line[name] == ' ');
            CU_ASSERT(strchr(" \n", line[name + 1]) == NULL);
        }
        CU_ASSERT(flags > 5);
        free(text);
    }
}

/* Either network's help has its own flags and those of both, and nothing of the other. A row lists
 * words that must occur and words that must not. */
static void help_for_a_network_shows_its_flags_alone(void) {
    static const struct {
        const char *model;
        const char *shown[10], *hidden[8];
    } rows[] = {{"maskrcnn_resnet50_fpn",
                 {"--preset tv|d2|mlperf", "--canvases", "--short-low", "--frozen-stages", "--lr X",
                  "  mlperf  ", "a COCO folder", "--data DIR", "--validation DIR", "--train-set"},
                 {"--image-size", "--augment", "--label-smoothing", "--zero-gamma", "imagenet-90",
                  "class folders", "synthetic", "TFRecord"}},
                {"resnet50",
                 {"--image-size", "--augment", "--label-smoothing", "--zero-gamma", "--lr X",
                  "  imagenet-90  ", "class folders", "\"synthetic\"", "--data DIR|SHARD|PREFIX*",
                  "TFRecord"},
                 {"--preset", "--canvases", "--short-low", "--frozen-stages", "  mlperf  ", "COCO",
                  "--train-set", "--gt-slots"}}};
    for (int i = 0; i < 2; i++) {
        const char *const words[] = {"--help", "--model", rows[i].model};
        char *text = help_for(words, 3);
        for (int k = 0; k < 10; k++)
            ASSERT_CONTAINS(text, rows[i].shown[k]);
        for (int k = 0; k < 8; k++)
            CU_ASSERT_PTR_NULL(strstr(text, rows[i].hidden[k]));
        free(text);
    }
}

UNIT_SUITE("app.options", UNIT(a_recipe_lies_between_the_defaults_and_the_command_line),
           UNIT(a_flag_of_another_task_is_an_error_that_says_so),
           UNIT(what_a_network_brings_counts_for_other_commands),
           UNIT(help_shows_what_a_network_and_a_recipe_bring),
           UNIT(help_for_a_network_shows_its_flags_alone),
           UNIT(every_flag_is_in_one_group_of_the_help), UNIT(help_begins_with_everyday_flags),
           UNIT(help_names_every_flag_and_its_value), UNIT(nothing_given_is_a_run_that_makes_sense),
           UNIT(hyperparameters_come_as_flags_with_underscores),
           UNIT(evaluation_refuses_flags_of_training), UNIT(numbers_have_bounds),
           UNIT(what_changes_bits_is_recorded), UNIT(what_is_learned_is_listed_without_the_machine))
