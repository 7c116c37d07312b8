#include "trainer/data/format/formats.h"

#include "common/text/nearest.h"

#include <string.h>

static const struct format *const FORMATS[] = {&FORMAT_TFRECORD, &FORMAT_RECORDIO, &FORMAT_TAR};
enum { FORMAT_COUNT = sizeof(FORMATS) / sizeof(FORMATS[0]) };

const struct format *format_of(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (FORMATS[i]->is(bytes, size))
            return FORMATS[i];
    return NULL;
}

const char *format_names(void) {
    return "tar, tfrecord, recordio";
}

const struct format *format_need(const char *name, struct error *err) {
    struct nearest nearest = nearest_begin(name, strlen(name));
    char words[NEAREST_WORDS_MAX] = "";
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(FORMATS[i]->name, name) == 0)
            return FORMATS[i];
        nearest_try(&nearest, FORMATS[i]->name);
    }
    (void)nearest_words(&nearest, words);
    (void)error_set(err, EXIT_CODE_USAGE, "unknown format '%.64s'; known: %s%s", name,
                    format_names(), words);
    return NULL;
}
