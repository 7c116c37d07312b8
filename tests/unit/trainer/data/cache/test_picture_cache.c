#include "trainer/data/cache/picture_cache.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLES = 50, SIDE = 40, PICTURE = SIDE * SIDE * 3 };

static const struct picture_cache_plan plan = {7, SAMPLES, SAMPLES *PICTURE};

/* A picture that is no other sample's. */
static void paint(struct image *image, size_t sample) {
    CU_ASSERT_EQUAL_FATAL(image_resize(image, SIDE, SIDE - (int)(sample % 3), NULL), 0);
    for (size_t i = 0; i < (size_t)image->width * (size_t)image->height * 3; i++)
        image->pixels[i] = (uint8_t)(i * 31 + sample * 7);
}

static bool same(const struct image *a, const struct image *b) {
    return a->width == b->width && a->height == b->height &&
           memcmp(a->pixels, b->pixels, (size_t)a->width * (size_t)a->height * 3) == 0;
}

static void put(struct picture_cache *cache, size_t sample) {
    cleanup_image struct image image = {0};
    paint(&image, sample);
    picture_cache_put(cache, sample, &image);
}

/* Returns how many of all samples are there, each as it was put. */
static int kept(struct picture_cache *cache) {
    cleanup_image struct image wanted = {0}, found = {0};
    int count = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        if (picture_cache_get(cache, i, &found)) {
            paint(&wanted, i);
            if (!same(&wanted, &found))
                CU_FAIL("another picture");
            count++;
        }
    return count;
}

