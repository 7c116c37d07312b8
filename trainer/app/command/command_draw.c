/* ringtrain draw: draws objects on pictures.
 *
 * The steps: open the folder, read the detections, choose and load a set of annotations, determine
 * all output paths, then read, paint and write one picture at a time. All paths are known before
 * the first picture is drawn (draw_targets.h), so a file that is in the way ends the command before
 * it has done anything.
 *
 * A picture that cannot be used does not end the command: it is named in a warning, and the exit
 * code at the end says that some are missing. A single picture that was asked for is an error at
 * once. No network, device or rank takes part. */
#include "common/cleanup.h"
#include "common/log/log.h"
#include "common/text/wrap.h"
#include "trainer/app/command/command.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/data/coco/coco_folder.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/draw/draw_names.h"
#include "trainer/data/draw/draw_targets.h"
#include "trainer/data/draw/painter.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

/* The bit of this command in its own table of flags. */
enum { DRAW = 1 };

/* In the order of `format`: 0 is JPEG, 1 is PNG. The extension of the files follows it, whatever
 * the images' own names end with. */
static const char *const FORMATS[] = {"jpeg", "png", NULL};

/* Values of the flags below; text is borrowed from the command line, and NULL if it was not
 * given. */
struct flags {
    const char *set;
    const char *name; /* --set */
    const char *out;
    const char *results;
    const char *pictures;
    const char *font;
    int64_t image;
    int64_t count;
    double least_score;
    int format;
    bool beside;
};

/* Only --coco and --out are needed. Defaults that depend on the data, of --set and --pictures, are
 * found by run and load_set, and are described in the help. */
static const struct flag FLAGS[] = {
    {.name = "coco",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, set),
     .commands = DRAW,
     .value = "DIR|FILE",
     .help = "a COCO data set, or its annotations"},
    {.name = "out",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, out),
     .commands = DRAW,
     .value = "DIR",
     .help = "folder for the drawn pictures"},
    {.name = "results",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, results),
     .commands = DRAW,
     .value = "FILE",
     .help = "draw these detections instead of the annotations"},
    {.name = "set",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, name),
     .commands = DRAW,
     .value = "NAME",
     .help = "set of a folder with several; default: the first by name, with --results the one "
             "that has their images"},
    {.name = "pictures",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, pictures),
     .commands = DRAW,
     .value = "DIR",
     .help = "folder of the images' files; default: beside the annotations"},
    {.name = "font",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, font),
     .commands = DRAW,
     .value = "FILE",
     .help = "a font (TTF, OTF, TTC) for labels, tried before the system's"},
    /* The default must be no id. COCO's ids are 1 and above, and files with an id 0 exist. */
    {.name = "image",
     .type = FLAG_INT,
     .offset = offsetof(struct flags, image),
     .standard = "-1",
     .min = -1,
     .max = 9e15,
     .commands = DRAW,
     .value = "ID",
     .help = "draw only the image with this id; -1: several"},
    {.name = "count",
     .type = FLAG_INT,
     .offset = offsetof(struct flags, count),
     .standard = "16",
     .min = 1,
     .max = 1e9,
     .commands = DRAW,
     .value = "N",
     .help = "number of pictures to draw, in order of id"},
    /* Bounds are wide: scores of detections are whatever their author writes, logits for
     * instance. */
    {.name = "least-score",
     .type = FLAG_REAL,
     .offset = offsetof(struct flags, least_score),
     .standard = "0.5",
     .min = -1e9,
     .max = 1e9,
     .commands = DRAW,
     .value = "S",
     .help = "least score of a detection to draw"},
    {.name = "beside",
     .type = FLAG_BOOL,
     .offset = offsetof(struct flags, beside),
     .standard = "false",
     .commands = DRAW,
     .value = "true|false",
     .help = "draw the annotations to the left of the detections"},
    {.name = "format",
     .type = FLAG_CHOICE,
     .offset = offsetof(struct flags, format),
     .standard = "jpeg",
     .choices = FORMATS,
     .commands = DRAW,
     .value = "FORMAT",
     .help = "format of the files"},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

/* State of one run. Painter and image keep their buffers from picture to picture. All members but
 * the flags and the folder of the pictures are owned, and closed by drawing_done, opened or not. */
struct drawing {
    const struct flags *flags;
    const char *pictures;
    struct coco_index index;
    struct coco_results results;
    struct painter painter;
    struct image image;
    struct draw_names names;
};

