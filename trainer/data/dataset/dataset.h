/* Labelled set of encoded pictures: N samples, a class for each, a name for each class.
 *
 * Sources: a folder of class folders with JPEGs and PNGs, shards (format/format.h), files without
 * labels, and `synthetic`, which has no files. Of a folder, classes are the folder's subfolders,
 * and samples the files in them and below, in an order that is the same on every host
 * (dataset/folder.h); names that begin with a dot are skipped. The hash covers class names, file
 * names and file sizes: ranks with different hashes do not see the same files.
 *
 * A dataset is constant after opening and may be read by any number of threads. Errors have
 * EXIT_CODE_DATA and name folder or file. */
#ifndef TRAINER_DATA_DATASET_DATASET_H
#define TRAINER_DATA_DATASET_DATASET_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/dataset/folder.h"
#include "trainer/data/dataset/shard_store.h"
#include "trainer/data/dataset/shards.h"
#include "trainer/data/dataset/skipped_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DATASET_CLASSES_MAX = FOLDER_CLASSES_MAX,
    DATASET_SAMPLES_MAX = FOLDER_SAMPLES_MAX,
};

enum dataset_kind { DATASET_FOLDER, DATASET_SYNTHETIC, DATASET_FILES, DATASET_SHARDS };

struct dataset {
    enum dataset_kind kind;
    size_t count;       /* samples */
    int32_t *labels;    /* owned; [count], 0 .. classes-1 */
    size_t classes;     /* at least one */
    char **class_names; /* owned; [classes] */
    uint64_t hash;      /* of classes, names and sizes; the same on every host for the same files */
    int64_t bytes;      /* of all files together; 0 without files */

    void *memory; /* owned; a private mapping in which labels, names, name_at and places may lie
                   * (app/hosts/shared_set.h). NULL: none, each has its own memory */
    size_t memory_size;

    char *root;      /* owned; the folder, NULL without one */
    char *names;     /* owned; paths below the class folder, each with its NUL */
    size_t *name_at; /* owned; [count], offsets into names */

    struct skipped_files left_out; /* owned; files that are not samples */
    uint64_t bad;                  /* records of shards that cannot be used, and are left out */

    struct shard_store *shards; /* a reference; NULL without shards */
    struct shard_place *places; /* owned; [count], in the shards */
    char *note;                 /* owned; how the shards were read, for the log; NULL: nothing to
                                 * say */
    char *warning;              /* owned; what is wrong with their index; NULL: nothing */
};

void dataset_done(struct dataset *set);

/* Opens FOLDER/CLASS/FILE, FOLDER/CLASS/SUB/FILE and so on. Pictures are recognized by their
 * suffix (codec/picture.h); the content determines how they are decoded. A class folder without
 * pictures is an error that names it. */
int dataset_open_folder(struct dataset *set, const char *folder, struct error *err);

/* Opens the shards at PATH (format/shard_list.h), of which at most BAD_ALLOWED records may be
 * unusable. Sets *RET_FOUND to false, and opens nothing, if there are none. */
int dataset_open_shards(struct dataset *set, const char *path, int64_t bad_allowed, bool *ret_found,
                        struct error *err);

/* The same, with the shards understood as READING says. */
int dataset_open_shards_as(struct dataset *set, const char *path,
                           const struct shards_reading *reading, bool *ret_found,
                           struct error *err);

/* Opens the shards at PATH, or else the folder. */
int dataset_open(struct dataset *set, const char *path, int64_t bad_allowed, struct error *err);
/* The same, with shards understood as READING says. */
int dataset_open_as(struct dataset *set, const char *path, const struct shards_reading *reading,
                    struct error *err);

/* Renumbers the classes: class i of the set becomes MAP[i] of COUNT classes with these NAMES, some
 * of which may have no sample. The hash is kept. */
int dataset_place_classes(struct dataset *set, char *const *names, size_t count, const int32_t *map,
                          struct error *err);

/* Makes the set a part of one of TOTAL samples, in which its first sample has the number FIRST. The
 * samples of other parts have the class 0, and cannot be read. */
int dataset_embed(struct dataset *set, size_t first, size_t total, struct error *err);

/* Opens COUNT files by their paths, all of one class named "". */
int dataset_open_files(struct dataset *set, char *const *paths, size_t count, struct error *err);

/* Makes COUNT samples of CLASSES classes; sample i has class i mod CLASSES. Its pixels are noise
 * around a colour of the class, see dataset_paint. */
int dataset_open_synthetic(struct dataset *set, size_t count, size_t classes, struct error *err);

/* Writes the path of a sample, or "synthetic/I", to TEXT, truncated if necessary. For messages. */
void dataset_sample_name(const struct dataset *set, size_t sample, char *text, size_t size);

/* Replaces the content of OUT by the encoded bytes of a sample. Not for synthetic sets. */
int dataset_read(const struct dataset *set, size_t sample, struct buf *out, struct error *err);

/* Fills SIDE x SIDE x 3 bytes with the picture of a synthetic sample. */
void dataset_paint(const struct dataset *set, size_t sample, int side, uint8_t *pixels);

#define cleanup_dataset __attribute__((cleanup(dataset_done)))

#endif
