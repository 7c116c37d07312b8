#include "common/text/redact.h"

#include "common/cleanup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static char *values[REDACT_MAX];
static size_t value_count;

int redact_add(const char *value, struct error *err) {
    if (strlen(value) < REDACT_SHORTEST)
        return 0;
    for (size_t i = 0; i < value_count; i++)
        if (strcmp(values[i], value) == 0)
            return 0;
    if (value_count == REDACT_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "more than %d secret values", REDACT_MAX);
    char *copy = strdup(value);
    if (copy == NULL)
        return error_no_memory(err, "secret value");
    values[value_count++] = copy;
    return 0;
}

static bool is_one_of(const char *word, size_t length, const char *const *list) {
    for (; *list != NULL; list++)
        if (strlen(*list) == length && strncasecmp(word, *list, length) == 0)
            return true;
    return false;
}

bool redact_is_secret_name(const char *name) {
    static const char *const secrets[] = {"key",    "token",      "secret",      "password",
                                          "passwd", "credential", "credentials", NULL};
    static const char *const places[] = {"file", "path", "dir", NULL};
    bool secret = false;
    bool place = false; /* The last word decides: KEY_FILE names a file, FILE_KEY is a key. */
    for (const char *p = name; *p != '\0';) {
        size_t length = 0;
        while (isalnum((unsigned char)p[length]))
            length++;
        secret = secret || is_one_of(p, length, secrets);
        place = is_one_of(p, length, places);
        p += length > 0 ? length : 1;
    }
    return secret && !place;
}

int redact_add_environment(char *const *environment, struct error *err) {
    for (; *environment != NULL; environment++) {
        const char *equals = strchr(*environment, '=');
        if (equals == NULL)
            continue;
        cleanup_free char *name = strndup(*environment, (size_t)(equals - *environment));
        if (name == NULL)
            return error_no_memory(err, "secret name");
        if (redact_is_secret_name(name) && redact_add(equals + 1, err) != 0)
            return -1;
    }
    return 0;
}

/* The length of the longest registered value that TEXT begins with, 0 if none. */
static size_t match(const char *text) {
    size_t best = 0;
    for (size_t i = 0; i < value_count; i++) {
        size_t length = strlen(values[i]);
        if (length > best && strncmp(text, values[i], length) == 0)
            best = length;
    }
    return best;
}

int redact_text(struct buf *out, const char *text, struct error *err) {
    while (*text != '\0') {
        size_t secret = match(text);
        if (buf_add(out, secret > 0 ? "***" : text, secret > 0 ? 3 : 1, err) != 0)
            return -1;
        text += secret > 0 ? secret : 1;
    }
    return 0;
}

void redact_done(void) {
    for (size_t i = 0; i < value_count; i++) {
        explicit_bzero(values[i], strlen(values[i]));
        free(values[i]);
        values[i] = NULL;
    }
    value_count = 0;
}
