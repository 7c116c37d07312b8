#include "entrypoint/job/upload_targets.h"

#include "common/str.h"

#include <string.h>

/* Targets are only checked for their form here: whether a bucket can be written to is found out
 * before the job begins, by a child of host/provision/input_download.h. */

/* Checkpoints in a folder of this host need no upload, as BASE/checkpoints is made a link to it.
 * The output is copied in any case. */
bool upload_targets_upload(const struct settings *s) {
    return s->output != NULL ||
           (s->checkpoints != NULL && !str_starts_with(s->checkpoints, "file:///"));
}

/* TARGET may be NULL. A message quotes at most 256 bytes of it. */
static int check(const char *variable, const char *target, struct error *err) {
    if (target == NULL)
        return 0;
    if (!str_starts_with(target, "s3://") && !str_starts_with(target, "file:///"))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"%.*s\" begins with neither s3:// nor file:///", variable,
                         (int)strnlen(target, 256), target);
    if (strlen(target) > UPLOAD_TARGETS_TEXT_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%s: an address of more than %d bytes", variable,
                         UPLOAD_TARGETS_TEXT_MAX);
    return 0;
}

int upload_targets_check(const struct settings *s, struct error *err) {
    if (check("RINGMASTER_CHECKPOINTS", s->checkpoints, err) != 0)
        return -1;
    return check("RINGMASTER_OUTPUT", s->output, err);
}
