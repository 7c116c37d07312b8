#include "trainer/checkpoint/model_config.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/table.h"
#include "trainer/checkpoint/config_seal.h"
#include "trainer/checkpoint/format_version.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* First the writing half (config_json and what it calls), then the reading half (read_config and
 * below). Both have the same two shapes: a classification network has the two sides of a crop, a
 * detection network has "task", "preset", "category_ids", "rules" and the sides of its scaling.
 *
 * The text may have been edited by hand or written by another program. Every field is therefore
 * checked before it is used, with bounds that keep later sizes and products in range. Unknown keys
 * are no error: they are listed for a warning, since a misspelled optional key would otherwise be
 * ignored silently.
 *
 * model_dir.c calls it for config.json. Checkpoints hold the same text in their metadata
 * (app/run/save.c), without a checksum of weights, so that other programs can score them while the
 * training continues. */

#define DETECT "detect"

enum {
    CLASSES_MAX = 65536,
    SIDE_MAX = 1 << 14, /* pixels */
    NUMBER_DIGITS = 9   /* significant: enough for every float to come back as it was */
};

/* Safe on a description of which only a part was read. */
void model_config_done(struct model_config *config) {
    for (size_t c = 0; config->class_names != NULL && c < config->classes; c++)
        free(config->class_names[c]);
    free(config->class_names);
    free(config->model);
    free(config->preset);
    free(config->category_ids);
    *config = (struct model_config){0};
}

/* Whole numbers are written without a decimal point, so that a count looks like one. Returns NULL
 * on failure. */
static json_t *rules_json(const struct model_config *config) {
    json_t *rules = json_object();
    for (size_t i = 0; i < config->rule_count; i++) {
        double value = config->rules[i].value;
        /* The bound keeps the conversion to an integer defined. */
        bool whole = value >= 0 && value < INT_MAX && value == (double)(json_int_t)value;
        json_t *number = whole ? json_integer((json_int_t)value) : json_real(value);
        if (json_object_set_new(rules, config->rules[i].name, number) != 0) {
            json_decref(rules);
            return NULL;
        }
    }
    return rules;
}

/* For a detection network; takes ownership of NAMES. Returns NULL on failure. */
static json_t *objects_json(const struct model_config *config, const char *weights, json_t *names) {
    json_t *ids = json_array();
    for (size_t c = 0; c < config->classes; c++)
        if (json_array_append_new(ids, json_integer(config->category_ids[c])) != 0) {
            json_decref(ids);
            json_decref(names);
            return NULL;
        }
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:i, s:i, s:[f,f,f], s:[f,f,f], s:f, s:o}",
        FORMAT_VERSION_KEY, FORMAT_VERSION, "weights", weights, "model", config->model, "task",
        DETECT, "preset", config->preset, "classes", names, "category_ids", ids, "short_side",
        config->short_side, "long_side", config->long_side, "mean", config->mean[0],
        config->mean[1], config->mean[2], "std", config->std[0], config->std[1], config->std[2],
        "epochs", config->epochs, "rules", rules_json(config));
}

/* Returns NULL if a name is not UTF-8. For a classification network; a detection network has
 * objects_json. Takes nothing over from CONFIG. */
static json_t *config_json(const struct model_config *config, const char *weights) {
    json_t *names = json_array();
    for (size_t c = 0; c < config->classes; c++) {
        if (json_array_append_new(names, json_string(config->class_names[c])) != 0) {
            json_decref(names);
            return NULL;
        }
    }
    if (config->preset != NULL)
        return objects_json(config, weights, names);
    return json_pack("{s:i, s:s, s:s, s:o, s:i, s:i, s:[f,f,f], s:[f,f,f], s:f}",
                     FORMAT_VERSION_KEY, FORMAT_VERSION, "weights", weights, "model", config->model,
                     "classes", names, "image_size", config->image_size, "resize_side",
                     config->resize_side, "mean", config->mean[0], config->mean[1], config->mean[2],
                     "std", config->std[0], config->std[1], config->std[2], "epochs",
                     config->epochs);
}

