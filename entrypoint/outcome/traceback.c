#include "entrypoint/outcome/traceback.h"

#include "common/buf.h"
#include "common/str.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A small state machine over lines: outside of any traceback, in its frames, or in the words of its
 * exception. Since nearly all lines are ordinary output of a program, a quick test comes first
 * (is_ordinary), and only lines that may begin something are copied and looked at.
 *
 * When an exception has its words it becomes `last`, unless Python has announced it as one that
 * does not end the program. More lines of words replace it by a longer text. Whether it has ended
 * the program is not known here: traceback_last() forgets it after a number of further lines, since
 * the program has gone on then.
 *
 * All sizes are fixed, and longer lines are cut, as a program may print anything. */

/* The rest of a longer line is not looked at. LINE_SIZE has room for the longest path in a frame.
 * MARGIN is the width of an exception group's margin; WORDS_MOST is in bytes. */
enum { LINE_SIZE = PATH_MAX + 256, MARGIN = 4, WORDS_MOST = 200 };

/* --- lines ----------------------------------------------------------------------------------- */

/* Returns the size of an escape sequence for colours at TEXT; 0: there is none. The form ESC [
 * numbers m (ECMA-48, SGR), of at most SIZE bytes. Other sequences stay. */
static size_t escape_size(const char *text, size_t size) {
    size_t end = 2;
    if (size < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (end < size && ((text[end] >= '0' && text[end] <= '9') || text[end] == ';'))
        end++;
    return end < size && text[end] == 'm' ? end + 1 : 0;
}

/* Copies a line without its end and escape sequences. A NUL ends the line, too. */
static void copy_line(const char *line, size_t size, char ret[LINE_SIZE]) {
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < LINE_SIZE && line[i] != '\n' && line[i] != '\0';) {
        size_t escape = escape_size(line + i, size - i);
        if (escape == 0)
            ret[used++] = line[i++];
        i += escape;
    }
    while (used > 0 && ret[used - 1] == '\r')
        used--;
    ret[used] = '\0';
}

/* Returns TEXT behind what PyTorch and exception groups put before each line. */
static const char *skip_margin(const char *text) {
    static const char rank[] = "[rank";
    if (str_starts_with(text, rank)) {
        const char *end = text + strlen(rank);
        end += strspn(end, "0123456789");
        if (str_starts_with(end, "]:"))
            text = end + 2 + (end[2] == ' ');
    }
    return str_starts_with(text, "  | ") || str_starts_with(text, "  + ") ? text + MARGIN : text;
}

/* Appends SIZE bytes of TEXT with single spaces between words, at most MOST bytes of them. Returns
 * -1 for lack of memory. Bytes that are no UTF-8 are replaced. */
static int add_words(struct buf *ret, const char *text, size_t size, size_t most) {
    static const char blanks[] = " \t\r\n\v\f";
    cleanup_buf struct buf words;
    buf_init(&words, size + 1);
    for (const char *end = text + size; text < end;) {
        text += strspn(text, blanks);
        size_t word = text < end ? strcspn(text, blanks) : 0;
        word = word < (size_t)(end - text) ? word : (size_t)(end - text);
        if (word > 0 && ((words.size > 0 && buf_add(&words, " ", 1, NULL) != 0) ||
                         buf_add(&words, text, word, NULL) != 0))
            return -1;
        text += word > 0 ? word : 1;
    }
    return str_add_utf8(ret, buf_text(&words), str_utf8_prefix(buf_text(&words), words.size, most),
                        NULL);
}

/* "ValueError: x (train.py, line 12)"; "" if WORDS has none or memory is short. */
void traceback_text(const char *words, const struct traceback_frame *frame,
                    char ret[TRACEBACK_TEXT_SIZE]) {
    cleanup_buf struct buf line;
    buf_init(&line, (size_t)4 * TRACEBACK_TEXT_SIZE);
    ret[0] = '\0';
    if (add_words(&line, words, strlen(words), WORDS_MOST) != 0 || line.size == 0)
        return;
    if (frame->origin != TRACEBACK_NONE &&
        (buf_add(&line, " (", 2, NULL) != 0 ||
         add_words(&line, frame->file, strlen(frame->file), TRACEBACK_FILE_MOST) != 0 ||
         buf_printf(&line, NULL, ", line %u)", frame->line) != 0))
        return;
    size_t fit = str_utf8_prefix(buf_text(&line), line.size, TRACEBACK_TEXT_SIZE - 1);
    memcpy(ret, buf_text(&line), fit);
    ret[fit] = '\0';
}

