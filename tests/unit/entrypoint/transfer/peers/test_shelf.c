#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file.h"
#include "entrypoint/transfer/disk/folder.h"
#include "entrypoint/transfer/peers/shelf.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct shelf_facts facts = {.size = 4, .etag = "e", .sha256 = "00"};

static void put(const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL(file_put(path, "data", 4, 0644, NULL), 0);
}

/* Without waiting. */
static enum shelf_answer ask(struct shelf *s, const char *what, const char *path) {
    struct shelf_file file;
    enum shelf_answer answer = shelf_take(s, what, path, clock_now(), &file);
    CU_ASSERT_EQUAL(answer == SHELF_HERE, file.fd >= 0);
    if (answer == SHELF_HERE) {
        char text[8] = "";
        CU_ASSERT_EQUAL(pread(file.fd, text, sizeof(text), 0), 4);
        CU_ASSERT_STRING_EQUAL(text, "data");
        CU_ASSERT_STRING_EQUAL(file.facts.etag, "e");
        (void)close(file.fd);
    }
    return answer;
}

static void a_file_is_later_then_here_or_never(void) {
    struct shelf s;
    cleanup_fd int root = folder_open(unit_temp_dir(), NULL);
    CU_ASSERT_EQUAL(shelf_open(&s, NULL), 0);
    CU_ASSERT_EQUAL(ask(&s, "set", "b"), SHELF_LATER); /* the task may still come */
    struct shelf_task *t = shelf_begin(&s, "set", root, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(shelf_expect(&s, t, "b", NULL), 0);
    CU_ASSERT_EQUAL(ask(&s, "set", "x"), SHELF_LATER); /* it is not listed yet */
    CU_ASSERT_EQUAL(shelf_expect(&s, t, "a", NULL), 0);
    shelf_listed(&s, t);
    CU_ASSERT_EQUAL(ask(&s, "set", "x"), SHELF_NEVER);
    CU_ASSERT_EQUAL(ask(&s, "set", "a"), SHELF_LATER);
    put("a");
    shelf_put(&s, t, "a", &facts, false);
    shelf_put(&s, t, "x", &facts, false); /* nobody expects it */
    CU_ASSERT_EQUAL(ask(&s, "set", "a"), SHELF_HERE);
    CU_ASSERT_EQUAL(ask(&s, "set", "b"), SHELF_LATER);
    CU_ASSERT_EQUAL(ask(&s, "other", "a"), SHELF_LATER);
    shelf_end(&s, t);
    CU_ASSERT_EQUAL(ask(&s, "set", "b"), SHELF_NEVER);
    CU_ASSERT_EQUAL(ask(&s, "set", "a"), SHELF_HERE);
    shelf_end_all(&s);
    CU_ASSERT_EQUAL(ask(&s, "other", "a"), SHELF_NEVER);
    shelf_done(&s);
}

static void what_goes_from_its_folder_is_kept_open(void) {
    struct shelf s;
    cleanup_fd int root = folder_open(unit_temp_dir(), NULL);
    CU_ASSERT_EQUAL(shelf_open(&s, NULL), 0);
    struct shelf_task *t = shelf_begin(&s, "code", root, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(shelf_expect(&s, t, "kept", NULL) | shelf_expect(&s, t, "gone", NULL), 0);
    shelf_listed(&s, t);
    put("kept");
    put("gone");
    shelf_put(&s, t, "kept", &facts, true);
    shelf_put(&s, t, "gone", &facts, false);
    CU_ASSERT_EQUAL(unlinkat(root, "kept", 0) | unlinkat(root, "gone", 0), 0);
    CU_ASSERT_EQUAL(ask(&s, "code", "kept"), SHELF_HERE);
    CU_ASSERT_EQUAL(ask(&s, "code", "gone"), SHELF_NEVER);
    shelf_done(&s);
}

static void *put_soon(void *context) {
    struct shelf *s = context;
    cleanup_fd int root = folder_open(unit_temp_dir(), NULL);
    struct shelf_task *t = shelf_begin(s, "set", root, NULL);
    (void)shelf_expect(s, t, "c", NULL);
    shelf_listed(s, t);
    shelf_step(s);
    shelf_put(s, t, "c", &facts, false);
    return NULL;
}

static void whoever_waits_hears_of_it_at_once(void) {
    struct shelf s;
    struct shelf_file file;
    pthread_t other;
    put("c");
    CU_ASSERT_EQUAL(shelf_open(&s, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, put_soon, &s), 0);
    int64_t begun = clock_now();
    CU_ASSERT_EQUAL(shelf_take(&s, "set", "c", begun + 60 * CLOCK_SECOND, &file), SHELF_HERE);
    CU_ASSERT_TRUE(clock_now() - begun < 30 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(file.steps, 1);
    (void)close(file.fd);
    (void)pthread_join(other, NULL);
    begun = clock_now();
    CU_ASSERT_EQUAL(shelf_take(&s, "none", "c", begun + CLOCK_SECOND / 5, &file), SHELF_LATER);
    CU_ASSERT_TRUE(clock_now() - begun >= CLOCK_SECOND / 5);
    shelf_done(&s);
}

UNIT_SUITE("transfer.shelf", UNIT(a_file_is_later_then_here_or_never),
           UNIT(what_goes_from_its_folder_is_kept_open), UNIT(whoever_waits_hears_of_it_at_once))
