#include "trainer/app/command/prepare/command_prepare_folder.h"

#include "common/text/wrap.h"
#include "trainer/app/command/prepare/prepare_sets.h"
#include "trainer/data/prepare/target.h"

int command_prepare_folder(int argc, char *const *argv, struct error *err) {
    struct prepare_flags f;
    cleanup_prepare_sets struct prepare_sets sets = {0};
    if (prepare_flags_parse(PREPARE_FOLDER, "folder", argc, argv, &f, err) != 0)
        return -1;
    if (f.source_count != 1)
        return error_set(err, EXIT_CODE_USAGE,
                         "%d folders to read; expected one, then the folder to write to",
                         f.source_count);
    if (target_check_outside(f.target, f.sources[0], err) != 0)
        return -1;
    if (prepare_sets_open_source(&sets, f.sources[0], &f.reading, err) != 0)
        return -1;
    return prepare_sets_write(&sets, &f, err);
}

void command_prepare_folder_help(FILE *out) {
    wrap_printf(out,
                "\nusage: ringtrain prepare folder SOURCE TARGET [--FLAG VALUE]...\n\n"
                "Writes a data set as shards: large files that each hold many pictures; or as "
                "folders. SOURCE is a folder of class folders, one that holds train/ and val/, or "
                "shards: one, a folder of them, or FOLDER/PREFIX*. An interrupted run goes on "
                "where it was.\n\n");
    prepare_flags_print(out, PREPARE_FOLDER);
}
