/* How the pictures of a detector's sets become batches. */
#include "task/detect_batches.h"

#include "detect_ask.h"

#include "common/log.h"
#include "task/detect_data.h"

/* Every place of a batch is computed: a set that is scored has no more than it fills. A training
 * keeps what it is told. */
static void what_is_scored_takes_no_more_places_than_it_fills(void) {
    struct task_ask ask = ask_with(NULL, NULL);
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

/* Pictures lie and stand in turns, and a step takes those of one canvas. */
static void pictures_that_fill_no_batch_are_told(void) {
    static char turns[PATH_MAX / 2];
    struct prepare_options o;
    struct task_ask ask = ask_with(NULL, NULL);
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
        CU_ASSERT_EQUAL(strstr(heard, "never learnt from") != NULL, batch == 3);
        task_close(&data);
    }
    ASSERT_CONTAINS(heard, "2 pictures are never learnt from: a step takes 3 of one canvas, and "
                           "there are 2 on ");
}

int main(void) {
    static const struct unit_case cases[] = {
        UNIT(make_set),
        UNIT(what_is_scored_takes_no_more_places_than_it_fills),
        UNIT(pictures_that_fill_no_batch_are_told),
    };
    (void)log_set_sink((struct log_sink){.put = hear});
    if (comm_self_open(&alone, NULL) != 0)
        return 1;
    int result = unit_main("app.detect_batches", cases, sizeof(cases) / sizeof(cases[0]));
    comm_close(alone);
    return result;
}
