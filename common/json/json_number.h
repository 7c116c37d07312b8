/* Parser of JSON's decimal numbers to doubles.
 *
 * Results are correctly rounded, and computed several times as fast as by strtod for numbers that
 * programs write. */
#ifndef COMMON_JSON_JSON_NUMBER_H
#define COMMON_JSON_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct json_number {
    double value;
    int64_t integer; /* the value, if is_integer */
    bool is_integer; /* the value has no fraction and fits into int64_t */
};

/* Reads the number at TEXT, which must be followed by a byte that cannot belong to a number (a NUL
 * will do). Returns the end of the number; NULL if it does not follow JSON's grammar or is
 * infinite. */
const char *json_number_read(const char *text, struct json_number *ret);

#endif
