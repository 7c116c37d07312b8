#include "common/file/file.h"
#include "common/log/log.h"
#include "common/scaling/scaling_page.h"

#include <limits.h>
#include <stdio.h>

enum { TEXT_MAX = 1 << 20, FILE_MAX = 4 * 1024 * 1024 };

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

static int print(const struct scaling_study *s, const char *folder, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, TEXT_MAX);
    if (scaling_write(s, folder, err) != 0 || scaling_text(s, &text, err) != 0)
        return -1;
    if (fputs(buf_text(&text), stdout) < 0 || fflush(stdout) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "writing to standard output");
    log_info("scaling report in %s: " SCALING_HTML_NAME ", " SCALING_CSV_NAME
             ", " SCALING_TEXT_NAME,
             folder);
    return 0;
}

int scaling_report(struct scaling_study *s, const char *folder, int result, struct error *err) {
    if (result != 0 && s->count == 0)
        return -1;
    for (struct scaling_study *one = s; one != NULL; one = one->next)
        scaling_conclude(one);
    /* What was measured before a stop is written, and ERR is the stop's. */
    if (print(s, folder, result == 0 ? err : NULL) != 0 || result != 0)
        return -1;
    for (const struct scaling_study *one = s; one != NULL; one = one->next)
        for (size_t i = 0; i < one->count; i++)
            if (scaling_is_measured(&one->points[i]))
                return 0;
    return error_set(err, EXIT_CODE_DATA, "no size was measured; the first failed: %.200s",
                     s->points[0].failure);
}
