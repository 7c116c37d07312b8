#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/app/options/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each case makes a tree of folders below the suite's temporary folder and passes it as ROOT, in
 * place of the "/" before /opt/ml. Variables of SageMaker are removed at the beginning of each
 * case, as a test may itself run in a container that has them. Cases that set some remove them at
 * their end, too. */

/* Makes ROOT with BELOW, and all folders above it; the path is valid until the next call. */
static const char *make(const char *root, const char *below) {
    static char path[INPUT_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s%s", root, below);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    return path;
}

/* Creates the folder BELOW in ROOT, with a picture of the class cat: a folder of class folders is
 * recognized by what is in it. */
static void fill(const char *root, const char *below) {
    char path[INPUT_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/cat", below);
    (void)snprintf(path, sizeof(path), "%s/1.png", make(root, path));
    CU_ASSERT_EQUAL_FATAL(file_put(path, "x", 1, 0644, NULL), 0);
}

/* Removes all variables that inputs.c reads, also those that no case sets: the order of the cases
 * must not matter, nor what the machine has set. */
static void forget_variables(void) {
    static const char *const names[] = {
        "SM_CHANNEL_TRAIN",   "SM_CHANNEL_TRAINING", "SM_CHANNEL_VALIDATION",
        "SM_CHANNEL_VAL",     "SM_CHANNEL_TEST",     "SM_MODEL_DIR",
        "SM_OUTPUT_DATA_DIR", "SM_CHANNEL_VALID",    "SM_CHANNELS"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unsetenv(names[i]);
}

/* Outputs have no standard folder below ROOT here, so they fall back to names in the working
 * folder, and events to none. */
static void a_folder_with_train_and_val_is_both(void) {
    forget_variables();
    const char *root = unit_temp_dir();
    char data[INPUT_PATH_MAX];
    fill(root, "/set/train");
    fill(root, "/set/val");
    (void)snprintf(data, sizeof(data), "%s/set", root);
    struct options o = {.data = data};
    struct inputs in;
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    ASSERT_CONTAINS(in.training, "/set/train");
    ASSERT_CONTAINS(in.validation, "/set/val");
    CU_ASSERT_STRING_EQUAL(in.model, "model");
    CU_ASSERT_STRING_EQUAL(in.checkpoints, "checkpoints");
    CU_ASSERT_STRING_EQUAL(in.events, "");
}

/* A set with one part alone can be used for what that part is for. Beside another class, train/ is
 * taken for a class itself, which the note says. */
static void a_part_that_is_missing_is_named(void) {
    forget_variables();
    const char *root = unit_temp_dir();
    char data[INPUT_PATH_MAX];
    struct inputs in;
    struct error err = {0};
    (void)snprintf(data, sizeof(data), "%s/scored", root);
    struct options o = {.data = data};
    /* First a set without a training part, then one without an evaluation part, each asked for
     * both. */
    fill(root, "/scored/test");
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "has test/ but no train/");
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_EVAL, MODEL_CLASSIFY, root, NULL), 0);
    ASSERT_CONTAINS(in.validation, "/scored/test");
    (void)snprintf(data, sizeof(data), "%s/learnt", root);
    fill(root, "/learnt/train");
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_EVAL, MODEL_CLASSIFY, root, &err), -1);
    ASSERT_CONTAINS(err.text, "has train/ but no val/ or test/ to evaluate on");
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_FALSE(in.scored);
    CU_ASSERT_STRING_EQUAL(in.note, "");
    /* A second folder beside train/ turns the parts into classes. */
    fill(root, "/learnt/bus");
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.training, data);
    ASSERT_CONTAINS(in.note, "train/ taken for a class");
}

/* A channel may contain both parts of a set. A channel of its own for the validation takes
 * precedence over the part. */
