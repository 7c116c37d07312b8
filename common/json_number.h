/* Parser of JSON's decimal numbers to doubles.
 *
 * Results are correctly rounded, and computed several times as fast as by strtod for numbers that
 * programs write. */
#ifndef COMMON_JSON_NUMBER_H
#define COMMON_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct json_number {
    double value;
    int64_t integer; /* the value, where it is one */
    bool is_integer; /* no fraction, and within int64_t */
};

/* Reads the number at TEXT, which must end with a byte that belongs to no number (a NUL does), and
 * returns where it ends; NULL when there is none by JSON's grammar or it is infinite. */
const char *json_number_read(const char *text, struct json_number *ret);

#endif
