#include "trainer/data/coco/coco_pictures.h"

#include "common/file/file_look.h"
#include "trainer/data/codec/picture.h"

#include <dirent.h>
#include <stdio.h>

enum { ENTRIES_MAX = 4096 }; /* looked at for a first picture */

/* Returns true if one of FOLDER's first entries is a picture by its name. */
static bool holds_pictures(const char *folder) {
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return false;
    bool found = false;
    const struct dirent *entry = NULL;
    for (int i = 0; !found && i < ENTRIES_MAX && (entry = readdir(dir)) != NULL; i++)
        found = entry->d_name[0] != '.' && picture_suffix_ends(entry->d_name);
    (void)closedir(dir);
    return found;
}

int coco_pictures_find(char ret[PATH_MAX], const char *root, const char *name, bool loose,
                       struct error *err) {
    const char *const middles[] = {"/", "/images/", "/images"};
    const char *const names[] = {name, name, ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool there = false;
        if (snprintf(ret, PATH_MAX, "%s%s%s", root, middles[i], names[i]) >= PATH_MAX)
            return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", root);
        if (file_look_folder(ret, &there, err) != 0)
            return -1;
        if (there)
            return 0;
    }
    (void)snprintf(ret, PATH_MAX, "%s", loose && holds_pictures(root) ? root : "");
    return 0;
}