/* A model that was not kept as the best of its training has no score, and the key is left out. */
static int add_score(json_t *root, const struct model_score *score) {
    if (score->metric[0] == '\0')
        return 0;
    return json_object_set_new(root, "score",
                               json_pack("{s:s, s:f, s:I, s:I, s:I}", "metric", score->metric,
                                         "value", score->value, "step", (json_int_t)score->step,
                                         "samples", (json_int_t)score->samples, "course",
                                         (json_int_t)score->lineage));
}

/* The only failure that a user can cause is a class name, so all failures are reported as that one.
 * The text is indented by two, as config_seal.h and model_dir.c expect. */
int model_config_text(const struct model_config *config, const char *weights, const char *where,
                      char **ret_text, struct error *err) {
    cleanup_json json_t *root = config_json(config, weights);
    *ret_text = NULL;
    if (root != NULL && add_score(root, &config->score) == 0)
        *ret_text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(NUMBER_DIGITS));
    if (*ret_text == NULL) /* the name of a class folder may hold any bytes */
        return error_set(err, EXIT_CODE_DATA, "%s: a class name is not UTF-8", where);
    return 0;
}

/* Sets the error that the member KEY of the file PATH is wrong, and returns -1. */
static int refuse(struct error *err, const char *path, const char *key, const char *why) {
    return error_set(err, EXIT_CODE_DATA, "%s: \"%s\" %s", path, key, why);
}

/* Reads a number of pixels from 1 to SIDE_MAX. */
static int read_side(const json_t *root, const char *path, const char *key, int *ret,
                     struct error *err) {
    const json_t *value = json_object_get(root, key);
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > SIDE_MAX)
        return refuse(err, path, key, "is not a number of pixels");
    *ret = (int)json_integer_value(value);
    return 0;
}

/* Reads three numbers of at most MAX, so that the network's floats can hold them. MIN is above zero
 * for divisors, the deviations. */
static int read_three(const json_t *root, const char *path, const char *key, double min,
                      double ret[3], struct error *err) {
    static const double max = 1e6; /* far beyond the mean or deviation of any picture */
    const json_t *values = json_object_get(root, key);
    if (!json_is_array(values) || json_array_size(values) != 3)
        return refuse(err, path, key, "is not a list of three numbers");
    for (size_t i = 0; i < 3; i++) {
        ret[i] = json_number_value(json_array_get(values, i));
        if (!json_is_number(json_array_get(values, i)))
            return refuse(err, path, key, "is not a list of three numbers");
        /* Written so that a NaN fails as well. */
        if (!(ret[i] >= min && ret[i] <= max))
            return error_set(err, EXIT_CODE_DATA, "%s: \"%s\": %g is not from %g to %g", path, key,
                             ret[i], min, max);
    }
    return 0;
}

/* Reads the names. config->classes is set before the first name, so that model_config_done frees
 * those that were copied before a failure. */
static int read_classes(const json_t *root, const char *path, struct model_config *config,
                        struct error *err) {
    const json_t *names = json_object_get(root, "classes");
    size_t count = json_array_size(names);
    if (count < 1 || count > CLASSES_MAX)
        return refuse(err, path, "classes", "is not a list of class names");
    /* Zeroed, so that names which were not read are NULL for model_config_done. */
    config->class_names = calloc(count, sizeof(*config->class_names));
    if (config->class_names == NULL)
        return error_no_memory(err, path);
    config->classes = count;
    for (size_t c = 0; c < count; c++) {
        const char *name = json_string_value(json_array_get(names, c));
        if (name == NULL)
            return refuse(err, path, "classes", "is not a list of class names");
        config->class_names[c] = strdup(name);
        if (config->class_names[c] == NULL)
            return error_no_memory(err, path);
    }
    return 0;
}

