#include "trainer/app/run/saving.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "trainer/app/device/memory_left.h"
#include "trainer/app/weights/nan_check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOTES_MAX = 64 * 1024 };

/* A copy is made where this many times its size is free. */
enum { SPARE = 2 };

static int64_t processor_time(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * CLOCK_SECOND + t.tv_nsec;
}

static void clear(struct saving_file *file) {
    free(file->state);
    free(file->config);
    buf_done(&file->notes);
    *file = (struct saving_file){0};
}

void saving_done(struct saving *s) {
    writer_close(&s->writer);
    snapshot_done(&s->snapshot);
    clear(&s->file);
    *s = (struct saving){0};
}

bool saving_is_busy(const struct saving *s) {
    return s->file.folder != NULL;
}

/* Runs on the writer's thread. Resuming from weights that are not finite would fail again: earlier
 * checkpoints are worth more. */
static int write_file(void *user, struct error *err) {
    struct saving_file *file = user;
    const int64_t begun = clock_now(), processor = processor_time();
    const struct checkpoint_words words = {.state = file->state, .config = file->config};
    file->refused = nan_check_arrays(file->arrays, file->count, &file->why) != 0;
    int result = file->refused
                     ? 0
                     : checkpoint_save(file->folder, file->step, file->keep, file->arrays,
                                       file->count, &words, file->path, &file->notes, err);
    file->written_at = clock_wall();
    file->took = clock_now() - begun;
    file->processor = processor_time() - processor;
    return result;
}

static bool has_memory(const struct saving *s, const struct saving_file *file) {
    const int64_t bytes = (int64_t)snapshot_bytes(file->arrays, file->count);
    return (int64_t)s->snapshot.room >= bytes || memory_left("", 1).bytes / SPARE >= bytes;
}

/* Copies the arrays, so that they may change; false if there is no memory for that. */
static bool copy_arrays(struct saving *s) {
    if (!has_memory(s, &s->file) ||
        snapshot_take(&s->snapshot, s->file.arrays, s->file.count, NULL) != 0) {
        if (!s->told)
            log_warning("there is no memory for a copy of the weights: training stands still while "
                        "a checkpoint is written");
        s->told = true;
        return false;
    }
    s->file.arrays = s->snapshot.arrays;
    return true;
}

int saving_begin(struct saving *s, const struct saving_file *file, struct error *err) {
    s->file = *file;
    buf_init(&s->file.notes, NOTES_MAX);
    if (copy_arrays(s)) {
        if ((s->writer.running || writer_open(&s->writer, err) == 0) &&
            writer_submit(&s->writer, write_file, &s->file, err) == 0)
            return 0;
        clear(&s->file);
        return -1;
    }
    s->failure = (struct error){0};
    (void)write_file(&s->file, &s->failure);
    s->ended = true;
    return 0;
}

enum writer_state saving_look(struct saving *s, int64_t deadline, struct error *err) {
    if (s->ended) {
        s->ended = false;
        if (err != NULL)
            *err = s->failure;
        return s->failure.code != 0 ? WRITER_FAILED : WRITER_DONE;
    }
    return deadline == 0 ? writer_poll(&s->writer, err) : writer_drain(&s->writer, deadline, err);
}

void saving_end(struct saving *s) {
    clear(&s->file);
}
