#include "trainer/data/format/format.h"

static int pass_on(const struct error *why, struct error *err) {
    if (err != NULL)
        *err = *why;
    return -1;
}

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
    const struct shard_loss rest = {.begin = begin, .end = file->size};
    return format_report_lost(sink, &rest, why, err);
}