static void drawing_done(struct drawing *d) {
    draw_names_done(&d->names);
    painter_done(&d->painter);
    image_done(&d->image);
    coco_results_done(&d->results);
    coco_index_done(&d->index);
}

/* Draws one picture and prints its path with the number of objects drawn. The request names the
 * annotations, the detections or, with --beside, both, side by side. An error with EXIT_CODE_DATA
 * concerns this picture alone; any other one ends the command. */
static int draw_image(struct drawing *d, const struct draw_target *target, struct error *err) {
    char path[PATH_MAX];
    const struct image *painted = NULL;
    const struct coco_image *image = target->image;
    const struct painter_request request = {.index = &d->index,
                                            .results =
                                                d->flags->results != NULL ? &d->results : NULL,
                                            .truth = d->flags->beside,
                                            .least_score = d->flags->least_score,
                                            .names = &d->names};
    size_t objects = 0;
    /* The path is in messages; the picture keeps its own size, and objects are in its pixels. */
    if (coco_index_picture(&d->index, image, d->pictures, path, sizeof(path), err) != 0 ||
        picture_read(path, &d->image, err) != 0)
        return -1;
    if (painter_paint(&d->painter, &request, (uint32_t)(image - d->index.images), &d->image,
                      &painted, &objects, err) != 0)
        return error_wrap(err, "%s", path);
    if (picture_write(painted, d->flags->format == 1, target->path, err) != 0)
        return -1;
    printf("%s  %zu object%s\n", target->path, objects, objects == 1 ? "" : "s");
    return 0;
}

/* Draws the image with the id of --image, else the first --count images of the index, which is in
 * order of id. */
static int draw_all(struct drawing *d, struct error *err) {
    const struct flags *f = d->flags;
    cleanup_draw_targets struct draw_targets targets = {0};
    size_t first = 0, count = d->index.image_count;
    if (f->image >= 0) {
        uint32_t number = coco_index_image(&d->index, f->image);
        if (number == COCO_NUMBER_NONE)
            return error_set(err, EXIT_CODE_DATA, "%s: no image %" PRId64, f->set, f->image);
        first = number;
        count = 1;
    }
    /* --count has its default if there is an id, and that is at least 1. */
    count = count < (size_t)f->count ? count : (size_t)f->count;
    if (draw_targets_make(&targets, &d->index, first, count, 0, f->out,
                          f->format == 0 ? "jpg" : "png", err) != 0)
        return -1;
    size_t bad = 0;
    for (size_t i = 0; i < targets.count; i++) {
        struct error why = {0};
        if (draw_image(d, &targets.list[i], &why) == 0)
            continue;
        /* Damaged and missing pictures have EXIT_CODE_DATA; a full disk, for instance, has another
         * code. */
        if (why.code != EXIT_CODE_DATA || targets.count == 1) {
            *err = why;
            return -1;
        }
        log_warning("%s", why.text);
        bad++;
    }
    return bad == 0 ? 0
                    : error_set(err, EXIT_CODE_DATA,
                                "%zu of %zu pictures cannot be used; the others are in %s", bad,
                                targets.count, f->out);
}

/* Returns true if all images of the detections are in the index. Detections name images by id
 * alone, so this is the only sign of which set they belong to. An empty list belongs to any set. */
static bool holds_results(const struct drawing *d) {
    for (size_t i = 0; i < d->results.count; i++)
        if (coco_index_image(&d->index, d->results.list[i].image_id) == COCO_NUMBER_NONE)
            return false;
    return true;
}

/* Loads SET, and keeps it as *RET unless detections have images that it lacks. Then the index is
 * closed again for the next attempt, *RET stays NULL, and the result is still 0. */
static int try_set(struct drawing *d, const struct coco_set *set, const struct coco_set **ret,
                   struct error *err) {
    if (coco_load(&d->index, set->json, NULL, err) != 0)
        return -1;
    if (d->flags->results == NULL || holds_results(d))
        *ret = set;
    else
        coco_index_done(&d->index);
    return 0;
}

/* Returns true if SET is tried in the first round. Ids of several sets may overlap, and detections
 * are mostly of a set for evaluation. */
static bool comes_first(const struct coco_set *set, const struct flags *f) {
    return f->results != NULL && strncmp(set->name, "val", 3) == 0;
}

