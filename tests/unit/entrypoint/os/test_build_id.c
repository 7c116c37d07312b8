#include "common/cleanup.h"
#include "entrypoint/os/build_id.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* The note's head as it lies in the program's file: sizes of name and ID, kind, name. */
static const unsigned char head[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};

static void it_is_what_the_programs_file_says(void) {
    char id[BUILD_ID_SIZE];
    char found[BUILD_ID_SIZE] = "";
    static unsigned char text[1 << 20];
    cleanup_file FILE *file = fopen("/proc/self/exe", "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size_t size = fread(text, 1, sizeof(text), file);
    build_id(id);
    const unsigned char *at = memmem(text, size, head, sizeof(head));
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    for (size_t i = 0; i < BUILD_ID_BYTES; i++)
        (void)snprintf(found + 2 * i, 3, "%02x", at[sizeof(head) + i]);
    CU_ASSERT_STRING_EQUAL(id, found);
    CU_ASSERT_EQUAL(strlen(id), 40);
}

static void it_is_written_in_small_digits(void) {
    char id[BUILD_ID_SIZE];
    build_id(id);
    CU_ASSERT_EQUAL(strspn(id, "0123456789abcdef"), 40);
}

UNIT_SUITE("os.build_id", UNIT(it_is_what_the_programs_file_says),
           UNIT(it_is_written_in_small_digits))