/* --- exceptions ------------------------------------------------------------------------------ */

void traceback_init(struct traceback *t, const struct traceback_folders *folders) {
    *t = (struct traceback){.folders = folders};
}

/* What was announced before the headline applies to this one alone. */
void traceback_begin(struct traceback *t) {
    t->state = TRACEBACK_FRAMES;
    t->kind = t->announced;
    t->announced = TRACEBACK_OF_MAIN;
    t->syntax = false;
    t->reading = (struct traceback_exception){.of_thread = t->kind == TRACEBACK_OF_THREAD};
}

/* A worker's call stack is nested in the words of the exception that it has caused, and its frames
 * are further in. The words that follow replace those before. */
static void begin_nested(struct traceback *t) {
    t->state = TRACEBACK_FRAMES;
    t->reading.nested = true;
}

/* Something may stand before it: "Original ", or a logger's prefix. */
static bool is_headline(const char *text) {
    return str_ends_with(text, "Traceback (most recent call last):");
}

/* What Python prints before the headline of an exception that does not end the program. Python's
 * own words, which precede the headline by a line. */
static bool announce(struct traceback *t, const char *text) {
    if (str_starts_with(text, "Exception ignored ") ||
        str_starts_with(text, "Error in atexit._run_exitfuncs"))
        t->announced = TRACEBACK_IGNORED;
    else if (str_starts_with(text, "Exception in thread "))
        t->announced = TRACEBACK_OF_THREAD;
    else
        return false;
    return true;
}

/* An error of syntax has no headline, and its frame names no function. */
static bool begins_syntax(const struct traceback *t, const char *text,
                          struct traceback_frame *ret) {
    return text[0] == ' ' && traceback_frame_read(text, t->folders, ret) && !ret->named;
}

/* A later frame that tells as much is further in. */
static void take_frame(struct traceback *t, const struct traceback_frame *frame) {
    if (frame->origin >= t->reading.frame.origin)
        t->reading.frame = *frame;
}

/* "ValueError: x", "torch.OutOfMemoryError: x", "KeyboardInterrupt". A dotted name, alone or with a
 * colon after it. After a frame without a headline only an error of syntax counts. */
static bool is_exception(const struct traceback *t, const char *text) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char *const of_syntax[] = {"SyntaxError: ", "IndentationError: ", "TabError: "};
    size_t size = strspn(text, letters);
    for (size_t more = 1; size > 0 && more > 0; size += more) {
        more = strspn(text + size, "0123456789.<>");
        more += strspn(text + size + more, letters);
    }
    bool is =
        size > 0 && (text[size] == '\0' ||
                     (text[size] == ':' && (text[size + 1] == ' ' || text[size + 1] == '\0')));
    bool syntax = false;
    for (size_t i = 0; i < sizeof(of_syntax) / sizeof(of_syntax[0]); i++)
        syntax |= str_starts_with(text, of_syntax[i]);
    return is && (!t->syntax || syntax);
}

/* Returns true for what torchrun, or `accelerate launch`, raises when a process that it has started
 * fails. It says only that, and the process has printed why. */
