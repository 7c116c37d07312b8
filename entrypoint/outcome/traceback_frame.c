#include "entrypoint/outcome/traceback_frame.h"

#include "common/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_DIGITS = 9 };

/* --- folders --------------------------------------------------------------------------------- */

/* Writes the folder of FILE, which is relative to DIRECTORY unless it is absolute. */
static void folder_of(const char *file, const char *directory, char ret[TRACEBACK_FOLDER_SIZE]) {
    while (str_starts_with(file, "./"))
        file += 2;
    const char *slash = strrchr(file, '/');
    int before = slash != NULL ? (int)(slash - file) : 0;
    int size = 0;
    if (file[0] == '/')
        size = snprintf(ret, TRACEBACK_FOLDER_SIZE, "%.*s", before > 0 ? before : 1, file);
    else
        size = snprintf(ret, TRACEBACK_FOLDER_SIZE, "%s%s%.*s", directory,
                        before > 0 && !str_ends_with(directory, "/") ? "/" : "", before, file);
    if (size < 0 || size >= TRACEBACK_FOLDER_SIZE)
        ret[0] = '\0';
}

void traceback_folders_find(const struct argv *program, const char *directory,
                            struct traceback_folders *ret) {
    ret->script[0] = ret->working[0] = '\0';
    if (strcmp(directory, "/") != 0 && strlen(directory) < sizeof(ret->working))
        (void)snprintf(ret->working, sizeof(ret->working), "%s", directory);
    for (size_t i = 0; i < program->count; i++)
        if (str_ends_with(program->items[i], ".py")) {
            folder_of(program->items[i], directory, ret->script);
            return;
        }
}

void traceback_folders_here(const struct argv *program, const char *directory,
                            struct traceback_folders *ret) {
    char here[TRACEBACK_FOLDER_SIZE];
    if (directory == NULL)
        directory = getcwd(here, sizeof(here));
    traceback_folders_find(program, directory != NULL ? directory : "/", ret);
}

static bool is_within(const char *file, size_t size, const char *folder) {
    size_t length = strlen(folder);
    if (length > 0 && folder[length - 1] == '/')
        length--;
    return folder[0] != '\0' && size > length && memcmp(file, folder, length) == 0 &&
           file[length] == '/';
}

/* --- origins --------------------------------------------------------------------------------- */

static bool has(const char *file, size_t size, const char *part) {
    return memmem(file, size, part, strlen(part)) != NULL;
}

/* Python's own modules: lib/python3.11/, lib64/python3.11/, lib/python311.zip/. */
static bool is_standard(const char *file, size_t size) {
    static const char part[] = "/python";
    const char *end = file + size;
    for (const char *p = file; (p = memmem(p, (size_t)(end - p), part, strlen(part))) != NULL;
         p += strlen(part)) {
        const char *digit = p + strlen(part);
        size_t before = (size_t)(p - file);
        bool lib = before >= 3 && (memcmp(p - 3, "lib", 3) == 0 ||
                                   (before >= 5 && memcmp(p - 5, "lib64", 5) == 0));
        if (lib && digit < end && *digit >= '0' && *digit <= '9')
            return true;
    }
    return false;
}

/* A command that pip has installed: bin/torchrun. */
static bool is_command(const char *file, size_t size) {
    static const char bin[] = "/bin";
    const char *slash = memrchr(file, '/', size);
    if (slash == NULL || memchr(slash, '.', size - (size_t)(slash - file)) != NULL)
        return false;
    size_t before = (size_t)(slash - file);
    return before >= strlen(bin) && memcmp(slash - strlen(bin), bin, strlen(bin)) == 0;
}

static bool is(const char *file, size_t size, const char *name) {
    return size == strlen(name) && memcmp(file, name, size) == 0;
}

static enum traceback_origin origin_of(const char *file, size_t size,
                                       const struct traceback_folders *folders) {
    if (is(file, size, "<string>") || is(file, size, "<stdin>"))
        return TRACEBACK_ELSEWHERE;
    if (file[0] == '<' || has(file, size, "site-packages/") || has(file, size, "dist-packages/") ||
        is_standard(file, size) || is_command(file, size))
        return TRACEBACK_LIBRARY;
    if (file[0] != '/' || is_within(file, size, folders->script) ||
        is_within(file, size, folders->working))
        return TRACEBACK_OWN;
    return TRACEBACK_ELSEWHERE;
}

/* --- frames ---------------------------------------------------------------------------------- */

bool traceback_frame_read(const char *text, const struct traceback_folders *folders,
                          struct traceback_frame *ret) {
    static const char begin[] = "File \"", between[] = "\", line ";
    *ret = (struct traceback_frame){.origin = TRACEBACK_NONE};
    text += strspn(text, " ");
    const char *file = text + strlen(begin);
    const char *end = str_starts_with(text, begin) ? strstr(file, between) : NULL;
    if (end == NULL || end == file)
        return false;
    const char *line = end + strlen(between);
    size_t digits = strspn(line, "0123456789");
    if (digits == 0 || digits > LINE_DIGITS)
        return false;
    ret->line = (unsigned)strtoul(line, NULL, 10);
    ret->named = line[digits] != '\0';
    ret->origin = origin_of(file, (size_t)(end - file), folders);
    /* The end of a long path tells most. */
    if (end - file > TRACEBACK_FILE_MOST) {
        file = end - TRACEBACK_FILE_MOST;
        while (file < end && ((unsigned char)*file & 0xc0) == 0x80)
            file++;
    }
    (void)snprintf(ret->file, sizeof(ret->file), "%.*s", (int)(end - file), file);
    return true;
}
