#include "trainer/app/command/coco/command_coco.h"

#include <string.h>

/* Compares names of flags; '-' and '_' are equal. */
static bool is_flag(const char *word, const char *name) {
    if (strncmp(word, "--", 2) != 0)
        return false;
    for (word += 2; *name != '\0'; word++, name++)
        if (*word != *name && !(*word == '_' && *name == '-'))
            return false;
    return *word == '\0' || *word == '=';
}

bool command_has_flag(int argc, char *const *argv, const char *name) {
    for (int i = 0; i < argc; i++)
        if (is_flag(argv[i], name))
            return true;
    return false;
}
