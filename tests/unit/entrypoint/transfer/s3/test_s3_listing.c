#include "entrypoint/transfer/s3/s3_listing.h"
#include "tests/unit/entrypoint/transfer/s3_stage.h"

static struct s3_stage stage;
static unsigned marks;

static void mark(const char *line) {
    marks++;
    ASSERT_CONTAINS(line, " listed");
}

static void page(struct http_call *call, const char *token, const char *const *keys) {
    char text[4096];
    size_t at = (size_t)snprintf(
        text, sizeof(text), "<ListBucketResult>%s%s%s<IsTruncated>%s</IsTruncated>",
        token[0] != '\0' ? "<NextContinuationToken>" : "", token,
        token[0] != '\0' ? "</NextContinuationToken>" : "", token[0] != '\0' ? "true" : "false");
    bool folder = strstr(call->target, "prefix=set%2F") != NULL;
    for (; *keys != NULL; keys++)
        if (!folder || strncmp(*keys, "set/", 4) == 0)
            at += (size_t)snprintf(
                text + at, sizeof(text) - at,
                "<Contents><Key>%s</Key><Size>%d</Size><ETag>\"%zu\"</ETag></Contents>", *keys,
                strcmp(*keys, "hollow") == 0 ? 0 : 4, strlen(*keys));
    (void)snprintf(text + at, sizeof(text) - at, "</ListBucketResult>");
    http_reply_text(call, 200, text);
}

/* Beside the folder others that begin so, page after page, without end. */
static void crowd(struct http_call *call) {
    static const char *const folder[] = {"set/a", "set/b", NULL};
    static const char *const siblings[] = {"set_raw/a", "set_raw/b", NULL};
    char token[32];
    if (strstr(call->target, "prefix=set%2F") != NULL) {
        page(call, "", folder);
        return;
    }
    (void)snprintf(token, sizeof(token), "t%u", atomic_fetch_add(&call->shared->counters[0], 1));
    page(call, token, siblings);
}

/* A bucket's name says how it behaves. */
static void answer(struct http_call *call) {
    static const char *const first[] = {"set/z", "set/a", "set/", NULL};
    static const char *const second[] = {"set/sub/c", "settle", "set/d", NULL};
    static const char *const single[] = {"set/one", "set/one/more", "set/ones", NULL};
    static const char *const deaf[] = {"a", "dir/a", "dire", "other/a", NULL};
    static const char *const none[] = {NULL};
    static const char *const clash[] = {"set/x/y", "set/x", "set/x-1", NULL};
    static const char *const hollow[] = {"hollow", "hollow/a", NULL};
    bool next = strstr(call->target, "continuation-token=") != NULL;
    if (strncmp(call->target, "/pages?", 7) == 0)
        page(call, next ? "" : "more", next ? second : first);
    else if (strncmp(call->target, "/single?", 8) == 0)
        page(call, "", single);
    else if (strncmp(call->target, "/deaf?", 6) == 0)
        page(call, "", deaf);
    else if (strncmp(call->target, "/crowd?", 7) == 0)
        crowd(call);
    else if (strncmp(call->target, "/deleted?", 9) == 0)
        page(call, next ? "" : "more", next ? single : none);
    else if (strncmp(call->target, "/circle?", 8) == 0)
        page(call, "again", first);
    else if (strncmp(call->target, "/clash?", 7) == 0)
        page(call, "", clash);
    else if (strncmp(call->target, "/hollow?", 8) == 0)
        page(call, "", strstr(call->target, "hollow%2F") != NULL ? hollow + 1 : hollow);
    else
        page(call, "", none);
}

static char told[1024];

static void say(const char *line) {
    (void)snprintf(told, sizeof(told), "%s", line);
}

static int list(const char *text, size_t shard, size_t shards, bool may_be_none,
                struct objects *ret, size_t *front, struct error *err) {
    struct address at;
    CU_ASSERT_EQUAL(address_parse(text, &at, NULL), 0);
    const struct s3_listing listing = {.s3 = &stage.s3,
                                       .at = &at,
                                       .what = "set",
                                       .may_be_none = may_be_none,
                                       .shard = shard,
                                       .shards = shards,
                                       .deadline = clock_now() + 60 * CLOCK_SECOND,
                                       .mark = mark,
                                       .say = say};
    int result = s3_listing_read(&listing, ret, front, err);
    address_done(&at);
    return result;
}

