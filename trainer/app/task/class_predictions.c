#include "trainer/app/task/class_predictions.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/output_path.h"
#include "common/json/json.h"
#include "common/str.h"
#include "trainer/app/task/score.h"
#include "trainer/comm/gather.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/eval/top_classes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Predictions for pictures without labels. Each rank keeps the logits of the pictures that it has
 * seen; rank 0 then gathers those of all and writes one file, in the order in which the pictures
 * were given.
 *
 * The order and the rounding of the file do not depend on the number of ranks: logits travel as
 * they are, and the probabilities are computed from them once, on rank 0.
 *
 * The functions are rows of the table TASK_CLASSIFY (classify.c); evaluate.c calls them. */

/* Limit of the bytes of predictions.json, which is made in memory so that it can be published as a
 * whole. */
#define TEXT_MAX ((size_t)1 << 32)
/* Limit of the bytes of logits over all ranks. */
#define GATHERED_MAX ((size_t)16 << 30)

/* Number of classes of a picture that are printed; those below a least probability are left out,
 * except the best. */
enum { SHOWN = 3 };
static const double LEAST_SHOWN = 0.005;

/* An existing file is overwritten only if it begins like one of this kind. */
static const char *const STARTS[] = {"{\"model\":", NULL};
static const struct output_path_kind KIND = {"a list of predictions", STARTS};

/* Logits are indexed by the number of the picture in the set. */
struct class_predictions {
    const struct model_config *config;
    const struct dataset *set;
    float *logits; /* owned; [set->count][classes] */
    bool *seen;    /* owned; [set->count] */
    struct score_logits batch;
};

/* *RET_SCORE is set even on failure, so that the caller closes what there is. calloc checks the
 * product of its sizes for overflow. */
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
        /* A weight of 0 marks a place that only fills the batch, or a file that could not be
         * used. */
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

/* A rank's part: for each picture that it has seen its number, then its logits. */
static int pack(const struct class_predictions *g, struct buf *out, struct error *err) {
    const size_t classes = g->config->classes;
    for (size_t i = 0; i < g->set->count; i++) {
        const uint64_t number = i;
        if (g->seen[i] &&
            (buf_add(out, &number, sizeof(number), err) != 0 ||
             buf_add(out, g->logits + i * classes, classes * sizeof(*g->logits), err) != 0))
            return -1;
    }
    return 0;
}

/* Sizes are checked although they come from the same program: a rank with another list of pictures
 * would otherwise write outside the array. */
static int unpack(struct class_predictions *g, const uint8_t *bytes, size_t size,
                  struct error *err) {
    const size_t classes = g->config->classes;
    const size_t row = sizeof(uint64_t) + classes * sizeof(*g->logits);
    for (; size >= row; bytes += row, size -= row) {
        uint64_t number;
        memcpy(&number, bytes, sizeof(number));
        if (number >= g->set->count)
            break;
        memcpy(g->logits + number * classes, bytes + sizeof(number), row - sizeof(number));
        g->seen[number] = true;
    }
    return size == 0 ? 0
                     : error_set(err, EXIT_CODE_INTERNAL,
                                 "another rank's predictions are not of these pictures");
}

/* Collective. Ranks other than 0 send and keep their own part. */
int class_predictions_gather(void *score, struct comm *comm, struct error *err) {
    struct class_predictions *g = score;
    cleanup_buf struct buf own = {.max = GATHERED_MAX};
    cleanup_gathered struct gathered all = {0};
    if (comm_size(comm) == 1)
        return 0;
    if (pack(g, &own, err) != 0 ||
        comm_gather_blocks(comm, own.data, own.size, 0, GATHERED_MAX, &all, err) != 0)
        return -1;
    return comm_rank(comm) != 0 ? 0
                                : unpack(g, (const uint8_t *)all.bytes.data, all.bytes.size, err);
}

static int path_of(const struct task_predictions *how, char path[PATH_MAX], struct error *err) {
    if (snprintf(path, PATH_MAX, "%s/predictions.json", how->folder) < PATH_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "--out: %.64s...: path too long", how->folder);
}

/* Called before the work, so that a file in the way costs no evaluation. */
int class_predictions_check(const struct task_data *data, const struct task_predictions *how,
                            struct error *err) {
    char path[PATH_MAX];
    (void)data;
    return path_of(how, path, err) != 0 ? -1 : output_path_check(path, &KIND, "--out", err);
}

/* Prints "PATH  rose 67 %, tulip 25 %": the best class, and others that are not negligible. */
static void print_best(const struct class_predictions *g, const char *path,
                       const struct top_class *best, size_t count) {
    printf("%s ", path);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        if (i == 0 || best[i].probability >= LEAST_SHOWN)
            printf("%s %s %.0f %%", i > 0 ? "," : "", g->config->class_names[best[i].class],
                   100 * best[i].probability);
    printf("\n");
}

/* Appends one picture's object to the file and prints its line. File names may hold any bytes;
 * json_string_any makes text of them. */
static int add_picture(const struct class_predictions *g, size_t sample, size_t most,
                       struct buf *out, bool first, struct error *err) {
    char name[PATH_MAX];
    /* One more, so that a MOST of 0 is no allocation of 0 bytes. */
    cleanup_free struct top_class *best = calloc(most + 1, sizeof(*best));
    if (best == NULL)
        return error_no_memory(err, "predictions");
    size_t count =
        top_classes_find(g->logits + sample * g->config->classes, g->config->classes, most, best);
    dataset_sample_name(g->set, sample, name, sizeof(name));
    cleanup_json json_t *picture =
        json_pack("{s:o, s:o}", "file_name", json_string_any(name), "classes",
                  top_classes_json(g->config->class_names, best, count));
    cleanup_free char *text = picture != NULL ? json_shortest(picture, JSON_COMPACT) : NULL;
    if (text == NULL)
        return error_no_memory(err, "predictions");
    print_best(g, name, best, count);
    return buf_printf(out, err, "%s\n%s", first ? "" : ",", text);
}

/* Pictures that no rank has seen, because their files cannot be used, are left out. The file
 * appears complete or not at all (file_publish). */
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
