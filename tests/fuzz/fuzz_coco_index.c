/* Annotation files and result files: the input is read as both, and the results are scored against
 * the annotations where both are good. An index that was made holds its promises. */
#include "tests/fuzz/check.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/coco/coco_task.h"
#include "trainer/eval/coco_stats.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Annotations that any image and category 1 of the results meets. */
static const char TRUTH[] =
    "{\"images\":[{\"id\":1,\"width\":20,\"height\":10}],\"categories\":[{\"id\":1,\"name\":\"a\"}]"
    ","
    "\"annotations\":[{\"id\":1,\"image_id\":1,\"category_id\":1,\"area\":9,\"bbox\":[1,1,3,3],"
    "\"segmentation\":[[1,1,4,1,4,4,1,4]]}]}";

static int file_of(const void *bytes, size_t size, char path[64]) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void check_annotation(const struct coco_index *index, const struct coco_annotation *a) {
    static struct coco_outline room;
    static struct rle_scratch scratch;
    cleanup_rle struct rle mask = {0};
    struct error err = {0};
    CHECK(a->image == COCO_NUMBER_NONE || a->image < index->image_count);
    CHECK(a->category == COCO_NUMBER_NONE || a->category < index->category_count);
    struct coco_segment segment = coco_index_segment(index, a);
    CHECK(segment.kind == (enum coco_segment_kind)a->kind);
    const struct coco_image *image =
        a->image < index->image_count ? &index->images[a->image] : NULL;
    if (image == NULL || (uint64_t)image->width * image->height > 1 << 20)
        return; /* a mask may take the memory that its picture asks for */
    if (coco_index_mask(index, a, &room, &scratch, &mask, &err) == 0)
        CHECK(mask.count > 0 && mask.height > 0);
    else
        CHECK(strncmp(err.text, "annotation ", 11) == 0);
}

static void check_index(const struct coco_index *index) {
    size_t placed = 0;
    for (size_t i = 0; i < index->image_count; i++) {
        const struct coco_image *image = &index->images[i];
        CHECK(i == 0 || index->images[i - 1].id < image->id);
        CHECK(coco_index_image(index, image->id) == i);
        CHECK(strlen(coco_index_name(index, image->name)) < index->names_size);
        CHECK(image->first == placed);
        placed += image->count;
        for (uint32_t a = 0; a < image->count; a++)
            CHECK(index->annotations[image->first + a].image == i);
    }
    CHECK(placed == index->placed_count && placed <= index->annotation_count);
    for (size_t c = 0; c < index->category_count; c++)
        CHECK(coco_index_category(index, index->categories[c].id) == c);
    for (size_t i = 0; i < index->annotation_count; i++)
        check_annotation(index, &index->annotations[i]);
}

static void score(const struct coco_index *index, const struct coco_results *results, bool masks) {
    cleanup_coco_task struct coco_task task = {0};
    cleanup_coco_curves struct coco_curves curves = {0};
    struct error err = {0};
    double stats[COCO_STATS];
    if (coco_task_make(&task, index, results, masks, COCO_AREA_OF_BOX, &err) != 0) {
        CHECK(err.text[0] != '\0');
        return;
    }
    task.input.threads = 1;
    if (coco_eval(&task.input, &curves, &err) != 0) {
        CHECK(masks && err.text[0] != '\0');
        return;
    }
    CHECK(coco_stats(&curves, stats, &err) == 0);
    for (int i = 0; i < COCO_STATS; i++)
        CHECK(stats[i] == -1 || (stats[i] >= 0 && stats[i] <= 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64], truth_path[64];
    struct error err = {0};
    cleanup_coco_index struct coco_index index = {0}, truth = {0};
    cleanup_coco_results struct coco_results results = {0};
    int fd = file_of(data, size, path), truth_fd = file_of(TRUTH, sizeof(TRUTH) - 1, truth_path);
    if (coco_load(&index, path, NULL, &err) == 0)
        check_index(&index);
    else
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    CHECK(coco_load(&truth, truth_path, NULL, &err) == 0);
    if (coco_results_read(&results, path, &err) == 0) {
        score(&truth, &results, false);
        score(&truth, &results, true);
    }
    close(fd);
    close(truth_fd);
    return 0;
}
