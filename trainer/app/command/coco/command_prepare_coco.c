/* ringtrain prepare shapes --coco: writes the sample detection set. */
#include "common/text/wrap.h"
#include "trainer/app/command/coco/command_coco.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/data/shapes/coco_shapes.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum { PREPARE_COCO = 1 };

struct flags {
    const char *folder;
    int64_t train;
    int64_t validation;
    int64_t side;
    int64_t long_side;
    int64_t quality;
    int64_t seed;
};

#define ROW(name_, field_, standard_, low, high, help_)                                            \
    {                                                                                              \
        .name = (name_), .type = FLAG_INT, .offset = offsetof(struct flags, field_),               \
        .standard = (standard_), .min = (low), .max = (high), .commands = PREPARE_COCO,            \
        .value = "N", .help = (help_)                                                              \
    }

static const struct flag FLAGS[] = {
    {.name = "coco",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, folder),
     .commands = PREPARE_COCO,
     .value = "DIR",
     .help = "output folder of the set"},
    ROW("train", train, "300", 1, PREPARE_COUNT_MAX, "training pictures"),
    ROW("validation", validation, "60", 1, PREPARE_COUNT_MAX, "validation pictures"),
    ROW("side", side, "128", PREPARE_SIDE_MIN, PREPARE_SIDE_MAX,
        "side of the square pictures, in pixels"),
    ROW("long-side", long_side, "0", 0, PREPARE_SIDE_MAX,
        "longer side of pictures that are landscape and portrait in turn (0: square)"),
    ROW("quality", quality, "90", 1, 100, "quality of the JPEGs"),
    ROW("seed", seed, "1", 0, 9e15, "seed of the random shapes"),
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

int command_prepare_coco(int argc, char *const *argv, struct error *err) {
    struct flags f = {0};
    if (flags_parse(FLAGS, FLAG_COUNT, PREPARE_COCO, argc, argv, &f, err) != 0)
        return -1;
    if (f.folder == NULL)
        return error_set(err, EXIT_CODE_USAGE, "--coco needs a folder");
    struct prepare_options o = {.folder = f.folder,
                                .train = (int)f.train,
                                .validation = (int)f.validation,
                                .side = (int)f.side,
                                .long_side = (int)f.long_side,
                                .quality = (int)f.quality,
                                .seed = (uint64_t)f.seed};
    struct writing writing;
    writing_open(&writing, STDERR_FILENO, f.train + f.validation);
    o.written = writing_show;
    o.context = &writing;
    int result = coco_shapes_write(&o, err);
    writing_close(&writing);
    if (result != 0)
        return -1;
    printf("%s: %d pictures to train on in train/, %d to evaluate on in val/, annotations in "
           "annotations/\n",
           o.folder, o.train, o.validation);
    return 0;
}

void command_prepare_coco_help(FILE *out) {
    wrap_printf(out,
                "\nusage: ringtrain prepare shapes --coco DIR [--FLAG N]...\n\nWrites a detection "
                "set of circles, squares and triangles with masks, in COCO's layout.\n\n");
    flags_print(out, FLAGS, FLAG_COUNT, PREPARE_COCO, 0, NULL);
}
