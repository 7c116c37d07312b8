#include "entrypoint/job/sagemaker/python_repr.h"

#include "entrypoint/job/sagemaker/big_integers.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values inside lists and objects are written as Python's repr() writes them, with quotes. At the
 * top a text is itself and an object is a list of assignments, as the toolkit passes these on
 * (python_repr_add). Python is not asked: the image need not have one. */

/* --- numbers --------------------------------------------------------------------------------- */

/* Writes the fewest digits that read back as the same number, as D.DDDe+XX. 17 digits always
 * suffice for a double (IEEE 754), so the loop ends with the right text. */
static void shortest(double number, char *text, size_t size) {
    enum { DIGITS_MAX = 17 };
    for (int digits = 1; digits <= DIGITS_MAX; digits++) {
        (void)snprintf(text, size, "%.*e", digits - 1, number);
        if (strtod(text, NULL) == number)
            return;
    }
}

/* Formats a number like Python's repr: with an exponent below 1e-4 and from 1e16 on, and with ".0"
 * if it looks whole. */
static int add_real(double number, struct buf *ret, struct error *err) {
    char text[40];
    shortest(number, text, sizeof(text));
    const char *e = strchr(text, 'e');
    int exponent = e != NULL ? (int)strtol(e + 1, NULL, 10) : 0;
    /* The exponent has two digits at least, in C as in Python. */
    if (exponent < -4 || exponent >= 16)
        return buf_add_text(ret, text, err);
    size_t mantissa = strcspn(text, "e");
    /* Digits after the first: without the sign, the point and the first digit itself. */
    int digits = (int)mantissa - (number < 0) - (memchr(text, '.', mantissa) != NULL) - 1;
    int fraction = digits - exponent;
    return buf_printf(ret, err, "%.*f", fraction > 0 ? fraction : 1, number);
}

/* --- text ------------------------------------------------------------------------------------ */

/* Bytes above 127 are parts of UTF-8 and stay, as Python shows them as characters. */
static int add_byte(char byte, char quote, struct buf *ret, struct error *err) {
    static const char *const known[128] = {
        ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t", ['\\'] = "\\\\"};
    unsigned char code = (unsigned char)byte;
    if (byte == quote)
        return buf_printf(ret, err, "\\%c", byte);
    if (code < 128 && known[code] != NULL)
        return buf_add_text(ret, known[code], err);
    if (code < 0x20 || code == 0x7f)
        return buf_printf(ret, err, "\\x%02x", code);
    return buf_add(ret, &byte, 1, err);
}

/* Python prefers single quotes, and takes double ones only for a text that has single ones and no
 * double ones. */
static int add_quoted(const char *text, struct buf *ret, struct error *err) {
    /* Other quotes inside are escaped (add_byte). */
    char quote = strchr(text, '\'') != NULL && strchr(text, '"') == NULL ? '"' : '\'';
    if (buf_add(ret, &quote, 1, err) != 0)
        return -1;
    for (; *text != '\0'; text++)
        if (add_byte(*text, quote, ret, err) != 0)
            return -1;
    return buf_add(ret, &quote, 1, err);
}

/* --- values ---------------------------------------------------------------------------------- */

/* Lists and objects hold values again; the JSON parser limits the depth. */
static int add_value(const json_t *value, struct buf *ret, struct error *err);

/* A comma and a blank between values, as in Python. */
static int add_list(const json_t *list, struct buf *ret, struct error *err) {
    if (buf_add_text(ret, "[", err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++)
        if ((i > 0 && buf_add_text(ret, ", ", err) != 0) ||
            add_value(json_array_get(list, i), ret, err) != 0)
            return -1;
    return buf_add_text(ret, "]", err);
}

/* Byte order of UTF-8, which is that of code points. */
static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of OBJECT's members; the caller frees the list but not the names. NULL: no memory.
 * Unsorted names are in the order in which they were read. */
static const char **member_names(const json_t *object, bool sorted, struct error *err) {
    const char **names = calloc(json_object_size(object) + 1, sizeof(*names));
    size_t count = 0;
    const char *name = NULL;
    json_t *value = NULL;
    if (names == NULL) {
        (void)error_no_memory(err, "the hyperparameters");
        return NULL;
    }
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        names[count++] = name;
    }
    if (sorted)
        qsort(names, count, sizeof(*names), compare);
    return names;
}

/* Members of an object: {'b': 2, 'a': 1} in their order inside another value; a=1,b=2 sorted at the
 * top. */
static int add_members(const json_t *object, bool top, struct buf *ret, struct error *err) {
    /* Sorted at the top alone. */
    const char **names = member_names(object, top, err);
    int result = names != NULL ? 0 : -1;
    for (size_t i = 0; result == 0 && i < json_object_size(object); i++) {
        if (i > 0)
            result = buf_add_text(ret, top ? "," : ", ", err);
        if (result == 0)
            result = top ? buf_add_text(ret, names[i], err) : add_quoted(names[i], ret, err);
        if (result == 0)
            result = buf_add_text(ret, top ? "=" : ": ", err);
        if (result == 0)
            result = add_value(json_object_get(object, names[i]), ret, err);
    }
    free(names);
    return result;
}

/* Inside another value. */
static int add_object(const json_t *object, struct buf *ret, struct error *err) {
    if (buf_add_text(ret, "{", err) != 0 || add_members(object, false, ret, err) != 0)
        return -1;
    return buf_add_text(ret, "}", err);
}

/* A big integer is a marked string here, and is written as a number. */
static int add_value(const json_t *value, struct buf *ret, struct error *err) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return add_object(value, ret, err);
    case JSON_ARRAY:
        return add_list(value, ret, err);
    case JSON_STRING:
        if (big_integers_digits(value) != NULL)
            return buf_add_text(ret, big_integers_digits(value), err);
        return add_quoted(json_string_value(value), ret, err);
    case JSON_INTEGER:
        return buf_printf(ret, err, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL:
        return add_real(json_real_value(value), ret, err);
    case JSON_TRUE:
        return buf_add_text(ret, "True", err);
    case JSON_FALSE:
        return buf_add_text(ret, "False", err);
    /* Null. */
    default:
        return buf_add_text(ret, "None", err);
    }
}

/* Numbers, booleans and lists are alike at the top and inside. */
int python_repr_add(const json_t *value, struct buf *ret, struct error *err) {
    if (json_is_null(value))
        return 0;
    if (json_is_string(value))
        return buf_add_text(ret, json_string_value(value), err);
    return json_is_object(value) ? add_members(value, true, ret, err) : add_value(value, ret, err);
}
