#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/peers/catalog.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct catalog_facts facts = {.size = 4, .etag = "e", .sha256 = "00"};

static void put(const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL(file_put(path, "data", 4, 0644, NULL), 0);
}

/* Asks without waiting. */
static enum catalog_answer ask(struct catalog *s, const char *what, const char *path) {
    struct catalog_file file;
    enum catalog_answer answer = catalog_take(s, what, path, clock_now(), &file);
    CU_ASSERT_EQUAL(answer == CATALOG_HERE, file.fd >= 0);
    if (answer == CATALOG_HERE) {
        char text[8] = "";
        CU_ASSERT_EQUAL(pread(file.fd, text, sizeof(text), 0), 4);
        CU_ASSERT_STRING_EQUAL(text, "data");
        CU_ASSERT_STRING_EQUAL(file.facts.etag, "e");
        (void)close(file.fd);
    }
    return answer;
}

static void a_file_is_later_then_here_or_never(void) {
    struct catalog s;
    cleanup_fd int root = safe_dir_open(unit_temp_dir(), NULL);
    CU_ASSERT_EQUAL(catalog_open(&s, NULL), 0);
    CU_ASSERT_EQUAL(ask(&s, "set", "b"), CATALOG_LATER); /* the task may still come */
    struct catalog_task *t = catalog_begin(&s, "set", root, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(catalog_expect(&s, t, "b", NULL), 0);
    CU_ASSERT_EQUAL(ask(&s, "set", "x"), CATALOG_LATER); /* it is not listed yet */
    CU_ASSERT_EQUAL(catalog_expect(&s, t, "a", NULL), 0);
    catalog_listed(&s, t);
    CU_ASSERT_EQUAL(ask(&s, "set", "x"), CATALOG_NEVER);
    CU_ASSERT_EQUAL(ask(&s, "set", "a"), CATALOG_LATER);
    put("a");
    catalog_put(&s, t, "a", &facts, false);
    catalog_put(&s, t, "x", &facts, false); /* it is not expected */
    CU_ASSERT_EQUAL(ask(&s, "set", "a"), CATALOG_HERE);
    CU_ASSERT_EQUAL(ask(&s, "set", "b"), CATALOG_LATER);
    CU_ASSERT_EQUAL(ask(&s, "other", "a"), CATALOG_LATER);
    catalog_end(&s, t);
    CU_ASSERT_EQUAL(ask(&s, "set", "b"), CATALOG_NEVER);
    CU_ASSERT_EQUAL(ask(&s, "set", "a"), CATALOG_HERE);
    catalog_end_all(&s);
    CU_ASSERT_EQUAL(ask(&s, "other", "a"), CATALOG_NEVER);
    catalog_done(&s);
}

static void what_goes_from_its_folder_is_kept_open(void) {
    struct catalog s;
    cleanup_fd int root = safe_dir_open(unit_temp_dir(), NULL);
    CU_ASSERT_EQUAL(catalog_open(&s, NULL), 0);
    struct catalog_task *t = catalog_begin(&s, "code", root, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(catalog_expect(&s, t, "kept", NULL) | catalog_expect(&s, t, "gone", NULL), 0);
    catalog_listed(&s, t);
    put("kept");
    put("gone");
    catalog_put(&s, t, "kept", &facts, true);
    catalog_put(&s, t, "gone", &facts, false);
    CU_ASSERT_EQUAL(unlinkat(root, "kept", 0) | unlinkat(root, "gone", 0), 0);
    CU_ASSERT_EQUAL(ask(&s, "code", "kept"), CATALOG_HERE);
    CU_ASSERT_EQUAL(ask(&s, "code", "gone"), CATALOG_NEVER);
    catalog_done(&s);
}

static void *put_soon(void *context) {
    struct catalog *s = context;
    cleanup_fd int root = safe_dir_open(unit_temp_dir(), NULL);
    struct catalog_task *t = catalog_begin(s, "set", root, NULL);
    (void)catalog_expect(s, t, "c", NULL);
    catalog_listed(s, t);
    catalog_step(s);
    catalog_put(s, t, "c", &facts, false);
    return NULL;
}

static void whoever_waits_hears_of_it_at_once(void) {
    struct catalog s;
    struct catalog_file file;
    pthread_t other;
    put("c");
    CU_ASSERT_EQUAL(catalog_open(&s, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, put_soon, &s), 0);
    int64_t begun = clock_now();
    CU_ASSERT_EQUAL(catalog_take(&s, "set", "c", begun + 60 * CLOCK_SECOND, &file), CATALOG_HERE);
    CU_ASSERT_TRUE(clock_now() - begun < 30 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(file.steps, 1);
    (void)close(file.fd);
    (void)pthread_join(other, NULL);
    begun = clock_now();
    CU_ASSERT_EQUAL(catalog_take(&s, "none", "c", begun + CLOCK_SECOND / 5, &file), CATALOG_LATER);
    CU_ASSERT_TRUE(clock_now() - begun >= CLOCK_SECOND / 5);
    catalog_done(&s);
}

UNIT_SUITE("transfer.catalog", UNIT(a_file_is_later_then_here_or_never),
           UNIT(what_goes_from_its_folder_is_kept_open), UNIT(whoever_waits_hears_of_it_at_once))
