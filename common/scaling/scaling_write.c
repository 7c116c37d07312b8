#include "common/file/file.h"
#include "common/scaling/scaling_page.h"

#include <limits.h>
#include <stdio.h>

enum { FILE_MAX = 4 * 1024 * 1024 };

int scaling_write(const struct scaling_study *s, const char *folder, struct error *err) {
    static const struct {
        const char *name;
        int (*put)(const struct scaling_study *s, struct buf *out, struct error *err);
    } files[] = {{SCALING_TEXT_NAME, scaling_text},
                 {SCALING_CSV_NAME, scaling_csv},
                 {SCALING_HTML_NAME, scaling_html}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[PATH_MAX];
        cleanup_buf struct buf text;
        buf_init(&text, FILE_MAX);
        if (snprintf(path, sizeof(path), "%s/%s", folder, files[i].name) >= (int)sizeof(path))
            return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
        if (files[i].put(s, &text, err) != 0 ||
            file_publish(path, buf_text(&text), text.size, 0644, err) != 0)
            return -1;
    }
    return 0;
}