/* Loads the set --set, else the first one by name, or that has all images of the detections. The
 * sets are gone through twice: in the first round those that come first, in the second all others.
 * A set is loaded only when its turn comes, as annotations may be large. */
static int load_set(struct drawing *d, const struct coco_folder *folder,
                    const struct coco_set **ret, struct error *err) {
    const struct flags *f = d->flags;
    const struct coco_set *named = NULL;
    if (f->name != NULL &&
        (named = coco_folder_pick(folder, f->set, f->name, "", "--set", err)) == NULL)
        return -1;
    for (size_t i = 0; i < 2 * folder->count && *ret == NULL; i++) {
        const struct coco_set *set = &folder->sets[i % folder->count];
        /* A set chosen by --set is the only one with a turn, in either round; a second attempt
         * fails as the first one did. */
        bool turn = named != NULL ? set == named : comes_first(set, f) == (i < folder->count);
        if (turn && try_set(d, set, ret, err) != 0)
            return -1;
    }
    return *ret != NULL ? 0
                        : error_set(err, EXIT_CODE_DATA, "%s: it has images that are not in %s%s",
                                    f->results, named != NULL ? named->json : "one set of ",
                                    named != NULL ? "" : f->set);
}

/* Detections are read before the annotations: they decide which set is loaded. */
static int run(struct drawing *d, struct error *err) {
    const struct flags *f = d->flags;
    cleanup_coco_folder struct coco_folder folder = {0};
    const struct coco_set *set = NULL;
    if (coco_folder_open(&folder, f->set, err) != 0 ||
        (f->results != NULL && coco_results_read(&d->results, f->results, err) != 0) ||
        load_set(d, &folder, &set, err) != 0)
        return -1;
    /* The folder beside the annotations may be empty text: a JSON file alone is a data set as
     * well. */
    d->pictures = f->pictures != NULL ? f->pictures : set->pictures;
    if (d->pictures[0] == '\0')
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: no folder of pictures beside it; give --pictures DIR", set->json);
    /* Labels need the names of the index that was loaded, and may need fonts, which are opened
     * here. */
    return draw_names_of_index(&d->names, &d->index, f->font, err) == 0 ? draw_all(d, err) : -1;
}

/* Flags that would have no effect are refused, since the user of one expects something of it.
 * --count and --least-score have defaults that the parsed value does not differ from, so the line
 * itself is asked (flags_has_word). */
int command_draw(int argc, char *const *argv, struct error *err) {
    struct flags flags = {0};
    if (flags_parse(FLAGS, FLAG_COUNT, DRAW, argc, argv, &flags, err) != 0)
        return -1;
    if (flags.set == NULL || flags.out == NULL)
        return error_set(err, EXIT_CODE_USAGE, "usage: ringtrain draw --coco DIR|FILE --out DIR");
    if (flags.results == NULL && flags_has_word(argc, argv, "least-score"))
        return error_set(err, EXIT_CODE_USAGE, "--least-score needs --results FILE");
    if (flags.results == NULL && flags.beside)
        return error_set(
            err, EXIT_CODE_USAGE,
            "--beside needs --results FILE, to draw the detections beside the ground truth");
    if (flags.image >= 0 && flags_has_word(argc, argv, "count"))
        return error_set(err, EXIT_CODE_USAGE,
                         "--image draws a single picture; do not give --count with it");
    struct drawing drawing = {.flags = &flags};
    int result = run(&drawing, err);
    drawing_done(&drawing);
    return result;
}

/* ARGV does not matter: the flags are the same for every data set. */
void command_draw_help(FILE *out, int argc, char *const *argv) {
    (void)argc, (void)argv;
    wrap_printf(
        out, "usage: ringtrain draw --coco DIR|FILE --out DIR [--FLAG VALUE]...\n\nPaints boxes, "
             "masks and labels on a data set's pictures: its annotations, or detections. Folders "
             "in images' names are "
             "kept under --out; nothing that is there already is written over. Labels take each "
             "character from the first font that has it: --font, DejaVu Sans, and for Chinese, "
             "Japanese and Korean Noto Sans CJK or WenQuanYi, where they are installed. One that "
             "no font has is spelled (Latin without marks, others as U+ and a number), and a "
             "warning says how. Nothing is joined or written from right to left.\n\n");
    flags_print(out, FLAGS, FLAG_COUNT, DRAW, 0, NULL);
}
