#include "trainer/app/serve/batch_sizes.h"

#include "common/clock.h"
#include "common/log/log.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Runs of a size that are timed: others may take the processor meanwhile, so the fastest counts. */
enum { RUNS = 4 };
static const int64_t LONG = CLOCK_SECOND / 2; /* that a size may take with all runs but one */
/* A larger batch also makes its first picture wait: it has to be faster by this much. */
static const double GAIN = 1.03;

/* The first run packs weights and touches memory, and does not count. */
static int time_size(const struct servable *servable, int size, double *ret_speed,
                     struct error *err) {
    int64_t best = INT64_MAX, total = 0;
    for (int run = 0; run <= RUNS && (run < 2 || total < LONG); run++) {
        const int64_t begun_at = clock_now();
        if (servable->table->compute(servable, NULL, 0, size, err) != 0)
            return error_wrap(err, "a batch of %d blank pictures", size);
        const int64_t took = clock_now() - begun_at;
        if (run > 0 && took < best)
            best = took;
        total += took;
    }
    *ret_speed = (double)size * (double)CLOCK_SECOND / (double)(best > 0 ? best : 1);
    return 0;
}

int batch_sizes_choose(const struct servable *servable, struct picture_queue *queue,
                       struct error *err) {
    const int count = queue->size_count;
    char text[256] = "";
    double best = 0;
    int kept = 0;
    if (queue->pads || count < 2)
        return 0;
    for (bool slower = false; kept < count && !slower; kept += !slower) {
        double speed = 0;
        if (time_size(servable, queue->sizes[kept], &speed, err) != 0)
            return -1;
        const size_t length = strlen(text);
        (void)snprintf(text + length, sizeof(text) - length, "%s%d: %.1f/s", kept > 0 ? ", " : "",
                       queue->sizes[kept], speed);
        slower = speed < best * GAIN;
        best = slower ? best : speed;
    }
    for (int i = kept; i < count; i++)
        servable->table->drop(servable, queue->sizes[i]);
    queue->size_count = kept;
    log_info("pictures by size of a batch: %s; batches have at most %d", text,
             queue->sizes[kept - 1]);
    return 0;
}
