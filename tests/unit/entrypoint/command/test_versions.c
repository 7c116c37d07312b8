#include "entrypoint/command/versions.h"

#include "tests/support/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void each_thing_has_its_line(void) {
    static const char *const names[] = {
        "ringmaster ", "\nbuild ",     "\nseed fingerprint ", "\ncontrol link ", "\nevent log ",
        "\nOpenSSL ",  "\nJansson ",   "\nOpen MPI ",         "\nsystem ",       "\nkernel ",
        "\nmachine ",  "\nC library ", "\nNVIDIA driver ",    "\nlibcurl ",      "\nCUDA runtime ",
        "\nNCCL ",     "\nUCX ",       "\nlibarchive ",       "\nExpat "};
    char *environment[] = {(char[]){"PATH=/usr/local/bin:/usr/bin:/bin"}, NULL};
    struct utsname kernel;
    cleanup_buf struct buf text;
    buf_init(&text, 65536);
    CU_ASSERT_EQUAL(versions_print(environment, &text, NULL), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ASSERT_CONTAINS(buf_text(&text), names[i]);
    CU_ASSERT_EQUAL(uname(&kernel), 0);
    ASSERT_CONTAINS(buf_text(&text), kernel.release);
    ASSERT_CONTAINS(buf_text(&text), "OpenSSL 3");
    const char *build = strstr(buf_text(&text), "\nbuild              ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(build);
    CU_ASSERT_EQUAL(strspn(build + strlen("\nbuild              "), "0123456789abcdef"), 40);
    bool has_mpirun = access("/usr/bin/mpirun", X_OK) == 0;
    CU_ASSERT_EQUAL(strstr(buf_text(&text), "Open MPI           not here") == NULL, has_mpirun);
}

static void what_is_missing_is_reported(void) {
    char *environment[] = {(char[]){"PATH=/no/such/folder"}, NULL};
    cleanup_buf struct buf text;
    buf_init(&text, 65536);
    CU_ASSERT_EQUAL(versions_print(environment, &text, NULL), 0);
    ASSERT_CONTAINS(buf_text(&text), "Open MPI           not here\n");
}

UNIT_SUITE("entrypoint.versions", UNIT(each_thing_has_its_line), UNIT(what_is_missing_is_reported))
