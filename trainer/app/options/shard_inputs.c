#include "trainer/app/options/shard_inputs.h"

#include "common/file/file_look.h"
#include "common/str.h"
#include "trainer/data/format/formats.h"
#include "trainer/data/format/shard_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const TRAINING[] = {"train", "training", NULL};

static int put(char to[4096], const char *folder, const char *name, const char *end,
               struct error *err) {
    if (snprintf(to, 4096, "%s/%s%s", folder, name, end) < 4096)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "path '%.64s...' is too long", folder);
}

/* Sets *RET to FOLDER/NAME for the first name that is a folder of shards; empty: none is. */
static int find_below(char ret[4096], const char *folder, const char *const *names,
                      struct error *err) {
    for (; *names != NULL; names++) {
        struct shard_parts parts;
        bool is_folder = false;
        if (put(ret, folder, *names, "", err) != 0 || file_look_folder(ret, &is_folder, err) != 0 ||
            (is_folder && shard_list_parts(&parts, ret, err) != 0))
            return -1;
        if (is_folder && parts.found)
            return 0;
    }
    ret[0] = '\0';
    return 0;
}

static int find_in_folder(struct shard_inputs *in, const char *folder, struct error *err) {
    struct shard_parts parts;
    if (shard_list_parts(&parts, folder, err) != 0)
        return -1;
    in->found = parts.found;
    if (parts.found && parts.validation[0] == '\0') {
        (void)snprintf(in->training, sizeof(in->training), "%s", folder);
        return 0;
    }
    if (parts.found)
        return put(in->training, folder, parts.training, "*", err) != 0
                   ? -1
                   : put(in->validation, folder, parts.validation, "*", err);
    if (find_below(in->training, folder, TRAINING, err) != 0 ||
        find_below(in->validation, folder, SHARD_VALIDATION_WORDS, err) != 0)
        return -1;
    in->found = in->training[0] != '\0' || in->validation[0] != '\0';
    return 0;
}

int shard_inputs_find(struct shard_inputs *ret, const char *path, struct error *err) {
    struct stat status;
    *ret = (struct shard_inputs){0};
    if (strlen(path) >= sizeof(ret->training))
        return error_set(err, EXIT_CODE_USAGE, "path '%.64s...' is too long", path);
    const bool pattern = str_ends_with(path, "*");
    if (!pattern && stat(path, &status) != 0)
        return errno == ENOENT ? 0 : error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    if (!pattern && S_ISDIR(status.st_mode))
        return find_in_folder(ret, path, err);
    cleanup_shard_list struct shard_list list = {0};
    if (shard_list_find(&list, path, err) != 0)
        return -1;
    if (list.count == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: no shards; expected files of the format %s",
                         path, format_names());
    ret->found = true;
    (void)snprintf(ret->training, sizeof(ret->training), "%s", path);
    return 0;
}
