/* What has to be fetched before the job can begin: code that sagemaker_submit_directory names by
 * s3:// or https://, as the SDK sends it, and channels that RINGMASTER_CHANNEL_NAME=ADDRESS gives
 * (channel "name"; s3://, https:// or file://), for platforms that bring no data themselves. */
#ifndef JOB_SOURCES_H
#define JOB_SOURCES_H

#include "common/error.h"
#include "job/channels.h"
#include "job/hyperparameters.h"
#include "job/settings.h"

#include <stdbool.h>

struct source {
    char name[CHANNEL_NAME_MAX + 1];
    const char *address; /* borrowed from the environment */
    bool sharded;        /* each host gets its share of the objects */
};

struct sources {
    const char *code; /* borrowed; an archive, to be unpacked into BASE/code; NULL: none */
    struct source channels[CHANNELS_MAX];
    size_t count;
};

/* NEEDS_CODE is false for `train -- PROGRAM`. The channels are added to CHANNELS, where they must
 * not be yet. */
int sources_read(const struct settings *settings, const struct hyperparameters *h,
                 char *const *environment, bool needs_code, struct channels *channels,
                 struct sources *ret, struct error *err);

static inline bool sources_any(const struct sources *s) {
    return s->code != NULL || s->count > 0;
}

/* Whether TEXT names something to be fetched. */
bool sources_is_remote(const char *text);

#endif
