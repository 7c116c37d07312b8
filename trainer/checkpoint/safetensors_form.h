/* Constants shared by writer and reader of the safetensors format. */
#ifndef TRAINER_CHECKPOINT_SAFETENSORS_FORM_H
#define TRAINER_CHECKPOINT_SAFETENSORS_FORM_H

#include <stddef.h>
#include <string.h>

#define SAFETENSORS_METADATA "__metadata__"
#define SAFETENSORS_CRC "crc32c"
#define SAFETENSORS_ZEROS "00000000"

enum {
    SAFETENSORS_HEAD = 8,   /* bytes of the header's length */
    SAFETENSORS_DIGITS = 8, /* digits of a checksum as text */
};

/* Finds the digits of the header's own checksum, or NULL. Quotes inside strings are escaped, so
 * the pattern can only match the key itself. */
static inline char *safetensors_crc_digits(char *header, size_t size) {
    static const char key[] = "\"" SAFETENSORS_CRC "\":\"";
    char *found = memmem(header, size, key, sizeof(key) - 1);
    if (found == NULL || (size_t)(header + size - found) < sizeof(key) - 1 + SAFETENSORS_DIGITS)
        return NULL;
    return found + sizeof(key) - 1;
}

#endif
