#include "trainer/app/options/inputs.h"

#include "common/cleanup.h"
#include "common/file/file_look.h"
#include "trainer/app/options/shard_inputs.h"
#include "trainer/data/dataset/splits.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* inputs_find is called once a run, by training_run.c and trained.c, after the network is known:
 * its task decides whether data is a tree of class folders or a COCO data set. It creates nothing,
 * and reads no picture.
 *
 * Sources are tried in the order that inputs.h lists. One that was given explicitly is used even if
 * it does not exist, so that the error names it; the folders of SageMaker are used only if they
 * exist. A folder that exists but cannot be read is an error at any step: passing over it would
 * silently choose the next source.
 *
 * Classification has two kinds of data, folders of classes and shards. Shards are looked for first
 * (shard_inputs.c), since a folder of shards would otherwise count as a folder without classes. */

#define INPUT_ROOT "/opt/ml/input/data"

/* Alternative names of one channel, in order of preference. */
struct channel {
    const char *names[8];     /* folder names, NULL-terminated */
    const char *variables[8]; /* SageMaker's environment variables, NULL-terminated */
};

static const struct channel TRAINING = {{"train", "training", NULL},
                                        {"SM_CHANNEL_TRAIN", "SM_CHANNEL_TRAINING", NULL}};
static const struct channel VALIDATION = {
    {"validation", "valid", "val", "dev", "eval", "test", NULL},
    {"SM_CHANNEL_VALIDATION", "SM_CHANNEL_VALID", "SM_CHANNEL_VAL", "SM_CHANNEL_DEV",
     "SM_CHANNEL_EVAL", "SM_CHANNEL_TEST", NULL}};

/* Writes A, B and C one after the other. The longest path is checked here alone, so that no later
 * snprintf of a found path can cut it off. */
static int put(char to[INPUT_PATH_MAX], const char *a, const char *b, const char *c,
               struct error *err) {
    if (snprintf(to, INPUT_PATH_MAX, "%s%s%s", a, b, c) >= INPUT_PATH_MAX)
        return error_set(err, EXIT_CODE_USAGE, "path '%.64s...' is too long", to);
    return 0;
}

/* Writes PARENT/NAME for the first of the names that is a folder. TO is empty if none is. The order
 * of the names matters where a job has several of these channels. */
static int find_below(char to[INPUT_PATH_MAX], const char *parent, const struct channel *channel,
                      struct error *err) {
    for (size_t i = 0; channel->names[i] != NULL; i++) {
        bool folder = false;
        if (put(to, parent, "/", channel->names[i], err) != 0 ||
            file_look_folder(to, &folder, err) != 0)
            return -1;
        if (folder)
            return 0;
    }
    to[0] = '\0';
    return 0;
}

/* Writes the channel's folder from its variable, else from the file system; TO is empty if there is
 * neither. A variable is believed without a look at the folder: the platform has set it. One that
 * is empty counts as not set. */
static int find_channel(char to[INPUT_PATH_MAX], const struct channel *channel, const char *root,
                        struct error *err) {
    for (size_t i = 0; channel->variables[i] != NULL; i++) {
        const char *value = getenv(channel->variables[i]);
        if (value != NULL && value[0] != '\0')
            return put(to, value, "", "", err);
    }
    char parent[INPUT_PATH_MAX];
    if (put(parent, root, INPUT_ROOT, "", err) != 0)
        return -1;
    return find_below(to, parent, channel, err);
}

/* Writes --data, else the first channel found. WANTED tells the user what is expected. */
static int find_given(char given[INPUT_PATH_MAX], const struct options *o, const char *root,
                      const char *wanted, struct error *err) {
    if (o->data != NULL) {
        if (put(given, o->data, "", "", err) != 0)
            return -1;
    } else if (find_channel(given, &TRAINING, root, err) != 0) {
        return -1;
    }
    /* SageMaker's list of all channels, a JSON array: a channel of another name is the likely
     * mistake, and the message shows it. */
    const char *channels = getenv("SM_CHANNELS");
    if (given[0] == '\0')
        return error_set(err, EXIT_CODE_DATA, "%s, or a channel named train or training%s%s%s",
                         wanted, channels != NULL ? " (the channels are " : "",
                         channels != NULL ? channels : "", channels != NULL ? ")" : "");
    return 0;
}