static void the_parts_of_a_channel_are_used(void) {
    forget_variables();
    const char *root = unit_temp_dir();
    char channel[INPUT_PATH_MAX];
    struct options o = {0};
    struct inputs in;
    fill(root, "/channel/train");
    fill(root, "/channel/valid");
    (void)snprintf(channel, sizeof(channel), "%s/channel", root);
    CU_ASSERT_EQUAL(setenv("SM_CHANNEL_TRAIN", channel, 1), 0);
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, "/nowhere", NULL), 0);
    ASSERT_CONTAINS(in.training, "/channel/train");
    ASSERT_CONTAINS(in.validation, "/channel/valid");
    /* The folder of the second channel is empty, which is found out later: locations alone matter
     * here. */
    CU_ASSERT_EQUAL(setenv("SM_CHANNEL_VALID", make(root, "/other"), 1), 0);
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, "/nowhere", NULL), 0);
    ASSERT_CONTAINS(in.validation, "/other");
    forget_variables();
}

/* DATA ends without "/cat": the folder that holds one class. An evaluation scores the same
 * folder. */
static void a_plain_folder_is_training_without_validation(void) {
    forget_variables();
    const char *root = unit_temp_dir();
    char data[INPUT_PATH_MAX];
    (void)snprintf(data, sizeof(data), "%s", make(root, "/classes/cat"));
    /* Without the last four characters, "/cat". */
    data[strlen(data) - 4] = '\0';
    struct options o = {.data = data};
    struct inputs in;
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.training, data);
    CU_ASSERT_FALSE(in.scored);
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_EVAL, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.validation, data);
}

/* `training` and `test` are second and last among the names of their channels, so the search has to
 * go on to find them. The root of the file system is not looked at. */
static void sagemakers_folders_are_found_without_flags(void) {
    forget_variables();
    const char *root = unit_temp_dir();
    (void)make(root, "/opt/ml/input/data/training");
    (void)make(root, "/opt/ml/input/data/test");
    (void)make(root, "/opt/ml/model");
    (void)make(root, "/opt/ml/checkpoints");
    (void)make(root, "/opt/ml/output/tensorboard");
    struct options o = {0};
    struct inputs in;
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    ASSERT_CONTAINS(in.training, "/opt/ml/input/data/training");
    ASSERT_CONTAINS(in.validation, "/test");
    ASSERT_CONTAINS(in.model, "/opt/ml/model");
    ASSERT_CONTAINS(in.checkpoints, "/opt/ml/checkpoints");
    ASSERT_CONTAINS(in.events, "/opt/ml/output/tensorboard");
}

/* The variable is enough: the standard folders are not there at all. */
static void a_channel_variable_outranks_the_standard_folder(void) {
    forget_variables();
    const char *root = unit_temp_dir();
    CU_ASSERT_EQUAL(setenv("SM_CHANNEL_TRAINING", make(root, "/elsewhere"), 1), 0);
    struct options o = {0};
    struct inputs in;
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    ASSERT_CONTAINS(in.training, "/elsewhere");
    forget_variables();
}

/* A channel under a mistyped name is shown with the message. A folder that was given and does not
 * exist is named, and no default takes its place. */
static void missing_data_is_a_data_error_that_says_what_to_give(void) {
    forget_variables();
    const char *root = make(unit_temp_dir(), "/empty");
    struct options o = {0};
    struct inputs in;
    struct error err = {0};
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "--data");
    /* As SageMaker sets it: a JSON array of the channels' names. */
    CU_ASSERT_EQUAL(setenv("SM_CHANNELS", "[\"trian\"]", 1), 0);
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_DETECT, root, &err), -1);
    ASSERT_CONTAINS(err.text,
                    "or a channel named train or training (the channels are [\"trian\"])");
    forget_variables();
    o.data = "/no/such/folder";
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, &err), -1);
    ASSERT_CONTAINS(err.text, "/no/such/folder");
}

/* An evaluation that was not requested, as a training makes them, writes its results only to a
 * folder from which a platform collects them. The command `eval` writes only where --out says,
 * whatever the variables are. */
