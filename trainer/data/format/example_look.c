/* Reads an Example without its picture: a scan of a set reads some hundred bytes a record.
 *
 * The message is followed in the file by its lengths, through a window of 4 KiB. A small feature is
 * taken from the window and parsed as a message of its own; of a large one only the head is read,
 * which tells the size of the picture. example_parse would need the whole record in memory. */
#include "trainer/data/format/example.h"

#include <inttypes.h>
#include <string.h>

/* SMALL: a feature of more bytes is looked at piece by piece; it must fit into the window of a
 * shard. HEAD_MAX: most bytes of a tag and a length, two varints of ten. */
enum { SMALL = 2048, HEAD_MAX = 20 };

struct walk {
    struct example_look *look; /* what has been found so far */
    struct shard_window *window;
};

/* A field in a shard: of PROTOBUF_BYTES, [at, at + size) is its content. */
struct place {
    uint32_t number;
    enum protobuf_type type;
    uint64_t at;
    uint64_t size;
};

/* Takes the head of the next field in [*AT, END), and skips its content. Returns 1, 0 at the end,
 * or -1. */
static int next(struct walk *w, uint64_t *at, uint64_t end, struct place *ret, struct error *err) {
    uint64_t tag = 0;
    uint64_t size = 0;
    if (*at == end)
        return 0;
    /* No more than the message has, so that a length cannot be read from what follows it. */
    const size_t left = end - *at < HEAD_MAX ? (size_t)(end - *at) : HEAD_MAX;
    const uint8_t *bytes = shard_window_get(w->window, *at, left, err);
    struct protobuf_view view = {bytes, left};
    if (bytes == NULL || protobuf_varint(&view, &tag, err) != 0)
        return -1;
    *ret = (struct place){.number = (uint32_t)(tag >> 3), .type = (enum protobuf_type)(tag & 7)};
    if (ret->type == PROTOBUF_BYTES || ret->type == PROTOBUF_VARINT) {
        if (protobuf_varint(&view, &size, err) != 0)
            return -1;
        size = ret->type == PROTOBUF_BYTES ? size : 0;
    } else if (ret->type == PROTOBUF_FIXED32 || ret->type == PROTOBUF_FIXED64) {
        size = ret->type == PROTOBUF_FIXED32 ? sizeof(uint32_t) : sizeof(uint64_t);
    } else {
        /* 3 and 4 begin and end the groups of old files. */
        return error_set(err, EXIT_CODE_DATA,
                         "field %u of a message is of type %d; expected 0, 1, 2 or 5",
                         (unsigned)ret->number, (int)ret->type);
    }
    ret->at = *at + (left - view.size);
    ret->size = size;
    if (size > end - ret->at)
        return error_set(err, EXIT_CODE_DATA,
                         "field %u of a message has %" PRIu64 " bytes; expected at most %" PRIu64
                         ", the rest of the message",
                         (unsigned)ret->number, size, (uint64_t)(end - ret->at));
    *at = ret->at + size;
    return 1;
}

/* Copies a text of the message to memory that stays. Longer ones are dropped. */
static void keep(struct example_look *look, struct protobuf_view *text) {
    if (text->size > EXAMPLE_TEXT_MAX || text->size > sizeof(look->texts) - look->texts_used)
        *text = (struct protobuf_view){0};
    if (text->size == 0)
        return;
    /* The window is used again for the next entry, and views into it would change. */
    uint8_t *copy = look->texts + look->texts_used;
    memcpy(copy, text->bytes, text->size);
    look->texts_used += text->size;
    text->bytes = copy;
}

/* Parses a message with this one feature, and takes over what it sets. */
static int look_small(struct walk *w, const uint8_t *bytes, size_t size, struct error *err) {
    struct example found = {0};
    struct example *all = &w->look->example;
    if (example_parse_entry(&found, (struct protobuf_view){bytes, size}, err) != 0)
        return -1;
    /* A picture can be so small that its whole entry is; its bytes are not needed. */
    if (found.encoded.size > 0)
        w->look->picture_bytes = found.encoded.size;
    if (found.labelled) {
        all->label = found.label;
        all->labelled = true;
    }
    struct protobuf_view *const from[] = {&found.synset, &found.text, &found.filename};
    struct protobuf_view *const to[] = {&all->synset, &all->text, &all->filename};
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
        if (from[i]->size == 0)
            continue;
        keep(w->look, from[i]);
        *to[i] = *from[i];
    }
    return 0;
}

/* Sets *RET to the last field NUMBER in [AT, END) that holds bytes; its number is 0 if there is
 * none. */
static int last(struct walk *w, uint64_t at, uint64_t end, uint32_t number, struct place *ret,
                struct error *err) {
    struct place field;
    int more = 0;
    *ret = (struct place){0};
    while ((more = next(w, &at, end, &field, err)) == 1)
        if (field.number == number && field.type == PROTOBUF_BYTES)
            *ret = field;
    return more;
}

/* Looks at a feature with a large value. If it is the picture its size is kept, without a read of
 * its bytes; any other is skipped, as no known text is that large. */
static int look_large(struct walk *w, const struct place *entry, struct error *err) {
    /* The only key with a value of that size which is of use. */
    static const char picture[] = "image/encoded";
    struct place key, value, list, bytes;
    const uint64_t end = entry->at + entry->size;
    if (last(w, entry->at, end, 1, &key, err) != 0 || last(w, entry->at, end, 2, &value, err) != 0)
        return -1;
    /* The length is compared first, so that no long key is loaded. */
    if (key.size != sizeof(picture) - 1)
        return 0;
    const uint8_t *name = shard_window_get(w->window, key.at, (size_t)key.size, err);
    if (name == NULL)
        return -1;
    if (memcmp(name, picture, sizeof(picture) - 1) != 0)
        return 0;
    if (last(w, value.at, value.at + value.size, 1, &list, err) != 0 ||
        last(w, list.at, list.at + list.size, 1, &bytes, err) != 0)
        return -1;
    w->look->picture_bytes = bytes.size;
    return 0;
}

/* Goes through the entries of the map. An entry that fits into the window is parsed there; its
 * texts are copied before the window moves on. */
static int look_features(struct walk *w, const struct place *features, struct error *err) {
    uint64_t at = features->at;
    struct place entry;
    int more = 0;
    while ((more = next(w, &at, features->at + features->size, &entry, err)) == 1) {
        if (entry.number != 1 || entry.type != PROTOBUF_BYTES)
            continue;
        if (entry.size > SMALL) {
            if (look_large(w, &entry, err) != 0)
                return -1;
            continue;
        }
        const uint8_t *bytes = shard_window_get(w->window, entry.at, (size_t)entry.size, err);
        if (bytes == NULL || look_small(w, bytes, (size_t)entry.size, err) != 0)
            return -1;
    }
    return more;
}

/* The texts of RET are in its own memory, and stay valid. OFFSET and SIZE must lie within the
 * shard. */
int example_look(struct example_look *ret, struct shard_window *window, uint64_t offset,
                 uint64_t size, struct error *err) {
    struct walk w = {ret, window};
    struct place field;
    uint64_t at = offset;
    int more = 0;
    *ret = (struct example_look){0};
    while ((more = next(&w, &at, offset + size, &field, err)) == 1)
        if (field.number == 1 && field.type == PROTOBUF_BYTES &&
            look_features(&w, &field, err) != 0)
            return -1;
    ret->example.encoded.size = ret->picture_bytes;
    return more;
}
