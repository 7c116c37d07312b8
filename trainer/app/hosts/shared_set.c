#include "trainer/app/hosts/shared_set.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/system/sealed_memfd.h"
#include "trainer/data/format/formats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Layout of the memory: a head, then five sections, each padded to a multiple of ALIGNMENT.
 * There are no pointers in it, as each process maps it at another address; texts follow one
 * another, each with its NUL.
 *
 * The reader trusts nothing but the seals. They guarantee that the memory keeps its size and
 * content, so what has been checked once can be used as it is, and a mapping cannot lose pages
 * at its end.
 *
 * The maker maps its own memory through the same function and drops what it had. It has the
 * samples once then, and a mistake in the layout shows itself in the process that made it. */

enum { ALIGNMENT = 8 };

/* Bytes of a set's texts. */
enum { TEXTS_MAX = 1 << 30 };

/* Texts: the set's root, the format's name, the paths of the shards, the names of the classes. */
enum section { LABELS, NAME_AT, PLACES, NAMES, TEXTS, SECTIONS };

struct head {
    char magic[8];
    uint64_t kind;    /* enum dataset_kind */
    uint64_t count;   /* samples, at least 1 */
    uint64_t classes; /* at least 1 */
    uint64_t shards;  /* 0 for a folder */
    uint64_t hash;    /* these are as in struct dataset */
    int64_t bytes;
    uint64_t bad;
    uint64_t sizes[SECTIONS]; /* each section begins at the next multiple of ALIGNMENT */
};

/* MAGIC begins the memory, without an end of text. MEMORY names it in /proc and in errors. */
static const char MAGIC[8] = "ringset1", MEMORY[] = "a data set";

