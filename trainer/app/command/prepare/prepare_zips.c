#include "trainer/app/command/prepare/prepare_zips.h"

#include "common/str.h"
#include "trainer/app/command/output/output.h"
#include "trainer/data/prepare/unzip.h"

#include <inttypes.h>
#include <unistd.h>

static void show(void *context, int64_t done, int64_t of) {
    struct writing *writing = context;
    writing->of = of;
    writing_show(writing, done);
}

int prepare_zips(const struct prepare_flags *f, struct error *err) {
    struct unzip_result result;
    struct writing writing;
    const struct unzip_options o = {
        .target = f->target,
        .archives = (const char *const *)f->sources,
        .count = (size_t)f->source_count,
        .threads = prepare_flags_threads(f),
        .written = show,
        .context = &writing,
    };
    writing_open(&writing, STDERR_FILENO, 0);
    int code = unzip_all(&o, &result, err);
    writing_close(&writing);
    if (code != 0)
        return -1;
    printf("%s: %" PRId64 " file%s, %.1f MB", f->target, result.files, STR_PLURAL(result.files),
           (double)result.bytes / 1e6);
    if (result.kept > 0)
        printf("; %" PRId64 " of these were there already", result.kept);
    printf("; ringtrain inspect coco %s looks them through\n", f->target);
    return 0;
}
