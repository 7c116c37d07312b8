#include "job/hyperparameters.h"

#include "common/cleanup.h"
#include "common/json.h"
#include "common/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void hyperparameters_done(struct hyperparameters *h) {
    for (size_t i = 0; i < h->count; i++)
        free(h->items[i].text);
    free(h->items);
    json_decref(h->root);
    *h = (struct hyperparameters){0};
}

static bool is_name(const char *name) {
    static const char bytes[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
    size_t size = strlen(name);
    return size >= 1 && size <= HYPERPARAMETER_NAME_MAX && strspn(name, bytes) == size &&
           strchr(".:-", name[0]) == NULL;
}

static bool is_hidden(const char *name) {
    return str_starts_with(name, "sagemaker_") || strcmp(name, "_tuning_objective_metric") == 0;
}

/* The text of a string value: what is inside, where it is a JSON string in a string. */
static char *string_text(const char *value) {
    json_t *inner = value[0] == '"' ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    char *text = strdup(json_is_string(inner) ? json_string_value(inner) : value);
    json_decref(inner);
    return text;
}

static bool is_null(const json_t *value) {
    return json_is_null(value) ||
           (json_is_string(value) && strcmp(json_string_value(value), "null") == 0);
}

static int add(const char *name, const json_t *value, const char *source,
               struct hyperparameters *ret, struct error *err) {
    if (is_null(value))
        return 0;
    bool odd = !is_name(name);
    if (odd && ret->ignored++ == 0)
        ret->first_ignored = name;
    char *text = json_is_string(value)
                     ? string_text(json_string_value(value))
                     : json_shortest(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL)
        return error_no_memory(err, "the hyperparameters");
    ret->items[ret->count++] = (struct hyperparameter){name, text, is_hidden(name), odd};
    if (strlen(text) > HYPERPARAMETER_VALUE_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%s: \"%s\" has more than %d bytes", source, name,
                         HYPERPARAMETER_VALUE_MAX);
    return 0;
}

static int compare(const void *a, const void *b) {
    const struct hyperparameter *first = a;
    const struct hyperparameter *second = b;
    return strcmp(first->name, second->name);
}

/* Takes ROOT over. */
static int from_json(json_t *root, const char *source, struct hyperparameters *ret,
                     struct error *err) {
    ret->root = root;
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CONFIG, "%s: not an object", source);
    size_t count = json_object_size(root);
    if (count > HYPERPARAMETERS_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%s: %zu hyperparameters; %d are the most", source,
                         count, HYPERPARAMETERS_MAX);
    ret->items = calloc(count + 1, sizeof(*ret->items));
    if (ret->items == NULL)
        return error_no_memory(err, "the hyperparameters");
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(root, name, value) {
        if (add(name, value, source, ret, err) != 0)
            return -1;
    }
    qsort(ret->items, ret->count, sizeof(*ret->items), compare);
    return 0;
}

static int finish(json_t *root, const char *source, struct hyperparameters *ret,
                  struct error *err) {
    if (from_json(root, source, ret, err) == 0)
        return 0;
    hyperparameters_done(ret);
    return -1;
}

int hyperparameters_parse(const char *bytes, size_t size, const char *source,
                          struct hyperparameters *ret, struct error *err) {
    *ret = (struct hyperparameters){0};
    json_t *root = NULL;
    if (json_parse(bytes, size, source, &root, err) != 0)
        return -1;
    return finish(root, source, ret, err);
}

int hyperparameters_read(const char *path, struct hyperparameters *ret, struct error *err) {
    *ret = (struct hyperparameters){0};
    struct error failed = {0};
    json_t *root = NULL;
    if (json_read_file(path, &root, &failed) == 0)
        return finish(root, path, ret, err);
    if (failed.os_errno == ENOENT)
        return 0;
    if (err != NULL)
        *err = failed;
    return -1;
}

const char *hyperparameters_get(const struct hyperparameters *h, const char *name) {
    for (size_t i = 0; i < h->count; i++)
        if (strcmp(h->items[i].name, name) == 0)
            return h->items[i].text;
    return NULL;
}

int hyperparameters_add_flags(const struct hyperparameters *h, struct argv *ret,
                              struct error *err) {
    for (size_t i = 0; i < h->count; i++) {
        const struct hyperparameter *p = &h->items[i];
        if (!p->hidden && !p->odd &&
            (argv_printf(ret, err, "--%s", p->name) != 0 || argv_add(ret, p->text, err) != 0))
            return -1;
    }
    return 0;
}

/* "2.0" is 2: what a tool makes of a number on its way through a float. */
static void cut_zero_fraction(char *number) {
    char *dot = strchr(number, '.');
    if (dot != NULL && dot > number && dot[1] != '\0' && dot[1 + strspn(dot + 1, "0")] == '\0')
        *dot = '\0';
}

int hyperparameters_slots(const struct hyperparameters *h, unsigned *ret, struct error *err) {
    static const char name[] = "sagemaker_mpi_num_of_processes_per_host";
    const char *text = hyperparameters_get(h, name);
    int64_t slots = 0;
    *ret = 0;
    if (text == NULL)
        return 0;
    cleanup_free char *number = strdup(text);
    if (number == NULL)
        return error_no_memory(err, "the hyperparameters");
    cut_zero_fraction(number);
    if (str_parse_int(number, 1, HYPERPARAMETER_SLOTS_MAX, &slots, err) != 0)
        return error_wrap(err, "the hyperparameter %s", name);
    *ret = (unsigned)slots;
    return 0;
}
