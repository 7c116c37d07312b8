#include "trainer/data/format/example.h"

#include "trainer/data/codec/png.h"
#include "trainer/data/codec/pnm.h"

#include <stddef.h>
#include <string.h>

/* A message is a map of features: Example.features.feature, with entries of a key and a Feature,
 * which holds one of three lists. The parser here keeps what it knows by key and steps over the
 * rest. It has no generated code and allocates nothing: texts are views into the message.
 *
 * In protobuf a field may occur several times, and then the last one counts. All lookups follow
 * that, so that hostile repetitions have a defined meaning.
 *
 * tfrecord_shard.c parses whole messages to read a picture. example_look.c scans without loading
 * pictures, and hands small entries to example_parse_entry. */

/* Field numbers of the messages, as example.proto and feature.proto give them. LIST_VALUE is that
 * of BytesList and Int64List alike. */
enum {
    EXAMPLE_FEATURES = 1,
    FEATURES_FEATURE = 1,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    FEATURE_BYTES = 1,
    FEATURE_FLOATS = 2,
    FEATURE_INTS = 3,
    LIST_VALUE = 1,
};

static const char LABEL[] = "image/class/label";
static const char ENCODED[] = "image/encoded";

static const struct {
    const char *key;
    size_t offset; /* of the view in struct example */
} TEXTS[] = {
    {ENCODED, offsetof(struct example, encoded)},
    {"image/class/synset", offsetof(struct example, synset)},
    {"image/class/text", offsetof(struct example, text)},
    {"image/filename", offsetof(struct example, filename)},
};

/* Keys have no NUL, and are compared whole. */
static bool is_key(struct protobuf_view key, const char *name) {
    return key.size == strlen(name) && memcmp(key.bytes, name, key.size) == 0;
}

/* Finds the last field NUMBER of a message; all its fields of that number must hold bytes. *RET
 * stays as it was if there is none. Returns 0, or -1 for a malformed message. */
static int last_bytes(struct protobuf_view message, uint32_t number, struct protobuf_view *ret,
                      bool *ret_found, struct error *err) {
    struct protobuf_field field;
    int more = 0;
    *ret_found = false;
    while ((more = protobuf_next(&message, &field, err)) == 1) {
        if (field.number != number)
            continue;
        if (field.type != PROTOBUF_BYTES)
            return error_set(
                err, EXIT_CODE_DATA,
                "field %u of a message is of type %d; expected bytes, as in a tf.train.Example",
                (unsigned)number, (int)field.type);
        *ret = field.view;
        *ret_found = true;
    }
    return more;
}

/* Takes a value of the label's list. A second one is an error: a picture with several classes is
 * not for this trainer. */
static int take_label(struct example *e, uint64_t value, int *count, struct error *err) {
    e->label = (int64_t)value;
    e->labelled = true;
    return ++*count == 1 ? 0
                         : error_set(err, EXIT_CODE_DATA,
                                     "%s has more than one value; expected one class", LABEL);
}

/* Parses a list of int64: unpacked values, or packed ones as bytes. Parsers must accept both, and
 * even a mixture of them. */
static int parse_label(struct example *e, struct protobuf_view list, struct error *err) {
    struct protobuf_field field;
    int more = 0;
    int count = 0;
    while ((more = protobuf_next(&list, &field, err)) == 1) {
        if (field.number != LIST_VALUE)
            continue;
        if (field.type == PROTOBUF_VARINT) {
            if (take_label(e, field.value, &count, err) != 0)
                return -1;
            continue;
        }
        if (field.type != PROTOBUF_BYTES)
            return error_set(err, EXIT_CODE_DATA,
                             "%s is no list of whole numbers; expected an Int64List", LABEL);
        while (field.view.size > 0) {
            uint64_t value = 0;
            if (protobuf_varint(&field.view, &value, err) != 0 ||
                take_label(e, value, &count, err) != 0)
                return -1;
        }
    }
    return more;
}

/* Parses the Feature of KEY. It has one kind of list; where there are several the last one counts.
 * A label as text or as a float is an error, and other keys are skipped. */
static int parse_feature(struct example *e, struct protobuf_view key, struct protobuf_view value,
                         struct error *err) {
    bool found = false;
    struct protobuf_view list;
    if (is_key(key, LABEL)) {
        e->labelled = false;
        if (last_bytes(value, FEATURE_INTS, &list, &found, err) != 0)
            return -1;
        if (found)
            return parse_label(e, list, err);
        return error_set(err, EXIT_CODE_DATA,
                         "%s is no list of whole numbers; expected an Int64List", LABEL);
    }
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        if (!is_key(key, TEXTS[i].key))
            continue;
        /* The field of this key; an earlier entry's value is dropped even if this one is empty. */
        struct protobuf_view *text = (struct protobuf_view *)((char *)e + TEXTS[i].offset);
        *text = (struct protobuf_view){0};
        if (last_bytes(value, FEATURE_BYTES, &list, &found, err) != 0 ||
            (found && last_bytes(list, LIST_VALUE, text, &found, err) != 0))
            return -1;
    }
    return 0;
}

