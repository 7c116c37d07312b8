#include "common/error.h"

#include "common/os_error_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, enum exit_code code, const char *format, ...) {
    if (err == NULL)
        return -1;
    va_list args;
    va_start(args, format);
    err->code = code;
    err->os_errno = 0;
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return -1;
}

int error_set_errno(struct error *err, enum exit_code code, const char *format, ...) {
    int saved = errno;
    if (err == NULL)
        return -1;
    va_list args;
    va_start(args, format);
    err->code = code == EXIT_CODE_INTERNAL && saved == ENOMEM ? EXIT_CODE_CONFIG : code;
    err->os_errno = saved;
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    size_t used = strlen(err->text);
    char words[OS_ERROR_TEXT_SIZE];
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", os_error_text(saved, words));
    errno = saved;
    return -1;
}

int error_wrap(struct error *err, const char *format, ...) {
    if (err == NULL)
        return -1;
    char inner[ERROR_TEXT_MAX];
    memcpy(inner, err->text, sizeof(inner));
    inner[sizeof(inner) - 1] = '\0';
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
    return -1;
}

int error_recode(struct error *err, enum exit_code code) {
    if (err != NULL)
        err->code = code;
    return -1;
}

int error_no_memory(struct error *err, const char *what) {
    (void)error_set(err, EXIT_CODE_CONFIG, "%s: out of memory", what);
    if (err != NULL)
        err->os_errno = ENOMEM;
    return -1;
}
