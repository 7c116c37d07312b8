/* ringtrain inspect coco: counts a data set and reports what is wrong in it. */
#include "common/buf.h"
#include "common/text/wrap.h"
#include "trainer/app/command/coco/command_coco.h"
#include "trainer/app/command/output/output.h"
#include "trainer/data/coco/coco_check.h"
#include "trainer/data/coco/coco_folder.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_load.h"

enum { TEXT_MAX = 64 * 1024 * 1024 };

static int print_place(const struct coco_set *set, struct buf *out, struct error *err) {
    if (set->pictures[0] != '\0')
        return buf_printf(out, err, "%s: %s, pictures in %s\n", set->name, set->json,
                          set->pictures);
    return buf_printf(out, err,
                      "%s: %s, no folder of pictures: files are not checked; expected %s/, "
                      "images/%s/ or images/\n",
                      set->name, set->json, set->name, set->name);
}

static int inspect_set(const struct coco_set *set, bool *ret_broken, struct error *err) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    cleanup_buf struct buf text = {.max = TEXT_MAX};
    const char *pictures = set->pictures[0] != '\0' ? set->pictures : NULL;
    if (coco_load(&index, set->json, NULL, err) != 0 ||
        coco_check_make(&check, &index, pictures, err) != 0 || print_place(set, &text, err) != 0 ||
        coco_check_print(&check, &index, &text, err) != 0)
        return -1;
    *ret_broken |= pictures == NULL || coco_check_broken(&check);
    return output_text(buf_text(&text), err);
}

int command_inspect_coco(int argc, char *const *argv, struct error *err) {
    if (argc != 1)
        return error_set(err, EXIT_CODE_USAGE, "usage: ringtrain inspect coco DIR|FILE.json");
    cleanup_coco_folder struct coco_folder folder = {0};
    if (coco_folder_open(&folder, argv[0], err) != 0)
        return -1;
    bool broken = false;
    for (size_t i = 0; i < folder.count; i++)
        if (inspect_set(&folder.sets[i], &broken, err) != 0)
            return -1;
    return broken ? EXIT_CODE_DATA : EXIT_CODE_OK;
}

void command_inspect_coco_help(FILE *out) {
    wrap_printf(out,
                "\nusage: ringtrain inspect coco DIR|FILE.json\n\nCounts a COCO data set "
                "(DIR/annotations/instances_NAME.json, pictures in DIR/NAME or DIR/images) and "
                "tells what is out of order: missing and damaged files, repeated ids, degenerate "
                "boxes, areas that "
                "do not fit. All pictures are decoded. The exit code is %d when files are missing "
                "or damaged, or ids, lists and sizes are wrong; odd boxes and areas alone, as COCO "
                "itself has them, leave it at 0.\n",
                EXIT_CODE_DATA);
}
