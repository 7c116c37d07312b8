/* Downloads that must finish before the job can begin: code that sagemaker_submit_directory names
 * as an archive, as the SDK sends it, and channels of RINGMASTER_CHANNEL_NAME=ADDRESS (channel
 * "name"; s3://, https://, file:// or first://), for platforms that bring no data themselves. */
#ifndef ENTRYPOINT_JOB_DOWNLOAD_SOURCES_H
#define ENTRYPOINT_JOB_DOWNLOAD_SOURCES_H

#include "common/error.h"
#include "entrypoint/job/sagemaker/channels.h"
#include "entrypoint/job/sagemaker/sagemaker_request.h"
#include "entrypoint/job/settings.h"

#include <stdbool.h>

struct download_source {
    char name[CHANNEL_NAME_MAX + 1];
    const char *address; /* borrowed from the environment */
    bool sharded;        /* each host gets its share of the objects; s3:// only */
};

struct download_sources {
    /* Borrowed; an archive to be unpacked into BASE/code: an address, or a local path. NULL: none.
     */
    const char *code;
    struct download_source channels[CHANNELS_MAX];
    size_t count;
    bool of_first; /* a channel is a folder of the first host, which passes it on */
};

/* NEEDS_CODE is false for `train -- PROGRAM`. The channels are added to CHANNELS, which must not
 * have them yet. */
int download_sources_read(const struct settings *settings, const struct sagemaker_request *request,
                          char *const *environment, bool needs_code, struct channels *channels,
                          struct download_sources *ret, struct error *err);

static inline bool download_sources_any(const struct download_sources *s) {
    return s->code != NULL || s->count > 0;
}

/* Returns true if TEXT names something to download. */
bool download_sources_is_remote(const char *text);

/* Returns true if the submit directory TEXT is an archive: on s3:// or https://, or, by its suffix,
 * a local file (an absolute path, with or without file://), as in the channel "code" of jobs
 * without a network. A directory with such a name is none. */
bool download_sources_is_archive(const char *text);

/* Returns PATH of "file://PATH", else TEXT itself. */
const char *download_sources_path(const char *text);

#endif
