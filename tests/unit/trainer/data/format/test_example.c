#include "tests/support/shards.h"
#include "trainer/data/format/example.h"

#include <stdlib.h>

static struct protobuf_view text(const char *bytes) {
    return (struct protobuf_view){(const uint8_t *)bytes, strlen(bytes)};
}

static bool is(struct protobuf_view view, const char *bytes) {
    return view.size == strlen(bytes) && memcmp(view.bytes, bytes, view.size) == 0;
}

/* Reads a message in both ways, which must agree. */
static int parse(struct example *ret, const struct buf *message, struct error *err) {
    static struct example_look look;
    struct shard_file file = SHARD_FILE_CLOSED;
    struct error other = {0};
    const char *path = shards_path("message");
    shards_put(path, message->data, message->size);
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, path, NULL), 0);
    struct shard_window window = {.file = &file};
    int result = example_parse(
        ret, (struct protobuf_view){(const uint8_t *)message->data, message->size}, err);
    int looked = example_look(&look, &window, 0, message->size, &other);
    CU_ASSERT_EQUAL(looked, result);
    if (result == 0 && looked == 0) {
        const struct example *e = &look.example;
        CU_ASSERT_EQUAL(e->labelled, ret->labelled);
        CU_ASSERT_EQUAL(e->label, ret->label);
        CU_ASSERT_EQUAL(look.picture_bytes, ret->encoded.size);
        CU_ASSERT_EQUAL(e->synset.size, ret->synset.size);
        CU_ASSERT_EQUAL(e->filename.size, ret->filename.size);
        if (e->filename.size > 0)
            CU_ASSERT_EQUAL(memcmp(e->filename.bytes, ret->filename.bytes, e->filename.size), 0);
    } else {
        CU_ASSERT_EQUAL(other.code, EXIT_CODE_DATA);
    }
    shard_file_done(&file);
    return result;
}