static void an_evaluation_leaves_files_where_it_is_asked_to(void) {
    forget_variables();
    const char *root = unit_temp_dir();
    (void)make(root, "/opt/ml/output/data");
    (void)make(root, "/opt/ml/input/data/train");
    struct options o = {0};
    struct inputs in;
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    ASSERT_CONTAINS(in.out, "/opt/ml/output/data");
    CU_ASSERT_EQUAL(setenv("SM_OUTPUT_DATA_DIR", "/told", 1), 0);
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.out, "/told");
    /* Any folder of the machine that can be read: the question is where results go. */
    o.data = "/opt";
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_EVAL, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.out, "");
    o.out = "here";
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_EVAL, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.out, "here");
    forget_variables();
}

/* The launcher sets these variables on every platform; without /opt/ml they are ignored. Once
 * /opt/ml exists, even empty, they count, and their folders need not exist yet. */
static void sagemakers_folders_are_not_created_elsewhere(void) {
    forget_variables();
    char root[600];
    (void)snprintf(root, sizeof(root), "%s/workstation", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(root, NULL), 0);
    CU_ASSERT_EQUAL(setenv("SM_OUTPUT_DATA_DIR", "/opt/ml/output/data", 1), 0);
    CU_ASSERT_EQUAL(setenv("SM_MODEL_DIR", "/opt/ml/model", 1), 0);
    struct options o = {.data = "synthetic"};
    struct inputs in;
    CU_ASSERT_EQUAL_FATAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.model, "model");
    CU_ASSERT_STRING_EQUAL(in.log, "model");
    CU_ASSERT_STRING_EQUAL(in.out, "");
    (void)snprintf(root, sizeof(root), "%s/workstation/opt/ml", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(root, NULL), 0);
    (void)snprintf(root, sizeof(root), "%s/workstation", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.model, "/opt/ml/model");
    CU_ASSERT_STRING_EQUAL(in.log, "/opt/ml/output/data");
    CU_ASSERT_STRING_EQUAL(in.out, "/opt/ml/output/data");
    forget_variables();
}

/* A synthetic set is scored on pictures of its own, unless --validation none. It needs nothing
 * below ROOT, and its model's folder is the one of the flag. */
static void synthetic_needs_no_folder(void) {
    forget_variables();
    struct options o = {.data = "synthetic", .model_dir = "m"};
    struct inputs in;
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, "/nowhere", NULL), 0);
    CU_ASSERT(in.synthetic && in.scored);
    o.validation = "none";
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, "/nowhere", NULL), 0);
    CU_ASSERT(in.synthetic && !in.scored);
    CU_ASSERT_STRING_EQUAL(in.model, "m");
}

/* One folder holds both sets, so its subfolders train/ and val/ are not used as sets. An evaluation
 * has the folder as validation alone. What cannot be a COCO data set, a synthetic one or none, ends
 * with advice. */
static void a_network_that_finds_objects_takes_the_whole_folder(void) {
    forget_variables();
    const char *root = unit_temp_dir();
    char data[INPUT_PATH_MAX];
    (void)make(root, "/coco/train");
    (void)snprintf(data, sizeof(data), "%s/coco", root);
    struct options o = {.data = data};
    struct inputs in;
    struct error err = {0};
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_DETECT, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.training, data);
    CU_ASSERT_STRING_EQUAL(in.validation, data);
    CU_ASSERT(in.scored);
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_EVAL, MODEL_DETECT, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.training, "");
    CU_ASSERT_STRING_EQUAL(in.validation, data);
    o.validation = "none";
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_DETECT, root, NULL), 0);
    CU_ASSERT(!in.scored);
    o = (struct options){.data = data, .validation = "/other"};
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_DETECT, root, NULL), 0);
    CU_ASSERT_STRING_EQUAL(in.validation, "/other");
    o = (struct options){.data = "synthetic"};
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_DETECT, root, &err), -1);
    ASSERT_CONTAINS(err.text, "prepare shapes --coco");
    o = (struct options){0};
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_DETECT, "/nowhere", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "no training data: give --data DIR, a COCO folder (ringtrain prepare "
                              "shapes --coco makes one), or a channel named train");
    CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_EVAL, MODEL_DETECT, "/nowhere", &err), -1);
    ASSERT_CONTAINS(err.text, "no data to evaluate on: give --data DIR, a COCO folder");
}

