/* ringtrain inspect data: decodes each picture of a data set once and reports what is wrong.
 *
 * The parts of the set are opened as a training would open them, decoded by several threads
 * (data/dataset/verify.h), and compared by the hashes of their bytes. All is reported at the end,
 * to one buffer that is printed at once. A full disk or a closed pipe therefore cannot leave a
 * report that looks complete.
 *
 * What makes a set "not in order" is what would harm a training or falsify its score: pictures that
 * cannot be decoded fully or are left out, and the same bytes under two classes or in two parts.
 * Duplicates within one class of one part are counted, and do no harm. */
#include "trainer/app/command/command_inspect_data.h"
#include "common/str.h"
#include "common/text/wrap.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/log/log.h"
#include "common/system/cpus.h"
#include "trainer/app/command/contact_sheet.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/options/shard_inputs.h"
#include "trainer/app/task/sample_health.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/dataset/folder_walk.h"
#include "trainer/data/dataset/splits.h"
#include "trainer/data/dataset/verify.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TEXT_MAX is a ceiling for sets of which most pictures are bad: each has a line. */
enum { SETS_MAX = SPLITS_PARTS_MAX, TEXT_MAX = 1 << 30 };

/* State of one run: the parts that were opened, and what was found in each. Sums over all parts are
 * in the last three members. */
struct inspection {
    struct shards_reading reading;
    size_t count;
    struct dataset sets[SETS_MAX];
    struct verification verified[SETS_MAX];
    size_t duplicates;  /* files with the same bytes as an earlier one */
    size_t mislabelled; /* groups of files with the same bytes in several classes */
    size_t leaked;      /* groups in several sets */
};

/* Parts that were not opened are zero, and may be closed as well. */
static void inspection_done(struct inspection *in) {
    for (size_t s = 0; s < SETS_MAX; s++) {
        verification_done(&in->verified[s]);
        dataset_done(&in->sets[s]);
    }
}

/* Opens DIR/PART, or DIR if PART is "", as the next part. A failed one counts as well, so that
 * inspection_done closes what it has. */
