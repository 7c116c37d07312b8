/* What writer and reader of the format share. */
#ifndef TRAINER_CHECKPOINT_SAFETENSORS_FORM_H
#define TRAINER_CHECKPOINT_SAFETENSORS_FORM_H

#include <stddef.h>
#include <string.h>

#define SAFETENSORS_METADATA "__metadata__"
#define SAFETENSORS_CRC "crc32c"
#define SAFETENSORS_ZEROS "00000000"

enum {
    SAFETENSORS_HEAD = 8,   /* bytes of the header's length */
    SAFETENSORS_DIGITS = 8, /* of a checksum as text */
};

/* Where the digits of the header's own checksum stand. Quotes inside of strings are escaped, so
 * the pattern cannot stand anywhere but at the key itself. NULL when it is not there. */
static inline char *safetensors_crc_digits(char *header, size_t size) {
    static const char key[] = "\"" SAFETENSORS_CRC "\":\"";
    char *found = memmem(header, size, key, sizeof(key) - 1);
    if (found == NULL || (size_t)(header + size - found) < sizeof(key) - 1 + SAFETENSORS_DIGITS)
        return NULL;
    return found + sizeof(key) - 1;
}

#endif
