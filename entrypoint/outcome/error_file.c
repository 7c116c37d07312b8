#include "entrypoint/outcome/error_file.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/json/json.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

bool error_file_parse(const char *bytes, size_t size, const struct traceback_folders *folders,
                      char ret[ERROR_FILE_LINE_SIZE]) {
    cleanup_json json_t *root = NULL;
    struct traceback stack;
    ret[0] = '\0';
    if (size > ERROR_FILE_MAX ||
        json_parse_as(bytes, size, "error file", JSON_ALLOW_NUL, &root, NULL) != 0)
        return false;
    const json_t *message = json_object_get(root, "message");
    const char *text =
        json_is_string(message) ? json_string_value(message) : text_of(message, "message");
    const char *lines = text_of(json_object_get(message, "extraInfo"), "py_callstack");
    traceback_init(&stack, folders);
    traceback_begin(&stack);
    traceback_add_text(&stack, lines != NULL ? lines : "");
    /* The message holds all lines of what the stack ends with, but for what a worker raised. */
    bool nested = stack.reading.nested && stack.reading.words[0] != '\0';
    if (text != NULL)
        traceback_text(nested ? stack.reading.words : text, &stack.reading.frame, ret);
    return ret[0] != '\0';
}

bool error_file_read(const char *path, const struct traceback_folders *folders,
                     char ret[ERROR_FILE_LINE_SIZE]) {
    struct stat st;
    cleanup_buf struct buf bytes;
    buf_init(&bytes, ERROR_FILE_MAX + 1);
    ret[0] = '\0';
    cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > ERROR_FILE_MAX ||
        buf_reserve(&bytes, (size_t)st.st_size, NULL) != 0)
        return false;
    ssize_t got = read(fd, bytes.data, (size_t)st.st_size);
    return got > 0 && error_file_parse(bytes.data, (size_t)got, folders, ret);
}
