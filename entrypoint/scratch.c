#include "entrypoint/scratch.h"

#include "common/file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char memory[] = "/dev/shm";

/* Ours alone, also where everybody may write. */
static int make_folder(const char *path, struct error *err) {
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", path);
    if (lstat(path, &st) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return error_set(err, EXIT_CODE_INTERNAL, "%s is not a folder of this user", path);
    return 0;
}

int scratch_open(struct scratch *s, const struct local *local, const char *run, unsigned attempt,
                 struct error *err) {
    if (s->temporary[0] != '\0')
        return 0;
    local_file(local, "tmp", s->temporary);
    if (access(memory, W_OK) == 0)
        (void)snprintf(s->shared, sizeof(s->shared), "%s/ringmaster-%s-%u", memory, run, attempt);
    if (make_folder(s->temporary, err) == 0 &&
        (s->shared[0] == '\0' || make_folder(s->shared, err) == 0))
        return 0;
    s->shared[0] = '\0'; /* somebody else's, or made by a host that shares /dev/shm and uses it */
    scratch_close(s);
    return -1;
}

void scratch_close(struct scratch *s) {
    if (s->temporary[0] != '\0')
        file_remove_tree(s->temporary);
    if (s->shared[0] != '\0')
        file_remove_tree(s->shared);
    *s = (struct scratch){0};
}
