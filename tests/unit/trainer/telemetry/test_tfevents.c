#include "common/clock.h"
#include "common/crc32c.h"
#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/telemetry/tfevents.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t wall = 1700000000 * CLOCK_SECOND + CLOCK_SECOND / 2;

static void read_events(const char *name, struct buf *out) {
    char path[700];
    snprintf(path, sizeof(path), "%s/%s/events.out.tfevents.1700000000.algo-1", unit_temp_dir(),
             name);
    buf_init(out, 1 << 16);
    CU_ASSERT_EQUAL_FATAL(file_read(path, out, NULL), 0);
}

static const char *folder_of(const char *name) {
    static char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return folder;
}

static uint32_t u32_at(const char *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static void a_scalar_is_written_byte_for_byte(void) {
    /* Written down by hand from the message definitions. */
    static const uint8_t head[] = {0x09, 0,    0,   0x20, 0x40, 0xfc, 0x54, 0xd9,
                                   0x41, 0x1a, 13,  'b',  'r',  'a',  'i',  'n',
                                   '.',  'E',  'v', 'e',  'n',  't',  ':',  '2'};
    static const uint8_t event[] = {0x09, 0,    0,    0x20, 0x40, 0xfc, 0x54, 0xd9,
                                    0x41, 0x10, 0xac, 0x02, /* step 300 */
                                    0x2a, 10,   0x0a, 8,    /* summary, value */
                                    0x0a, 1,    'a',  0x15, 0,    0,    0xc0, 0x3f};
    struct tfevents events = TFEVENTS_CLOSED;
    cleanup_buf struct buf bytes;
    const struct tfevents_scalar scalar = {"a", 1.5};
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("one"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add(&events, wall, 300, &scalar, 1, NULL), 0);
    tfevents_done(&events);
    read_events("one", &bytes);
    CU_ASSERT_EQUAL_FATAL(bytes.size, sizeof(head) + sizeof(event) + 32);
    CU_ASSERT_EQUAL(u32_at(bytes.data), sizeof(head));
    CU_ASSERT_EQUAL(u32_at(bytes.data + 8), crc32c_mask(crc32c(0, bytes.data, 8)));
    CU_ASSERT_EQUAL(memcmp(bytes.data + 12, head, sizeof(head)), 0);
    CU_ASSERT_EQUAL(u32_at(bytes.data + 12 + sizeof(head)),
                    crc32c_mask(crc32c(0, head, sizeof(head))));
    const char *second = bytes.data + 16 + sizeof(head);
    CU_ASSERT_EQUAL(memcmp(second + 12, event, sizeof(event)), 0);
    CU_ASSERT_EQUAL(u32_at(second + 12 + sizeof(event)),
                    crc32c_mask(crc32c(0, event, sizeof(event))));
}

static void a_start_is_a_session_log_byte_for_byte(void) {
    static const uint8_t event[] = {0x09, 0,    0,    0x20, 0x40, 0xfc,
                                    0x54, 0xd9, 0x41, 0x10, 11, /* step */
                                    0x3a, 2,    0x08, 1};       /* session log, status START */
    struct tfevents events = TFEVENTS_CLOSED;
    cleanup_buf struct buf bytes;
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("start"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_start(&events, wall, 11, NULL), 0);
    tfevents_done(&events);
    read_events("start", &bytes);
    const char *second = bytes.data + 16 + 24;
    CU_ASSERT_EQUAL_FATAL(bytes.size, 16 + 24 + 16 + sizeof(event));
    CU_ASSERT_EQUAL(u32_at(second), sizeof(event));
    CU_ASSERT_EQUAL(memcmp(second + 12, event, sizeof(event)), 0);
    CU_ASSERT_EQUAL(u32_at(second + 12 + sizeof(event)),
                    crc32c_mask(crc32c(0, event, sizeof(event))));
}

static void a_picture_is_written_byte_for_byte(void) {
    static const uint8_t event[] = {
        0x09, 0,        0,    0x20, 0x40, 0xfc, 0x54, 0xd9, 0x41, 0x10, 7, /* step */
        0x2a, 18 + 200, 0x01,                                              /* summary */
        0x0a, 15 + 200, 0x01,                                              /* value */
        0x0a, 1,        'p',                                               /* tag */
        0x22, 9 + 200,  0x01,                                              /* image */
        0x08, 2,        0x10, 3,    0x18, 3, /* height, width, channels */
        0x22, 200,      0x01};
    struct tfevents events = TFEVENTS_CLOSED;
    cleanup_buf struct buf bytes;
    uint8_t encoded[200];
    for (int i = 0; i < 200; i++)
        encoded[i] = (uint8_t)(i * 3);
    const struct tfevents_picture picture = {"p", 2, 3, encoded, sizeof(encoded)};
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("picture"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add_picture(&events, wall, 7, &picture, NULL), 0);
    tfevents_done(&events);
    read_events("picture", &bytes);
    const char *second = bytes.data + 16 + 24;
    const size_t size = sizeof(event) + sizeof(encoded);
    CU_ASSERT_EQUAL_FATAL(bytes.size, 16 + 24 + 16 + size);
    CU_ASSERT_EQUAL(u32_at(second), size);
    CU_ASSERT_EQUAL(u32_at(second + 8), crc32c_mask(crc32c(0, second, 8)));
    CU_ASSERT_EQUAL(memcmp(second + 12, event, sizeof(event)), 0);
    CU_ASSERT_EQUAL(memcmp(second + 12 + sizeof(event), encoded, sizeof(encoded)), 0);
    CU_ASSERT_EQUAL(u32_at(second + 12 + size), crc32c_mask(crc32c(0, second + 12, size)));
}

static void pictures_that_cannot_be_are_refused(void) {
    char tag[TFEVENTS_TAG_MAX + 2];
    struct tfevents events = TFEVENTS_CLOSED;
    memset(tag, 'x', sizeof(tag));
    tag[TFEVENTS_TAG_MAX + 1] = '\0';
    const struct tfevents_picture wrong[] = {{tag, 1, 1, "a", 1},
                                             {"p", 0, 1, "a", 1},
                                             {"p", 1, 0, "a", 1},
                                             {"p", 1, 1, "a", 0},
                                             {"p", 1, 1, "a", TFEVENTS_PICTURE_MAX + 1}};
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("wrong"), "algo-1", wall, NULL), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(tfevents_add_picture(&events, wall, 0, &wrong[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    }
    tag[TFEVENTS_TAG_MAX] = '\0';
    CU_ASSERT_EQUAL(tfevents_add_picture(&events, wall, 0, &wrong[0], NULL), 0);
    tfevents_done(&events);
}

static void a_text_is_written_byte_for_byte(void) {
    static const uint8_t event[] = {
        0x09, 0,        0,        0x20, 0x40, 0xfc, 0x54, 0xd9, 0x41, 0x10,
        7,    0x2a,     30 + 200, 0x01,                                    /* summary */
        0x0a, 27 + 200, 0x01,                                              /* value */
        0x0a, 1,        't',                                               /* tag */
        0x4a, 8,        0x0a,     6,    0x0a, 4,    't',  'e',  'x',  't', /* plug-in */
        0x42, 11 + 200, 0x01,                                              /* tensor */
        0x08, 7,        0x12,     4,    0x12, 2,    0x08, 1,               /* [1] of strings */
        0x42, 200,      0x01};
    struct tfevents events = TFEVENTS_CLOSED;
    cleanup_buf struct buf bytes;
    char text[201];
    memset(text, 'x', sizeof(text));
    text[200] = '\0';
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("text"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add_text(&events, wall, 7, "t", text, NULL), 0);
    tfevents_done(&events);
    read_events("text", &bytes);
    const char *second = bytes.data + 16 + 24;
    const size_t size = sizeof(event) + 200;
    CU_ASSERT_EQUAL_FATAL(bytes.size, 16 + 24 + 16 + size);
    CU_ASSERT_EQUAL(u32_at(second), size);
    CU_ASSERT_EQUAL(memcmp(second + 12, event, sizeof(event)), 0);
    CU_ASSERT_EQUAL(memcmp(second + 12 + sizeof(event), text, 200), 0);
    CU_ASSERT_EQUAL(u32_at(second + 12 + size), crc32c_mask(crc32c(0, second + 12, size)));
}

static void settings_are_written_byte_for_byte(void) {
    static const uint8_t event[] = {
        0x09, 0,    0,    0x20, 0x40, 0xfc, 0x54, 0xd9, 0x41, 0x10, 7, /* step */
        0x2a, 113,                                                     /* summary */
        0x0a, 111,                                                     /* value */
        0x0a, 28,   '_',  'h',  'p',  'a',  'r',  'a',  'm',  's',  '_',  '/', 's',  'e', 's',
        's',  'i',  'o',  'n',  '_',  's',  't',  'a',  'r',  't',  '_',  'i', 'n',  'f', 'o',
        0x4a, 79,                                            /* metadata */
        0x0a, 77,                                            /* plugin */
        0x0a, 7,    'h',  'p',  'a',  'r',  'a',  'm',  's', /* name */
        0x12, 66,                                            /* content */
        0x1a, 64,                                            /* start of a session */
        0x0a, 15,   0x0a, 2,    'l',  'r',  0x12, 9,    0x11, 0,    0,    0,   0,    0,   0,
        0xe0, 0x3f, 0x0a, 10,   0x0a, 4,    'f',  'l',  'i',  'p',  0x12, 2,   0x20, 1, /* true */
        0x0a, 21,   0x0a, 8,    's',  'c',  'h',  'e',  'd',  'u',  'l',  'e', 0x12, 9,   0x1a,
        7,    's',  't',  'e',  'p',  ' ',  '1',  'e', /* no number */
        0x22, 1,    'g',                               /* group */
        0x29, 0,    0,    0x20, 0x40, 0xfc, 0x54, 0xd9, 0x41};
    static const struct tfevents_setting settings[] = {
        {"lr", "0.5"}, {"flip", "true"}, {"schedule", "step 1e"}};
    struct tfevents events = TFEVENTS_CLOSED;
    struct error err = {0};
    cleanup_buf struct buf bytes;
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("settings"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add_settings(&events, wall, 7, "g", settings, 3, NULL), 0);
    CU_ASSERT_EQUAL(
        tfevents_add_settings(&events, wall, 7, "g", settings, TFEVENTS_SETTINGS_MAX + 1, &err),
        -1);
    ASSERT_CONTAINS(err.text, "at most 128");
    tfevents_done(&events);
    read_events("settings", &bytes);
    const char *second = bytes.data + 16 + 24;
    CU_ASSERT_EQUAL_FATAL(bytes.size, 16 + 24 + 16 + sizeof(event));
    CU_ASSERT_EQUAL(u32_at(second), sizeof(event));
    CU_ASSERT_EQUAL(memcmp(second + 12, event, sizeof(event)), 0);
}

static void a_histogram_is_written_byte_for_byte(void) {
    static const uint8_t event[] = {
        0x09, 0,  0,   0x20, 0x40, 0xfc, 0x54, 0xd9, 0x41, 0x10, 7,    /* step */
        0x2a, 88,                                                      /* summary */
        0x0a, 86,                                                      /* value */
        0x0a, 1,  'h',                                                 /* tag */
        0x2a, 81,                                                      /* histogram */
        0x09, 0,  0,   0,    0,    0,    0,    0xf0, 0x3f,             /* least, 1 */
        0x11, 0,  0,   0,    0,    0,    0,    0xf0, 0x3f,             /* most, 1 */
        0x19, 0,  0,   0,    0,    0,    0,    0x08, 0x40,             /* 3 of them */
        0x21, 0,  0,   0,    0,    0,    0,    0x08, 0x40,             /* sum, 3 */
        0x29, 0,  0,   0,    0,    0,    0,    0x08, 0x40,             /* sum of squares, 3 */
        0x32, 16, 0,   0,    0,    0,    0,    0,    0xf0, 0x3f,       /* below 1: none */
        0,    0,  0,   0,    0,    0,    0xf2, 0x3f, 0x3a, 16,   0, 0, /* below 1.125: 3 */
        0,    0,  0,   0,    0,    0,    0,    0,    0,    0,    0, 0, 0x08, 0x40};
    static const float ones[] = {1, 1, 1};
    struct tfevents events = TFEVENTS_CLOSED;
    struct histogram h = {0};
    cleanup_buf struct buf bytes;
    histogram_add(&h, ones, 3, 1, 1);
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("histogram"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add_histogram(&events, wall, 7, "h", &h, NULL), 0);
    tfevents_done(&events);
    read_events("histogram", &bytes);
    const char *second = bytes.data + 16 + 24;
    CU_ASSERT_EQUAL_FATAL(bytes.size, 16 + 24 + 16 + sizeof(event));
    CU_ASSERT_EQUAL(memcmp(second + 12, event, sizeof(event)), 0);
}

static void a_graph_is_written_byte_for_byte(void) {
    static const uint8_t event[] = {0x09, 0,    0, 0x20, 0x40, 0xfc, 0x54, 0xd9,
                                    0x41, 0x10, 0, 0x22, 3,    'a',  'b',  'c'};
    struct tfevents events = TFEVENTS_CLOSED;
    struct error err = {0};
    cleanup_buf struct buf bytes;
    char text[] = "abc";
    struct buf graph = {.data = text, .size = 3};
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("graph"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add_graph(&events, wall, &graph, NULL), 0);
    graph.size = TFEVENTS_GRAPH_MAX + 1;
    CU_ASSERT_EQUAL(tfevents_add_graph(&events, wall, &graph, &err), -1);
    tfevents_done(&events);
    read_events("graph", &bytes);
    const char *second = bytes.data + 16 + 24;
    CU_ASSERT_EQUAL_FATAL(bytes.size, 16 + 24 + 16 + sizeof(event));
    CU_ASSERT_EQUAL(memcmp(second + 12, event, sizeof(event)), 0);
}

static void a_text_too_long_is_refused(void) {
    struct tfevents events = TFEVENTS_CLOSED;
    struct error err = {0};
    char *text = malloc(TFEVENTS_TEXT_MAX + 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'x', TFEVENTS_TEXT_MAX + 1);
    text[TFEVENTS_TEXT_MAX + 1] = '\0';
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("long"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add_text(&events, wall, 0, "t", text, &err), -1);
    ASSERT_CONTAINS(err.text, "too long");
    CU_ASSERT_EQUAL(tfevents_add_text(&events, wall, 0, "t", text + 1, NULL), 0);
    tfevents_done(&events);
    free(text);
}

static void the_most_scalars_with_the_longest_tags_fit(void) {
    char tag[TFEVENTS_TAG_MAX + 2];
    struct tfevents_scalar scalars[TFEVENTS_SCALARS_MAX];
    struct tfevents events = TFEVENTS_CLOSED;
    struct error err;
    memset(tag, 'x', sizeof(tag));
    tag[TFEVENTS_TAG_MAX] = '\0';
    for (int i = 0; i < TFEVENTS_SCALARS_MAX; i++)
        scalars[i] = (struct tfevents_scalar){tag, 1};
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("many"), "algo-1", wall, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add(&events, wall, INT64_MAX, scalars, TFEVENTS_SCALARS_MAX, &err), 0);
    CU_ASSERT_EQUAL(tfevents_add(&events, wall, 0, scalars, TFEVENTS_SCALARS_MAX + 1, &err), -1);
    tag[TFEVENTS_TAG_MAX] = 'x';
    tag[TFEVENTS_TAG_MAX + 1] = '\0';
    CU_ASSERT_EQUAL(tfevents_add(&events, wall, 0, scalars, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "a tag of 129 bytes");
    tfevents_done(&events);
    tfevents_done(&events);
}

static void a_closed_file_is_given_back_and_one_that_is_full_is_reported(void) {
    struct tfevents events = TFEVENTS_CLOSED;
    struct error err = {0};
    const struct tfevents_scalar scalar = {"a", 1.5};
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder_of("closed"), "algo-1", wall, NULL), 0);
    int fd = events.fd;
    CU_ASSERT(fcntl(fd, F_GETFD) >= 0);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_FATAL(full >= 0 && dup2(full, fd) == fd);
    CU_ASSERT_EQUAL(tfevents_add(&events, wall, 1, &scalar, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "TensorBoard events");
    (void)close(full);
    tfevents_done(&events);
    CU_ASSERT_EQUAL(events.fd, -1);
    CU_ASSERT_EQUAL(fcntl(fd, F_GETFD), -1);
}

static void a_folder_that_cannot_be_made_is_named(void) {
    struct tfevents events = TFEVENTS_CLOSED;
    struct error err;
    CU_ASSERT_EQUAL(tfevents_open(&events, "/proc/no/such", "algo-1", wall, &err), -1);
    ASSERT_CONTAINS(err.text, "/proc/no");
    CU_ASSERT_EQUAL(events.fd, -1);
}

UNIT_SUITE("telemetry.tfevents", UNIT(a_scalar_is_written_byte_for_byte),
           UNIT(a_start_is_a_session_log_byte_for_byte), UNIT(a_picture_is_written_byte_for_byte),
           UNIT(pictures_that_cannot_be_are_refused), UNIT(a_text_is_written_byte_for_byte),
           UNIT(settings_are_written_byte_for_byte), UNIT(a_histogram_is_written_byte_for_byte),
           UNIT(a_graph_is_written_byte_for_byte), UNIT(a_text_too_long_is_refused),
           UNIT(the_most_scalars_with_the_longest_tags_fit),
           UNIT(a_closed_file_is_given_back_and_one_that_is_full_is_reported),
           UNIT(a_folder_that_cannot_be_made_is_named))
