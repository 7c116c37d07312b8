#include "trainer/app/command/prepare/command_prepare_archive.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "common/str.h"
#include "common/text/wrap.h"
#include "trainer/app/command/prepare/prepare_archives.h"
#include "trainer/app/command/prepare/prepare_ranks.h"
#include "trainer/app/command/prepare/prepare_sets.h"
#include "trainer/app/command/prepare/prepare_write.h"
#include "trainer/app/command/prepare/prepare_zips.h"
#include "trainer/data/archive/tar_extract.h"
#include "trainer/data/dataset/holdout.h"
#include "trainer/data/download/download.h"
#include "trainer/data/format/formats.h"
#include "trainer/data/format/picture_labels.h"
#include "trainer/data/format/shard_list.h"
#include "trainer/data/prepare/source_room.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* One row for each data set, struct archived_set, says how its archives become sets; make_set has
 * the order that all of them share. Flags are parsed, archives on the command line are checked,
 * those that are addresses are fetched, the set is made, and what was fetched is removed. An error
 * on the way keeps the downloads, so that the next attempt need not fetch them again.
 *
 * Flowers and CIFAR are unpacked below the target first (source_room.h). ImageNet's archives are
 * read as they are, since an unpacked copy would take as much room again; several ranks can share
 * that work. COCO's archives are unpacked by prepare_zips.c, and stay as folders. */

/* A data set that is published as archives. CHECK sees the flags before anything is fetched; MAKE
 * finds files in f->sources, whatever was on the command line. */
struct archived_set {
    enum prepare_kind kind;
    const char *name;
    const char *archive; /* its only one; NULL: it may have several */
    int (*check)(const struct prepare_flags *flags, struct error *err); /* or NULL */
    int (*make)(const struct prepare_flags *flags, struct error *err);
};

/* Fails unless the line has one source; WHAT names it in the message. */
static int need_one(const struct prepare_flags *f, const char *what, struct error *err) {
    return f->source_count == 1 ? 0
                                : error_set(err, EXIT_CODE_USAGE,
                                            "%d sources; expected one, %s, then the folder to "
                                            "write to",
                                            f->source_count, what);
}

/* Makes a set of the archives on the command line, which are fetched if they are addresses.
 * Everything that the flags alone can tell is checked before that. What was fetched below the
 * target is removed only when the set is complete. */
static int make_set(const struct archived_set *set, int argc, char *const *argv,
                    struct error *err) {
    struct prepare_flags f;
    cleanup_prepare_archives struct prepare_archives archives = {0};
    if (prepare_flags_parse(set->kind, set->name, argc, argv, &f, err) != 0 ||
        (set->archive != NULL && need_one(&f, set->archive, err) != 0) ||
        (set->check != NULL && set->check(&f, err) != 0) ||
        prepare_archives_bring(&archives, set->kind, &f, err) != 0 || set->make(&f, err) != 0)
        return -1;
    prepare_archives_remove(&archives);
    return 0;
}

/* Writes the sets by this process alone; what was unpacked for them is not needed any more
 * afterwards. After a failure it stays, and the next attempt need not unpack it again. */
static int write_sets(struct prepare_sets *sets, const struct prepare_flags *f,
                      struct source_room *room, struct error *err) {
    if (prepare_write_alone(sets, f, err) != 0)
        return -1;
    source_room_remove(room);
    return 0;
}

/* --- flowers --------------------------------------------------------------------------------- */

/* Flowers come without a part for evaluation: --val-split takes a share of each class, drawn by
 * --seed. 0 leaves all in the training. */
static int hold_out(struct prepare_sets *sets, const struct prepare_flags *f, struct error *err) {
    if (f->val_split == 0)
        return 0;
    struct dataset *held = prepare_sets_add(sets, "validation");
    return holdout_split(&sets->sets[0], f->val_split, (uint64_t)f->seed, held, NULL, err);
}

/* The archive is a tar within gzip; source_room_plain makes a tar of it that can be read at any
 * place, and the folders in it are the classes. */
static int make_flowers(const struct prepare_flags *f, struct error *err) {
    char plain[PATH_MAX];
    cleanup_prepare_sets struct prepare_sets sets = {0};
    cleanup_source_room struct source_room room = SOURCE_ROOM_CLOSED;
    if (source_room_open(&room, f->target, err) != 0 ||
        source_room_plain(&room, f->sources[0], plain, err) != 0 ||
        prepare_sets_open(&sets, "train", plain, &f->reading, err) != 0 ||
        hold_out(&sets, f, err) != 0)
        return -1;
    return write_sets(&sets, f, &room, err);
}