static void what_is_written_is_read(void) {
    static const size_t sizes[] = {1, 100, 2000, 2100, 5000, 200000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        cleanup_buf struct buf out = {.max = 1 << 20};
        char *picture = malloc(sizes[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
        memset(picture, 'p', sizes[i]);
        const struct example in = {
            .encoded = {(const uint8_t *)picture, sizes[i]},
            .synset = text("n01440764"),
            .text = text("tench"),
            .filename = text("a/b.jpg"),
            .label = 1000,
            .labelled = true,
        };
        struct example e;
        CU_ASSERT_EQUAL(example_write(&out, &in, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(parse(&e, &out, NULL), 0);
        CU_ASSERT(e.labelled && e.label == 1000);
        CU_ASSERT(is(e.synset, "n01440764") && is(e.text, "tench") && is(e.filename, "a/b.jpg"));
        CU_ASSERT_EQUAL_FATAL(e.encoded.size, sizes[i]);
        CU_ASSERT_EQUAL(memcmp(e.encoded.bytes, picture, sizes[i]), 0);
        free(picture);
    }
}

static void feature(struct buf *features, const char *key, uint32_t kind, const void *list,
                    size_t size) {
    cleanup_buf struct buf value = {.max = 4096};
    cleanup_buf struct buf entry = {.max = 4096};
    CU_ASSERT_EQUAL(protobuf_add_bytes(&value, kind, list, size, NULL), 0);
    /* The value comes first: the order of fields means nothing. */
    CU_ASSERT_EQUAL(protobuf_add_bytes(&entry, 2, value.data, value.size, NULL), 0);
    CU_ASSERT_EQUAL(protobuf_add_bytes(&entry, 1, key, strlen(key), NULL), 0);
    CU_ASSERT_EQUAL(protobuf_add_bytes(features, 1, entry.data, entry.size, NULL), 0);
}

static int label_of(uint32_t kind, const void *list, size_t size, int64_t *ret, struct error *err) {
    cleanup_buf struct buf features = {.max = 4096};
    cleanup_buf struct buf message = {.max = 4096};
    struct example e = {0};
    feature(&features, "image/class/label", kind, list, size);
    CU_ASSERT_EQUAL(protobuf_add_bytes(&message, 1, features.data, features.size, NULL), 0);
    int result = parse(&e, &message, err);
    *ret = e.label;
    return result;
}

static void labels_are_packed_or_not(void) {
    int64_t label = 0;
    CU_ASSERT_EQUAL(label_of(3, "\x0a\x02\xe8\x07", 4, &label, NULL), 0);
    CU_ASSERT_EQUAL(label, 1000);
    CU_ASSERT_EQUAL(label_of(3, "\x08\x07", 2, &label, NULL), 0);
    CU_ASSERT_EQUAL(label, 7);
    CU_ASSERT_EQUAL(
        label_of(3, "\x0a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, &label, NULL), 0);
    CU_ASSERT_EQUAL(label, -1);
}

static void labels_that_are_none_are_refused(void) {
    struct error err = {0};
    int64_t label = 0;
    CU_ASSERT_EQUAL(label_of(3, "\x0a\x02\x01\x02", 4, &label, &err), -1);
    ASSERT_CONTAINS(err.text, "image/class/label has more than one value");
    CU_ASSERT_EQUAL(label_of(1,
                             "\x0a\x01"
                             "5",
                             3, &label, &err),
                    -1);
    ASSERT_CONTAINS(err.text, "is no list of whole numbers; expected an Int64List");
    CU_ASSERT_EQUAL(label_of(2, "\x0a\x04\0\0\0\0", 6, &label, &err), -1);
    ASSERT_CONTAINS(err.text, "is no list of whole numbers; expected an Int64List");
    CU_ASSERT_EQUAL(label_of(3, "\x0a\x05\x01", 3, &label, &err), -1);
}

/* Other features are skipped, a second one of a name replaces the first, and no list is no value.
 */
static void unknown_and_double_features(void) {
    cleanup_buf struct buf features = {.max = 65536};
    cleanup_buf struct buf message = {.max = 65536};
    char large[3000];
    struct example e;
    memset(large, 'x', sizeof(large));
    feature(&features, "image/height", 3, "\x08\x07", 2);
    feature(&features, "image/class/label", 3, "\x08\x07", 2);
    feature(&features, "image/class/label", 3, "\x08\x08", 2);
    feature(&features, "image/filename", 1,
            "\x0a\x01"
            "a",
            3);
    feature(&features, "image/filename", 1,
            "\x0a\x02"
            "bc",
            4);
    feature(&features, "large", 1, large, sizeof(large));
    CU_ASSERT_EQUAL(protobuf_add_varint(&message, 9, 1, NULL), 0);
    CU_ASSERT_EQUAL(protobuf_add_bytes(&message, 1, features.data, features.size, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(parse(&e, &message, NULL), 0);
    CU_ASSERT(e.labelled && e.label == 8);
    CU_ASSERT(is(e.filename, "bc"));
    CU_ASSERT_EQUAL(e.encoded.size, 0);
}

static void every_cut_is_noticed_or_is_a_message(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    char picture[3000];
    memset(picture, 'p', sizeof(picture));
    const struct example in = {
        .encoded = {(const uint8_t *)picture, sizeof(picture)}, .synset = text("c"), .label = 3};
    CU_ASSERT_EQUAL(example_write(&out, &in, NULL), 0);
    const size_t whole = out.size;
    for (size_t size = 0; size < whole; size += size < 200 ? 1 : 61) {
        struct example e;
        struct error err = {0};
        out.size = size;
        if (parse(&e, &out, &err) != 0)
            CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        CU_ASSERT_EQUAL(e.encoded.size == sizeof(picture), false);
    }
}

UNIT_SUITE("data.format.example", UNIT(what_is_written_is_read), UNIT(labels_are_packed_or_not),
           UNIT(labels_that_are_none_are_refused), UNIT(unknown_and_double_features),
           UNIT(every_cut_is_noticed_or_is_a_message))
