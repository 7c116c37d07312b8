#include "entrypoint/failure.h"

#include "common/file.h"
#include "common/redact.h"
#include "common/str.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* TEXT redacted and as valid UTF-8; lines stay lines. */
static int add_clean(struct buf *ret, const char *text, struct error *err) {
    cleanup_buf struct buf redacted;
    buf_init(&redacted, (size_t)64 * 1024);
    if (redact_text(&redacted, text, err) != 0)
        return -1;
    for (const char *line = buf_text(&redacted); *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (str_add_utf8(ret, line, size, err) != 0)
            return -1;
        line += size;
        if (*line == '\n' && buf_add(ret, line++, 1, err) != 0)
            return -1;
    }
    return 0;
}

/* The end of TEXT, at most MAX bytes, from the start of a line where one begins in it. */
static const char *last_lines(const char *text, size_t size, size_t max) {
    if (size <= max)
        return text;
    const char *start = text + (size - max);
    const char *line = strchr(start, '\n');
    if (line != NULL && line[1] != '\0')
        return line + 1;
    while (((unsigned char)*start & 0xc0) == 0x80)
        start++;
    return start;
}

int failure_text(const struct verdict *v, struct buf *ret, struct error *err) {
    cleanup_buf struct buf head;
    cleanup_buf struct buf story;
    buf_init(&head, (size_t)16 * 1024);
    buf_init(&story, (size_t)64 * 1024);
    if (buf_printf(&head, err, "%s: ", v->class_name) != 0 || add_clean(&head, v->text, err) != 0 ||
        add_clean(&story, v->story, err) != 0)
        return -1;
    size_t fit = str_utf8_prefix(buf_text(&head), head.size, FAILURE_MAX - 1);
    if (buf_add(ret, buf_text(&head), fit, err) != 0 || buf_add(ret, "\n", 1, err) != 0)
        return -1;
    if (story.size == 0 || fit + 2 >= FAILURE_MAX)
        return 0;
    if (buf_add_text(ret, last_lines(story.data, story.size, FAILURE_MAX - fit - 2), err) != 0)
        return -1;
    return buf_add(ret, "\n", 1, err);
}

int failure_write(const char *base_dir, const struct verdict *v, bool *ret_kept,
                  struct error *err) {
    char path[PATH_MAX];
    char folder[PATH_MAX];
    *ret_kept = false;
    if (v->code == EXIT_CODE_OK)
        return 0;
    int size = snprintf(folder, sizeof(folder), "%s/output", base_dir);
    if (size < 0 || (size_t)size + sizeof("/failure") > sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "SAGEMAKER_BASE_DIR is too long");
    snprintf(path, sizeof(path), "%.*s/failure", size, folder);
    struct stat st;
    if (lstat(path, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > 0)) {
        *ret_kept = true;
        return 0;
    }
    cleanup_buf struct buf text;
    buf_init(&text, (size_t)64 * 1024);
    if (failure_text(v, &text, err) != 0 || file_make_dirs(folder, err) != 0)
        return -1;
    return file_publish(path, text.data, text.size, 0644, err);
}

void failure_clear(const char *base_dir) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/output/failure", base_dir);
    if (size > 0 && (size_t)size < sizeof(path))
        (void)unlink(path);
}
