#include "common/binary/tfrecord.h"
#include "tests/support/shards.h"
#include "trainer/data/format/class_names.h"
#include "trainer/data/format/name_table.h"
#include "trainer/data/format/recordio.h"
#include "trainer/data/format/shard_list.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

static void put_shard(const char *name, bool tfrecord) {
    cleanup_buf struct buf out = {.max = 1024};
    CU_ASSERT_EQUAL(
        (tfrecord ? tfrecord_write(&out, "", 0, NULL) : recordio_write(&out, 0, 0, "x", 1, NULL)),
        0);
    shards_put(shards_path(name), out.data, out.size);
}

static void make(const char *folder) {
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path(folder), NULL), 0);
}

static void shards_of_a_folder_are_sorted_by_number(void) {
    struct shard_list list;
    make("numbers");
    put_shard("numbers/train-10.rec", false);
    put_shard("numbers/train-9.rec", false);
    put_shard("numbers/.hidden.rec", false);
    shards_put(shards_path("numbers/notes.txt"), "notes", 5);
    shards_put(shards_path("numbers/empty"), "", 0);
    CU_ASSERT_EQUAL_FATAL(shard_list_find(&list, shards_path("numbers"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(list.count, 2);
    CU_ASSERT_PTR_EQUAL(list.format, &FORMAT_RECORDIO);
    ASSERT_CONTAINS(list.paths[0], "train-9.rec");
    shard_list_done(&list);
}

static void a_shard_or_a_prefix_may_be_given(void) {
    struct shard_list list;
    struct error err = {0};
    make("mixed");
    put_shard("mixed/train-0", true);
    put_shard("mixed/train-1", true);
    put_shard("mixed/val-0", true);
    CU_ASSERT_EQUAL_FATAL(shard_list_find(&list, shards_path("mixed/train*"), NULL), 0);
    CU_ASSERT_EQUAL(list.count, 2);
    shard_list_done(&list);
    CU_ASSERT_EQUAL_FATAL(shard_list_find(&list, shards_path("mixed/val-0"), NULL), 0);
    CU_ASSERT_EQUAL(list.count, 1);
    shard_list_done(&list);
    CU_ASSERT_EQUAL_FATAL(shard_list_find(&list, shards_path("mixed/other*"), NULL), 0);
    CU_ASSERT_EQUAL(list.count, 0);
    CU_ASSERT_EQUAL(shard_list_find(&list, shards_path("nowhere"), &err), -1);
    CU_ASSERT_EQUAL(err.os_errno, ENOENT);
    put_shard("mixed/val-1", false);
    CU_ASSERT_EQUAL(shard_list_find(&list, shards_path("mixed"), &err), -1);
    ASSERT_CONTAINS(err.text, "expected one format in a data set");
}

static void a_folder_of_folders_has_no_shards(void) {
    struct shard_list list;
    make("classes/cat");
    put_shard("classes/old.rec", false);
    CU_ASSERT_EQUAL_FATAL(shard_list_find(&list, shards_path("classes"), NULL), 0);
    CU_ASSERT_EQUAL(list.count, 0);
}

static void a_file_may_be_named_from_within_its_folder(void) {
    struct shard_parts parts;
    char before[PATH_MAX];
    make("within");
    put_shard("within/train-0.rec", false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof(before)));
    CU_ASSERT_EQUAL_FATAL(chdir(shards_path("within")), 0);
    CU_ASSERT_EQUAL(shard_list_parts(&parts, "train-0.rec", NULL), 0);
    CU_ASSERT_STRING_EQUAL(parts.training, "train");
    CU_ASSERT_EQUAL(chdir(before), 0);
}

static void parts_are_known_by_their_names(void) {
    struct shard_parts parts;
    make("parts");
    put_shard("parts/Train-0.rec", false);
    CU_ASSERT_EQUAL(shard_list_parts(&parts, shards_path("parts"), NULL), 0);
    CU_ASSERT(parts.found);
    CU_ASSERT_STRING_EQUAL(parts.training, "train");
    CU_ASSERT_STRING_EQUAL(parts.validation, "");
    put_shard("parts/validation-0.rec", false);
    CU_ASSERT_EQUAL(shard_list_parts(&parts, shards_path("parts"), NULL), 0);
    CU_ASSERT_STRING_EQUAL(parts.validation, "validation");
    make("unnamed");
    put_shard("unnamed/0.rec", false);
    CU_ASSERT_EQUAL(shard_list_parts(&parts, shards_path("unnamed"), NULL), 0);
    CU_ASSERT(parts.found);
    CU_ASSERT_STRING_EQUAL(parts.training, "");
}

static void names_of_classes(void) {
    struct class_names names;
    struct error err = {0};
    make("names");
    CU_ASSERT_EQUAL(class_names_read(&names, shards_path("names"), NULL), 0);
    CU_ASSERT_EQUAL(names.count, 0);
    shards_put(shards_path("names/synset.txt"), "n01 tench, fish\nn02 shark", 25);
    CU_ASSERT_EQUAL(class_names_read(&names, shards_path("names"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(names.count, 2);
    CU_ASSERT_STRING_EQUAL(names.names[0], "n01");
    class_names_done(&names);
    shards_put(shards_path("names/labels.txt"), "0:daisy\r\n1:rose\r\n", 17);
    CU_ASSERT_EQUAL(class_names_read(&names, shards_path("names"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(names.count, 2);
    CU_ASSERT_STRING_EQUAL(names.names[1], "rose");
    class_names_done(&names);
    shards_put(shards_path("names/labels.txt"), "0:daisy\n2:rose\n", 15);
    CU_ASSERT_EQUAL(class_names_read(&names, shards_path("names"), &err), -1);
    ASSERT_CONTAINS(err.text, "class 2 stands where class 1 is expected");
    shards_put(shards_path("names/classes.txt"), "a b\n\nc\n", 7);
    CU_ASSERT_EQUAL(class_names_read(&names, shards_path("names"), &err), -1);
    ASSERT_CONTAINS(err.text, "line 2 is empty");
    shards_put(shards_path("names/classes.txt"), "", 0);
    CU_ASSERT_EQUAL(class_names_read(&names, shards_path("names"), &err), -1);
    ASSERT_CONTAINS(err.text, "classes.txt: empty");
}

static void names_are_numbered_once(void) {
    struct name_table table = {0};
    int32_t number = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3000; i++) {
            char name[16];
            int size = snprintf(name, sizeof(name), "name%d", i);
            CU_ASSERT_EQUAL_FATAL(name_table_number(&table, name, (size_t)size, &number, NULL), 0);
            CU_ASSERT_EQUAL(number, i);
        }
    CU_ASSERT_EQUAL(table.count, 3000);
    CU_ASSERT_EQUAL(name_table_number(&table, "name1234", 5, &number, NULL), 0);
    CU_ASSERT_EQUAL(number, 1);
    name_table_done(&table);
}

UNIT_SUITE("data.format.shard_list", UNIT(shards_of_a_folder_are_sorted_by_number),
           UNIT(a_shard_or_a_prefix_may_be_given), UNIT(a_folder_of_folders_has_no_shards),
           UNIT(a_file_may_be_named_from_within_its_folder), UNIT(parts_are_known_by_their_names),
           UNIT(names_of_classes), UNIT(names_are_numbered_once))
