#include "entrypoint/outcome/error_file.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file as torch 2.9 wrote it for a function under @record. */
static const char torchs[] =
    "{\"message\": {\"message\": \"ValueError: no such shard: 7\", \"extraInfo\": "
    "{\"py_callstack\": "
    "\"Traceback (most recent call last):\\n  File \\\"/usr/lib/python3/dist-packages/torch/"
    "distributed/elastic/multiprocessing/errors/__init__.py\\\", line 362, in wrapper\\n    return "
    "f(*args, **kwargs)\\n  File \\\"train.py\\\", line 7, in main\\n    raise ValueError(\\\"no "
    "such "
    "shard: 7\\\")\\nValueError: no such shard: 7\\n\", \"timestamp\": \"1764257000\"}}}";

static const struct traceback_folders nowhere;

static void the_exception_is_reported_in_one_line(void) {
    char line[ERROR_FILE_LINE_SIZE];
    CU_ASSERT(error_file_parse(torchs, strlen(torchs), &nowhere, line));
    CU_ASSERT_STRING_EQUAL(line, "ValueError: no such shard: 7 (train.py, line 7)");
}

/* Errors of os.makedirs under @record, and of a DataLoader worker: the file names lines of the
 * library, and the line of the program that called it. */
static void the_line_is_one_of_the_program(void) {
    static const struct traceback_folders folders = {.script = "/code"};
    static const char frozen[] =
        "{\"message\": {\"message\": \"FileExistsError: [Errno 17] File exists: '/dev/null'\", "
        "\"extraInfo\": {\"py_callstack\": \"Traceback (most recent call last):\\n"
        "  File "
        "\\\"/v/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/errors/"
        "__init__.py\\\", line 362, in wrapper\\n    return f(*args, **kwargs)\\n"
        "  File \\\"/code/train.py\\\", line 61, in save\\n    os.makedirs(folder)\\n"
        "  File \\\"<frozen os>\\\", line 225, in makedirs\\n"
        "FileExistsError: [Errno 17] File exists: '/dev/null'\\n\"}}}";
    static const char worker[] =
        "{\"message\": {\"message\": \"ValueError: Caught ValueError in DataLoader worker process "
        "0.\\n"
        "Original Traceback (most recent call last):\\n  File ...\", "
        "\"extraInfo\": {\"py_callstack\": \"Traceback (most recent call last):\\n"
        "  File \\\"/code/train.py\\\", line 30, in main\\n    for batch in batches:\\n"
        "  File \\\"/v/lib/python3.11/site-packages/torch/_utils.py\\\", line 775, in reraise\\n"
        "    raise exception\\nValueError: Caught ValueError in DataLoader worker process 0.\\n"
        "Original Traceback (most recent call last):\\n"
        "  File \\\"/v/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py\\\", line "
        "358, "
        "in _worker_loop\\n    data = fetcher.fetch(index)\\n"
        "  File \\\"/code/parts/pictures.py\\\", line 12, in __getitem__\\n    raise "
        "ValueError(at)\\n"
        "ValueError: picture 7 is broken\\n\\n\"}}}";
    char line[ERROR_FILE_LINE_SIZE];
    CU_ASSERT(error_file_parse(frozen, strlen(frozen), &folders, line));
    CU_ASSERT_STRING_EQUAL(
        line, "FileExistsError: [Errno 17] File exists: '/dev/null' (/code/train.py, line 61)");
    CU_ASSERT(error_file_parse(worker, strlen(worker), &folders, line));
    CU_ASSERT_STRING_EQUAL(line,
                           "ValueError: picture 7 is broken (/code/parts/pictures.py, line 12)");
}

