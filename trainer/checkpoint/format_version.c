#include "trainer/checkpoint/format_version.h"

#include "common/str.h"
#include "trainer/checkpoint/safetensors.h"

int format_version_check(int64_t version, const char *path, struct error *err) {
    if (version > FORMAT_VERSION)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: written by a later ringtrain, in format version %lld; this one reads "
                         "versions up to %d",
                         path, (long long)version, FORMAT_VERSION);
    if (version < FORMAT_VERSION_FIRST)
        return error_set(err, EXIT_CODE_DATA, "%s: " FORMAT_VERSION_KEY " %lld does not exist",
                         path, (long long)version);
    return 0;
}

int format_version_check_file(const struct safetensors *file, bool *ret_newer, struct error *err) {
    const char *text = safetensors_note(file, FORMAT_VERSION_KEY);
    int64_t version = FORMAT_VERSION_FIRST;
    *ret_newer = false;
    if (text != NULL && str_parse_int(text, 0, INT64_MAX, &version, err) != 0) {
        (void)error_wrap(err, "%s: " FORMAT_VERSION_KEY, file->path);
        return error_recode(err, EXIT_CODE_DATA);
    }
    *ret_newer = version > FORMAT_VERSION;
    return format_version_check(version, file->path, err);
}
