#include "trainer/data/archive/member_path.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

static bool is_name(const char *name, size_t size) {
    if (size == 0 || size > NAME_MAX)
        return false;
    return memcmp(name, "..", size < 2 ? size : 2) != 0 || size > 2;
}

bool member_path_is_safe(const char *path) {
    if (strlen(path) >= PATH_MAX)
        return false;
    for (;;) {
        const char *slash = strchr(path, '/');
        const size_t size = slash != NULL ? (size_t)(slash - path) : strlen(path);
        if (!is_name(path, size))
            return false;
        if (slash == NULL)
            return true;
        path = slash + 1;
    }
}

bool member_path_is_name(const char *name) {
    return strchr(name, '/') == NULL && member_path_is_safe(name);
}