static void expect(const char *text, size_t shard, size_t shards, const char *paths) {
    struct objects objects;
    char found[256] = "";
    size_t front = 0;
    CU_ASSERT_EQUAL_FATAL(list(text, shard, shards, false, &objects, &front, NULL), 0);
    for (size_t i = 0; i < objects.count; i++) {
        char etag[32];
        (void)snprintf(etag, sizeof(etag), "%zu", strlen(objects.items[i].key));
        CU_ASSERT_STRING_EQUAL(objects.items[i].etag, etag);
        (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s ",
                       objects.items[i].key + front);
    }
    CU_ASSERT_STRING_EQUAL(found, paths);
    objects_done(&objects);
}

static void a_folders_objects_come_in_order_from_all_pages(void) {
    marks = 0;
    expect("s3://pages/set", 0, 1, "a d sub/c z ");
    CU_ASSERT_EQUAL(marks, 3);
    expect("s3://pages/set/", 0, 1, "a d sub/c z ");
    expect("s3://pages/set/", 1, 3, "d ");
    expect("s3://pages/set/", 0, 3, "a z ");
}

static void a_key_that_ends_with_a_slash_and_has_content_is_told_of(void) {
    told[0] = '\0';
    expect("s3://pages/set", 0, 1, "a d sub/c z ");
    ASSERT_CONTAINS(told, "object set/ of 4 bytes is left out");
}

/* Whichever of them comes first, and also where another host's share has the other one. */
static void one_name_cannot_be_a_file_and_a_folder(void) {
    for (size_t shard = 0; shard < 2; shard++) {
        struct objects objects;
        struct error err;
        size_t front = 0;
        CU_ASSERT_EQUAL(list("s3://clash/set", shard, 2, false, &objects, &front, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "set/x and set/x/y");
    }
}

static void an_empty_object_beside_a_folder_of_its_name_is_its_mark(void) {
    expect("s3://hollow/hollow", 0, 1, "a ");
}

static void an_object_of_that_very_name_is_it_alone(void) {
    expect("s3://single/set/one", 1, 2, "one ");
    /* Its page comes after one that has no object left. */
    expect("s3://deleted/set/one", 0, 1, "one ");
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "GET /deleted?continuation-token=more&encoding-type=url&"
                                           "list-type=2&max-keys=1&prefix=set%2Fone"),
                    1);
}

/* Each answer says that there are more; one of them is enough. */
static void what_only_begins_so_is_not_asked_for(void) {
    expect("s3://crowd/set", 0, 1, "a b ");
    CU_ASSERT_EQUAL(atomic_load(&stage.server.shared->counters[0]), 1);
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "GET /crowd?encoding-type=url&list-type=2&max-keys=1&"
                                           "prefix=set"),
                    1);
    expect("s3://crowd/set/", 0, 1, "a b ");
    CU_ASSERT_EQUAL(atomic_load(&stage.server.shared->counters[0]), 1);
}

/* Whatever it was asked for. */
static void a_server_that_lists_others_too_is_not_believed(void) {
    expect("s3://deaf/dir", 0, 1, "a ");
    expect("s3://deaf/dir/", 0, 1, "a ");
    expect("s3://deaf/dire", 0, 1, "dire ");
}

static void none_is_an_error_unless_there_may_be_none(void) {
    struct objects objects;
    struct error err = {0};
    size_t front = 0;
    CU_ASSERT_EQUAL(list("s3://none/set", 0, 1, false, &objects, &front, &err), -1);
    ASSERT_CONTAINS(err.text, "s3://none/set: there is no such object, and no folder");
    CU_ASSERT_EQUAL(list("s3://none/set", 0, 1, true, &objects, &front, NULL), 0);
    CU_ASSERT_EQUAL(objects.count, 0);
    /* A shard may have nothing of a folder that has something. */
    CU_ASSERT_EQUAL(list("s3://pages/set", 7, 8, false, &objects, &front, NULL), 0);
    CU_ASSERT_EQUAL(objects.count, 0);
    objects_done(&objects);
    CU_ASSERT_EQUAL(list("s3://circle/set", 0, 1, false, &objects, &front, &err), -1);
    ASSERT_CONTAINS(err.text, "repeats a page");
}

static void all(void) {
    s3_stage_open(&stage, answer);
    a_folders_objects_come_in_order_from_all_pages();
    a_key_that_ends_with_a_slash_and_has_content_is_told_of();
    one_name_cannot_be_a_file_and_a_folder();
    an_empty_object_beside_a_folder_of_its_name_is_its_mark();
    an_object_of_that_very_name_is_it_alone();
    what_only_begins_so_is_not_asked_for();
    a_server_that_lists_others_too_is_not_believed();
    none_is_an_error_unless_there_may_be_none();
    s3_stage_close(&stage);
}

UNIT_SUITE("transfer.s3_listing", UNIT(all))
