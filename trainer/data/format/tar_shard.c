/* Shards of tar in WebDataset's naming: consecutive files that differ in their extension alone are
 * one sample.
 *
 * The key is the path up to the first dot of the last component, the extension the rest of it in
 * lower case. Files without an extension, or whose name begins with a dot or with two underscores,
 * are skipped. A sample has one picture, and its class comes from the first of these that it has:
 *
 *     KEY.cls     a decimal number
 *     KEY.json    an object with a whole number as "label", "cls" or "class_id", and the class name
 *                 as "class_name" or "synset"
 *     KEY.index   a decimal number
 *
 * Where none of the first 64 files is one of these, the tar holds class folders: each picture is a
 * sample, and the folders in its path name its class. Sources: webdataset/tariterators.py,
 * webdataset/writer.py. */
#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/str.h"
#include "trainer/data/format/format.h"
#include "trainer/data/format/tar_walk.h"
#include "trainer/data/format/tar_write.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Members that decide whether samples are named by WebDataset's rule. */
enum { LOOKED_AT = 64 };

enum { EXTENSION_MAX = 32, NUMBER_MAX = 32, JSON_MAX = 64 * 1024, CLASS_NAME_MAX = 1024 };

static const char *const PICTURES[] = {"jpg", "jpeg", "jpe", "jfif", "png",
                                       "ppm", "pgm",  "img", NULL};

/* The sample that is being gathered from consecutive members. It is reported when a member with
 * another key comes, or at the end. */
struct gathering {
    const struct shard_file *file;
    const struct shard_sink *sink;
    bool folders; /* each picture is a sample, and its folders name the class */
    bool open;    /* a sample is being gathered */
    char key[TAR_PATH_MAX];
    char path[TAR_PATH_MAX]; /* of the picture */
    struct shard_sample sample;
    bool has_picture;
    bool has_label; /* of a file that goes before all others */
    char class_name[CLASS_NAME_MAX];
    struct error why; /* the sample is bad; code 0: it is not */
};

/* Decides by the extension, in lower case: the content is not read during a scan. */
static bool is_picture(const char *extension) {
    for (size_t i = 0; PICTURES[i] != NULL; i++)
        if (strcmp(PICTURES[i], extension) == 0)
            return true;
    return false;
}

/* `ringtrain prepare` writes a dot in a name as "%2E", as the first dot ends a key, and "%" as
 * "%25". */
static void decode(char *path) {
    char *to = path;
    for (const char *from = path; *from != '\0'; to++) {
        const bool dot = strncmp(from, "%2E", 3) == 0;
        const bool percent = strncmp(from, "%25", 3) == 0;
        *to = dot ? '.' : percent ? '%' : *from;
        from += dot || percent ? 3 : 1;
    }
    *to = '\0';
}

/* Hands the gathered sample to the sink and closes it: as a bad record if something in it could not
 * be used, and not at all without a picture. */
static int report(struct gathering *g, struct error *err) {
    struct error why = g->why;
    if (!g->open)
        return 0;
    g->open = false;
    if (why.code != 0)
        return format_report_bad(g->sink, &why, err);
    if (!g->has_picture)
        return 0; /* as WebDataset has it, a sample of other files */
    if (!g->folders)
        decode(g->path);
    g->sample.name = (struct shard_text){g->path, strlen(g->path)};
    g->sample.class_name = (struct shard_text){g->class_name, strlen(g->class_name)};
    return g->sink->add(g->sink->context, &g->sample, err);
}

/* Splits a path at the first dot of its last component, or at the last one where each picture is a
 * sample. Returns false if it is not a part of a sample. */
static bool split(const char *path, bool folders, size_t *ret_key, char extension[EXTENSION_MAX]) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = folders ? strrchr(name, '.') : strchr(name, '.');
    if (dot == NULL || dot == name || name[0] == '.' || strncmp(name, "__", 2) == 0 ||
        strlen(dot + 1) >= EXTENSION_MAX)
        return false;
    for (size_t i = 0; i <= strlen(dot + 1); i++)
        extension[i] = (char)tolower((unsigned char)dot[1 + i]);
    *ret_key = (size_t)(dot - path);
    return true;
}