/* Each command has a constant row. ARCHIVE set: exactly one source, of this name, is expected. */
int command_prepare_flowers(int argc, char *const *argv, struct error *err) {
    static const struct archived_set flowers = {.kind = PREPARE_FLOWERS,
                                                .name = "flowers",
                                                .archive = "flower_photos.tgz",
                                                .make = make_flowers};
    return make_set(&flowers, argc, argv, err);
}

/* --- CIFAR ----------------------------------------------------------------------------------- */

/* Returns true for the members of either archive, CIFAR-10 and CIFAR-100, that are needed: records
 * and names of classes. Others, such as a read-me, are passed over. */
static bool is_of_cifar(const char *name) {
    return (str_ends_with(name, ".bin") &&
            (str_starts_with(name, "data_batch_") || str_starts_with(name, "test_batch") ||
             strcmp(name, "train.bin") == 0 || strcmp(name, "test.bin") == 0)) ||
           strcmp(name, "batches.meta.txt") == 0 || strcmp(name, "fine_label_names.txt") == 0;
}

/* Unpacks the members into the room. The versions for Python and MATLAB have no such members, which
 * is the likely reason if there are none. */
static int unpack_cifar(const char *archive, const struct source_room *room, struct error *err) {
    char plain[PATH_MAX];
    size_t count = 0;
    if (source_room_plain(room, archive, plain, err) != 0 ||
        tar_extract(plain, room->folder, is_of_cifar, &count, err) != 0)
        return -1;
    return count > 0 ? 0
                     : error_set(err, EXIT_CODE_DATA,
                                 "%s: no data_batch_1.bin or train.bin in it; expected the binary "
                                 "version of CIFAR, cifar-10-binary.tar.gz or "
                                 "cifar-100-binary.tar.gz (the one for Python holds pickles, the "
                                 "one for MATLAB .mat files: these are not read)",
                                 archive);
}

/* Opens the shards PREFIX* in the room as part NAME. CIFAR's binaries are a format of shards
 * (formats.h), so they are read like any others. */
static int open_prefix(struct prepare_sets *sets, const char *name, const struct source_room *room,
                       const char *prefix, const struct prepare_flags *f, struct error *err) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s*", room->folder, prefix) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", room->folder);
    return prepare_sets_open(sets, name, path, &f->reading, err);
}

/* Writes CIFAR-10 or CIFAR-100: the latter has one training file, train.bin, and the former five
 * batches. Both have one file for evaluation. */
static int make_cifar(const struct prepare_flags *f, struct error *err) {
    cleanup_prepare_sets struct prepare_sets sets = {0};
    cleanup_source_room struct source_room room = SOURCE_ROOM_CLOSED;
    if (source_room_open(&room, f->target, err) != 0 ||
        unpack_cifar(f->sources[0], &room, err) != 0)
        return -1;
    const char *training = "data_batch_";
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%.*s/train.bin", PATH_MAX - 16, room.folder);
    if (access(path, F_OK) == 0)
        training = "train.bin";
    if (open_prefix(&sets, "train", &room, training, f, err) != 0 ||
        open_prefix(&sets, "validation", &room, "test", f, err) != 0)
        return -1;
    return write_sets(&sets, f, &room, err);
}

int command_prepare_cifar(int argc, char *const *argv, struct error *err) {
    static const struct archived_set cifar = {.kind = PREPARE_CIFAR,
                                              .name = "cifar",
                                              .archive = "cifar-10-binary.tar.gz",
                                              .make = make_cifar};
    return make_set(&cifar, argc, argv, err);
}

/* --- ImageNet -------------------------------------------------------------------------------- */

/* What the archives on the command line are; borrowed from it. NULL: not given. */
struct imagenet {
    const char *training;
    const char *validation;
};

/* Tells the archives apart by their contents, not by names: the training's is a tar of one tar for
 * each class, the validation's a tar of pictures. They may be given in any order. */
static int sort_archives(const struct prepare_flags *f, struct imagenet *ret, struct error *err) {
    *ret = (struct imagenet){0};
    for (int i = 0; i < f->source_count; i++) {
        const char *path = f->sources[i];
        const struct format *format = NULL;
        if (shard_list_format(path, &format, err) != 0)
            return -1;
        const char **slot = format == &FORMAT_NESTED_TAR ? &ret->training
                            : format == &FORMAT_TAR      ? &ret->validation
                                                         : NULL;
        if (slot == NULL || *slot != NULL)
            return error_set(err, EXIT_CODE_DATA,
                             "%s: %s; expected ILSVRC2012_img_train.tar, a tar of tars, and "
                             "ILSVRC2012_img_val.tar",
                             path, slot == NULL ? "not a tar archive" : "a second one of its kind");
        *slot = path;
    }
    return 0;
}

