#include "trainer/app/command/prepare/command_prepare_folder.h"

#include "common/text/wrap.h"
#include "trainer/app/command/prepare/prepare_write.h"
#include "trainer/data/prepare/target.h"

static int open(struct prepare_sets *sets, const struct prepare_flags *f, struct error *err) {
    return target_check_outside(f->target, f->sources[0], err) != 0
               ? -1
               : prepare_sets_open_source(sets, f->sources[0], &f->reading, err);
}

int command_prepare_folder(int argc, char *const *argv, struct error *err) {
    struct prepare_flags f;
    if (prepare_flags_parse(PREPARE_FOLDER, "folder", argc, argv, &f, err) != 0)
        return -1;
    if (f.source_count != 1)
        return error_set(err, EXIT_CODE_USAGE,
                         "%d folders to read; expected one, then the folder to write to",
                         f.source_count);
    return prepare_write_together(&f, open, err);
}

void command_prepare_folder_help(FILE *out) {
    wrap_printf(out,
                "\nusage: ringtrain prepare folder SOURCE TARGET [--FLAG VALUE]...\n\n"
                "Writes a data set as shards: large files that each hold many pictures; or as "
                "folders. SOURCE is a folder of class folders, one that holds train/ and val/, or "
                "shards: one, a folder of them, or FOLDER/PREFIX*. An interrupted run goes on "
                "where it was. Ranks that share TARGET, started by ringmaster, mpirun or "
                "torchrun, write shards together.\n\n");
    prepare_flags_print(out, PREPARE_FOLDER);
}
