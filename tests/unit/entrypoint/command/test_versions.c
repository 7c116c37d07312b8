#include "entrypoint/command/versions.h"

#include "tests/support/tree.h"
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

static char root[2048];

static void use_root(const char *name) {
    (void)snprintf(root, sizeof(root), "%s/%s", unit_temp_dir(), name);
}

static void put(const char *folder, const char *name, const char *text) {
    tree_put(root, folder, name, text);
}

static void link_to(const char *folder, const char *name, const char *target) {
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s/%s", root, folder, name);
    CU_ASSERT_EQUAL(symlink(target, path), 0);
}

/* Returns the version of the library NAME, with VARIABLE in the environment. */
static const char *version_of(const char *name, char *variable) {
    static char text[VERSIONS_LIBRARY_SIZE];
    char *environment[] = {variable, NULL};
    size_t index = 0;
    while (versions_library(index) != NULL && strcmp(versions_library(index), name) != 0)
        index++;
    CU_ASSERT_PTR_NOT_NULL_FATAL(versions_library(index));
    versions_of_library(index, root, environment, text);
    return text;
}

static char none[] = "A=b";

static void names_of_files_tell_versions(void) {
    static char folders[] = "LD_LIBRARY_PATH=/nowhere::/own";
    use_root("files");
    CU_ASSERT_STRING_EQUAL(version_of("CUDA runtime", none), "");
    put("usr/lib/x86_64-linux-gnu", "libnccl.so.2.21.5", "");
    link_to("usr/lib/x86_64-linux-gnu", "libnccl.so.2", "libnccl.so.2.21.5");
    CU_ASSERT_STRING_EQUAL(version_of("NCCL", none), "2.21.5");
    put("usr/local/cuda/lib64", "libcudart.so.12.4.127", "");
    CU_ASSERT_STRING_EQUAL(version_of("CUDA runtime", none), "12.4.127");
    put("own", "libcudart.so.13", "");
    CU_ASSERT_STRING_EQUAL(version_of("CUDA runtime", folders), "13");
    CU_ASSERT_STRING_EQUAL(version_of("CUDA runtime", none), "12.4.127");
    CU_ASSERT_STRING_EQUAL(version_of("UCX", none), "");
}

/* Such as other files kept beside a library, and names that would act on a terminal. */
static void other_files_are_no_versions(void) {
    use_root("others");
    put("usr/local/lib", "libnccl.so.2.18.3.bak", "");
    put("usr/local/lib", "libnccl.so.", "");
    put("usr/local/lib", "libnccl.so.\033[31m", "");
    put("usr/local/lib", "libcudart.so.12-debug", "");
    CU_ASSERT_STRING_EQUAL(version_of("NCCL", none), "");
    CU_ASSERT_STRING_EQUAL(version_of("CUDA runtime", none), "");
    put("usr/local/lib", "libnccl.so.2.9.9", "");
    CU_ASSERT_STRING_EQUAL(version_of("NCCL", none), "2.9.9");
}

static void the_distributions_list_tells_what_names_do_not(void) {
    use_root("packages");
    put("usr/lib/x86_64-linux-gnu", "libucp.so.0.0.0", "");
    put("usr/local/lib", "libnccl.so.2", "");
    CU_ASSERT_STRING_EQUAL(version_of("UCX", none), "here, of a version that nothing tells");
    CU_ASSERT_STRING_EQUAL(version_of("NCCL", none), "2");
    put("var/lib/dpkg", "status",
        "Package: libnccl2\nStatus: install ok installed\nVersion: 2.18.1-1\n\n"
        "Package: libucx0-more\nStatus: install ok installed\nVersion: 9\n\n"
        "Package: libucx0\nStatus: deinstall ok config-files\nVersion: 1.12\n\n"
        "Package: other\nStatus: install ok installed\nVersion: 8\n");
    CU_ASSERT_STRING_EQUAL(version_of("UCX", none), "here, of a version that nothing tells");
    CU_ASSERT_STRING_EQUAL(version_of("NCCL", none), "2.18.1-1");
    put("var/lib/dpkg", "status",
        "Package: libucx0\nStatus: install ok installed\nVersion: 1.13.1-1\n");
    CU_ASSERT_STRING_EQUAL(version_of("UCX", none), "1.13.1-1");
    CU_ASSERT_STRING_EQUAL(version_of("NCCL", none), "2");
}

UNIT_SUITE("entrypoint.versions", UNIT(each_thing_has_its_line), UNIT(what_is_missing_is_reported),
           UNIT(names_of_files_tell_versions), UNIT(other_files_are_no_versions),
           UNIT(the_distributions_list_tells_what_names_do_not))
