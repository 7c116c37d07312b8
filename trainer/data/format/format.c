#include "trainer/data/format/format.h"

int format_report_bad(const struct shard_sink *sink, const struct error *why, struct error *err) {
    if (why->code == EXIT_CODE_DATA)
        return sink->bad(sink->context, why, err);
    if (err != NULL)
        *err = *why;
    return -1;
}
