#include "common/trials/trials_member.h"

#include "common/cleanup.h"
#include "common/json/json.h"

#include <stdio.h>
#include <string.h>

int trials_member_error(const char *where, const char *name, const char *what, struct error *err) {
    return error_set(err, EXIT_CODE_CONFIG, "%s: \"%.64s\": %s", where, name, what);
}

int trials_member_only(const json_t *object, const char *name, const char *const *members,
                       const char *where, struct error *err) {
    if (!json_is_object(object))
        return trials_member_error(where, name, "an object is expected", err);
    for (void *i = json_object_iter((json_t *)(uintptr_t)object); i != NULL;
         i = json_object_iter_next((json_t *)(uintptr_t)object, i)) {
        const char *key = json_object_iter_key(i);
        size_t k = 0;
        while (members[k] != NULL && strcmp(members[k], key) != 0)
            k++;
        if (members[k] == NULL)
            return trials_member_error(where, key, "unknown member", err);
    }
    return 0;
}

int trials_member_int(const json_t *object, const char *name, int64_t low, int64_t high,
                      bool needed, int64_t *ret, const char *where, struct error *err) {
    const json_t *value = json_object_get(object, name);
    if (value == NULL && !needed)
        return 0;
    const int64_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < low || number > high)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"%s\": a whole number from %lld to %lld is expected", where, name,
                         (long long)low, (long long)high);
    *ret = number;
    return 0;
}

int trials_member_real(const json_t *object, const char *name, double low, double high, double *ret,
                       const char *where, struct error *err) {
    const json_t *value = json_object_get(object, name);
    if (value == NULL)
        return 0;
    const double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= low && number <= high))
        return error_set(err, EXIT_CODE_CONFIG, "%s: \"%s\": a number from %g to %g is expected",
                         where, name, low, high);
    *ret = number;
    return 0;
}

int trials_member_name(const char *text, char ret[TRIALS_NAME_SIZE], const char *where,
                       struct error *err) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const size_t size = text != NULL ? strlen(text) : 0;
    if (size == 0 || size >= TRIALS_NAME_SIZE || strspn(text, allowed) != size || text[0] == '-')
        return trials_member_error(where, text != NULL ? text : "",
                                   "a name of letters, digits, - and _ is expected", err);
    memcpy(ret, text, size + 1);
    return 0;
}

int trials_member_value(const json_t *value, char ret[TRIALS_VALUE_SIZE], const char *name,
                        const char *where, struct error *err) {
    cleanup_free char *number =
        json_is_number(value) ? json_shortest(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    const char *text = json_is_string(value)    ? json_string_value(value)
                       : json_is_boolean(value) ? (json_is_true(value) ? "true" : "false")
                                                : number;
    if (text == NULL || strlen(text) >= TRIALS_VALUE_SIZE || strpbrk(text, "\r\n") != NULL)
        return trials_member_error(where, name, "a text, a number, true or false is expected", err);
    memcpy(ret, text, strlen(text) + 1);
    return 0;
}