static int open_set(struct inspection *in, const char *dir, const char *part, struct error *err) {
    char path[PATH_MAX];
    const char *slash = part[0] != '\0' ? "/" : "";
    if (snprintf(path, sizeof(path), "%s%s%s", dir, slash, part) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", dir);
    return dataset_open_as(&in->sets[in->count++], path, &in->reading, err);
}

/* Opens the shards at PATH, for training and for evaluation. *RET_FOUND is false if PATH is no set
 * of shards; then nothing is opened. */
static int open_shards(struct inspection *in, const char *path, bool *ret_found,
                       struct error *err) {
    struct shard_inputs shards;
    if (shard_inputs_find(&shards, path, err) != 0)
        return -1;
    *ret_found = shards.found;
    if (shards.training[0] != '\0' && open_set(in, shards.training, "", err) != 0)
        return -1;
    return shards.validation[0] != '\0' ? open_set(in, shards.validation, "", err) : 0;
}

/* Opens all parts of DIR, or DIR itself if it has none. Unlike a training, which takes one part for
 * each purpose, this opens every part that the folder has. Shards are tried first, as in
 * inputs.c. */
static int open_sets(struct inspection *in, const char *dir, struct error *err) {
    struct splits splits;
    bool found = false;
    if (open_shards(in, dir, &found, err) != 0)
        return -1;
    if (found)
        return 0;
    if (splits_find(&splits, dir, err) != 0)
        return -1;
    if (splits.note[0] != '\0')
        log_warning("%s", splits.note);
    if (!splits.parts)
        return open_set(in, dir, "", err);
    for (size_t i = 0; i < SPLITS_PARTS_MAX && splits.all[i][0] != '\0'; i++)
        if (open_set(in, dir, splits.all[i], err) != 0)
            return -1;
    return 0;
}

/* Appends the classes with the numbers of their pictures, and how far the largest and the smallest
 * are apart. An empty class makes a ratio impossible; its 0 in the list says it. */
static int print_classes(const struct dataset *set, struct buf *text, struct error *err) {
    cleanup_free size_t *counts = calloc(set->classes + 1, sizeof(*counts));
    if (counts == NULL)
        return error_no_memory(err, "counts of classes");
    for (size_t i = 0; i < set->count; i++)
        counts[set->labels[i]]++;
    size_t least = 0;
    size_t most = 0;
    for (size_t c = 0; c < set->classes; c++) {
        least = counts[c] < counts[least] ? c : least;
        most = counts[c] > counts[most] ? c : most;
        if (buf_printf(text, err, "  %8zu  %s\n", counts[c], set->class_names[c]) != 0)
            return -1;
    }
    if (set->classes < 2 || counts[least] == 0)
        return 0;
    return buf_printf(text, err,
                      "  balance: the largest class, %s, has %.1f times the pictures of the "
                      "smallest, %s\n",
                      set->class_names[most], (double)counts[most] / (double)counts[least],
                      set->class_names[least]);
}

/* Appends the range of widths and heights. Bad pictures have no size; if all are bad, nothing is
 * appended. */
static int print_sizes(const struct verification *v, struct buf *text, struct error *err) {
    int least[2] = {INT_MAX, INT_MAX};
    int most[2] = {0, 0};
    for (size_t i = 0; i < v->set->count; i++) {
        const int sides[2] = {v->items[i].width, v->items[i].height};
        for (int k = 0; k < 2 && v->items[i].state != VERIFIED_BAD; k++) {
            least[k] = sides[k] < least[k] ? sides[k] : least[k];
            most[k] = sides[k] > most[k] ? sides[k] : most[k];
        }
    }
    if (most[0] == 0)
        return 0;
    return buf_printf(text, err, "  width %d to %d, height %d to %d pixels\n", least[0], most[0],
                      least[1], most[1]);
}

/* Appends mean and deviation of the pixels in the form of a training's flags, to be copied. Nothing
 * without a picture that was decoded. */
static int print_pixels(const struct verification *v, struct buf *text, struct error *err) {
    double mean[3];
    double deviation[3];
    if (!(v->pixels.pictures > 0))
        return 0;
    pixel_statistics_result(&v->pixels, mean, deviation);
    return buf_printf(text, err,
                      "  mean and deviation of red, green, blue: --mean %.4f,%.4f,%.4f --std "
                      "%.4f,%.4f,%.4f\n",
                      mean[0], mean[1], mean[2], deviation[0], deviation[1], deviation[2]);
}

/* Appends a line for each picture of STATE, in the order of the set, with the decoder's reason. */
static int print_faults(const struct verification *v, enum verified_state state, const char *word,
                        struct buf *text, struct error *err) {
    char name[PATH_MAX];
    for (size_t i = 0; i < v->set->count; i++) {
        if (v->items[i].state != state)
            continue;
        dataset_sample_name(v->set, i, name, sizeof(name));
        if (buf_printf(text, err, "%s: %s: %s\n", word, name, v->items[i].why) != 0)
            return -1;
    }
    return 0;
}

/* Appends the files that no data set would take. The set keeps only some of the names
 * (skipped_files), so the rest is a number. */
static int print_left_out(const struct dataset *set, struct buf *text, struct error *err) {
    const struct skipped_files *left = &set->left_out;
    const char *name = buf_text(&left->names);
    size_t named = 0;
    /* Names are joined by newlines, each ended by one. */
    for (const char *end; (end = strchr(name, '\n')) != NULL; name = end + 1, named++)
        if (buf_printf(text, err, "left out: %s/%.*s\n", set->root, (int)(end - name), name) != 0)
            return -1;
    if (named == left->count)
        return 0;
    return buf_printf(text, err, "left out: %zu more\n", left->count - named);
}

/* Appends all about one part: what the data set notes about itself, size, classes, pixels, and then
 * what is wrong with it, the worst first. */
static int print_set(const struct verification *v, struct buf *text, struct error *err) {
    const struct dataset *set = v->set;
    if (set->note != NULL && buf_printf(text, err, "%s: %s\n", set->root, set->note) != 0)
        return -1;
    if (buf_printf(text, err, "%s: %zu picture%s in %zu class%s, %.1f MB\n", set->root, set->count,
                   STR_PLURAL(set->count), set->classes, set->classes == 1 ? "" : "es",
                   (double)set->bytes / 1e6) != 0 ||
        print_sizes(v, text, err) != 0 || print_classes(set, text, err) != 0 ||
        print_pixels(v, text, err) != 0 || print_faults(v, VERIFIED_BAD, "bad", text, err) != 0 ||
        print_faults(v, VERIFIED_DAMAGED, "damaged", text, err) != 0)
        return -1;
    return print_left_out(set, text, err);
}

/* Appends one group of files with the same bytes, and what that means. The first file is the
 * original, the others are duplicates. Classes are compared by name, since the parts of a set may
 * number them differently. */
static int print_group(struct inspection *in, const struct content *group, size_t size,
                       struct buf *text, struct error *err) {
    char name[PATH_MAX];
    bool labels = false;
    bool sets = false;
    const struct dataset *first = &in->sets[group[0].set];
    const char *class_name = first->class_names[first->labels[group[0].sample]];
    for (size_t i = 1; i < size; i++) {
        const struct dataset *set = &in->sets[group[i].set];
        sets = sets || group[i].set != group[0].set;
        labels = labels || strcmp(set->class_names[set->labels[group[i].sample]], class_name) != 0;
    }
    /* The sums are for the last line (print_verdict). */
    in->duplicates += size - 1;
    in->mislabelled += labels;
    in->leaked += sets;
    if (buf_printf(text, err, "same bytes%s:",
                   labels && sets ? " in other classes and sets"
                   : labels       ? " in other classes"
                   : sets         ? " in other sets"
                                  : "") != 0)
        return -1;
    for (size_t i = 0; i < size; i++) {
        const struct dataset *set = &in->sets[group[i].set];
        dataset_sample_name(set, group[i].sample, name, sizeof(name));
        if (buf_printf(text, err, " %s", name) != 0 ||
            /* A name in a shard does not say the class. */
            (set->kind == DATASET_SHARDS &&
             buf_printf(text, err, " (%s)", set->class_names[set->labels[group[i].sample]]) != 0))
            return -1;
    }
    return buf_add_text(text, "\n", err);
}

/* Appends all groups of files with the same bytes, over all parts together. */
static int print_duplicates(struct inspection *in, struct buf *text, struct error *err) {
    cleanup_duplicates struct duplicates found = {0};
    size_t first = 0;
    if (duplicates_find(&found, in->verified, in->count, err) != 0)
        return -1;
    /* Groups lie one after the other in the sorted list; FIRST is moved to the start of each. */
    for (size_t size; (size = duplicates_next(&found, first, &first)) > 0; first += size)
        if (print_group(in, &found.items[first], size, text, err) != 0)
            return -1;
    return 0;
}

/* Appends the last line. *RET_WRONG: true if something is wrong. `bad` of a set are records that
 * could not even be listed as samples; those of its verification could not be decoded. */
static int print_verdict(const struct inspection *in, struct buf *text, bool *ret_wrong,
                         struct error *err) {
    size_t bad = 0, damaged = 0, left = 0, pictures = 0;
    for (size_t s = 0; s < in->count; s++) {
        bad += in->verified[s].bad + in->sets[s].bad;
        damaged += in->verified[s].damaged;
        left += in->sets[s].left_out.count;
        pictures += in->sets[s].left_out.pictures;
    }
    *ret_wrong = bad + damaged + pictures + in->mislabelled + in->leaked > 0;
    return buf_printf(text, err,
                      "found: %zu bad, %zu damaged, %zu left out (%zu of them pictures), %zu "
                      "duplicates (%zu times in several classes, %zu times in several sets): %s\n",
                      bad, damaged, left, pictures, in->duplicates, in->mislabelled, in->leaked,
                      *ret_wrong ? "not in order" : "in order");
}

/* The contact sheet comes first: it shows some pictures of each class, and is of use also if the
 * long decoding is stopped. Each part is verified and described before the next. */
static int inspect(struct inspection *in, const char *dir, int threads, const char *sheet,
                   struct buf *text, bool *ret_wrong, struct error *err) {
    if (open_sets(in, dir, err) != 0 ||
        (sheet != NULL && contact_sheet_write(&in->sets[0], sheet, err) != 0))
        return -1;
    for (size_t s = 0; s < in->count; s++) {
        log_info("decoding %zu picture%s of %s with %d thread%s", in->sets[s].count,
                 STR_PLURAL(in->sets[s].count), in->sets[s].root, threads, STR_PLURAL(threads));
        if (verify_set(&in->verified[s], &in->sets[s], threads, err) != 0 ||
            print_set(&in->verified[s], text, err) != 0)
            return -1;
    }
    if (print_duplicates(in, text, err) != 0)
        return -1;
    return print_verdict(in, text, ret_wrong, err);
}

/* Values of the flags below. There is no flag for the size of pictures: each is decoded as it
 * is. */
struct inspect_options {
    int64_t threads;
    const char *contact_sheet;
    int label_base; /* enum shards_base */
};

/* In the order of enum shards_base. */
static const char *const LABEL_BASES[] = {"auto", "0", "1", NULL};

static const struct flag FLAGS[] = {
    {.name = "threads",
     .type = FLAG_INT,
     .offset = offsetof(struct inspect_options, threads),
     .standard = "0",
     .max = VERIFY_THREADS_MAX,
     .commands = 1,
     .value = "N",
     .help = "threads that decode (0: as many as cores)"},
    {.name = "contact-sheet",
     .type = FLAG_TEXT,
     .offset = offsetof(struct inspect_options, contact_sheet),
     .commands = 1,
     .value = "FILE",
     .help = "write a picture with some pictures of each class of the first set, to look at: .png "
             "or .jpg"},
    {.name = "label-base",
     .type = FLAG_CHOICE,
     .offset = offsetof(struct inspect_options, label_base),
     .standard = "auto",
     .choices = LABEL_BASES,
     .commands = 1,
     .help = "the first class's number in shards; auto: 0, or 1 in TFRecord if no record has the "
             "class 0"},
};

/* Returns EXIT_CODE_DATA without an error if something is wrong with the set: the report has been
 * printed, and says what. */
int command_inspect_data(int argc, char *const *argv, struct error *err) {
    struct inspect_options o = {0};
    /* DIR is a word without a flag, so it has a fixed place; the flags follow. */
    if (argc < 1 || argv[0][0] == '-')
        return error_set(err, EXIT_CODE_USAGE,
                         "usage: ringtrain inspect data DIR [--threads N]: DIR comes first");
    if (flags_parse(FLAGS, sizeof(FLAGS) / sizeof(FLAGS[0]), 1, argc - 1, argv + 1, &o, err) != 0)
        return -1;
    if (o.contact_sheet != NULL && contact_sheet_check(o.contact_sheet, err) != 0)
        return -1;
    /* Bad samples are all accepted at the opening, since finding them is what this command is for.
     * More threads than VERIFY_THREADS_MAX are not started, and a machine without an answer has
     * one. */
    int threads = o.threads > 0 ? (int)o.threads : cpus_affinity();
    threads = threads < 1 ? 1 : threads > VERIFY_THREADS_MAX ? VERIFY_THREADS_MAX : threads;
    cleanup_buf struct buf text = {.max = TEXT_MAX};
    struct inspection in = {
        .reading = {.bad_allowed = INT64_MAX, .base = (enum shards_base)o.label_base}};
    bool wrong = false;
    int result = inspect(&in, argv[0], threads, o.contact_sheet, &text, &wrong, err);
    inspection_done(&in);
    if (result != 0 || output_text(buf_text(&text), err) != 0)
        return -1;
    return wrong ? EXIT_CODE_DATA : EXIT_CODE_OK;
}

void command_inspect_data_help(FILE *out) {
    wrap_printf(
        out,
        "\nusage: ringtrain inspect data DIR|SHARD|PREFIX* [--FLAG VALUE]...\n\n"
        "Reads and decodes every picture once, of DIR's class folders (or of its train/, "
        "val/ and test/) or of shards: one, a folder of them, or FOLDER/PREFIX*. Lists what "
        "cannot be used, what is damaged, what is left out (taken are %s, in the class "
        "folders and below) and files with the same bytes; counts classes and sizes, and "
        "takes the mean and the deviation of the pixels. Leaves with %d when something is "
        "bad, damaged or a picture is left out, or the same bytes lie in two classes or in "
        "train/ and val/.\n",
        PICTURE_SUFFIXES, EXIT_CODE_DATA);
    flags_print(out, FLAGS, sizeof(FLAGS) / sizeof(FLAGS[0]), 1, 0, NULL);
}
