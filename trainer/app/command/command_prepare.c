#include "common/table.h"
#include "common/text/nearest.h"
#include "common/text/wrap.h"
#include "trainer/app/command/coco/command_coco.h"
#include "trainer/app/command/command.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/command/prepare/command_prepare_archive.h"
#include "trainer/app/command/prepare/command_prepare_folder.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/data/shapes/prepare.h"
#include "trainer/data/shapes/shapes.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct shapes_flags {
    int64_t train;
    int64_t validation;
    int64_t classes;
    int64_t side;
    int64_t quality;
    int64_t seed;
};

enum { PREPARE = 1 };

/* prepare_shapes makes at least one picture of each class in a set. */
#define ROW(name_, field_, low, high, help_)                                                       \
    {                                                                                              \
        .name = (name_), .type = FLAG_INT, .offset = offsetof(struct shapes_flags, field_),        \
        .min = (low), .max = (high), .commands = PREPARE, .value = "N", .help = (help_)            \
    }

static const struct flag FLAGS[] = {
    ROW("train", train, 2, PREPARE_COUNT_MAX, "training pictures"),
    ROW("validation", validation, 2, PREPARE_COUNT_MAX, "validation pictures"),
    ROW("classes", classes, 2, SHAPE_FORMS, "forms"),
    ROW("side", side, PREPARE_SIDE_MIN, PREPARE_SIDE_MAX, "side of the square pictures, in pixels"),
    ROW("quality", quality, 1, 100, "quality of the JPEGs"),
    ROW("seed", seed, 0, 9e15, "seed of the random shapes"),
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

/* The sets that are made of something that is there. */
static const struct set_writer {
    const char *word;
    int (*run)(int argc, char *const *argv, struct error *err);
} WRITERS[] = {
    {"folder", command_prepare_folder}, {"flowers", command_prepare_flowers},
    {"cifar", command_prepare_cifar},   {"imagenet", command_prepare_imagenet},
    {"coco", command_prepare_zips},
};

static int refuse(const char *word, struct error *err) {
    struct nearest nearest = nearest_begin(word, strlen(word));
    char words[NEAREST_WORDS_MAX] = "";
    nearest_try(&nearest, "shapes");
    for (size_t i = 0; i < TABLE_COUNT(WRITERS); i++)
        nearest_try(&nearest, WRITERS[i].word);
    if (strcmp(word, "shapes") == 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "usage: ringtrain prepare shapes DIR [--FLAG N]...: DIR, where the "
                         "pictures go, comes first, flags after it");
    (void)nearest_words(&nearest, words);
    return error_set(err, EXIT_CODE_USAGE,
                     "'%.64s' cannot be prepared; expected shapes (ringtrain prepare shapes DIR), "
                     "folder (ringtrain prepare folder SOURCE TARGET), flowers, cifar, imagenet or "
                     "coco%s",
                     word, words);
}

int command_prepare(int argc, char *const *argv, struct error *err) {
    if (argc > 0 && strcmp(argv[0], "shapes") == 0 && flags_has_word(argc, argv, "coco"))
        return command_prepare_coco(argc - 1, argv + 1, err);
    const struct set_writer *writer = argc > 0 ? TABLE_FIND(WRITERS, word, argv[0]) : NULL;
    if (writer != NULL)
        return writer->run(argc - 1, argv + 1, err);
    if (argc < 2 || strcmp(argv[0], "shapes") != 0 || argv[1][0] == '-')
        return refuse(argc > 0 ? argv[0] : "", err);
    struct prepare_options o;
    prepare_defaults(&o);
    struct shapes_flags f = {o.train, o.validation, o.classes, o.side, o.quality, (int64_t)o.seed};
    if (flags_parse(FLAGS, FLAG_COUNT, PREPARE, argc - 2, argv + 2, &f, err) != 0)
        return -1;
    o.folder = argv[1];
    o.train = (int)f.train;
    o.validation = (int)f.validation;
    o.classes = (int)f.classes;
    o.side = (int)f.side;
    o.quality = (int)f.quality;
    o.seed = (uint64_t)f.seed;
    struct writing writing;
    writing_open(&writing, STDERR_FILENO, f.train + f.validation);
    o.written = writing_show;
    o.context = &writing;
    int result = prepare_shapes(&o, err);
    writing_close(&writing);
    if (result != 0)
        return -1;
    printf("%s: %d pictures to train on in train/, %d to evaluate on in val/, %d classes, "
           "%d x %d px; train with --data %s\n",
           o.folder, o.train, o.validation, o.classes, o.side, o.side, o.folder);
    return 0;
}

void command_prepare_help(FILE *out, int argc, char *const *argv) {
    (void)argc, (void)argv;
    struct prepare_options o;
    prepare_defaults(&o);
    wrap_printf(out,
                "usage: ringtrain prepare shapes DIR [--FLAG N]...\n\nWrites JPEGs of coloured "
                "shapes to DIR/train/CLASS and DIR/val/CLASS, the same for the same flags. "
                "Defaults: %d to train on, %d to evaluate on, %d classes, %d px, quality %d.\n\n",
                o.train, o.validation, o.classes, o.side, o.quality);
    flags_print(out, FLAGS, FLAG_COUNT, PREPARE, 0, NULL);
    command_prepare_coco_help(out);
    command_prepare_folder_help(out);
    command_prepare_archive_help(out);
}