static uint64_t padding(uint64_t size) {
    return (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
}

/* --- making ---------------------------------------------------------------------------------- */

/* A set does not keep the length of its names; it is where the last one ends. Samples need not
 * be in the order of their names. */
static size_t size_of_names(const struct dataset *set) {
    size_t size = 0;
    for (size_t i = 0; i < set->count; i++) {
        const size_t end = set->name_at[i] + strlen(set->names + set->name_at[i]) + 1;
        size = end > size ? end : size;
    }
    return size;
}

static int add_text(struct buf *out, const char *text, struct error *err) {
    return buf_add(out, text, strlen(text) + 1, err);
}

/* Appends all texts in the order in which take_texts reads them. A folder has no format, and an
 * empty text in its place. */
static int add_texts(struct buf *out, const struct dataset *set, const struct shard_list *files,
                     struct error *err) {
    if (add_text(out, set->root, err) != 0 ||
        add_text(out, files != NULL ? files->format->name : "", err) != 0)
        return -1;
    for (size_t i = 0; files != NULL && i < files->count; i++)
        if (add_text(out, files->paths[i], err) != 0)
            return -1;
    for (size_t c = 0; c < set->classes; c++)
        if (add_text(out, set->class_names[c], err) != 0)
            return -1;
    return 0;
}

/* Writes the bytes and what is missing to the next multiple of ALIGNMENT. An empty section has
 * no bytes, and perhaps no pointer. */
static int write_section(int fd, const void *bytes, uint64_t size, struct error *err) {
    static const char ZEROS[ALIGNMENT] = {0};
    return size > 0 && file_write_all(fd, bytes, size, err) != 0
               ? -1
               : file_write_all(fd, ZEROS, padding(size), err);
}

static int write_all(int fd, const struct dataset *set, struct error *err) {
    const struct shard_list *files = set->shards != NULL ? shard_store_list(set->shards) : NULL;
    cleanup_buf struct buf texts = {.max = TEXTS_MAX};
    if (add_texts(&texts, set, files, err) != 0)
        return -1;
    struct head head = {
        .kind = set->kind,
        .count = set->count,
        .classes = set->classes,
        .shards = files != NULL ? files->count : 0,
        .hash = set->hash,
        .bytes = set->bytes,
        .bad = set->bad,
        .sizes = {set->count * sizeof(*set->labels), set->count * sizeof(*set->name_at),
                  files != NULL ? set->count * sizeof(*set->places) : 0, size_of_names(set),
                  texts.size},
    };
    memcpy(head.magic, MAGIC, sizeof(MAGIC));
    const void *sections[SECTIONS] = {set->labels, set->name_at, set->places, set->names,
                                      texts.data};
    if (write_section(fd, &head, sizeof(head), err) != 0)
        return -1;
    for (int i = 0; i < SECTIONS; i++)
        if (write_section(fd, sections[i], head.sizes[i], err) != 0)
            return -1;
    return 0;
}

/* Replaces the samples of SET by the same ones of MAPPED. Their memory passes to SET; class names,
 * root and shards stay with each, as both have their own. */
static void take_samples(struct dataset *set, struct dataset *mapped) {
    free(set->labels);
    free(set->name_at);
    free(set->places);
    free(set->names);
    set->memory = TAKE_PTR(mapped->memory);
    set->memory_size = mapped->memory_size;
    set->labels = TAKE_PTR(mapped->labels);
    set->name_at = TAKE_PTR(mapped->name_at);
    set->places = TAKE_PTR(mapped->places);
    set->names = TAKE_PTR(mapped->names);
}

/* The descriptor has to stay open until the other ranks have mapped the memory, which they reach
 * through it (host_set.c). If this fails the set works as before, in memory of its own. */
int shared_set_make(struct dataset *set, int *ret_fd, struct error *err) {
    cleanup_dataset struct dataset mapped = {0};
    cleanup_fd int fd = sealed_memfd_open(MEMORY, err);
    *ret_fd = -1;
    if (fd < 0)
        return -1;
    if (write_all(fd, set, err) != 0)
        return error_wrap(err, "writing %s to memory", MEMORY);
    if (sealed_memfd_seal(fd, MEMORY, err) != 0 || shared_set_map(&mapped, fd, err) != 0)
        return -1;
    take_samples(set, &mapped);
    *ret_fd = take_fd(&fd);
    return 0;
}

/* --- mapping --------------------------------------------------------------------------------- */

static int wrong(const char *what, struct error *err) {
    return error_set(err, EXIT_CODE_DATA, "a data set in memory: %s", what);
}

/* Finds the sections, which have to fill the memory exactly. The products for EXPECTED may wrap
 * if a count is absurd, but such a count is refused before they are compared. Each size is
 * compared with what is left of the memory, which cannot wrap. */
static int find_sections(const struct dataset *set, const struct head *head, char *ret[SECTIONS],
                         struct error *err) {
    const bool in_shards = head->kind == DATASET_SHARDS;
    const uint64_t expected[NAMES] = {head->count * sizeof(*set->labels),
                                      head->count * sizeof(*set->name_at),
                                      in_shards ? head->count * sizeof(*set->places) : 0};
    uint64_t at = sizeof(*head) + padding(sizeof(*head));
    if (head->count == 0 || head->count > DATASET_SAMPLES_MAX || head->classes == 0 ||
        head->classes > head->sizes[TEXTS] || head->shards > SHARD_LIST_MAX ||
        (head->shards > 0) != in_shards || (!in_shards && head->kind != DATASET_FOLDER))
        return wrong("its counts are wrong", err);
    for (int i = 0; i < SECTIONS; i++) {
        const uint64_t size = head->sizes[i];
        if ((i < NAMES && size != expected[i]) || size > set->memory_size - at ||
            padding(size) > set->memory_size - at - size)
            return wrong("its counts do not fit its sections", err);
        ret[i] = (char *)set->memory + at;
        at += size + padding(size);
    }
    return at == set->memory_size ? 0 : wrong("bytes beyond its end", err);
}

/* Checks labels, names and places, which readers use as indices without further checks. The last
 * byte of the names is a NUL, so every name that begins in the section ends there. */
static int check_samples(const struct dataset *set, const struct head *head, struct error *err) {
    const uint64_t size = head->sizes[NAMES];
    if (size == 0 || set->names[size - 1] != '\0')
        return wrong("its names have no end", err);
    for (size_t i = 0; i < head->count; i++)
        if (set->labels[i] < 0 || (uint64_t)set->labels[i] >= head->classes ||
            set->name_at[i] >= size ||
            (set->places != NULL && set->places[i].shard >= head->shards))
            return wrong("a sample of no class, name or shard", err);
    return 0;
}

/* Returns a copy of the next text; NULL with ERR if there is none, or no memory. */
static char *take_text(const char **text, const char *end, struct error *err) {
    const size_t left = (size_t)(end - *text);
    const size_t length = strnlen(*text, left);
    if (length == left) {
        (void)wrong("a text is missing", err);
        return NULL;
    }
    char *copy = strdup(*text);
    *text += length + 1;
    if (copy == NULL)
        (void)error_no_memory(err, "a data set");
    return copy;
}

/* Takes the format's name, then COUNT paths. The store of shards takes over the list. */
static int take_shards(struct dataset *set, size_t count, const char **text, const char *end,
                       struct error *err) {
    cleanup_shard_list struct shard_list files = {0};
    cleanup_free char *format = take_text(text, end, err);
    if (format == NULL)
        return -1;
    if (count == 0)
        return 0;
    files.format = format_named(format);
    files.paths = calloc(count, sizeof(*files.paths));
    if (files.format == NULL)
        return wrong("shards of no format", err);
    if (files.paths == NULL)
        return error_no_memory(err, "a data set");
    for (files.capacity = count; files.count < count; files.count++)
        if ((files.paths[files.count] = take_text(text, end, err)) == NULL)
            return -1;
    set->shards = shard_store_open(&files, err);
    return set->shards != NULL ? 0 : -1;
}

/* Everything that is taken belongs to SET at once, so that dataset_done frees it after a
 * failure. Nothing may follow the last class. */
static int take_texts(struct dataset *set, const struct head *head, const char *text,
                      struct error *err) {
    const char *end = text + head->sizes[TEXTS];
    if ((set->root = take_text(&text, end, err)) == NULL ||
        take_shards(set, head->shards, &text, end, err) != 0)
        return -1;
    set->class_names = calloc(head->classes + 1, sizeof(*set->class_names));
    if (set->class_names == NULL)
        return error_no_memory(err, "a data set");
    for (; set->classes < head->classes; set->classes++)
        if ((set->class_names[set->classes] = take_text(&text, end, err)) == NULL)
            return -1;
    return text == end ? 0 : wrong("texts beyond the last class's", err);
}

/* Fills SET from its own `memory`, which stays mapped for as long as the set lives. */
static int take_all(struct dataset *set, struct error *err) {
    const struct head *head = set->memory;
    char *sections[SECTIONS];
    if (set->memory_size < sizeof(*head) || memcmp(head->magic, MAGIC, sizeof(MAGIC)) != 0)
        return wrong("no data set", err);
    if (find_sections(set, head, sections, err) != 0)
        return -1;
    set->kind = (enum dataset_kind)head->kind;
    set->count = head->count;
    set->hash = head->hash;
    set->bytes = head->bytes;
    set->bad = head->bad;
    set->labels = (int32_t *)(void *)sections[LABELS];
    set->name_at = (size_t *)(void *)sections[NAME_AT];
    set->places = set->kind == DATASET_SHARDS ? (void *)sections[PLACES] : NULL;
    set->names = sections[NAMES];
    return check_samples(set, head, err) != 0 ? -1 : take_texts(set, head, sections[TEXTS], err);
}

/* The seals are checked first: without them another process could change size or content after
 * any other check. */
int shared_set_map(struct dataset *ret, int fd, struct error *err) {
    struct stat status;
    *ret = (struct dataset){0};
    if (!sealed_memfd_is(fd))
        return wrong("it is not sealed", err);
    if (fstat(fd, &status) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a data set in memory");
    if (status.st_size < (off_t)sizeof(struct head))
        return wrong("no data set", err);
    const size_t size = (size_t)status.st_size;
    /* Writable but private, so a change copies a page. MAP_NORESERVE: pages that are never
     * changed need no room in swap. */
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a data set in memory");
    ret->memory = memory;
    ret->memory_size = size;
    if (take_all(ret, err) == 0)
        return 0;
    dataset_done(ret);
    return -1;
}