/* Fails if PATH is neither a readable folder nor shards; a folder that exists but cannot be read is
 * an error, too. */
static int check_folder(const char *what, const char *path, struct error *err) {
    struct shard_inputs shards;
    if (shard_inputs_find(&shards, path, err) != 0)
        return error_wrap(err, "%s", what);
    if (shards.found)
        return 0;
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? 0 : error_set_errno(err, EXIT_CODE_DATA, "%s: %s", what, path);
}

/* Finds the parts of the folder DIR (data/dataset/splits.h), and keeps what the log is to say of
 * them. WHAT begins the message if DIR cannot be read. */
static int find_splits(struct inputs *in, struct splits *ret, const char *dir, const char *what,
                       struct error *err) {
    if (check_folder(what, dir, err) != 0 || splits_find(ret, dir, err) != 0)
        return -1;
    memcpy(in->note, ret->note, sizeof(in->note));
    return 0;
}

/* Finds shards for training, and writes those for evaluation to SHARDS. */
static int find_training_shards(struct inputs *in, const char *given, char shards[INPUT_PATH_MAX],
                                struct error *err) {
    struct shard_inputs found;
    if (shard_inputs_find(&found, given, err) != 0)
        return error_wrap(err, "training data");
    shards[0] = '\0';
    if (found.training[0] == '\0')
        return 0;
    return put(in->training, found.training, "", "", err) != 0
               ? -1
               : put(shards, found.validation, "", "", err);
}

/* Chooses the training part of the given folder (train/), or the folder itself if it has no parts.
 * SHARDS gets the shards for evaluation, if there are shards. GIVEN and SPLITS are for
 * find_pictures, which looks for the evaluation part in the same folder. */
static int find_training(struct inputs *in, const struct options *o, const char *root,
                         char given[INPUT_PATH_MAX], struct splits *splits,
                         char shards[INPUT_PATH_MAX], struct error *err) {
    if (find_given(given, o, root, "no training data: give --data DIR (or --data synthetic)",
                   err) != 0 ||
        find_training_shards(in, given, shards, err) != 0)
        return -1;
    if (in->training[0] != '\0')
        return 0;
    if (find_splits(in, splits, given, "training data", err) != 0)
        return -1;
    if (splits->parts && splits->training[0] == '\0')
        return error_set(err, EXIT_CODE_DATA,
                         "training data: %s has %s/ but no train/; move the training pictures "
                         "there, as train/CLASS/FILE.jpg",
                         given, splits->validation);
    return put(in->training, given, splits->parts ? "/" : "", splits->training, err);
}

/* Chooses the evaluation part of an evaluation's --data (val/ or test/), or the folder itself. A
 * folder with a training part alone is refused: its score would be mistaken for that of unseen
 * pictures. The message says how to ask for it. */
static int find_scored(struct inputs *in, const char *dir, struct error *err) {
    struct splits splits;
    struct shard_inputs shards;
    if (shard_inputs_find(&shards, dir, err) != 0)
        return error_wrap(err, "data");
    if (shards.found)
        return put(in->validation,
                   shards.validation[0] != '\0' ? shards.validation : shards.training, "", "", err);
    if (find_splits(in, &splits, dir, "data", err) != 0)
        return -1;
    if (splits.parts && splits.validation[0] == '\0')
        return error_set(
            err, EXIT_CODE_DATA,
            "%s has %s/ but no val/ or test/ to evaluate on; --data %s/%s scores the training set",
            dir, splits.training, dir, splits.training);
    return put(in->validation, dir, splits.parts ? "/" : "", splits.validation, err);
}

/* Finds folders of class folders, or shards, for classification. The evaluation data is, in this
 * order: what --validation says, a channel of its own, a part of --data. A validation channel is
 * not looked for beside an explicit --data: the two need not belong together. */
