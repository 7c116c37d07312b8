#include "trainer/checkpoint/model_dir.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/file_look.h"
#include "common/file/output_path.h"
#include "common/json/json.h"
#include "trainer/checkpoint/config_seal.h"
#include "trainer/checkpoint/format_version.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two files cannot be replaced in one atomic step, so the second one names the checksum of the
 * first. Between the two renames, a reader finds new weights with an old description: check_pair
 * refuses that pair, instead of scoring weights with another network's classes. Weights come first
 * because the description needs their checksum.
 *
 * A training calls model_dir_check early and model_dir_save at the end. Hours lie between them, and
 * the check makes sure that their result can be written. Other programs read with model_dir_config
 * and then model_dir_open. */

#define WEIGHTS "model.safetensors"
#define CONFIG "config.json"

enum { COPY_BLOCK = 1 << 20 }; /* bytes */
/* Limit of config.json's size in bytes. */
enum { CONFIG_TEXT_MAX = 64 * 1024 * 1024 };

/* Writes FOLDER/NAME to PATH. */
static int path_in(const char *folder, const char *name, char path[PATH_MAX], struct error *err) {
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    if (length < 0 || length >= PATH_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    return 0;
}

/* Returns the text of config.json, to be freed; FOLDER is for messages only. */
static int config_text(const char *folder, const struct model_config *config, const char *weights,
                       char **ret_text, struct error *err) {
    char path[PATH_MAX];
    return path_in(folder, CONFIG, path, err) != 0
               ? -1
               : model_config_text(config, weights, path, ret_text, err);
}

/* Only a model written by ringtrain may be overwritten. Its weights carry checksums in every
 * version; those of other programs do not. A description is recognized by its first bytes, of this
 * and of earlier versions. A file that cannot be looked at is not overwritten either. */
static int check_replaced(const char *folder, struct error *err) {
    static const char *const starts[] = {"{\n  \"format_version\"", "{\n  \"model\"", NULL};
    static const struct output_path_kind kind = {"a ringtrain model's description", starts};
    cleanup_safetensors struct safetensors file = {0};
    char path[PATH_MAX];
    bool there = false;
    struct error why = {0};
    if (path_in(folder, CONFIG, path, err) != 0 ||
        output_path_check(path, &kind, CONFIG, err) != 0 ||
        path_in(folder, WEIGHTS, path, err) != 0 || file_look(path, NULL, &there, err) != 0)
        return -1;
    if (!there ||
        (safetensors_open(&file, path, &why) == 0 && file.count > 0 && file.entries[0].checked))
        return 0;
    if (why.os_errno != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: the owner of this file is unknown; give another folder", why.text);
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s holds a model that ringtrain has not written, or a damaged one, which "
                     "would be lost; move it away, or give another folder",
                     path);
}

/* The description is built and thrown away: a class name that is not UTF-8 is found here. */
int model_dir_check(const char *folder, const struct model_config *config, struct error *err) {
    cleanup_free char *text = NULL;
    if (config_text(folder, config, "", &text, err) != 0 || file_make_dirs(folder, err) != 0)
        return -1;
    if (access(folder, W_OK | X_OK) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", folder);
    return check_replaced(folder, err);
}

/* Returns true for the names from which file_tidy recognizes leftovers of killed writes. */
static bool is_ours(const char *name) {
    return strcmp(name, WEIGHTS) == 0 || strcmp(name, CONFIG) == 0;
}

/* The header's checksum covers those of all tensors, and so stands for the whole file. */
static void digest_of(const struct safetensors *file, char digest[MODEL_DIGEST_SIZE]) {
    (void)snprintf(digest, MODEL_DIGEST_SIZE, "crc32c:%08" PRIx32, file->crc);
}

/* Writes the weights, and reads their header back for the checksum that the writer has put there.
 */
static int save_weights(const char *folder, const struct array *arrays, size_t count,
                        char digest[MODEL_DIGEST_SIZE], struct error *err) {
    const struct safetensors_note note = {FORMAT_VERSION_KEY, FORMAT_VERSION_TEXT};
    cleanup_safetensors struct safetensors file = {0};
    char path[PATH_MAX];
    if (path_in(folder, WEIGHTS, path, err) != 0 ||
        safetensors_write(path, arrays, count, &note, 1, err) != 0 ||
        safetensors_open(&file, path, err) != 0)
        return -1;
    digest_of(&file, digest);
    return 0;
}

/* The description is written last, and with its rename the model is published. The folder may be
 * missing: for the best model of a training it is made with the first one. */
int model_dir_save(const char *folder, const struct model_config *config,
                   const struct array *arrays, size_t count, struct error *err) {
    char path[PATH_MAX], digest[MODEL_DIGEST_SIZE];
    cleanup_free char *text = NULL;
    cleanup_buf struct buf sealed = {0};
    buf_init(&sealed, CONFIG_TEXT_MAX);
    if (file_make_dirs(folder, err) != 0)
        return -1;
    file_tidy(folder, is_ours);
    if (save_weights(folder, arrays, count, digest, err) != 0 ||
        config_text(folder, config, digest, &text, err) != 0 ||
        config_seal_add(&sealed, text, err) != 0 || path_in(folder, CONFIG, path, err) != 0)
        return -1;
    return file_publish(path, sealed.data, sealed.size, 0644, err);
}

/* Copies up to the end of the file. PATH is for messages. */
static int copy_bytes(int from, const char *path, int to, struct error *err) {
    cleanup_free char *block = malloc(COPY_BLOCK);
    if (block == NULL)
        return error_no_memory(err, path);
    for (;;) {
        ssize_t size = read(from, block, COPY_BLOCK);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return size == 0 ? 0 : error_set_errno(err, EXIT_CODE_DATA, "%s", path);
        if (file_write_all(to, block, (size_t)size, err) != 0)
            return -1;
    }
}

/* Copies one file under a temporary name and then renames it, as a publish does. After a failure
 * the file that was there is still complete. */
static int copy_file(const char *from, const char *folder, const char *name, struct error *err) {
    char source[PATH_MAX], target[PATH_MAX], temp[PATH_MAX];
    if (path_in(from, name, source, err) != 0 || path_in(folder, name, target, err) != 0)
        return -1;
    cleanup_fd int in = open(source, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", source);
    int out = file_publish_open(target, temp, 0644, err);
    if (out < 0)
        return -1;
    if (copy_bytes(in, source, out, err) == 0)
        return file_publish_commit(out, temp, target, err);
    (void)close(out);
    (void)unlink(temp);
    return error_wrap(err, "%s", target);
}

/* The source is read and checked before anything is written. Its weights are copied byte by byte,
 * with all checksums, and verified by the header only. */
int model_dir_copy(const char *from, const char *folder, struct error *err) {
    cleanup_model_config struct model_config config = {0};
    cleanup_safetensors struct safetensors file = {0};
    /* The weights first, as in model_dir_save. */
    return model_dir_config(from, &config, err) != 0 ||
                   model_dir_open(from, &config, &file, err) != 0 ||
                   file_make_dirs(folder, err) != 0 || copy_file(from, folder, WEIGHTS, err) != 0
               ? -1
               : copy_file(from, folder, CONFIG, err);
}

/* Names the best model if FOLDER is one of checkpoints. Called when there is no config.json. A
 * file, and the folder of checkpoints, are likely mistakes, so these two get advice of their own.
 */
static int refuse_folder(const char *folder, struct error *err) {
    char best[PATH_MAX];
    struct stat st;
    if (stat(folder, &st) == 0 && S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: a file; --model-dir names a folder, that of a finished training or "
                         "the best model's, `best` beside its checkpoints",
                         folder);
    if (snprintf(best, sizeof(best), "%s/best/" CONFIG, folder) < (int)sizeof(best) &&
        access(best, F_OK) == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: a folder of checkpoints, not of a model; its best model is in "
                         "%s/best",
                         folder, folder);
    return error_set(err, EXIT_CODE_DATA,
                     "%s: no model there (" CONFIG " is missing); --model-dir names the folder of "
                     "a finished training's model",
                     folder);
}

/* A checksum that is there but malformed is refused: it may be the very bits that have changed.
 * Errors of reading get EXIT_CODE_DATA, since the user has named the folder as a model. */
int model_dir_config(const char *folder, struct model_config *ret_config, struct error *err) {
    char path[PATH_MAX];
    cleanup_json json_t *root = NULL;
    cleanup_buf struct buf text = {0};
    bool sealed = false;
    *ret_config = (struct model_config){0};
    buf_init(&text, JSON_FILE_MAX);
    if (path_in(folder, CONFIG, path, err) != 0)
        return -1;
    /* Asked apart from reading, for an error that says what the folder may be instead. */
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return refuse_folder(folder, err);
    if (file_read(path, &text, err) != 0 ||
        json_parse(buf_text(&text), text.size, path, &root, err) != 0)
        return error_recode(err, EXIT_CODE_DATA);
    if (config_seal_check(buf_text(&text), text.size, path, &sealed, err) != 0)
        return -1;
    if (!sealed && json_object_get(root, CONFIG_SEAL_KEY) != NULL)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: \"" CONFIG_SEAL_KEY
                         "\" is not a checksum; remove it to accept the file as it is",
                         path);
    if (model_config_read(root, path, ret_config, err) != 0)
        return -1;
    ret_config->sealed = sealed;
    return 0;
}

/* Decides whether description and weights belong together. Without "weights" in the description
 * only weights of other programs, or of format version 1, are accepted; newer ones of this program
 * always have it. */
static int check_pair(const char *folder, const struct model_config *config,
                      const struct safetensors *file, struct error *err) {
    char digest[MODEL_DIGEST_SIZE];
    bool newer = false;
    if (format_version_check_file(file, &newer, err) != 0)
        return -1;
    /* Only files of version 2 and later have the version in their metadata. */
    bool ours = file->checked && safetensors_note(file, FORMAT_VERSION_KEY) != NULL;
    bool told = config->weights[0] != '\0';
    digest_of(file, digest);
    /* Foreign weights have no checksum to compare: a description that names one cannot mean them.
     */
    if (told && !file->checked)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: " CONFIG " belongs to other weights (%s) than " WEIGHTS
                         ", which another program has written; remove \"weights\" from " CONFIG
                         " to accept them",
                         folder, config->weights);
    /* Without a name, weights of a newer version belong to another description. */
    if (told ? strcmp(config->weights, digest) == 0 : !ours)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: " CONFIG " belongs to other weights (%s) than " WEIGHTS
                     " (%s): a publish was interrupted, or the files belong to two models",
                     folder, told ? config->weights : "of an earlier version", digest);
}

/* The tensors are verified when they are read (safetensors_read), not here. FILE is open only on
 * success. */
int model_dir_open(const char *folder, const struct model_config *config, struct safetensors *file,
                   struct error *err) {
    char path[PATH_MAX];
    if (path_in(folder, WEIGHTS, path, err) != 0 || safetensors_open(file, path, err) != 0)
        return -1;
    if (check_pair(folder, config, file, err) == 0)
        return 0;
    safetensors_done(file);
    return -1;
}
