#include "trainer/data/dataset/source.h"

#include <errno.h>
#include <string.h>

bool source_is_at_fault(const struct error *err) {
    return err->code == EXIT_CODE_DATA && err->os_errno != EMFILE && err->os_errno != ENFILE &&
           err->os_errno != ENOMEM;
}

const char *source_without_name(const char *name, const char *text) {
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 || text[length] != ':')
        return text;
    return text + length + strspn(text + length, ": ");
}