static bool is_of_launcher(const struct traceback_exception *e) {
    return e->frame.origin == TRACEBACK_LIBRARY &&
           (str_starts_with(e->words,
                            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:") ||
            str_starts_with(e->words, "subprocess.CalledProcessError:"));
}

/* Keeps the exception that has been read, unless the program goes on after such ones. An exception
 * of a thread, after one of the main thread, is mostly its consequence. After that of a launcher
 * the one before it has ended the program for certain, however long the list of processes is that
 * follows. */
static void keep(struct traceback *t) {
    const bool before = t->last.words[0] != '\0' && t->after <= TRACEBACK_LINES_AFTER;
    if (t->kind == TRACEBACK_IGNORED || (t->reading.of_thread && before && !t->last.of_thread))
        return;
    if (before && is_of_launcher(&t->reading)) {
        t->after = 0;
        return;
    }
    t->last = t->reading;
    t->after = 0;
}

/* The first line or a further one, which is joined to it by a blank, as far as there is room. */
static void take_words(struct traceback *t, const char *text) {
    cleanup_buf struct buf words;
    struct traceback_exception *e = &t->reading;
    buf_init(&words, (size_t)8 * LINE_SIZE);
    bool more = t->state == TRACEBACK_WORDS;
    if ((more && buf_printf(&words, NULL, "%s ", e->words) != 0) ||
        add_words(&words, text, strlen(text), WORDS_MOST) != 0)
        return;
    size_t fit = str_utf8_prefix(buf_text(&words), words.size, WORDS_MOST);
    (void)snprintf(e->words, sizeof(e->words), "%.*s", (int)fit, buf_text(&words));
    t->state = TRACEBACK_WORDS;
    keep(t);
}

/* Lines of code between frames are passed over. */
static void take_in_frames(struct traceback *t, const char *text) {
    struct traceback_frame frame;
    if (traceback_frame_read(text, t->folders, &frame))
        take_frame(t, &frame);
    else if (is_exception(t, text))
        take_words(t, text);
    else if (t->syntax && text[0] != ' ')
        t->state = TRACEBACK_OUTSIDE;
}

/* The count stops once it is too large, so that it cannot overflow. */
static void pass_line(struct traceback *t) {
    t->state = TRACEBACK_OUTSIDE;
    t->after += t->after <= TRACEBACK_LINES_AFTER;
    t->announced = TRACEBACK_OF_MAIN;
}

/* An announcement holds for the next line only. */
static void take_outside(struct traceback *t, const char *text) {
    struct traceback_frame frame;
    pass_line(t);
    if (announce(t, text))
        return;
    if (!begins_syntax(t, text, &frame))
        return;
    traceback_begin(t);
    t->syntax = true;
    take_frame(t, &frame);
}

/* More lines of an exception's words are indented; so is what a group draws below them. A line of
 * blanks alone ends the words. */
static bool continues_words(const char *text) {
    size_t indent = strspn(text, " \t");
    return indent > 0 && text[indent] != '\0' && text[indent] != '+' && text[indent] != '|';
}

/* Returns true if a line outside of exceptions is none that anything below looks for: nearly all
 * are, and each rank's output passes here. It is no headline, nothing that precedes one, and
 * neither has a margin or colours nor is it indented. */
static bool is_ordinary(const char *line, size_t size) {
    if (size == 0 || size >= LINE_SIZE || memchr(" E[", line[0], 3) != NULL ||
        memchr(line, '\033', size) != NULL || memchr(line, '\0', size) != NULL)
        return false;
    const char *end = memchr(line, '\n', size);
    size = end != NULL ? (size_t)(end - line) : size;
    while (size > 0 && line[size - 1] == '\r')
        size--;
    return size == 0 || line[size - 1] != ':';
}

/* A new headline ends whatever was being read, also in the middle of its frames. */
void traceback_add(struct traceback *t, const char *line, size_t size) {
    char copy[LINE_SIZE];
    if (t->state == TRACEBACK_OUTSIDE && is_ordinary(line, size)) {
        pass_line(t);
        return;
    }
    copy_line(line, size, copy);
    const char *text = skip_margin(copy);
    if (is_headline(text)) {
        /* Inside another exception's words, this stack is the one to look at. */
        if (t->state == TRACEBACK_WORDS && str_starts_with(text, "Original "))
            begin_nested(t);
        else
            traceback_begin(t);
    } else if (t->state == TRACEBACK_FRAMES) {
        take_in_frames(t, text);
    } else if (t->state == TRACEBACK_WORDS && continues_words(text)) {
        take_words(t, text);
    } else {
        take_outside(t, text);
    }
}

/* Line by line, as if a program had printed it. */
void traceback_add_text(struct traceback *t, const char *text) {
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        traceback_add(t, text, size);
        text += size + (text[size] == '\n');
    }
}

/* NULL: there is none, or the program has gone on. */
const struct traceback_exception *traceback_last(const struct traceback *t) {
    return t->last.words[0] != '\0' && t->after <= TRACEBACK_LINES_AFTER ? &t->last : NULL;
}
