#include "trainer/app/task/class_predictions.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/output_path.h"
#include "common/json/json.h"
#include "common/str.h"
#include "trainer/app/task/score.h"
#include "trainer/data/dataset/labelled.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)1 << 32)

/* Number of classes of a picture that are printed; those below a least probability are left out,
 * except the best. */
enum { SHOWN = 3 };
static const double LEAST_SHOWN = 0.005;

static const char *const STARTS[] = {"{\"model\":", NULL};
static const struct output_path_kind KIND = {"a list of predictions", STARTS};

struct class_predictions {
    const struct model_config *config;
    const struct dataset *set;
    float *logits; /* owned; [set->count][classes] */
    bool *seen;    /* owned; [set->count] */
    struct score_logits batch;
};

int class_predictions_open(const struct model_config *config, const struct dataset *set,
                           void **ret_score, struct error *err) {
    struct class_predictions *g = calloc(1, sizeof(*g));
    *ret_score = g;
    if (g == NULL)
        return error_no_memory(err, "predictions");
    g->config = config;
    g->set = set;
    g->logits = calloc(set->count, config->classes * sizeof(*g->logits));
    g->seen = calloc(set->count, sizeof(*g->seen));
    return g->logits != NULL && g->seen != NULL ? 0 : error_no_memory(err, "predictions");
}

void class_predictions_close(void *score) {
    struct class_predictions *g = score;
    free(g->logits);
    free(g->seen);
    score_logits_done(&g->batch);
    free(g);
}

int class_predictions_batch(void *score, const struct batch *batch,
                            const struct task_outputs *outputs, int64_t *ret_images,
                            struct error *err) {
    struct class_predictions *g = score;
    const float *weight = batch->fields[LABELLED_WEIGHT];
    const size_t classes = g->config->classes;
    if (score_logits_read(&g->batch, outputs, batch, classes, err) != 0)
        return -1;
    for (int i = 0; i < batch->count; i++) {
        if (!(weight[i] > 0))
            continue;
        size_t sample = (size_t)batch->samples[i];
        memcpy(g->logits + sample * classes, g->batch.values + (size_t)i * classes,
               classes * sizeof(float));
        g->seen[sample] = true;
        ++*ret_images;
    }
    return 0;
}

static int path_of(const struct task_predictions *how, char path[PATH_MAX], struct error *err) {
    if (snprintf(path, PATH_MAX, "%s/predictions.json", how->folder) < PATH_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "--out: %.64s...: path too long", how->folder);
}

int class_predictions_check(const struct task_data *data, const struct task_predictions *how,
                            struct error *err) {
    char path[PATH_MAX];
    (void)data;
    return path_of(how, path, err) != 0 ? -1 : output_path_check(path, &KIND, "--out", err);
}

/* Converts text of any bytes to JSON's UTF-8. */
static json_t *text_json(const char *text) {
    cleanup_buf struct buf clean = {.max = 3 * PATH_MAX + 1};
    json_t *value = json_string(text);
    if (value == NULL && str_add_utf8(&clean, text, strlen(text), NULL) == 0)
        value = json_string(buf_text(&clean));
    return value;
}

/* Orders CLASSES logits; NaN comes last. */
static bool goes_before(const float *logits, size_t a, size_t b) {
    if (isnan(logits[a]) || isnan(logits[b]))
        return !isnan(logits[a]);
    return logits[a] > logits[b];
}

struct guess {
    size_t class;
    double probability; /* not finite if the logits are not */
};

/* Finds the MOST best classes, among equals the first, in BEST. Returns their number. */
static size_t find_best(const struct class_predictions *g, const float *logits, size_t most,
                        struct guess *best) {
    const size_t classes = g->config->classes;
    double sum = 0;
    size_t count = 0;
    for (size_t c = 0; c < classes; c++) {
        size_t at = count;
        while (at > 0 && goes_before(logits, c, best[at - 1].class))
            at--;
        if (at == most)
            continue;
        count += count < most;
        memmove(best + at + 1, best + at, (count - 1 - at) * sizeof(*best));
        best[at].class = c;
    }
    for (size_t c = 0; c < classes && count > 0; c++)
        sum += exp((double)logits[c] - (double)logits[best[0].class]);
    for (size_t i = 0; i < count; i++)
        best[i].probability =
            exp((double)logits[best[i].class] - (double)logits[best[0].class]) / sum;
    return count;
}

static json_t *best_json(const struct class_predictions *g, const struct guess *best,
                         size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        double p = best[i].probability;
        (void)json_array_append_new(list,
                                    json_pack("{s:o, s:I, s:o}", "name",
                                              text_json(g->config->class_names[best[i].class]),
                                              "index", (json_int_t)best[i].class, "probability",
                                              isfinite(p) ? json_real(p) : json_null()));
    }
    return list;
}

/* Prints "PATH  rose 67 %, tulip 25 %": the best class, and others that are not negligible. */
static void print_best(const struct class_predictions *g, const char *path,
                       const struct guess *best, size_t count) {
    printf("%s ", path);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        if (i == 0 || best[i].probability >= LEAST_SHOWN)
            printf("%s %s %.0f %%", i > 0 ? "," : "", g->config->class_names[best[i].class],
                   100 * best[i].probability);
    printf("\n");
}

static int add_picture(const struct class_predictions *g, size_t sample, size_t most,
                       struct buf *out, bool first, struct error *err) {
    char name[PATH_MAX];
    cleanup_free struct guess *best = calloc(most + 1, sizeof(*best));
    if (best == NULL)
        return error_no_memory(err, "predictions");
    size_t count = find_best(g, g->logits + sample * g->config->classes, most, best);
    dataset_sample_name(g->set, sample, name, sizeof(name));
    cleanup_json json_t *picture =
        json_pack("{s:o, s:o}", "file_name", text_json(name), "classes", best_json(g, best, count));
    cleanup_free char *text = picture != NULL ? json_shortest(picture, JSON_COMPACT) : NULL;
    if (text == NULL)
        return error_no_memory(err, "predictions");
    print_best(g, name, best, count);
    return buf_printf(out, err, "%s\n%s", first ? "" : ",", text);
}

int class_predictions_write(void *score, const struct task_predictions *how, struct error *err) {
    const struct class_predictions *g = score;
    char path[PATH_MAX];
    cleanup_buf struct buf text = {.max = TEXT_MAX};
    size_t most = how->most < g->config->classes ? how->most : g->config->classes;
    bool first = true;
    if (path_of(how, path, err) != 0 ||
        buf_printf(&text, err, "{\"model\":\"%s\",\"pictures\":[", g->config->model) != 0)
        return -1;
    for (size_t i = 0; i < g->set->count; i++) {
        if (!g->seen[i])
            continue;
        if (add_picture(g, i, most, &text, first, err) != 0)
            return -1;
        first = false;
    }
    if (buf_add_text(&text, "]}\n", err) != 0)
        return -1;
    return file_publish(path, text.data, text.size, 0644, err);
}
