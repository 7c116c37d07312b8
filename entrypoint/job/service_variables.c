#include "entrypoint/job/service_variables.h"

#include "common/str.h"

#include <ctype.h>
#include <string.h>

/* Returns true if NAME contains "_PORT_" and a number, followed by '_' or the end. */
static bool has_port_number(const char *name, size_t size) {
    static const char port[] = "_PORT_";
    for (size_t at = 0; at + sizeof(port) <= size; at++) {
        size_t end = at + sizeof(port) - 1;
        if (memcmp(name + at, port, sizeof(port) - 1) != 0 || !isdigit((unsigned char)name[end]))
            continue;
        while (end < size && isdigit((unsigned char)name[end]))
            end++;
        if (end == size || name[end] == '_')
            return true;
    }
    return false;
}

bool service_variables_is_url(const char *value) {
    return str_starts_with(value, "tcp://") || str_starts_with(value, "udp://") ||
           str_starts_with(value, "sctp://");
}

bool service_variables_has(const char *variable, size_t size) {
    static const char host[] = "_SERVICE_HOST";
    static const char port[] = "_SERVICE_PORT";
    const char *service_port = memmem(variable, size, port, sizeof(port) - 1);
    const char *value = variable + size + 1;
    if (service_port != NULL) {
        const char *rest = service_port + sizeof(port) - 1;
        return *rest == '=' || *rest == '_';
    }
    return service_variables_is_url(value) || has_port_number(variable, size) ||
           (size >= sizeof(host) &&
            memcmp(variable + size - sizeof(host) + 1, host, sizeof(host) - 1) == 0) ||
           (str_starts_with(variable, "RINGMASTER_NAME=/") ||
            str_starts_with(variable, "RINGMASTER_ENV_"));
}
