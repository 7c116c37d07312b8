#include "trainer/app/board/board_batch.h"

#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>

struct shown {
    struct board *board;
    int64_t step;
};

static int take(void *user, const struct task_picture *picture, struct error *err) {
    const struct shown *s = user;
    char tag[64];
    (void)snprintf(tag, sizeof(tag), "batch/%" PRId64, picture->id);
    const struct tfevents_picture event = {.tag = tag,
                                           .height = picture->height,
                                           .width = picture->width,
                                           .bytes = picture->bytes,
                                           .size = picture->size};
    return picture->size <= TFEVENTS_PICTURE_MAX
               ? tfevents_add_picture(&s->board->steps, clock_wall(), s->step, &event, err)
               : 0;
}

int board_batch(struct board *board, int64_t step, const struct task_data *data,
                const struct batch *batch, size_t count, struct error *err) {
    struct shown shown = {board, step};
    const struct task_show show = {.count = count, .take = take, .user = &shown};
    if (!board_is_open(board) || count == 0 || batch == NULL)
        return 0;
    return data->task->batch_show(data, batch, &show, err);
}
