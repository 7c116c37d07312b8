#include "entrypoint/host/ranks/crew_sinks.h"

#include <stdint.h>

void crew_sinks_tell(const struct crew_sinks *sinks, enum message kind, const json_t *members) {
    json_t *message = message_new(kind);
    if (message != NULL && members != NULL)
        (void)json_object_update(message, (json_t *)(uintptr_t)members);
    sinks->tell(sinks->context, message);
}
