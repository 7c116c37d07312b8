#include "trainer/data/format/formats.h"

#include "common/text/nearest.h"

#include <string.h>

static const struct format *const FORMATS[] = {
    &FORMAT_TFRECORD, &FORMAT_RECORDIO, &FORMAT_NESTED_TAR, &FORMAT_TAR,
    &FORMAT_CIFAR10,  &FORMAT_CIFAR100, &FORMAT_IDX,
};
enum { FORMAT_COUNT = sizeof(FORMATS) / sizeof(FORMATS[0]) };

const struct format *format_of(const char *name, const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (FORMATS[i]->is(name, bytes, size))
            return FORMATS[i];
    return NULL;
}

const struct format *format_named(const char *name) {
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(FORMATS[i]->name, name) == 0)
            return FORMATS[i];
    return NULL;
}

const char *format_names(void) {
    return "tar, tar of tars, tfrecord, recordio, cifar10, cifar100, idx";
}

const struct format *format_need(const char *name, struct error *err) {
    struct nearest nearest = nearest_begin(name, strlen(name));
    char words[NEAREST_WORDS_MAX] = "";
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (FORMATS[i]->write == NULL)
            continue;
        if (strcmp(FORMATS[i]->name, name) == 0)
            return FORMATS[i];
        nearest_try(&nearest, FORMATS[i]->name);
    }
    (void)nearest_words(&nearest, words);
    (void)error_set(err, EXIT_CODE_USAGE,
                    "unknown format '%.64s'; expected tar, tfrecord or recordio%s", name, words);
    return NULL;
}