static const char *path_of(const char *name) {
    static char path[700];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static struct picture_cache *open_file(const char *name, const struct picture_cache_plan *p,
                                       bool wanted) {
    struct error err = {0};
    bool was_kept = !wanted;
    struct picture_cache *cache = picture_cache_in_file(path_of(name), p, &was_kept, &err);
    if (cache == NULL)
        fprintf(stderr, "%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
    CU_ASSERT_EQUAL(was_kept, wanted);
    return cache;
}

static void pictures_are_kept_as_they_were(void) {
    struct picture_cache *cache = picture_cache_in_memory(&plan, NULL);
    struct picture_cache_figures figures;
    CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
    CU_ASSERT_EQUAL(kept(cache), 0);
    for (size_t i = 0; i < SAMPLES; i += 2)
        put(cache, i);
    put(cache, 0); /* once more: it is there */
    CU_ASSERT_EQUAL(kept(cache), SAMPLES / 2);
    picture_cache_figures(cache, &figures);
    CU_ASSERT_EQUAL(figures.kept, SAMPLES / 2);
    CU_ASSERT(figures.bytes <= SAMPLES / 2 * PICTURE && figures.bytes > 0);
    picture_cache_done(cache);
}

static void what_does_not_fit_is_not_kept(void) {
    const struct picture_cache_plan small = {7, SAMPLES, 5 * PICTURE};
    struct picture_cache *cache = picture_cache_in_memory(&small, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
    for (size_t i = 0; i < SAMPLES; i++)
        put(cache, i);
    CU_ASSERT_EQUAL(kept(cache), 5);
    picture_cache_done(cache);
}

static void another_process_shares_it(void) {
    struct picture_cache *cache = picture_cache_in_memory(&plan, NULL);
    const struct picture_cache_plan other = {8, SAMPLES, SAMPLES * PICTURE};
    const struct picture_cache_plan larger = {7, 100000, SAMPLES * PICTURE};
    CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
    struct picture_cache *second = picture_cache_share(dup(picture_cache_fd(cache)), &plan, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    put(cache, 1);
    put(second, 2);
    CU_ASSERT_EQUAL(kept(cache), 2);
    CU_ASSERT_EQUAL(kept(second), 2);
    CU_ASSERT_PTR_NULL(picture_cache_share(dup(picture_cache_fd(cache)), &other, NULL));
    CU_ASSERT_PTR_NULL(picture_cache_share(dup(picture_cache_fd(cache)), &larger, NULL));
    picture_cache_done(cache);
    CU_ASSERT_EQUAL(kept(second), 2);
    picture_cache_done(second);
}

static void a_file_serves_later_runs_of_its_set_alone(void) {
    const struct picture_cache_plan other = {8, SAMPLES, SAMPLES * PICTURE};
    struct picture_cache *cache = open_file("pictures", &plan, false);
    for (size_t i = 0; i < SAMPLES; i++)
        put(cache, i);
    picture_cache_done(cache);
    cache = open_file("pictures", &plan, true);
    struct picture_cache *second = open_file("pictures", &plan, true);
    CU_ASSERT_EQUAL(kept(cache), SAMPLES);
    CU_ASSERT_EQUAL(kept(second), SAMPLES);
    struct error err = {0};
    bool was_kept = false;
    CU_ASSERT_PTR_NULL(picture_cache_in_file(path_of("pictures"), &other, &was_kept, &err));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "another process uses it for other data");
    picture_cache_done(cache);
    picture_cache_done(second);
    cache = open_file("pictures", &other, false);
    CU_ASSERT_EQUAL(kept(cache), 0);
    picture_cache_done(cache);
}

/* Each byte of a picture's place, of its entry and of the head. */
static void what_was_changed_is_missing_or_made_anew(void) {
    static const off_t places[] = {0,    4,    8,    16,   4096, 4100, 4104,
                                   4108, 4110, 8192, 8200, 9000, 12000};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *path = path_of("changed");
        uint8_t byte = 0;
        bool was_kept = false;
        (void)unlink(path);
        struct picture_cache *cache = open_file("changed", &plan, false);
        put(cache, 0);
        put(cache, 1);
        picture_cache_done(cache);
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        CU_ASSERT_EQUAL(pread(fd, &byte, 1, places[i]), 1);
        byte ^= 0x10;
        CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, places[i]), 1);
        close(fd);
        if (places[i] == 0) { /* a file that is none of ours is left alone */
            struct error err = {0};
            CU_ASSERT_PTR_NULL(picture_cache_in_file(path, &plan, &was_kept, &err));
            ASSERT_CONTAINS(err.text, "not a cache of pictures");
            continue;
        }
        cache = picture_cache_in_file(path, &plan, &was_kept, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
        CU_ASSERT_EQUAL(kept(cache), places[i] < 4096 ? 0 : 1);
        picture_cache_done(cache);
    }
}

static void a_file_that_was_cut_is_made_anew(void) {
    struct picture_cache *cache = open_file("cut", &plan, false);
    put(cache, 3);
    picture_cache_done(cache);
    CU_ASSERT_EQUAL(truncate(path_of("cut"), 5000), 0);
    cache = open_file("cut", &plan, false);
    CU_ASSERT_EQUAL(kept(cache), 0);
    put(cache, 3);
    CU_ASSERT_EQUAL(kept(cache), 1);
    picture_cache_done(cache);
}

static void places_that_cannot_be_are_refused(void) {
    const struct picture_cache_plan huge = {7, SAMPLES, (uint64_t)1 << 60};
    struct error err = {0};
    struct stat status;
    bool was_kept = false;
    CU_ASSERT_PTR_NULL(picture_cache_in_file("/none/of/these", &plan, &was_kept, &err));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "--cache /none/of/these: No such file");
    CU_ASSERT_PTR_NULL(picture_cache_in_file("/dev/null", &plan, &was_kept, &err));
    ASSERT_CONTAINS(err.text, "not a regular file");
    CU_ASSERT_PTR_NULL(picture_cache_in_file(path_of("huge"), &huge, &was_kept, &err));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(stat(path_of("huge"), &status), 0);
    CU_ASSERT_EQUAL(status.st_size, 0);
}

static struct picture_cache *shared;

static void *fill(void *context) {
    cleanup_image struct image found = {0}, wanted = {0};
    (void)context;
    for (size_t i = 0; i < SAMPLES; i++) {
        paint(&wanted, i);
        if (!picture_cache_get(shared, i, &found))
            picture_cache_put(shared, i, &wanted);
        else if (!same(&found, &wanted))
            return shared;
    }
    return NULL;
}

static void threads_fill_it_together(void) {
    const struct picture_cache_plan roomy = {7, SAMPLES, 5 * SAMPLES * PICTURE};
    pthread_t threads[4];
    shared = picture_cache_in_memory(&roomy, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shared);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, fill, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        CU_ASSERT_EQUAL(pthread_join(threads[i], &result), 0);
        CU_ASSERT_PTR_NULL(result);
    }
    CU_ASSERT_EQUAL(kept(shared), SAMPLES);
    picture_cache_done(shared);
}

UNIT_SUITE("data.picture_cache", UNIT(pictures_are_kept_as_they_were),
           UNIT(what_does_not_fit_is_not_kept), UNIT(another_process_shares_it),
           UNIT(a_file_serves_later_runs_of_its_set_alone),
           UNIT(what_was_changed_is_missing_or_made_anew), UNIT(a_file_that_was_cut_is_made_anew),
           UNIT(places_that_cannot_be_are_refused), UNIT(threads_fill_it_together))
