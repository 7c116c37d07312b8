#include "common/cleanup.h"
#include "entrypoint/transfer/s3/etag.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

/* A file of SIZE bytes 'a'. */
static int file_of(int64_t size) {
    static char block[1 << 20];
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/file", unit_temp_dir());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    memset(block, 'a', sizeof(block));
    for (int64_t at = 0; at < size; at += (int64_t)sizeof(block)) {
        size_t part = size - at < (int64_t)sizeof(block) ? (size_t)(size - at) : sizeof(block);
        CU_ASSERT_EQUAL(write(fd, block, part), (ssize_t)part);
    }
    return fd;
}

static void parts_are_few_enough_for_the_server(void) {
    static const int64_t sizes[] = {ETAG_PART + 1, 100 * MIB, INT64_C(200) << 30, INT64_C(5) << 40};
    CU_ASSERT_EQUAL(etag_part_size(0), 0);
    CU_ASSERT_EQUAL(etag_part_size(ETAG_PART), 0);
    CU_ASSERT_EQUAL(etag_part_size(ETAG_PART + 1), ETAG_PART);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int64_t part = etag_part_size(sizes[i]);
        CU_ASSERT(part >= 5 * MIB && part <= 5 * 1024 * MIB && part % MIB == 0);
        CU_ASSERT((sizes[i] + part - 1) / part <= ETAG_PARTS_MAX);
    }
}

static void only_an_md5_is_one(void) {
    CU_ASSERT_TRUE(etag_is_md5("d41d8cd98f00b204e9800998ecf8427e"));
    CU_ASSERT_FALSE(etag_is_md5("d41d8cd98f00b204e9800998ecf8427e-2"));
    CU_ASSERT_FALSE(etag_is_md5("D41D8CD98F00B204E9800998ECF8427E"));
    CU_ASSERT_FALSE(etag_is_md5(""));
    CU_ASSERT_FALSE(etag_is_md5(NULL));
}

/* Held against md5sum: of nothing, of "aaa", and of two parts of 5 MiB and one MiB. */
static void it_is_what_others_say(void) {
    char etag[ETAG_MAX];
    cleanup_fd int none = file_of(0);
    CU_ASSERT_EQUAL(etag_of_file(none, 0, 0, etag, NULL), 0);
    CU_ASSERT_STRING_EQUAL(etag, "d41d8cd98f00b204e9800998ecf8427e");
    cleanup_fd int three = file_of(3);
    CU_ASSERT_EQUAL(etag_of_file(three, 3, 0, etag, NULL), 0);
    CU_ASSERT_STRING_EQUAL(etag, "47bce5c74f589f4867dbd57e9ca9f808");
    cleanup_fd int six = file_of(6 * MIB);
    CU_ASSERT_EQUAL(etag_of_file(six, 6 * MIB, 5 * MIB, etag, NULL), 0);
    CU_ASSERT_STRING_EQUAL(etag, "cef8ec48ba64182764f305bc2ff13609-2");
    CU_ASSERT_TRUE(etag_fits(six, 6 * MIB, "cef8ec48ba64182764f305bc2ff13609-2", NULL));
    CU_ASSERT_TRUE(etag_fits(three, 3, "47bce5c74f589f4867dbd57e9ca9f808", NULL));
}

static void count(void *context) {
    unsigned *turns = context;
    (*turns)++;
}

/* Parts of 8 MiB are tried after those of 5, of which there would be two as well. */
static void the_sha256_is_made_while_it_is_read(void) {
    cleanup_fd int nine = file_of(9 * MIB);
    struct digest sha = {0};
    char hex[DIGEST_HEX_MAX];
    unsigned turns = 0;
    const struct etag_along along = {.sha = &sha, .turn = count, .context = &turns};
    CU_ASSERT_TRUE(etag_fits(nine, 9 * MIB, "2fc9af5a5a66cb293ccf5597c682760e-2", &along));
    CU_ASSERT_EQUAL(digest_end(&sha, hex, NULL), 0);
    CU_ASSERT_STRING_EQUAL(hex, "23ff721b5953999b01acf7b12c7e80f3ee453299b2f0b34b13b116977daef908");
    CU_ASSERT_EQUAL(turns, 2 * 9 * 4);
    digest_done(&sha);
}

static void others_do_not_fit(void) {
    cleanup_fd int fd = file_of(3);
    struct error err = {0};
    char etag[ETAG_MAX];
    CU_ASSERT_FALSE(etag_fits(fd, 3, "47bce5c74f589f4867dbd57e9ca9f809", NULL));
    CU_ASSERT_FALSE(etag_fits(fd, 3, "47bce5c74f589f4867dbd57e9ca9f808-1x", NULL));
    CU_ASSERT_FALSE(
        etag_fits(fd, 3, "47bce5c74f589f4867dbd57e9ca9f808-999999999999999999999", NULL));
    CU_ASSERT_FALSE(etag_fits(fd, 3, "-", NULL));
    CU_ASSERT_FALSE(etag_fits(fd, 3, "", NULL));
    CU_ASSERT_EQUAL(etag_of_file(fd, 4, 0, etag, &err), -1);
    ASSERT_CONTAINS(err.text, "became shorter");
}

UNIT_SUITE("transfer.etag", UNIT(parts_are_few_enough_for_the_server), UNIT(only_an_md5_is_one),
           UNIT(it_is_what_others_say), UNIT(the_sha256_is_made_while_it_is_read),
           UNIT(others_do_not_fit))
