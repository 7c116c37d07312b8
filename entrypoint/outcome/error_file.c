#include "entrypoint/outcome/error_file.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS_MOST = 200, FILE_MOST = 80, LINE_DIGITS = 9 };

/* Where Python's code was: a file's name and a line. */
struct place {
    const char *file; /* within the call stack; NULL: not known */
    size_t size;
    const char *line;
    size_t digits;
};

/* Reads `  File "train.py", line 7, in main` at TEXT. */
static bool read_frame(const char *text, struct place *ret) {
    static const char begin[] = "File \"", between[] = "\", line ";
    if (!str_starts_with(text, begin))
        return false;
    const char *file = text + strlen(begin);
    const char *end = strstr(file, between);
    size_t line_size = strcspn(file, "\n");
    if (end == NULL || end >= file + line_size)
        return false;
    *ret =
        (struct place){.file = file, .size = (size_t)(end - file), .line = end + strlen(between)};
    ret->digits = strspn(ret->line, "0123456789");
    return ret->digits > 0 && ret->digits <= LINE_DIGITS;
}

/* The last frame of a call stack is the innermost one. */
static struct place find_place(const char *stack) {
    struct place found = {0};
    struct place next;
    for (const char *line = stack; line[0] != '\0'; line += line[0] == '\n') {
        if (read_frame(line + strspn(line, " "), &next))
            found = next;
        line += strcspn(line, "\n");
    }
    if (found.size <= FILE_MOST)
        return found;
    /* The end of a long path tells most. */
    const char *end = found.file + found.size;
    found.file = end - FILE_MOST;
    while (found.file < end && ((unsigned char)*found.file & 0xc0) == 0x80)
        found.file++;
    found.size = (size_t)(end - found.file);
    return found;
}

/* Appends SIZE bytes of TEXT with single spaces between words, at most MOST bytes of them. */
static int add_words(struct buf *ret, const char *text, size_t size, size_t most) {
    static const char blank[] = " \t\r\n\v\f";
    cleanup_buf struct buf words;
    buf_init(&words, size + 1);
    for (const char *end = text + size; text < end;) {
        text += strspn(text, blank);
        size_t word = text < end ? strcspn(text, blank) : 0;
        word = word < (size_t)(end - text) ? word : (size_t)(end - text);
        if (word > 0 && ((words.size > 0 && buf_add(&words, " ", 1, NULL) != 0) ||
                         buf_add(&words, text, word, NULL) != 0))
            return -1;
        text += word > 0 ? word : 1;
    }
    return str_add_utf8(ret, buf_text(&words), str_utf8_prefix(buf_text(&words), words.size, most),
                        NULL);
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

bool error_file_parse(const char *bytes, size_t size, char ret[ERROR_FILE_LINE_SIZE]) {
    cleanup_json json_t *root = NULL;
    cleanup_buf struct buf line;
    buf_init(&line, (size_t)4 * ERROR_FILE_LINE_SIZE);
    ret[0] = '\0';
    if (size > ERROR_FILE_MAX ||
        json_parse_as(bytes, size, "error file", JSON_ALLOW_NUL, &root, NULL) != 0)
        return false;
    const json_t *message = json_object_get(root, "message");
    const char *text =
        json_is_string(message) ? json_string_value(message) : text_of(message, "message");
    const char *stack = text_of(json_object_get(message, "extraInfo"), "py_callstack");
    struct place place = find_place(stack != NULL ? stack : "");
    if (text == NULL || add_words(&line, text, strlen(text), WORDS_MOST) != 0 || line.size == 0)
        return false;
    if (place.file != NULL &&
        (buf_add(&line, " (", 2, NULL) != 0 ||
         add_words(&line, place.file, place.size, FILE_MOST) != 0 ||
         buf_printf(&line, NULL, ", line %.*s)", (int)place.digits, place.line) != 0))
        return false;
    size_t fit = str_utf8_prefix(buf_text(&line), line.size, ERROR_FILE_LINE_SIZE - 1);
    memcpy(ret, buf_text(&line), fit);
    ret[fit] = '\0';
    return true;
}

bool error_file_read(const char *path, char ret[ERROR_FILE_LINE_SIZE]) {
    struct stat st;
    cleanup_buf struct buf bytes;
    buf_init(&bytes, ERROR_FILE_MAX + 1);
    ret[0] = '\0';
    cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > ERROR_FILE_MAX ||
        buf_reserve(&bytes, (size_t)st.st_size, NULL) != 0)
        return false;
    ssize_t got = read(fd, bytes.data, (size_t)st.st_size);
    return got > 0 && error_file_parse(bytes.data, (size_t)got, ret);
}