/* If a folder cannot be accessed for a moment, no other one may become the data or the output. A
 * link to itself stands for that: stat fails with ELOOP, for root as well. */
static void what_cannot_be_looked_at_is_not_missing(void) {
    static const char *const places[] = {"/opt/ml/input/data/train", "/opt/ml/checkpoints"};
    forget_variables();
    char root[INPUT_PATH_MAX - 64], link[INPUT_PATH_MAX];
    struct options o = {.validation = "none"};
    (void)snprintf(root, sizeof(root), "%s/away", unit_temp_dir());
    (void)make(root, "/opt/ml/input/data/training");
    for (size_t i = 0; i < 2; i++) {
        struct error err = {0};
        struct inputs in;
        /* The first place is an input before another that exists, the second an output. */
        (void)snprintf(link, sizeof(link), "%s%s", root, places[i]);
        CU_ASSERT_EQUAL_FATAL(symlink(link, link), 0); /* a link to itself */
        CU_ASSERT_EQUAL(inputs_find(&in, &o, COMMAND_TRAIN, MODEL_CLASSIFY, root, &err), -1);
        CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == ELOOP);
        ASSERT_CONTAINS(err.text, link);
        CU_ASSERT_EQUAL_FATAL(unlink(link), 0);
    }
}

/* /proc has the permissions, for root, but takes no folders. Each of the five outputs is tried
 * there in turn, with all others in a good place that does not exist yet. */
static void a_place_that_takes_nothing_is_found_before_the_work(void) {
    static const char *const flags[] = {"--model-dir", "--checkpoint-dir", "--log-dir",
                                        "--tensorboard-dir", "--out"};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct inputs in = {.synthetic = true};
        /* In the order of `flags`. */
        char *const folders[] = {in.model, in.checkpoints, in.log, in.events, in.out};
        struct error err = {0};
        char wanted[128];
        for (size_t k = 0; k < sizeof(folders) / sizeof(folders[0]); k++)
            (void)snprintf(folders[k], INPUT_PATH_MAX, "%s/new/place", unit_temp_dir());
        /* Places that do not exist are good if their nearest ancestor takes a folder; none of those
         * that were tried remains. */
        CU_ASSERT_EQUAL(inputs_check_places(&in, &err), 0);
        (void)snprintf(folders[i], INPUT_PATH_MAX, "/proc/new/place");
        (void)snprintf(wanted, sizeof(wanted),
                       "%s /proc/new/place: nothing can be written in /proc; give a folder that",
                       flags[i]);
        CU_ASSERT_EQUAL(inputs_check_places(&in, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, wanted);
    }
}

UNIT_SUITE("app.inputs", UNIT(a_network_that_finds_objects_takes_the_whole_folder),
           UNIT(a_folder_with_train_and_val_is_both), UNIT(a_part_that_is_missing_is_named),
           UNIT(the_parts_of_a_channel_are_used),
           UNIT(a_plain_folder_is_training_without_validation),
           UNIT(sagemakers_folders_are_found_without_flags),
           UNIT(a_channel_variable_outranks_the_standard_folder),
           UNIT(missing_data_is_a_data_error_that_says_what_to_give),
           UNIT(an_evaluation_leaves_files_where_it_is_asked_to),
           UNIT(sagemakers_folders_are_not_created_elsewhere), UNIT(synthetic_needs_no_folder),
           UNIT(what_cannot_be_looked_at_is_not_missing),
           UNIT(a_place_that_takes_nothing_is_found_before_the_work))