static int find_pictures(struct inputs *in, const struct options *o, unsigned command,
                         const char *root, struct error *err) {
    char given[INPUT_PATH_MAX];
    char shards[INPUT_PATH_MAX] = "";
    struct splits splits = {.parts = false};
    if (command == COMMAND_TRAIN && find_training(in, o, root, given, &splits, shards, err) != 0)
        return -1;
    /* `none` ends the search: nothing is scored, although the data may have a part for that. */
    if (o->validation != NULL && strcmp(o->validation, "none") == 0)
        return 0;
    if (o->validation != NULL && put(in->validation, o->validation, "", "", err) != 0)
        return -1;
    if (o->validation == NULL && o->data == NULL &&
        find_channel(in->validation, &VALIDATION, root, err) != 0)
        return -1;
    if (in->validation[0] == '\0' && command == COMMAND_EVAL && o->data != NULL)
        return find_scored(in, o->data, err);
    if (in->validation[0] == '\0' && shards[0] != '\0')
        return put(in->validation, shards, "", "", err);
    if (in->validation[0] == '\0' && splits.validation[0] != '\0')
        return put(in->validation, given, "/", splits.validation, err);
    if (in->validation[0] == '\0' && command == COMMAND_EVAL)
        return error_set(err, EXIT_CODE_DATA, "no data to evaluate on: give --data DIR");
    return in->validation[0] != '\0' ? check_folder("validation data", in->validation, err) : 0;
}

/* What is held out of the training takes the place of evaluation data, of which there must be none.
 */
static int check_split(struct inputs *in, const struct options *o, struct error *err) {
    if (o->validation != NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "--val-split: --validation %.64s says what to evaluate on; give one of "
                         "them",
                         o->validation);
    if (in->synthetic)
        return error_set(err, EXIT_CODE_USAGE,
                         "--val-split: a synthetic set is evaluated on pictures of its own");
    if (in->scored)
        return error_set(err, EXIT_CODE_USAGE,
                         "--val-split: there is a part to evaluate on, %s; leave --val-split out, "
                         "or give the folder of the training's classes alone as --data",
                         in->validation);
    /* The path of the validation data stays empty: the task divides the training data by itself. */
    in->scored = true;
    return 0;
}

/* Finds a COCO data set: its folder, or one JSON file of annotations. Training and evaluation
 * usually have the same folder, as it holds both sets; the task chooses by their names. Nothing is
 * checked here: the task reads the annotations, and reports what is missing. */
static int find_objects(struct inputs *in, const struct options *o, unsigned command,
                        const char *root, struct error *err) {
    bool none = o->validation != NULL && strcmp(o->validation, "none") == 0;
    if (in->synthetic)
        return error_set(err, EXIT_CODE_USAGE,
                         "--data: detection networks need the folder of a COCO data set; ringtrain "
                         "prepare shapes --coco DIR makes one");
    if (o->validation != NULL && !none) {
        if (put(in->validation, o->validation, "", "", err) != 0)
            return -1;
    } else if (o->data == NULL && !none &&
               find_channel(in->validation, &VALIDATION, root, err) != 0) {
        return -1;
    }
    in->scored = !none;
    if (command == COMMAND_EVAL && in->validation[0] != '\0')
        return 0;
    if (find_given(in->training, o, root,
                   command == COMMAND_EVAL
                       ? "no data to evaluate on: give --data DIR, a COCO folder"
                       : "no training data: give --data DIR, a COCO folder "
                         "(ringtrain prepare shapes --coco makes one)",
                   err) != 0)
        return -1;
    if (in->validation[0] == '\0' && !none && put(in->validation, in->training, "", "", err) != 0)
        return -1;
    if (command == COMMAND_EVAL)
        in->training[0] = '\0';
    return 0;
}

/* Returns true if VALUE is only the standard folder of SageMaker and this machine has no /opt/ml.
 * The launcher names SageMaker's folders on every platform. On a machine without /opt/ml nobody
 * expects anything there, and it is not created. */
static bool is_elsewhere(const char *value, const char *root, const char *standard) {
    char base[INPUT_PATH_MAX];
    bool folder = false;
    if (strcmp(value, standard) != 0)
        return false;
    (void)snprintf(base, sizeof(base), "%s/opt/ml", root);
    return file_look_folder(base, &folder, NULL) == 0 && !folder;
}

/* Writes GIVEN, else VALUE (of an environment variable), else STANDARD under the root if that
 * folder exists, else FALLBACK. An empty FALLBACK means that nothing of this kind is written. */
static int find_output(char to[INPUT_PATH_MAX], const char *given, const char *value,
                       const char *root, const char *standard, const char *fallback,
                       struct error *err) {
    if (given != NULL)
        return put(to, given, "", "", err);
    if (value != NULL && value[0] != '\0' && !is_elsewhere(value, root, standard))
        return put(to, value, "", "", err);
    if (put(to, root, standard, "", err) != 0)
        return -1;
    bool folder = false;
    if (file_look_folder(to, &folder, err) != 0)
        return -1;
    return folder ? 0 : put(to, fallback, "", "", err);
}

