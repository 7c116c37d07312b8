#include "trainer/checkpoint/config_seal.h"

#include "common/crc32c.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define START "\"" CONFIG_SEAL_KEY "\": \"crc32c:"
#define ZEROS "00000000"
enum { DIGITS = sizeof(ZEROS) - 1 };

/* Computes the digits that TEXT should have at PLACE. */
static void make_digits(const char *text, size_t size, size_t place, char ret[DIGITS + 1]) {
    uint32_t crc = crc32c(0, text, place);
    crc = crc32c(crc, ZEROS, DIGITS);
    crc = crc32c(crc, text + place + DIGITS, size - place - DIGITS);
    (void)snprintf(ret, DIGITS + 1, "%08" PRIx32, crc);
}

int config_seal_add(struct buf *out, const char *text, struct error *err) {
    const char *comma = strstr(text, ",\n");
    char digits[DIGITS + 1];
    if (comma == NULL)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "a checksum for a text that is not an indented object");
    const size_t begun = out->size, first = (size_t)(comma - text) + 2;
    if (buf_add(out, text, first, err) != 0 || buf_add_text(out, "  " START, err) != 0)
        return -1;
    const size_t place = out->size - begun;
    if (buf_add_text(out, ZEROS "\",\n", err) != 0 || buf_add_text(out, text + first, err) != 0)
        return -1;
    make_digits(out->data + begun, out->size - begun, place, digits);
    memcpy(out->data + begun + place, digits, DIGITS);
    return 0;
}

/* Quotes inside strings are escaped, so START can only match the key itself. */
int config_seal_check(const char *text, size_t size, const char *path, bool *ret_sealed,
                      struct error *err) {
    const char *found = memmem(text, size, START, sizeof(START) - 1);
    char digits[DIGITS + 1];
    *ret_sealed = found != NULL;
    if (found == NULL)
        return 0;
    const size_t place = (size_t)(found - text) + sizeof(START) - 1;
    if (size >= place + DIGITS) {
        make_digits(text, size, place, digits);
        if (memcmp(text + place, digits, DIGITS) == 0)
            return 0;
    }
    return error_set(err, EXIT_CODE_DATA,
                     "%s: does not match its checksum: it was damaged or edited; remove the line "
                     "\"" CONFIG_SEAL_KEY "\" to accept it as it is",
                     path);
}
