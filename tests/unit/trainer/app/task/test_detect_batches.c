/* How the pictures of a detector's sets become batches. */
#include "trainer/app/task/detect_batches.h"

#include "tests/unit/trainer/app/task/detect_ask.h"

#include "common/log/log.h"
#include "trainer/app/task/detect_data.h"
#include "trainer/app/task/tasks.h"

/* Every place of a batch is computed, so a batch for scoring has no more places than the set fills.
 * A training keeps the requested batch size. */
static void what_is_scored_takes_no_more_places_than_it_fills(void) {
    struct task_request ask = ask_with(NULL, NULL);
    struct task_data data, again;
    struct model_config config = {0};
    struct error err = {0};
    options.batch_size = 16;
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    CU_ASSERT_EQUAL(data.training.source.batch, 16);
    CU_ASSERT_EQUAL(data.validation.source.batch, 16);
    data.task->describe(&data, &ask, &config);
    ask.trained = &config;
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    CU_ASSERT_EQUAL(again.validation.source.batch, VALIDATION);
    const struct batch_layout *layout = &again.validation.source.layout;
    CU_ASSERT_EQUAL(layout->fields[batch_layout_find(layout, "mask_bits")].bytes,
                    (size_t)again.objects.mask_bytes);
    task_close(&again);
    options.batch_size = 4;
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    CU_ASSERT_EQUAL(again.validation.source.batch, 4);
    task_close(&again);

    cleanup_picture_list struct picture_list one = {0};
    const struct detect_data *d = data.own;
    char path[PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(detection_set_path(&d->validation.set, 0, path, sizeof(path), &err), 0);
    CU_ASSERT_EQUAL_FATAL(picture_list_add(&one, path, &err), 0);
    ask.pictures = &one;
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    CU_ASSERT_EQUAL(again.validation.source.batch, 1);
    task_close(&again);
    task_close(&data);
}

static char heard[4096]; /* what was logged */

static void hear(void *context, const char *line, size_t size) {
    (void)context;
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof(heard) - used, "%.*s", (int)size, line);
}

/* Landscape and portrait pictures alternate, and a step takes pictures of one canvas. */
static void pictures_that_fill_no_batch_are_reported(void) {
    static char turns[PATH_MAX / 2];
    struct prepare_options o;
    struct task_request ask = ask_with(NULL, NULL);
    struct task_data data;
    struct error err = {0};
    coco_shapes_defaults(&o);
    snprintf(turns, sizeof(turns), "%s/turns", unit_temp_dir());
    o.folder = turns;
    o.train = 5;
    o.validation = 1;
    o.side = 96;
    o.long_side = 144;
    CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&o, NULL), 0);
    snprintf(inputs.training, sizeof(inputs.training), "%s", turns);
    inputs.scored = false;
    options.canvases = "96x160,160x96";
    for (int batch = 2; batch <= 3; batch++) {
        options.batch_size = batch;
        heard[0] = '\0';
        CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
        CU_ASSERT_EQUAL(strstr(heard, "never used for training") != NULL, batch == 3);
        task_close(&data);
    }
    ASSERT_CONTAINS(heard,
                    "2 pictures are never used for training: a step takes 3 of one canvas, and "
                    "there are 2 on ");
}

/* The pictures of each canvas that do not fill a whole step. */
static void what_an_epoch_leaves_out_is_reported(void) {
    struct task_request ask = ask_with(NULL, NULL);
    struct task_data data;
    struct error err = {0};
    char expected[128];
    for (int batch = 2; batch <= 5; batch++) {
        options.batch_size = batch;
        heard[0] = '\0';
        CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
        size_t rest = 0;
        for (int g = 0; g < data.training.groups.count; g++)
            rest += data.training.groups.sizes[g] % (size_t)batch;
        snprintf(expected, sizeof(expected),
                 "each epoch leaves out %zu of %zu pictures, not always the same: a step takes %d",
                 rest, data.training.source.count, batch);
        CU_ASSERT_EQUAL(strstr(heard, expected) != NULL, rest > 0);
        CU_ASSERT_EQUAL(strstr(heard, "leaves out") != NULL, rest > 0);
        task_close(&data);
    }
}

/* If sizes are drawn, pictures choose their canvas anew in every epoch, and there are smaller
 * canvases. */
static void drawn_sizes_have_a_choice_of_canvases(void) {
    struct task_request ask = ask_with(NULL, NULL);
    struct task_data still, drawn;
    struct error err = {0};
    options.short_side = 256;
    options.long_side = 448;
    CU_ASSERT_EQUAL_FATAL(task_open(&still, &ask, &err), 0);
    CU_ASSERT_PTR_NULL(still.training.groups.choose);
    options.short_low = 128;
    options.short_step = 64;
    CU_ASSERT_EQUAL_FATAL(task_open(&drawn, &ask, &err), 0);
    const struct detect_data *d = drawn.own;
    CU_ASSERT(drawn.training.canvas_count > still.training.canvas_count);
    CU_ASSERT_EQUAL(drawn.training.canvas_count, drawn.validation.canvas_count);
    CU_ASSERT_PTR_NULL(drawn.validation.groups.choose);
    CU_ASSERT_PTR_NOT_NULL_FATAL(drawn.training.groups.choose);
    int smaller = 0;
    for (uint32_t sample = 0; sample < drawn.training.source.count; sample++) {
        const int canvas = drawn.training.groups.choose(drawn.training.groups.user, 1, sample);
        const struct detect_size size =
            detection_draw(&d->training.samples.recipe,
                           detection_picture_size(&d->training.set.pictures[sample]), 1, sample)
                .scaled;
        CU_ASSERT_FATAL(canvas >= 0 && canvas < drawn.training.canvas_count);
        CU_ASSERT(size.height <= drawn.training.canvases[canvas].height);
        CU_ASSERT(size.width <= drawn.training.canvases[canvas].width);
        smaller += drawn.training.groups.sizes[canvas] == 0;
    }
    CU_ASSERT(smaller > 0);
    task_close(&drawn);
    task_close(&still);
}

int main(void) {
    static const struct unit_case cases[] = {
        UNIT(make_set),
        UNIT(what_is_scored_takes_no_more_places_than_it_fills),
        UNIT(pictures_that_fill_no_batch_are_reported),
        UNIT(what_an_epoch_leaves_out_is_reported),
        UNIT(drawn_sizes_have_a_choice_of_canvases),
    };
    (void)log_set_sink((struct log_sink){.put = hear});
    if (comm_self_open(&alone, NULL) != 0)
        return 1;
    int result = unit_main("app.detect_batches", cases, sizeof(cases) / sizeof(cases[0]));
    comm_close(alone);
    return result;
}
