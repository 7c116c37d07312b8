#include "entrypoint/job/sagemaker/hyperparameters.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/file_look.h"
#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/job/sagemaker/big_integers.h"
#include "entrypoint/job/sagemaker/python_repr.h"

#include <stdlib.h>
#include <string.h>

/* Each value is kept in up to three forms. The JSON as it was read (root) is for SM_HPS, a text is
 * for variables, and a flag's value is kept where that differs from the text. A string that holds
 * JSON is decoded once on the way, since the SDK quotes values so (add). Which form goes where is
 * in hyperparameters.h.
 *
 * Integers of any size pass through unchanged: big_integers.h keeps those beyond 64 bits as strings
 * that it can tell from others.
 *
 * Limits are checked before memory is taken, as the file comes from outside. */

void hyperparameters_done(struct hyperparameters *h) {
    for (size_t i = 0; i < h->count; i++) {
        free(h->items[i].text);
        free(h->items[i].flag);
    }
    free(h->items);
    json_decref(h->root);
    *h = (struct hyperparameters){0};
}

/* The empty name passes: it is a flag without a name. A first '-' does not, as the flag would have
 * three dashes. */
static bool is_name(const char *name) {
    static const char bytes[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
    size_t size = strlen(name);
    return size <= HYPERPARAMETER_NAME_MAX && strspn(name, bytes) == size &&
           (size == 0 || strchr(".:-", name[0]) == NULL);
}

/* These are for ringmaster and for SageMaker's toolkit. */
static bool is_hidden(const char *name) {
    return str_starts_with(name, "sagemaker_") || strcmp(name, "default_user_module_name") == 0 ||
           strcmp(name, "_tuning_objective_metric") == 0;
}

/* Decodes a string that holds JSON which is spelled differently as a flag than as text: true,
 * false, a list, an object, a string. *RET is NULL for other strings, which stay as they are. A
 * number in a string stays text, so that 1e-5 and 007 arrive as they were written. */
static int inside(const char *value, json_t **ret, struct error *err) {
    if (big_integers_decode(value, ret, err) != 0)
        return -1;
    if (json_is_number(*ret) || big_integers_digits(*ret) != NULL) {
        json_decref(*ret);
        *ret = NULL;
    }
    return 0;
}

/* The caller frees the text; NULL: no memory. Keys are sorted, as in the toolkit's variables. */
static char *text_of(const json_t *value) {
    const size_t form = JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII;
    if (json_is_null(value))
        return strdup("");
    if (json_is_string(value) && big_integers_digits(value) == NULL)
        return strdup(json_string_value(value));
    return big_integers_dump(value, form);
}

/* Makes the value's form as a flag; NULL in *RET if the text serves as flag, too. Only objects,
 * lists, true and false differ. */
static int flag_of(const json_t *value, char **ret, struct error *err) {
    *ret = NULL;
    if (json_is_string(value) || json_is_number(value) || json_is_null(value))
        return 0; /* big integers are strings here */
    cleanup_buf struct buf text;
    /* Python's spelling may be longer than the compact text, as it has blanks after commas and
     * colons. */
    buf_init(&text, (size_t)2 * HYPERPARAMETER_VALUE_MAX);
    if (python_repr_add(value, &text, err) != 0)
        return -1;
    *ret = strdup(buf_text(&text));
    return *ret != NULL ? 0 : error_no_memory(err, "the hyperparameters");
}

/* An error names the source and the parameter, never its value, which may be a secret. */
static int fill(struct hyperparameter *p, const json_t *value, const char *source,
                struct error *err) {
    p->text = text_of(value);
    if (p->text == NULL)
        return error_no_memory(err, "the hyperparameters");
    if (strlen(p->text) > HYPERPARAMETER_VALUE_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%s: \"%s\" has more than %d bytes", source,
                         p->name, HYPERPARAMETER_VALUE_MAX);
    struct error why = {0};
    if (flag_of(value, &p->flag, &why) != 0)
        return error_set(err, why.code == EXIT_CODE_DATA ? EXIT_CODE_CONFIG : why.code,
                         "%s: \"%s\" as a flag: %s", source, p->name, why.text);
    return 0;
}

/* VALUE is borrowed. The parameter refers to its name in root and has copies of everything else, so
 * that the decoded value can go. */
static int add(const char *name, const json_t *value, const char *source,
               struct hyperparameters *ret, struct error *err) {
    /* A marked big integer is a number, and is not decoded. */
    bool text = json_is_string(value) && big_integers_digits(value) == NULL;
    cleanup_json json_t *inner = NULL;
    if (text && inside(json_string_value(value), &inner, err) != 0)
        return -1;
    if (inner != NULL)
        value = inner;
    bool odd = !is_name(name);
    /* Kept for SM_HPS all the same. */
    if (odd && ret->ignored++ == 0)
        ret->first_ignored = name;
    struct hyperparameter *p = &ret->items[ret->count++];
    *p = (struct hyperparameter){
        .name = name, .null = json_is_null(value), .hidden = is_hidden(name), .odd = odd};
    return fill(p, value, source, err);
}

/* Byte order, in which the flags are passed, too. */
static int compare(const void *a, const void *b) {
    const struct hyperparameter *first = a;
    const struct hyperparameter *second = b;
    return strcmp(first->name, second->name);
}

/* Takes ownership of ROOT. */
static int from_json(json_t *root, const char *source, struct hyperparameters *ret,
                     struct error *err) {
    ret->root = root;
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: not an object; expected {\"NAME\": \"VALUE\", ...}", source);
    size_t count = json_object_size(root);
    if (count > HYPERPARAMETERS_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%s: %zu hyperparameters; the maximum is %d",
                         source, count, HYPERPARAMETERS_MAX);
    /* One more, as none would be no allocation. */
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

/* Leaves *RET empty on failure. */
static int finish(json_t *root, const char *source, struct hyperparameters *ret,
                  struct error *err) {
    if (from_json(root, source, ret, err) == 0)
        return 0;
    hyperparameters_done(ret);
    return -1;
}

/* SOURCE is for messages: the path of the file. */
int hyperparameters_parse(const char *bytes, size_t size, const char *source,
                          struct hyperparameters *ret, struct error *err) {
    *ret = (struct hyperparameters){0};
    json_t *root = NULL;
    if (big_integers_parse(bytes, size, source, &root, err) != 0)
        return -1;
    return finish(root, source, ret, err);
}

/* Only a file that does not exist is no parameters; one that cannot be read is an error. */
int hyperparameters_read(const char *path, struct hyperparameters *ret, struct error *err) {
    *ret = (struct hyperparameters){0};
    struct error failed = {0};
    cleanup_buf struct buf text;
    buf_init(&text, JSON_FILE_MAX);
    if (file_read(path, &text, &failed) == 0)
        return hyperparameters_parse(buf_text(&text), text.size, path, ret, err);
    if (file_is_absence(failed.os_errno))
        return 0;
    /* Whatever kept it from being read. */
    failed.code = EXIT_CODE_CONFIG;
    if (err != NULL)
        *err = failed;
    return -1;
}

/* Null counts as absent here, and not as an empty text. */
const char *hyperparameters_get(const struct hyperparameters *h, const char *name) {
    for (size_t i = 0; i < h->count; i++)
        if (strcmp(h->items[i].name, name) == 0)
            return h->items[i].null ? NULL : h->items[i].text;
    return NULL;
}

/* Names outside the grammar are passed over: they could be taken for other flags. */
int hyperparameters_add_flags(const struct hyperparameters *h, bool nulls, struct argv *ret,
                              struct error *err) {
    for (size_t i = 0; i < h->count; i++) {
        const struct hyperparameter *p = &h->items[i];
        /* As in the toolkit: none for the empty name, and one for a single letter. */
        const char *dashes = p->name[0] == '\0' ? "" : p->name[1] == '\0' ? "-" : "--";
        if (!p->hidden && !p->odd && (nulls || !p->null) &&
            (argv_printf(ret, err, "%s%s", dashes, p->name) != 0 ||
             argv_add(ret, p->flag != NULL ? p->flag : p->text, err) != 0))
            return -1;
    }
    return 0;
}
