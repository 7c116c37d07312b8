#include "entrypoint/outcome/traceback_frame.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void the_folders_are_those_of_the_script_and_the_program(void) {
    static const struct {
        const char *words[4], *directory, *script, *working;
    } rows[] = {
        {{"python3", "/code/train.py", "--config", "other.py"}, "/work", "/code", "/work"},
        {{"python3", "train.py"}, "/code", "/code", "/code"},
        {{"python3", "-u", "./parts/train.py"}, "/code", "/code/parts", "/code"},
        {{"python3", "/train.py"}, "/", "/", ""},
        {{"python3", "train.py"}, "/", "/", ""},
        {{"python3", "parts/train.py"}, "/", "/parts", ""},
        {{"./train.py"}, "/code", "/code", "/code"},
        {{"python3", "-m", "train"}, "/code", "", "/code"},
        {{"train"}, "/", "", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct traceback_folders folders;
        cleanup_argv struct argv words = {0};
        for (size_t word = 0; word < 4 && rows[i].words[word] != NULL; word++)
            CU_ASSERT_EQUAL(argv_add(&words, rows[i].words[word], NULL), 0);
        traceback_folders_find(&words, rows[i].directory, &folders);
        CU_ASSERT_STRING_EQUAL(folders.script, rows[i].script);
        CU_ASSERT_STRING_EQUAL(folders.working, rows[i].working);
    }
}

static void folders_that_are_too_long_are_not_known(void) {
    struct traceback_folders folders;
    char path[2 * TRACEBACK_FOLDER_SIZE];
    cleanup_argv struct argv words = {0};
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    (void)snprintf(path + sizeof(path) - 6, 6, "/b.py");
    CU_ASSERT_EQUAL(argv_add(&words, path, NULL), 0);
    traceback_folders_find(&words, path, &folders);
    CU_ASSERT_STRING_EQUAL(folders.script, "");
    CU_ASSERT_STRING_EQUAL(folders.working, "");
}

static void a_frame_is_of_the_program_of_a_library_or_of_neither(void) {
    static const struct traceback_folders folders = {.script = "/code/parts",
                                                     .working = "/home/me"};
    static const struct {
        const char *file;
        enum traceback_origin origin;
    } rows[] = {
        {"/code/parts/train.py", TRACEBACK_OWN},
        {"/code/parts/deep/er.py", TRACEBACK_OWN},
        {"/home/me/net.py", TRACEBACK_OWN},
        {"train.py", TRACEBACK_OWN},
        {"./parts/train.py", TRACEBACK_OWN},
        {"/home/me/bin/train", TRACEBACK_LIBRARY},
        {"/home/me/bin/train.py", TRACEBACK_OWN},
        {"/code/partsy/train.py", TRACEBACK_ELSEWHERE},
        {"/code/parts", TRACEBACK_ELSEWHERE},
        {"/opt/NeMo/nemo/core.py", TRACEBACK_ELSEWHERE},
        {"<string>", TRACEBACK_ELSEWHERE},
        {"<stdin>", TRACEBACK_ELSEWHERE},
        {"<frozen os>", TRACEBACK_LIBRARY},
        {"<__array_function__ internals>", TRACEBACK_LIBRARY},
        {"/usr/lib/python3.11/threading.py", TRACEBACK_LIBRARY},
        {"/usr/lib64/python3.9/threading.py", TRACEBACK_LIBRARY},
        {"/usr/lib/python311.zip/os.py", TRACEBACK_LIBRARY},
        {"/usr/lib/python3/dist-packages/numpy/core.py", TRACEBACK_LIBRARY},
        {"/home/me/venv/lib/python3.11/site-packages/torch/_utils.py", TRACEBACK_LIBRARY},
        {"venv/lib/python3.11/site-packages/torch/_utils.py", TRACEBACK_LIBRARY},
        {"/home/me/lib/pythonic.py", TRACEBACK_OWN},
        {"/home/me/python3/net.py", TRACEBACK_OWN},
        {"/usr/local/bin/torchrun", TRACEBACK_LIBRARY},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];
        struct traceback_frame frame;
        (void)snprintf(text, sizeof(text), "  File \"%s\", line 12, in main", rows[i].file);
        CU_ASSERT(traceback_frame_read(text, &folders, &frame));
        CU_ASSERT_EQUAL(frame.origin, rows[i].origin);
        CU_ASSERT_STRING_EQUAL(frame.file, rows[i].file);
        CU_ASSERT(frame.line == 12 && frame.named);
    }
}

/* A script in the root of all files, as `COPY train.py /` puts it there. */
static void every_file_is_below_the_root(void) {
    static const struct traceback_folders folders = {.script = "/"};
    struct traceback_frame frame;
    CU_ASSERT(traceback_frame_read("  File \"/train.py\", line 3", &folders, &frame));
    CU_ASSERT(frame.origin == TRACEBACK_OWN && !frame.named);
    CU_ASSERT(
        traceback_frame_read("  File \"/usr/lib/python3.11/os.py\", line 3", &folders, &frame));
    CU_ASSERT_EQUAL(frame.origin, TRACEBACK_LIBRARY);
}

static void what_is_no_frame_is_refused(void) {
    static const struct traceback_folders folders;
    static const char *const rows[] = {
        "",
        "File",
        "  File \"train.py\"",
        "  File \"train.py\", line ",
        "  File \"train.py\", line x",
        "  File \"\", line 3",
        "  File \"train.py\", line 1234567890",
        "    raise ValueError(1)",
        "ValueError: File \"train.py\", line 3",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct traceback_frame frame;
        CU_ASSERT_FALSE(traceback_frame_read(rows[i], &folders, &frame));
        CU_ASSERT_EQUAL(frame.origin, TRACEBACK_NONE);
    }
}

UNIT_SUITE("outcome.traceback_frame", UNIT(the_folders_are_those_of_the_script_and_the_program),
           UNIT(folders_that_are_too_long_are_not_known),
           UNIT(a_frame_is_of_the_program_of_a_library_or_of_neither),
           UNIT(every_file_is_below_the_root), UNIT(what_is_no_frame_is_refused))
