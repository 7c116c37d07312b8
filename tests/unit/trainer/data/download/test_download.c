#include "tests/support/unit.h"
#include "trainer/data/download/download.h"

#include <stdlib.h>
#include <string.h>

static char paths[DOWNLOAD_FILES_MAX][PATH_MAX];

static void addresses_are_told_from_paths(void) {
    CU_ASSERT_TRUE(download_is_address("https://host/a.zip"));
    CU_ASSERT_TRUE(download_is_address("s3://bucket/a.zip"));
    CU_ASSERT_FALSE(download_is_address("a.zip"));
    CU_ASSERT_FALSE(download_is_address("/folder/http:/a.zip"));
}

static void files_are_called_as_in_their_addresses(void) {
    static const char *const addresses[] = {"https://host/folder/a.zip",
                                            "https://host:8443/b.tar?key=secret/x#y"};
    const struct download_options o = {.addresses = addresses, .count = 2, .folder = "/target"};
    struct error err = {0};
    CU_ASSERT_EQUAL(download_plan(&o, paths, &err), 0);
    CU_ASSERT_STRING_EQUAL(paths[0], "/target/a.zip");
    CU_ASSERT_STRING_EQUAL(paths[1], "/target/b.tar");
}

static void bad_addresses_are_refused(void) {
    static const struct {
        const char *address;
        const char *words;
    } rows[] = {
        {"s3://bucket/a.zip", "expected an address of https:// or a file"},
        {"ftp://host/a.zip", "expected an address of https:// or a file"},
        {"http://host/a.zip", "expected https://, or --http true"},
        {"https://u:p@host/a.zip", "expected --user and --password-file"},
        {"https://host", "ends with no name"},
        {"https://host/", "ends with no name"},
        {"https://host?a.zip", "ends with no name"},
        {"https://host/..", "ends with no name"},
        {"https://host/.hidden", "ends with no name"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {0};
        const struct download_options o = {
            .addresses = &rows[i].address, .count = 1, .folder = "/target"};
        CU_ASSERT_EQUAL(download_plan(&o, paths, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, rows[i].words);
    }
}

static void a_secret_in_an_address_is_not_shown(void) {
    static const char *const addresses[] = {"s3://bucket/a.zip?secret"};
    const struct download_options o = {.addresses = addresses, .count = 1, .folder = "/target"};
    struct error err = {0};
    CU_ASSERT_EQUAL(download_plan(&o, paths, &err), -1);
    CU_ASSERT_PTR_NULL(strstr(err.text, "secret"));
}

static void equal_names_are_refused(void) {
    static const char *const addresses[] = {"https://host/a/x.zip", "https://host/b/x.zip"};
    const struct download_options o = {.addresses = addresses, .count = 2, .folder = "/target"};
    struct error err = {0};
    CU_ASSERT_EQUAL(download_plan(&o, paths, &err), -1);
    ASSERT_CONTAINS(err.text, "two addresses end with x.zip");
}

static void a_password_is_for_one_host_with_tls(void) {
    static const char *const two[] = {"https://host/a.zip", "https://host:444/b.zip"};
    static const char *const same[] = {"https://host/a.zip", "https://HOST/b.zip"};
    static const char *const plain[] = {"http://host/a.zip"};
    struct download_options o = {.addresses = two, .count = 2, .folder = "/t", .user = "u"};
    struct error err = {0};
    CU_ASSERT_EQUAL(download_plan(&o, paths, &err), -1);
    ASSERT_CONTAINS(err.text, "several hosts");
    o.addresses = same;
    CU_ASSERT_EQUAL(download_plan(&o, paths, &err), 0);
    o = (struct download_options){
        .addresses = plain, .count = 1, .folder = "/t", .user = "u", .plain = true};
    CU_ASSERT_EQUAL(download_plan(&o, paths, &err), -1);
    ASSERT_CONTAINS(err.text, "a password is not sent over http://");
    o.user = NULL;
    CU_ASSERT_EQUAL(download_plan(&o, paths, &err), 0);
}

static void flags_that_do_not_fit_are_refused_before_anything_is_fetched(void) {
    static const char *const addresses[] = {"https://host.invalid/a.zip"};
    struct download_options o = {.addresses = addresses, .count = 1, .folder = "/t"};
    struct error err = {0};
    o.password_file = "/nowhere/password";
    CU_ASSERT_EQUAL(download_all(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "--password-file without --user");
    o.user = "somebody";
    CU_ASSERT_EQUAL(download_all(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "/nowhere/password");
    o.password_file = NULL;
    CU_ASSERT_EQUAL(download_all(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "--user somebody: no password");
    CU_ASSERT_EQUAL(setenv(DOWNLOAD_PASSWORD_VARIABLE, "", 1), 0);
    CU_ASSERT_EQUAL(download_all(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "the password is empty");
    CU_ASSERT_EQUAL(unsetenv(DOWNLOAD_PASSWORD_VARIABLE), 0);
    o.user = NULL;
    o.sha256 = "12,34";
    CU_ASSERT_EQUAL(download_all(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "2 digests for 1 address;");
    o.sha256 = "12";
    CU_ASSERT_EQUAL(download_all(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "'12' is no digest");
}

UNIT_SUITE("data.download.download", UNIT(addresses_are_told_from_paths),
           UNIT(files_are_called_as_in_their_addresses), UNIT(bad_addresses_are_refused),
           UNIT(a_secret_in_an_address_is_not_shown), UNIT(equal_names_are_refused),
           UNIT(a_password_is_for_one_host_with_tls),
           UNIT(flags_that_do_not_fit_are_refused_before_anything_is_fetched))