/* Sets the error of a missing --val-labels; WHAT is the archive that needs it. */
static int fail_labels(const char *what, struct error *err) {
    return error_set(err, EXIT_CODE_USAGE,
                     "%s: ImageNet's validation pictures have no classes; expected --val-labels "
                     "FILE: imagenet_2012_validation_synset_labels.txt of TensorFlow's models, or "
                     "LOC_val_solution.csv of Kaggle",
                     what);
}

/* Opens the validation pictures, which have their classes in a file of their own. They are read
 * with these labels, in place of the reading that the flags describe. */
static int open_validation(struct prepare_sets *sets, const char *path,
                           const struct prepare_flags *f, struct error *err) {
    cleanup_picture_labels struct picture_labels labels = {0};
    if (f->val_labels == NULL)
        return fail_labels(path, err);
    if (picture_labels_read(&labels, f->val_labels, err) != 0)
        return -1;
    const struct shards_reading reading = {.bad_allowed = f->reading.bad_allowed,
                                           .labels = &labels};
    return prepare_sets_open(sets, "validation", path, &reading, err) != 0
               ? error_wrap(err, "--val-labels %s", f->val_labels)
               : 0;
}

/* Opens the parts of ImageNet; callback of prepare_write_together, called on each rank. Without its
 * archive there is no part for evaluation. */
static int open_imagenet(struct prepare_sets *sets, const struct prepare_flags *f,
                         struct error *err) {
    struct imagenet archives;
    if (sort_archives(f, &archives, err) != 0)
        return -1;
    if (archives.training == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "no training archive given; expected ILSVRC2012_img_train.tar, a tar of "
                         "tars");
    if (prepare_sets_open(sets, "train", archives.training, &f->reading, err) != 0 ||
        (archives.validation != NULL && open_validation(sets, archives.validation, f, err) != 0))
        return -1;
    if (archives.validation == NULL)
        log_info("no validation archive given: the training part alone is written");
    return 0;
}

/* The only one of these sets that several ranks can write together. */
static int make_imagenet(const struct prepare_flags *f, struct error *err) {
    return prepare_write_together(f, open_imagenet, err);
}

/* Checks what would otherwise fail after hours of fetching: classes of the validation pictures that
 * are not given, and ranks that would each fetch the same archives. */
static int check_imagenet(const struct prepare_flags *f, struct error *err) {
    int addresses = 0;
    int ranks = 1;
    for (int i = 0; i < f->source_count; i++)
        addresses += download_is_address(f->sources[i]);
    if (addresses == 0)
        return 0;
    if (f->source_count > 1 && f->val_labels == NULL)
        return fail_labels("two archives", err);
    if (prepare_ranks_count(&ranks, err) != 0)
        return -1;
    return ranks == 1 ? 0
                      : error_set(err, EXIT_CODE_USAGE,
                                  "addresses on %d ranks: only files are read by several ranks; "
                                  "fetch the archives once, without mpirun and WORLD_SIZE",
                                  ranks);
}

int command_prepare_imagenet(int argc, char *const *argv, struct error *err) {
    static const struct archived_set imagenet = {.kind = PREPARE_IMAGENET,
                                                 .name = "imagenet",
                                                 .check = check_imagenet,
                                                 .make = make_imagenet};
    return make_set(&imagenet, argc, argv, err);
}

/* --- COCO ------------------------------------------------------------------------------------ */

/* Without a name for its archive: COCO has one each for training, evaluation and annotations. */
int command_prepare_zips(int argc, char *const *argv, struct error *err) {
    static const struct archived_set coco = {
        .kind = PREPARE_COCO, .name = "coco", .make = prepare_zips};
    return make_set(&coco, argc, argv, err);
}

/* Flags of `prepare folder` are listed once, by that command; these are the additional ones. */
void command_prepare_archive_help(FILE *out) {
    wrap_printf(out,
                "\nusage: ringtrain prepare flowers flower_photos.tgz TARGET [--FLAG VALUE]...\n"
                "       ringtrain prepare cifar cifar-10-binary.tar.gz TARGET [--FLAG VALUE]...\n"
                "       ringtrain prepare imagenet ILSVRC2012_img_train.tar "
                "[ILSVRC2012_img_val.tar] TARGET [--FLAG VALUE]...\n\n"
                "Write these data sets from the archives in which they are published: files, or "
                "addresses of https://, which are fetched. They take the flags of prepare folder "
                "and these:\n\n");
    prepare_flags_print(out, PREPARE_FLOWERS | PREPARE_IMAGENET);
    wrap_printf(out, "\nusage: ringtrain prepare coco ARCHIVE.zip... TARGET [--threads N]\n\n"
                     "Unpacks COCO's archives (train2017.zip, val2017.zip, "
                     "annotations_trainval2017.zip), files or addresses, and verifies each "
                     "file.\n\n");
    prepare_flags_print(out, PREPARE_COCO);
}