int example_parse_entry(struct example *e, struct protobuf_view entry, struct error *err) {
    struct protobuf_view key = {0};
    struct protobuf_view value = {0};
    bool found = false;
    if (last_bytes(entry, ENTRY_KEY, &key, &found, err) != 0 ||
        last_bytes(entry, ENTRY_VALUE, &value, &found, err) != 0)
        return -1;
    return parse_feature(e, key, value, err);
}

/* Values of features that occur in several entries overwrite each other. Texts of RET are valid as
 * long as the message. */
int example_parse(struct example *ret, struct protobuf_view message, struct error *err) {
    struct protobuf_field field;
    int more = 0;
    *ret = (struct example){0};
    while ((more = protobuf_next(&message, &field, err)) == 1) {
        if (field.number != EXAMPLE_FEATURES || field.type != PROTOBUF_BYTES)
            continue;
        struct protobuf_field entry;
        int entries = 0;
        while ((entries = protobuf_next(&field.view, &entry, err)) == 1)
            if (entry.number == FEATURES_FEATURE && entry.type == PROTOBUF_BYTES &&
                example_parse_entry(ret, entry.view, err) != 0)
                return -1;
        if (entries != 0)
            return -1;
    }
    return more;
}

/* Appends an entry of the map: KEY, and a Feature with LIST as its list of KIND. Each message has
 * its size before it, so that it is built from the inside to the outside, in buffers of their
 * own. */
static int add_feature(struct buf *out, const char *key, uint32_t kind, const struct buf *list,
                       struct error *err) {
    cleanup_buf struct buf feature = {.max = list->max + 64};
    cleanup_buf struct buf entry = {.max = list->max + 256};
    return protobuf_add_bytes(&feature, kind, list->data, list->size, err) != 0 ||
                   protobuf_add_bytes(&entry, ENTRY_KEY, key, strlen(key), err) != 0 ||
                   protobuf_add_bytes(&entry, ENTRY_VALUE, feature.data, feature.size, err) != 0
               ? -1
               : protobuf_add_bytes(out, FEATURES_FEATURE, entry.data, entry.size, err);
}

/* Appends a feature with one value of bytes; nothing for an empty value, which readers take for a
 * missing one. */
static int add_bytes(struct buf *out, const char *key, struct protobuf_view value,
                     struct error *err) {
    cleanup_buf struct buf list = {.max = value.size + 64};
    if (value.size == 0)
        return 0;
    return protobuf_add_bytes(&list, LIST_VALUE, value.bytes, value.size, err) != 0
               ? -1
               : add_feature(out, key, FEATURE_BYTES, &list, err);
}

/* Packed, as TensorFlow writes it. */
static int add_int(struct buf *out, const char *key, int64_t value, struct error *err) {
    cleanup_buf struct buf number = {.max = 64};
    cleanup_buf struct buf list = {.max = 64};
    /* A field of number 1 is one byte of tag before the bare varint. */
    return protobuf_add_varint(&number, LIST_VALUE, (uint64_t)value, err) != 0 ||
                   protobuf_add_bytes(&list, LIST_VALUE, number.data + 1, number.size - 1, err) != 0
               ? -1
               : add_feature(out, key, FEATURE_INTS, &list, err);
}

/* The text without its NUL, which protobuf does not store. */
static struct protobuf_view view_of(const char *text) {
    return (struct protobuf_view){(const uint8_t *)text, strlen(text)};
}

/* Appends what readers need to know to decode the picture. Colours and channels are those that the
 * pictures are decoded to, whatever the file has. */
static int add_form(struct buf *features, const struct example *e, struct error *err) {
    const bool png = png_is(e->encoded.bytes, e->encoded.size);
    const bool pnm = pnm_is(e->encoded.bytes, e->encoded.size);
    if (e->width > 0 && (add_int(features, "image/height", e->height, err) != 0 ||
                         add_int(features, "image/width", e->width, err) != 0))
        return -1;
    return add_bytes(features, "image/colorspace", view_of("RGB"), err) != 0 ||
                   add_int(features, "image/channels", IMAGE_CHANNELS, err) != 0
               ? -1
               : add_bytes(features, "image/format",
                           view_of(png   ? "PNG"
                                   : pnm ? "PNM"
                                         : "JPEG"),
                           err);
}

/* The picture comes last, so that a reader that wants only the small features finds them
 * together. */
int example_write(struct buf *out, const struct example *e, struct error *err) {
    cleanup_buf struct buf features = {.max = e->encoded.size + 64 * 1024};
    if (add_int(&features, LABEL, e->label, err) != 0 ||
        add_bytes(&features, "image/class/synset", e->synset, err) != 0 ||
        add_bytes(&features, "image/class/text", e->text, err) != 0 ||
        add_bytes(&features, "image/filename", e->filename, err) != 0 ||
        add_form(&features, e, err) != 0 || add_bytes(&features, ENCODED, e->encoded, err) != 0)
        return -1;
    return protobuf_add_bytes(out, EXAMPLE_FEATURES, features.data, features.size, err);
}
