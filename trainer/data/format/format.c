#include "trainer/data/format/format.h"

/* A scan distinguishes two kinds of trouble. Faults of a shard have EXIT_CODE_DATA and go to the
 * sink, which counts them and decides whether the scan continues. Errors of the system, such as a
 * disk that fails, say nothing about the records, and end the scan. All formats report by these
 * functions, so that the line between the two is the same for each. */

/* Makes WHY the scan's own error; returns -1. */
static int pass_on(const struct error *why, struct error *err) {
    if (err != NULL)
        *err = *why;
    return -1;
}

/* The sink may refuse the record, and then its error ends the scan. */
int format_report_bad(const struct shard_sink *sink, const struct error *why, struct error *err) {
    return why->code == EXIT_CODE_DATA ? sink->bad(sink->context, why, err) : pass_on(why, err);
}

int format_report_lost(const struct shard_sink *sink, const struct shard_loss *loss,
                       const struct error *why, struct error *err) {
    return why->code == EXIT_CODE_DATA ? sink->lost(sink->context, loss, why, err)
                                       : pass_on(why, err);
}

int format_report_rest(const struct shard_sink *sink, const struct shard_file *file, uint64_t begin,
                       const struct error *why, struct error *err) {
    /* The format cannot know how many records lie there: `records` is 0. */
    const struct shard_loss rest = {.begin = begin, .end = file->size};
    return format_report_lost(sink, &rest, why, err);
}