/* Reads the format version and the checksum of the weights. Both may be absent: in files of version
 * 1, and in files that no program of this repository has written. */
static int read_origin(const json_t *root, const char *path, struct model_config *config,
                       struct error *err) {
    const json_t *version = json_object_get(root, FORMAT_VERSION_KEY);
    const json_t *weights = json_object_get(root, "weights");
    /* An old file without a version is one of the first. */
    config->version = version != NULL ? json_integer_value(version) : FORMAT_VERSION_FIRST;
    if (version != NULL && !json_is_integer(version))
        return refuse(err, path, FORMAT_VERSION_KEY, "is not a number");
    if (format_version_check(config->version, path, err) != 0)
        return -1;
    if (weights != NULL &&
        (!json_is_string(weights) || json_string_length(weights) >= sizeof(config->weights)))
        return refuse(err, path, "weights", "is not a checksum");
    if (weights != NULL)
        memcpy(config->weights, json_string_value(weights), json_string_length(weights) + 1);
    return 0;
}

/* Earlier versions have no rules. They are only numbers with names here; what they mean, and
 * whether they are in range, is the network's business (models/detect_rules.h). */
static int read_rules(const json_t *root, const char *path, struct model_config *config,
                      struct error *err) {
    json_t *rules = json_object_get(root, "rules"), *value;
    const char *name;
    if (rules == NULL)
        return 0;
    /* The count is checked before the first one is stored in an array of that size. */
    if (!json_is_object(rules) || json_object_size(rules) > MODEL_RULES_MAX)
        return refuse(err, path, "rules", "is not a list of named numbers");
    json_object_foreach(rules, name, value) {
        struct model_rule *rule = &config->rules[config->rule_count];
        if (!json_is_number(value) || strlen(name) >= sizeof(rule->name))
            return error_set(err, EXIT_CODE_DATA,
                             "%s: \"rules\": '%.64s' is not the name of a number", path, name);
        (void)snprintf(rule->name, sizeof(rule->name), "%s", name);
        rule->value = json_number_value(value);
        config->rule_count++;
    }
    return 0;
}

/* Reads what a detection network has instead of a crop's sides. */
static int read_objects(const json_t *root, const char *path, struct model_config *config,
                        struct error *err) {
    const char *preset = json_string_value(json_object_get(root, "preset"));
    const json_t *ids = json_object_get(root, "category_ids");
    if (preset == NULL || *preset == '\0')
        return refuse(err, path, "preset", "is not a preset's name");
    if (json_array_size(ids) != config->classes)
        return refuse(err, path, "category_ids", "is not one number for each class");
    config->preset = strdup(preset);
    config->category_ids = calloc(config->classes, sizeof(*config->category_ids));
    if (config->preset == NULL || config->category_ids == NULL)
        return error_no_memory(err, path);
    /* Ids are the data's own, and may be any whole numbers; -1 stands for none. */
    for (size_t c = 0; c < config->classes; c++) {
        const json_t *id = json_array_get(ids, c);
        if (!json_is_integer(id))
            return refuse(err, path, "category_ids", "is not one number for each class");
        config->category_ids[c] = json_integer_value(id);
    }
    if (read_side(root, path, "short_side", &config->short_side, err) != 0 ||
        read_side(root, path, "long_side", &config->long_side, err) != 0 ||
        read_rules(root, path, config, err) != 0)
        return -1;
    return config->long_side < config->short_side
               ? refuse(err, path, "long_side", "is less than short_side")
               : 0;
}

/* "task" is absent for classification, as it was before there was another task. */
static int read_sizes(const json_t *root, const char *path, struct model_config *config,
                      struct error *err) {
    const json_t *task = json_object_get(root, "task");
    /* A task of a later version would need fields that are unknown here. */
    if (task != NULL) {
        if (!json_is_string(task) || strcmp(json_string_value(task), DETECT) != 0)
            return refuse(err, path, "task", "is not one that this version knows");
        return read_objects(root, path, config, err);
    }
    if (read_side(root, path, "image_size", &config->image_size, err) != 0 ||
        read_side(root, path, "resize_side", &config->resize_side, err) != 0)
        return -1;
    /* The crop has to lie inside the scaled picture. */
    return config->resize_side < config->image_size
               ? refuse(err, path, "resize_side", "is less than image_size")
               : 0;
}

