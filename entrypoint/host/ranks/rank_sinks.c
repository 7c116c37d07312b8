#include "entrypoint/host/ranks/rank_sinks.h"

#include <stdint.h>

void rank_sinks_send(const struct rank_sinks *sinks, enum message kind, const json_t *members) {
    json_t *message = message_new(kind);
    if (message != NULL && members != NULL)
        (void)json_object_update(message, (json_t *)(uintptr_t)members);
    sinks->send(sinks->context, message);
}
