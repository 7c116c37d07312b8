#include "entrypoint/job/needed_libraries.h"

#include "common/cleanup.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
    SEGMENTS_MAX = 128,
    OWN_CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
    OWN_ORDER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB,
};

struct elf {
    int fd;
    ElfW(Phdr) segments[SEGMENTS_MAX];
    size_t count;
    ElfW(Dyn) entries[NEEDED_LIBRARIES_MAX];
    size_t entry_count;
};

static bool read_at(int fd, uint64_t offset, void *ret, size_t size) {
    return offset <= INT64_MAX - size && pread(fd, ret, size, (off_t)offset) == (ssize_t)size;
}

static bool read_segments(struct elf *e) {
    ElfW(Ehdr) header;
    if (!read_at(e->fd, 0, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != OWN_CLASS ||
        header.e_ident[EI_DATA] != OWN_ORDER || header.e_phentsize != sizeof(e->segments[0]) ||
        header.e_phnum > SEGMENTS_MAX)
        return false;
    e->count = header.e_phnum;
    return read_at(e->fd, header.e_phoff, e->segments, e->count * sizeof(e->segments[0]));
}

static bool read_entries(struct elf *e) {
    for (size_t i = 0; i < e->count; i++) {
        size_t count = e->segments[i].p_filesz / sizeof(e->entries[0]);
        if (e->segments[i].p_type != PT_DYNAMIC)
            continue;
        e->entry_count = count < NEEDED_LIBRARIES_MAX ? count : NEEDED_LIBRARIES_MAX;
        return read_at(e->fd, e->segments[i].p_offset, e->entries,
                       e->entry_count * sizeof(e->entries[0]));
    }
    return false;
}

/* Finds where the file holds what is loaded at ADDRESS. */
static bool find_offset(const struct elf *e, uint64_t address, uint64_t *ret) {
    for (size_t i = 0; i < e->count; i++) {
        const ElfW(Phdr) *s = &e->segments[i];
        if (s->p_type != PT_LOAD || address < s->p_vaddr || address - s->p_vaddr >= s->p_filesz)
            continue;
        *ret = s->p_offset + (address - s->p_vaddr);
        return true;
    }
    return false;
}

static bool find_names(const struct elf *e, uint64_t *ret) {
    for (size_t i = 0; i < e->entry_count && e->entries[i].d_tag != DT_NULL; i++)
        if (e->entries[i].d_tag == DT_STRTAB)
            return find_offset(e, e->entries[i].d_un.d_ptr, ret);
    return false;
}

/* A name may end with the file, so that fewer bytes than asked for are no fault. */
static bool read_name(int fd, uint64_t offset, char ret[NEEDED_LIBRARY_SIZE]) {
    ssize_t size =
        offset <= INT64_MAX ? pread(fd, ret, NEEDED_LIBRARY_SIZE, (off_t)offset) : (ssize_t)-1;
    return size > 0 && memchr(ret, '\0', (size_t)size) != NULL;
}

bool needed_libraries_find(const char *path, bool (*wants)(const char *library),
                           char ret[NEEDED_LIBRARY_SIZE]) {
    uint64_t names = 0;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct elf e = {.fd = fd};
    ret[0] = '\0';
    if (fd < 0 || !read_segments(&e) || !read_entries(&e) || !find_names(&e, &names))
        return false;
    for (size_t i = 0; i < e.entry_count && e.entries[i].d_tag != DT_NULL; i++)
        if (e.entries[i].d_tag == DT_NEEDED && e.entries[i].d_un.d_val <= INT64_MAX - names &&
            read_name(fd, names + e.entries[i].d_un.d_val, ret) && wants(ret))
            return true;
    ret[0] = '\0';
    return false;
}
