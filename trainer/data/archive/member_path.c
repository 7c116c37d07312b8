#include "trainer/data/archive/member_path.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

/* Returns true if the SIZE bytes of NAME, which has no NUL after them, can name a file. Comparing
 * two bytes at most catches "." and "..", and nothing else that begins with a dot. */
static bool is_name(const char *name, size_t size) {
    if (size == 0 || size > NAME_MAX)
        return false;
    return memcmp(name, "..", size < 2 ? size : 2) != 0 || size > 2;
}

bool member_path_is_safe(const char *path) {
    if (strlen(path) >= PATH_MAX)
        return false;
    /* Each part up to a slash must be a name. An absolute path fails by its empty first part, and a
     * path that ends in a slash by its empty last one. */
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