/* Returns true if none of the first members names a class: then the folders do. */
static int is_of_folders(struct shard_window *window, struct tar_walk *walk, bool *ret,
                         struct error *err) {
    struct tar_member m;
    *ret = true;
    *walk = (struct tar_walk){.window = window};
    for (int i = 0; i < LOOKED_AT && *ret; i++) {
        char extension[EXTENSION_MAX] = "";
        struct error why = {0};
        size_t key = 0;
        int more = tar_walk_next(walk, &m, &why);
        if (more != 1 && why.code != 0 && why.code != EXIT_CODE_DATA) {
            *err = why;
            return -1;
        }
        if (more != 1)
            break; /* damage is reported by the scan itself */
        *ret = !m.regular || !split(m.path, false, &key, extension) ||
               (strcmp(extension, "cls") != 0 && strcmp(extension, "json") != 0 &&
                strcmp(extension, "index") != 0);
    }
    return 0;
}

/* Reads a member that is a class as a number, with blanks around it. Its size is limited before it
 * is read. */
static int read_number(struct gathering *g, const struct tar_member *m, int64_t *ret,
                       struct error *err) {
    char text[NUMBER_MAX] = "";
    if (m->size >= sizeof(text))
        return shard_file_bad(g->file, m->header, err, "%s: %" PRIu64 " bytes are not a class",
                              m->path, m->size);
    if (shard_file_read(g->file, m->offset, text, (size_t)m->size, err) != 0)
        return -1;
    char *begin = text + strspn(text, " \t\r\n");
    begin[strcspn(begin, " \t\r\n")] = '\0';
    if (str_parse_int(begin, 0, INT32_MAX, ret, NULL) != 0)
        return shard_file_bad(g->file, m->header, err,
                              "%s: '%.32s' is not a class; expected a whole number from 0 on",
                              m->path, text);
    return 0;
}

/* Sets *RET to the first member of these NAMES that is a whole number. */
static bool find_number(const json_t *root, const char *const *names, int64_t *ret) {
    for (; *names != NULL; names++) {
        const json_t *value = json_object_get(root, *names);
        if (json_is_integer(value) && json_integer_value(value) >= 0) {
            *ret = json_integer_value(value);
            return true;
        }
    }
    return false;
}

/* Reads the class from a member of JSON. A number of KEY.cls that came before has precedence; one
 * of KEY.index has not. */
static int read_json(struct gathering *g, const struct tar_member *m, struct error *err) {
    static const char *const numbers[] = {"label", "cls", "class_id", NULL};
    cleanup_json json_t *root = NULL;
    cleanup_free char *text = NULL;
    int64_t label = 0;
    if (m->size > JSON_MAX)
        return shard_file_bad(g->file, m->header, err,
                              "%s: %" PRIu64 " bytes of JSON; at most %d are allowed", m->path,
                              m->size, JSON_MAX);
    if ((text = malloc((size_t)m->size + 1)) == NULL)
        return error_no_memory(err, "a sample's JSON");
    if (shard_file_read(g->file, m->offset, text, (size_t)m->size, err) != 0)
        return -1;
    if (json_parse(text, (size_t)m->size, m->path, &root, err) != 0) {
        (void)error_recode(err, EXIT_CODE_DATA);
        return error_wrap(err, "%s: at byte %" PRIu64, g->file->path, m->header);
    }
    const json_t *name = json_object_get(root, "class_name");
    name = json_is_string(name) ? name : json_object_get(root, "synset");
    if (json_is_string(name))
        (void)snprintf(g->class_name, sizeof(g->class_name), "%s", json_string_value(name));
    if (!g->has_label && find_number(root, numbers, &label))
        g->sample.label = label;
    return 0;
}

/* Notes the place of the picture; its bytes stay where they are. Two pictures with one key leave
 * open which of them is the sample. */
