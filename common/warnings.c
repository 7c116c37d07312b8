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
