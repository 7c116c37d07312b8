#include "trainer/app/options/recipe_file.h"

#include "common/file/file.h"
#include "common/str.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 64 * 1024, SETTINGS_MAX = 200 };

/* The one that was read last; a flag's value lives as long as the process. */
static struct {
    char path[PATH_MAX];
    char text[FILE_MAX + 1];
    struct model_setting settings[SETTINGS_MAX + 1];
    size_t count;
} file;

bool recipe_file_is(const char *name) {
    return strpbrk(name, "/.") != NULL;
}

static int refuse(int line, const char *what, const char *got, struct error *err) {
    return error_set(err, EXIT_CODE_USAGE, "--recipe %s: line %d: %s: '%.64s'", file.path, line,
                     what, got);
}

/* Ends TEXT before a comment and blanks; returns its first other character. */
static char *strip(char *text) {
    for (char *c = text; *c != '\0'; c++)
        if (*c == '#' && (c == text || c[-1] == ' ' || c[-1] == '\t')) {
            *c = '\0';
            break;
        }
    for (size_t size = strlen(text); size > 0 && strchr(" \t\r", text[size - 1]) != NULL;)
        text[--size] = '\0';
    return text + strspn(text, " \t");
}

static bool is_there(const char *name) {
    for (size_t i = 0; i < file.count; i++)
        if (strcmp(file.settings[i].flag, name) == 0)
            return true;
    return false;
}

static int take_line(char *text, int line, struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    char *name = strip(text);
    if (*name == '\0')
        return 0;
    if (!str_starts_with(name, "--"))
        return refuse(line, "expected --flag value", name, err);
    name += 2;
    char *value = name + strcspn(name, "= \t");
    if (*value != '\0')
        *value++ = '\0';
    value += strspn(value, " \t");
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    if (!flags_known(flags, count, COMMAND_TRAIN, name) || strcmp(name, "recipe") == 0)
        return refuse(line, "no flag of ringtrain train that a recipe may set", name, err);
    if (*value == '\0')
        return refuse(line, "the flag has no value", name, err);
    if (is_there(name))
        return refuse(line, "the flag appears twice", name, err);
    if (file.count == SETTINGS_MAX)
        return refuse(line, "too many flags", name, err);
    file.settings[file.count++] = (struct model_setting){name, value};
    return 0;
}

static int load(const char *path, struct error *err) {
    cleanup_buf struct buf text = {.max = FILE_MAX};
    char *kept = NULL;
    int line = 0;
    if (snprintf(file.path, sizeof(file.path), "%s", path) >= (int)sizeof(file.path))
        return error_set(err, EXIT_CODE_USAGE, "--recipe %.64s...: path too long", path);
    if (file_read(path, &text, err) != 0) {
        (void)error_wrap(err, "--recipe");
        return error_recode(err, EXIT_CODE_USAGE);
    }
    if (strlen(buf_text(&text)) != text.size)
        return error_set(err, EXIT_CODE_USAGE, "--recipe %s: it is no text", path);
    memcpy(file.text, buf_text(&text), text.size + 1);
    for (char *at = file.text; at != NULL; at = kept) {
        kept = strchr(at, '\n');
        if (kept != NULL)
            *kept++ = '\0';
        if (take_line(at, ++line, err) != 0)
            return -1;
    }
    return 0;
}

const struct model_setting *recipe_file_read(const char *path, struct error *err) {
    if (file.count > 0 && strcmp(file.path, path) == 0)
        return file.settings;
    file.count = 0;
    if (load(path, err) != 0) {
        file.count = 0;
        return NULL;
    }
    file.settings[file.count] = (struct model_setting){NULL, NULL};
    if (file.count == 0) {
        (void)error_set(err, EXIT_CODE_USAGE, "--recipe %s: it has no flags", path);
        return NULL;
    }
    return file.settings;
}
