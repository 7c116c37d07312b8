#include "entrypoint/outcome/regex_dialect.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

struct translator {
    const char *text;
    const char *at;
    struct regex_text *out;
    struct error *err;
};

static int refuse(const struct translator *t, const char *what) {
    return error_set(t->err, EXIT_CODE_CONFIG, "%s at offset %zu", what, (size_t)(t->at - t->text));
}

/* BYTES stand for what is read here. No rule more than doubles what it reads, so there is room. */
static void put(struct translator *t, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        t->out->origin[t->out->size] = (uint16_t)(t->at - t->text);
        t->out->bytes[t->out->size++] = bytes[i];
    }
}

static void copy(struct translator *t, size_t size) {
    for (size_t i = 0; i < size; i++) {
        put(t, t->at, 1);
        t->at++;
    }
}

static void replace(struct translator *t, size_t size, const char *bytes) {
    put(t, bytes, strlen(bytes));
    t->at += size;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A backslash and what it is about. */
static int translate_escape(struct translator *t) {
    static const char known[] = "AbBdDsSwWZzafnrtvx";
    const char c = t->at[1];
    if (c == '\0')
        return refuse(t, "a backslash at the end of the expression");
    if (is_letter(c) && strchr(known, c) == NULL)
        return refuse(t, "a backslash before a letter that it gives no meaning");
    if (c == 'x' && !(isxdigit((unsigned char)t->at[2]) && isxdigit((unsigned char)t->at[3])))
        return refuse(t, "\\x without two hexadecimal digits");
    if (c == 'Z')
        replace(t, 2, "\\z");
    else if (c == 'v')
        replace(t, 2, "\\x0b");
    else
        copy(t, 2);
    return 0;
}

/* [...]: a ']' that comes first is one of the characters. */
static int translate_set(struct translator *t) {
    copy(t, t->at[1] == '^' ? 2 : 1);
    if (*t->at == ']')
        copy(t, 1);
    while (*t->at != ']' && *t->at != '\0') {
        if (*t->at == '[')
            replace(t, 1, "\\[");
        else if (*t->at != '\\')
            copy(t, 1);
        else if (translate_escape(t) != 0)
            return -1;
    }
    if (*t->at == ']')
        copy(t, 1);
    return 0; /* PCRE2 says so where the end is missing */
}

/* "{,3}" and "{,}", which is as often as one likes. */
static bool begins_without_least(const char *at) {
    return at[0] == '{' && at[1] == ',' && at[2 + strspn(at + 2, "0123456789")] == '}';
}

static int translate(struct translator *t) {
    while (*t->at != '\0') {
        if (t->at[0] == '\\') {
            if (translate_escape(t) != 0)
                return -1;
        } else if (t->at[0] == '[') {
            if (translate_set(t) != 0)
                return -1;
        } else if (t->at[0] == '(' && t->at[1] == '*') {
            t->at++;
            return refuse(t, "nothing to repeat");
        } else if (begins_without_least(t->at)) {
            replace(t, 2, "{0,");
        } else {
            copy(t, 1);
        }
    }
    return 0;
}

int regex_dialect_translate(const char *python, struct regex_text *ret, struct error *err) {
    struct translator t = {.text = python, .at = python, .out = ret, .err = err};
    ret->size = 0;
    if (strlen(python) > REGEX_TEXT_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%zu bytes, more than %d", strlen(python),
                         REGEX_TEXT_MAX);
    if (translate(&t) != 0)
        return -1;
    ret->bytes[ret->size] = '\0';
    ret->origin[ret->size] = (uint16_t)strlen(python);
    return 0;
}
