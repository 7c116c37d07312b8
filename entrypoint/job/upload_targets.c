#include "entrypoint/job/upload_targets.h"

#include "common/str.h"

#include <string.h>

bool upload_targets_upload(const struct settings *s) {
    return s->output != NULL ||
           (s->checkpoints != NULL && !str_starts_with(s->checkpoints, "file:///"));
}

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
