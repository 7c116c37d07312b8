/* Makes the index of a JSON of annotations, and opens it: seconds and peak memory of each, in two
 * processes, as a job and its later starts see them.
 *
 *     bench_coco_index build ANNOTATIONS.json INDEX
 *     bench_coco_index open INDEX */
#include "trainer/data/coco/coco_index.h"
#include "common/clock.h"
#include "trainer/data/coco/coco_build.h"
#include "trainer/data/coco/coco_load.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void say(const char *what, int64_t start, const char *path) {
    struct rusage usage;
    struct stat st = {0};
    double seconds = (double)(clock_now() - start) / (double)CLOCK_SECOND;
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)stat(path, &st);
    printf("%-6s %8.3f s  %7.1f MB peak memory  %7.1f MB %s\n", what, seconds,
           (double)usage.ru_maxrss / 1024, (double)st.st_size / 1048576, path);
}

static int build(const char *json, const char *path, struct error *err) {
    int64_t start = clock_now();
    if (coco_build_file(json, path, err) != 0)
        return -1;
    say("build", start, path);
    return 0;
}

/* Opens and looks up one image, as a reader's first step does. */
static int open_index(const char *path, struct error *err) {
    int64_t start = clock_now();
    cleanup_coco_index struct coco_index index = {0};
    if (coco_load_index(&index, path, err) != 0)
        return -1;
    uint32_t number = coco_index_image(&index, index.images[index.image_count / 2].id);
    say("open", start, path);
    printf("       %zu images, %zu annotations, %zu categories; image %u has %u annotations\n",
           index.image_count, index.annotation_count, index.category_count, number,
           index.images[number].count);
    return 0;
}

int main(int argc, char **argv) {
    struct error err = {0};
    int failed = -1;
    if (argc == 4 && strcmp(argv[1], "build") == 0)
        failed = build(argv[2], argv[3], &err);
    else if (argc == 3 && strcmp(argv[1], "open") == 0)
        failed = open_index(argv[2], &err);
    else
        (void)error_set(&err, EXIT_CODE_USAGE,
                        "usage: bench_coco_index build JSON INDEX | open INDEX");
    if (failed != 0)
        fprintf(stderr, "bench_coco_index: %s\n", err.text);
    return failed != 0 ? (int)err.code : 0;
}
