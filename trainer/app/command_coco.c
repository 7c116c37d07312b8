#include "app/command_coco.h"

#include <string.h>

bool command_has_flag(int argc, char *const *argv, const char *name) {
    size_t size = strlen(name);
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, size) == 0 &&
            (word[2 + size] == '\0' || word[2 + size] == '='))
            return true;
    }
    return false;
}
