#include "common/warnings.h"

#include <stdarg.h>
#include <stdio.h>

void warnings_add(struct warnings *w, const char *format, ...) {
    if (w == NULL)
        return;
    if (w->count == WARNINGS_MAX) {
        w->dropped++;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(w->text[w->count++], WARNING_SIZE, format, arguments);
    va_end(arguments);
}

void warnings_join(struct warnings *w, const struct warnings *more) {
    for (size_t i = 0; i < more->count; i++)
        warnings_add(w, "%s", more->text[i]);
    w->dropped += more->dropped;
}
