#include "entrypoint/os/build_id.h"

#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Names and descriptions of notes are padded to whole words. */
static size_t padded(size_t size) {
    return (size + 3) & ~(size_t)3;
}

/* Finds the build ID among the notes at AT, SIZE bytes. */
static void find_note(const char *at, size_t size, char ret[BUILD_ID_SIZE]) {
    static const char owner[] = "GNU";
    ElfW(Nhdr) note;
    while (size >= sizeof(note)) {
        memcpy(&note, at, sizeof(note));
        size_t front = sizeof(note) + padded(note.n_namesz);
        size_t whole = front + padded(note.n_descsz);
        if (whole > size)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz == BUILD_ID_BYTES &&
            note.n_namesz == sizeof(owner) && memcmp(at + sizeof(note), owner, sizeof(owner)) == 0)
            for (size_t i = 0; i < BUILD_ID_BYTES; i++)
                (void)snprintf(ret + 2 * i, 3, "%02x", (unsigned char)at[front + i]);
        at += whole;
        size -= whole;
    }
}

/* The program comes first, followed by its libraries. */
static int look(struct dl_phdr_info *info, size_t size, void *ret) {
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            /* The loader gives addresses as integers. */
            find_note((const char *)(info->dlpi_addr + /* NOLINT(performance-no-int-to-ptr) */
                                     info->dlpi_phdr[i].p_vaddr),
                      info->dlpi_phdr[i].p_filesz, ret);
    return 1;
}

void build_id(char ret[BUILD_ID_SIZE]) {
    ret[0] = '\0';
    (void)dl_iterate_phdr(look, ret);
}