int inputs_model(struct inputs *in, const struct options *o, const char *root, struct error *err) {
    return find_output(in->model, o->model_dir, getenv("SM_MODEL_DIR"), root, "/opt/ml/model",
                       "model", err);
}

/* Chooses the folder for evaluation artifacts. eval and predict write only where --out says. */
static int find_out(struct inputs *in, const struct options *o, unsigned command, const char *root,
                    struct error *err) {
    if (command != COMMAND_TRAIN && o->out == NULL)
        return 0;
    return find_output(in->out, o->out, getenv("SM_OUTPUT_DATA_DIR"), root, "/opt/ml/output/data",
                       "", err);
}

/* Outputs follow inputs, since the log goes to the model's folder where nothing else is given. IN
 * is zeroed first, so that what a branch does not set reads as "none". */
int inputs_find(struct inputs *in, const struct options *o, unsigned command, enum model_task task,
                const char *root, struct error *err) {
    *in = (struct inputs){.synthetic = o->data != NULL && strcmp(o->data, "synthetic") == 0};
    if (task == MODEL_DETECT) {
        if (find_objects(in, o, command, root, err) != 0)
            return -1;
    } else if (in->synthetic) {
        in->scored = o->validation == NULL || strcmp(o->validation, "none") != 0;
    } else {
        if (find_pictures(in, o, command, root, err) != 0)
            return -1;
        in->scored = in->validation[0] != '\0';
    }
    if (o->val_split > 0 && command == COMMAND_TRAIN && check_split(in, o, err) != 0)
        return -1;
    if (inputs_model(in, o, root, err) != 0 || find_out(in, o, command, root, err) != 0 ||
        find_output(in->checkpoints, o->checkpoint_dir, NULL, root, "/opt/ml/checkpoints",
                    "checkpoints", err) != 0 ||
        find_output(in->log, o->log_dir, getenv("SM_OUTPUT_DATA_DIR"), root, "/opt/ml/output/data",
                    in->model, err) != 0)
        return -1;
    return find_output(in->events, o->tensorboard_dir, NULL, root, "/opt/ml/output/tensorboard", "",
                       err);
}

/* Makes a folder in PATH and removes it: permissions alone do not tell whether a file system takes
 * new files, root least of all. Its random name cannot be one of the user's. */
static int try_place(const char *flag, const char *folder, const char *path, struct error *err) {
    char made[INPUT_PATH_MAX + 32];
    (void)snprintf(made, sizeof(made), "%s/.ringtrain-XXXXXX", path);
    if (mkdtemp(made) != NULL && rmdir(made) == 0)
        return 0;
    return error_set_errno(err, EXIT_CODE_CONFIG,
                           "%s %s: nothing can be written in %s; give a folder that this user can "
                           "write to",
                           flag, folder, path);
}

/* Checks FOLDER, or its nearest ancestor that exists. */
static int check_place(const char *flag, const char *folder, struct error *err) {
    char path[INPUT_PATH_MAX];
    struct stat status;
    (void)snprintf(path, sizeof(path), "%s", folder);
    /* Goes up by one name at a time. A name below a file is ENOTDIR, which ends at the file itself,
     * and is reported as no folder. The last step of a relative path is ".", of an absolute one
     * "/". */
    while (stat(path, &status) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s: %s", flag, path);
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            (void)snprintf(path, sizeof(path), ".");
        else
            slash[slash == path] = '\0';
    }
    if (!S_ISDIR(status.st_mode))
        return error_set(err, EXIT_CODE_CONFIG, "%s: %s is not a folder", flag, path);
    return try_place(flag, folder, path, err);
}

int inputs_check_places(const struct inputs *in, struct error *err) {
    const struct {
        const char *flag, *folder;
    } places[] = {{"--model-dir", in->model},
                  {"--checkpoint-dir", in->checkpoints},
                  {"--log-dir", in->log},
                  {"--tensorboard-dir", in->events},
                  {"--out", in->out}};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (places[i].folder[0] != '\0' && check_place(places[i].flag, places[i].folder, err) != 0)
            return -1;
    return 0;
}
