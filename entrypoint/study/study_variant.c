#include "entrypoint/study/study_variant.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define BLANKS " \t\n"

int study_variant_name(const char *text, struct scaling_names *names, struct error *err) {
    const size_t size = strcspn(text, "=");
    if (text[size] == '\0')
        return error_set(err, EXIT_CODE_USAGE,
                         "--variant: '%.64s' is no NAME=WORDS, such as tree='NCCL_ALGO=Tree "
                         "--batch 64'; without words it is NAME=",
                         text);
    return scaling_names_add(names, text, size, "--variant", err);
}

/* Settings in lower case, such as lr=0.1, are words of many programs. */
static bool is_variable(const char *word, size_t size) {
    size_t name = 0;
    while (name < size && (isupper((unsigned char)word[name]) || word[name] == '_' ||
                           (name > 0 && isdigit((unsigned char)word[name]))))
        name++;
    return name > 0 && name < size && word[name] == '=';
}

int study_variant_words(const char *text, struct argv *environment, struct argv *words,
                        struct error *err) {
    text += strcspn(text, "=");
    text += *text == '=';
    for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS)) {
        const size_t size = strcspn(text, BLANKS);
        const bool variable = words->count == 0 && is_variable(text, size);
        if (argv_printf(variable ? environment : words, err, "%.*s", (int)size, text) != 0)
            return -1;
        text += size;
    }
    return 0;
}
