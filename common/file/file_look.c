#include "common/file/file_look.h"

#include <errno.h>

bool file_is_absence(int number) {
    return number == ENOENT || number == ENOTDIR;
}

/* stat() follows links, so a dangling one counts as absent. RET is written only if PATH exists. */
int file_look(const char *path, struct stat *ret, bool *ret_there, struct error *err) {
    struct stat st;
    *ret_there = stat(path, &st) == 0;
    if (*ret_there && ret != NULL)
        *ret = st;
    if (*ret_there || file_is_absence(errno))
        return 0;
    return error_set_errno(err, EXIT_CODE_CONFIG, "%s: cannot be examined", path);
}

/* Something that exists and is no folder, such as a file of that name, is not an error here. The
 * caller tells it from absence by file_look(), if it has to. */
int file_look_folder(const char *path, bool *ret_folder, struct error *err) {
    struct stat st;
    bool there = false;
    *ret_folder = false;
    if (file_look(path, &st, &there, err) != 0)
        return -1;
    *ret_folder = there && S_ISDIR(st.st_mode);
    return 0;
}