/* Optional. Position and lineage are 0 where they are absent. */
static int read_score(const json_t *root, const char *path, struct model_score *ret,
                      struct error *err) {
    const json_t *score = json_object_get(root, "score");
    const char *metric = json_string_value(json_object_get(score, "metric"));
    if (score == NULL)
        return 0;
    if (metric == NULL || strlen(metric) >= sizeof(ret->metric) ||
        !json_is_number(json_object_get(score, "value")))
        return refuse(err, path, "score", "is not a metric's name and its value");
    (void)snprintf(ret->metric, sizeof(ret->metric), "%s", metric);
    ret->value = json_number_value(json_object_get(score, "value"));
    ret->step = json_integer_value(json_object_get(score, "step"));
    ret->samples = json_integer_value(json_object_get(score, "samples"));
    ret->lineage = json_integer_value(json_object_get(score, "course"));
    return 0;
}

/* Reads the fields in an order in which each can use those before: category ids need the number of
 * classes. */
static int read_config(const json_t *root, const char *path, struct model_config *config,
                       struct error *err) {
    if (read_origin(root, path, config, err) != 0)
        return -1;
    /* Not compared with the models that exist here: the caller builds it, or says that it cannot.
     */
    const char *model = json_string_value(json_object_get(root, "model"));
    if (model == NULL || *model == '\0')
        return refuse(err, path, "model", "is not a model's name");
    config->model = strdup(model);
    if (config->model == NULL)
        return error_no_memory(err, path);
    if (read_classes(root, path, config, err) != 0 || read_sizes(root, path, config, err) != 0 ||
        read_three(root, path, "mean", -1e6, config->mean, err) != 0 ||
        read_three(root, path, "std", 1e-6, config->std, err) != 0)
        return -1;
    const json_t *epochs = json_object_get(root, "epochs");
    if (epochs != NULL && !json_is_number(epochs))
        return refuse(err, path, "epochs", "is not a number");
    config->epochs = json_number_value(epochs); /* 0 if it is absent */
    return read_score(root, path, &config->score, err);
}

/* Lists keys of a later version, and misspelled ones. A key that belongs to the other kind of
 * network counts as unknown. The list is cut where RET ends. */
static void list_unknown(json_t *root, const struct model_config *config, char *ret, size_t size) {
    static const char *const known[] = {
        FORMAT_VERSION_KEY, "weights",       "model",      "classes",     "mean", "std",
        "epochs",           CONFIG_SEAL_KEY, "image_size", "resize_side", "score"};
    static const char *const objects[] = {
        FORMAT_VERSION_KEY, "weights",       "model", "classes", "mean",         "std",
        "epochs",           CONFIG_SEAL_KEY, "task",  "preset",  "category_ids", "rules",
        "short_side",       "long_side",     "score"};
    const bool finds = config->preset != NULL; /* a detection network */
    const size_t count = finds ? TABLE_COUNT(objects) : TABLE_COUNT(known);
    size_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        const bool unknown = table_index(finds ? objects : known, count, key) == count;
        if (unknown && used < size)
            used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? ", " : "", key);
    }
}

/* ROOT stays the caller's. Unknown keys are looked for only in a description that is otherwise
 * right. */
int model_config_read(json_t *root, const char *where, struct model_config *ret,
                      struct error *err) {
    *ret = (struct model_config){0};
    if (read_config(root, where, ret, err) != 0) {
        model_config_done(ret);
        return -1;
    }
    list_unknown(root, ret, ret->unknown, sizeof(ret->unknown));
    return 0;
}