static void what_is_missing_is_left_out(void) {
    static const struct {
        const char *text, *line;
    } rows[] = {
        {"{\"message\": \"plain  words\\n\\tof two lines \"}", "plain words of two lines"},
        {"{\"message\": {\"message\": \"E: x\"}}", "E: x"},
        {"{\"message\": {\"message\": \"E: x\", \"extraInfo\": null}}", "E: x"},
        {"{\"message\": {\"message\": \"E: x\", \"extraInfo\": {\"py_callstack\": 7}}}", "E: x"},
        {"{\"message\": {\"message\": \"E: x\", \"extraInfo\": {\"py_callstack\": \"\\n\"}}}",
         "E: x"},
        {"{\"message\": {\"message\": \"E\", \"extraInfo\": {\"py_callstack\": \"  File \\\"a\\\", "
         "line "
         "12345678901234567890\\n File \\\"b\\\", line \\nFile \\\"c\\nd\\\", line 3\"}}}",
         "E"},
        {"{\"message\": {\"message\": \"a\\u0000b\"}}", "a"},
        {"{\"message\": {\"message\": \"\\u001b[31mred\\u0007\"}}", "?[31mred?"},
        {"{\"message\": {\"message\": \"\"}}", NULL},
        {"{\"message\": {\"message\": \" \\n\"}}", NULL},
        {"{\"message\": {\"message\": 7}}", NULL},
        {"{\"message\": []}", NULL},
        {"{}", NULL},
        {"[]", NULL},
        {"7", NULL},
        {"", NULL},
        {"{\"message\": \"a\"", NULL},
        {"{\"message\": \"\xff\"}", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[ERROR_FILE_LINE_SIZE] = "left";
        CU_ASSERT_EQUAL(error_file_parse(rows[i].text, strlen(rows[i].text), &nowhere, line),
                        rows[i].line != NULL);
        CU_ASSERT_STRING_EQUAL(line, rows[i].line != NULL ? rows[i].line : "");
    }
}

/* Text is cut between characters; the end of a path is kept. */
static void what_is_long_is_cut(void) {
    char line[ERROR_FILE_LINE_SIZE];
    cleanup_buf struct buf text;
    buf_init(&text, 65536);
    CU_ASSERT_EQUAL(buf_add_text(&text, "{\"message\": {\"message\": \"a", NULL), 0);
    for (int i = 0; i < 5000; i++)
        CU_ASSERT_EQUAL(buf_add_text(&text, "\xc3\xa4", NULL), 0);
    CU_ASSERT_EQUAL(
        buf_add_text(&text, "\", \"extraInfo\": {\"py_callstack\": \"  File \\\"/", NULL), 0);
    for (int i = 0; i < 500; i++)
        CU_ASSERT_EQUAL(buf_add_text(&text, "folder/", NULL), 0);
    CU_ASSERT_EQUAL(buf_add_text(&text, "end.py\\\", line 40, in f\"}}}", NULL), 0);
    CU_ASSERT(error_file_parse(text.data, text.size, &nowhere, line));
    CU_ASSERT(strlen(line) < 300);
    CU_ASSERT_STRING_EQUAL(strrchr(line, '/'), "/end.py, line 40)");
    CU_ASSERT_EQUAL(strncmp(strchr(line, '(') - 3, "\xc3\xa4 (", 4), 0);
}

static void deep_and_large_files_are_not_read(void) {
    char line[ERROR_FILE_LINE_SIZE];
    cleanup_buf struct buf text;
    buf_init(&text, ERROR_FILE_MAX + 64);
    for (int i = 0; i < 100000; i++)
        CU_ASSERT_EQUAL(buf_add_text(&text, "[", NULL), 0);
    CU_ASSERT_FALSE(error_file_parse(text.data, text.size, &nowhere, line));
    text.size = 0;
    CU_ASSERT_EQUAL(buf_add_text(&text, "{\"message\": \"a\"}", NULL), 0);
    while (text.size <= ERROR_FILE_MAX)
        CU_ASSERT_EQUAL(buf_add_text(&text, " ", NULL), 0);
    CU_ASSERT_FALSE(error_file_parse(text.data, text.size, &nowhere, line));
    CU_ASSERT(error_file_parse(text.data, ERROR_FILE_MAX, &nowhere, line));
}

static void only_a_regular_file_is_read(void) {
    char path[4200], other[4200], line[ERROR_FILE_LINE_SIZE];
    (void)snprintf(path, sizeof(path), "%s/error", unit_temp_dir());
    (void)snprintf(other, sizeof(other), "%s/link", unit_temp_dir());
    CU_ASSERT_FALSE(error_file_read(path, &nowhere, line));
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_FALSE(error_file_read(path, &nowhere, line)); /* and it does not wait for a writer */
    CU_ASSERT_EQUAL(unlink(path), 0);
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT(fputs(torchs, file) >= 0);
    (void)fclose(file);
    CU_ASSERT(error_file_read(path, &nowhere, line));
    CU_ASSERT_STRING_EQUAL(line, "ValueError: no such shard: 7 (train.py, line 7)");
    CU_ASSERT_EQUAL(symlink(path, other), 0);
    CU_ASSERT_FALSE(error_file_read(other, &nowhere, line));
    CU_ASSERT_EQUAL(truncate(path, (off_t)1 << 40), 0);
    CU_ASSERT_FALSE(error_file_read(path, &nowhere, line));
    CU_ASSERT_EQUAL(truncate(path, 0), 0);
    CU_ASSERT_FALSE(error_file_read(path, &nowhere, line));
}

UNIT_SUITE("outcome.error_file", UNIT(the_exception_is_reported_in_one_line),
           UNIT(the_line_is_one_of_the_program), UNIT(what_is_missing_is_left_out),
           UNIT(what_is_long_is_cut), UNIT(deep_and_large_files_are_not_read),
           UNIT(only_a_regular_file_is_read))