static int take_picture(struct gathering *g, const struct tar_member *m, struct error *err) {
    if (g->has_picture)
        return shard_file_bad(g->file, m->header, err, "%s: a second picture in one sample",
                              m->path);
    if (m->size == 0 || m->size > UINT32_MAX)
        return shard_file_bad(g->file, m->header, err, "%s: %" PRIu64 " bytes cannot be a picture",
                              m->path, m->size);
    g->has_picture = true;
    g->sample.offset = m->offset;
    g->sample.bytes = m->size;
    g->sample.picture_bytes = m->size;
    (void)snprintf(g->path, sizeof(g->path), "%s", m->path);
    return 0;
}

/* Takes a member by its extension. Extensions that are not known are other data of the sample, and
 * are skipped. */
static int take(struct gathering *g, const struct tar_member *m, const char *extension,
                struct error *err) {
    if (is_picture(extension))
        return take_picture(g, m, err);
    if (strcmp(extension, "json") == 0)
        return read_json(g, m, err);
    const bool cls = strcmp(extension, "cls") == 0;
    if (!cls && (strcmp(extension, "index") != 0 || g->sample.label != SHARD_NO_LABEL))
        return 0;
    if (read_number(g, m, &g->sample.label, err) != 0)
        return -1;
    g->has_label = g->has_label || cls;
    return 0;
}

/* Adds a member to the sample that it belongs to. After a fault the sample's other members are
 * skipped, so that it counts once. Only errors of the system are returned. */
static int add_member(struct gathering *g, struct tar_member *m, struct error *err) {
    char extension[EXTENSION_MAX] = "";
    size_t key = 0;
    while (strncmp(m->path, "./", 2) == 0)
        m->path += 2;
    if (!m->regular || !split(m->path, g->folders, &key, extension))
        return 0;
    if (!g->open || g->folders || strlen(g->key) != key || strncmp(g->key, m->path, key) != 0) {
        if (report(g, err) != 0)
            return -1;
        *g = (struct gathering){
            .file = g->file, .sink = g->sink, .folders = g->folders, .open = true};
        g->sample.label = SHARD_NO_LABEL;
        memcpy(g->key, m->path, key);
    }
    if (g->why.code != 0)
        return 0;
    struct error why = {0};
    if (take(g, m, extension, &why) == 0)
        return 0;
    if (why.code == EXIT_CODE_DATA) {
        g->why = why;
        return 0;
    }
    *err = why;
    return -1;
}

/* The files of the sample that are missing may lie after the damage. */
static bool is_cut_off(const struct gathering *g) {
    return g->open && g->why.code == 0 && !g->folders && g->sample.label == SHARD_NO_LABEL &&
           g->class_name[0] == '\0';
}

static int scan(const struct shard_file *file, const struct shard_sink *sink, struct error *err) {
    struct shard_window window = {.file = file};
    struct tar_member member;
    struct error why = {0};
    uint64_t begin = 0; /* of what is not read yet */
    int more = 0;
    cleanup_free struct tar_walk *walk = calloc(1, sizeof(*walk));
    cleanup_free struct gathering *g = calloc(1, sizeof(*g));
    if (walk == NULL || g == NULL)
        return error_no_memory(err, "reading a tar file");
    *g = (struct gathering){.file = file, .sink = sink};
    if (is_of_folders(&window, walk, &g->folders, err) != 0)
        return -1;
    *walk = (struct tar_walk){.window = &window};
    for (; (more = tar_walk_next(walk, &member, &why)) == 1; begin = walk->at)
        if (add_member(g, &member, err) != 0)
            return -1;
    if (more < 0 && is_cut_off(g)) {
        begin = g->has_picture ? g->sample.offset : begin;
        g->open = false;
    }
    if (report(g, err) != 0)
        return -1;
    return more == 0 ? 0 : format_report_rest(sink, file, begin, &why, err);
}

static bool is_tar(const char *name, const uint8_t *bytes, size_t size) {
    (void)name;
    return tar_walk_is(bytes, size);
}

const struct format FORMAT_TAR = {
    .name = "tar",
    .suffix = ".tar",
    .is = is_tar,
    .scan = scan,
    .read = shard_file_load,
    .write = tar_write_sample,
    .finish = tar_write_end,
    .indexed = true,
};
