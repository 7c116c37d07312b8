#include "common/file/file.h"
#include "entrypoint/job/needed_libraries.h"
#include "tests/support/unit.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { WHOLE_MAX = 4096 };

static bool is_c(const char *library) {
    return strncmp(library, "libc.so", 7) == 0;
}

static bool is_second(const char *library) {
    return strcmp(library, "libsecond.so.2") == 0;
}

static bool is_none(const char *library) {
    (void)library;
    return false;
}

static void a_program_of_this_machine_names_its_c_library(void) {
    char library[NEEDED_LIBRARY_SIZE];
    CU_ASSERT(needed_libraries_find("/bin/sh", is_c, library));
    ASSERT_CONTAINS(library, "libc.so");
    CU_ASSERT_FALSE(needed_libraries_find("/bin/sh", is_none, library));
    CU_ASSERT_STRING_EQUAL(library, "");
}

/* A program of which no more is there than what names its libraries. */
static struct {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[2];
    ElfW(Dyn) entries[4];
    char names[32];
} small;

static void make_small(void) {
    static const char names[] = "\0libfirst.so.1\0libsecond.so.2";
    memset(&small, 0, sizeof(small));
    memcpy(small.header.e_ident, ELFMAG, SELFMAG);
    small.header.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    small.header.e_ident[EI_DATA] = ELFDATA2LSB;
    small.header.e_phoff = offsetof(__typeof__(small), segments);
    small.header.e_phentsize = sizeof(small.segments[0]);
    small.header.e_phnum = 2;
    small.segments[0].p_type = PT_LOAD;
    small.segments[0].p_vaddr = 0x10000;
    small.segments[0].p_filesz = sizeof(small);
    small.segments[1].p_type = PT_DYNAMIC;
    small.segments[1].p_offset = offsetof(__typeof__(small), entries);
    small.segments[1].p_filesz = sizeof(small.entries);
    small.entries[0].d_tag = DT_NEEDED;
    small.entries[0].d_un.d_val = 1;
    small.entries[1].d_tag = DT_NEEDED;
    small.entries[1].d_un.d_val = 15;
    small.entries[2].d_tag = DT_STRTAB;
    small.entries[2].d_un.d_ptr = 0x10000 + offsetof(__typeof__(small), names);
    memcpy(small.names, names, sizeof(names));
}

static bool finds(size_t size) {
    char path[512];
    char library[NEEDED_LIBRARY_SIZE];
    (void)snprintf(path, sizeof(path), "%s/program", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_publish(path, &small, size, 0755, NULL), 0);
    return needed_libraries_find(path, is_second, library);
}

static void names_at_the_end_of_a_file_are_found(void) {
    make_small();
    CU_ASSERT(finds(sizeof(small)));
}

static void damaged_programs_need_nothing(void) {
    char library[NEEDED_LIBRARY_SIZE];
    for (size_t size = 0; size < offsetof(__typeof__(small), names) + 20; size++) {
        make_small();
        CU_ASSERT_FALSE(finds(size));
    }
    make_small();
    small.entries[1].d_un.d_val = (ElfW(Xword)) - 1;
    CU_ASSERT_FALSE(finds(sizeof(small)));
    make_small();
    small.entries[2].d_un.d_ptr = 7; /* nothing is loaded there */
    CU_ASSERT_FALSE(finds(sizeof(small)));
    make_small();
    small.segments[0].p_offset = (ElfW(Off)) - 100;
    CU_ASSERT_FALSE(finds(sizeof(small)));
    make_small();
    small.header.e_phnum = 60000;
    CU_ASSERT_FALSE(finds(sizeof(small)));
    make_small();
    small.header.e_ident[EI_DATA] = ELFDATA2MSB;
    CU_ASSERT_FALSE(finds(sizeof(small)));
    make_small();
    memset(small.names, 'x', sizeof(small.names)); /* a name that does not end */
    CU_ASSERT_FALSE(finds(sizeof(small)));
    CU_ASSERT_FALSE(needed_libraries_find("/no/such/program", is_second, library));
    CU_ASSERT_FALSE(needed_libraries_find("/", is_second, library));
    CU_ASSERT_FALSE(needed_libraries_find("", is_second, library));
}

UNIT_SUITE("job.needed_libraries", UNIT(a_program_of_this_machine_names_its_c_library),
           UNIT(names_at_the_end_of_a_file_are_found), UNIT(damaged_programs_need_nothing))
