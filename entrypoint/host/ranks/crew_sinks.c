#include "entrypoint/host/ranks/crew_sinks.h"

#include "entrypoint/wire/frame.h"

#include <stdint.h>

void crew_sinks_tell(const struct crew_sinks *sinks, const char *type, const json_t *members) {
    json_t *message = frame_new(type);
    if (message != NULL && members != NULL)
        (void)json_object_update(message, (json_t *)(uintptr_t)members);
    sinks->tell(sinks->context, message);
}
