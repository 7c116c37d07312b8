#include "entrypoint/evidence/stack_reading.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/str.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The text is read line by line, once. Three tools have three forms, which are told apart by their
 * first characters: py-spy indents frames by four blanks, gdb and eu-stack number them with "#".
 * Lines of any other form are skipped, so versions of the tools may add what they like.
 *
 * Two things are looked for. A collective operation is the first known name in any thread of any
 * process, since libraries often wait in a thread of their own. The place is made of the innermost
 * frames of the main thread of the first process, which is the program itself.
 *
 * Words are slices of the text, without NUL. Nothing is copied before the end, where the result
 * becomes valid UTF-8. */

/* Three frames fit into a line of a table, and mostly reach from a wait in libc to the function
 * that called it. CLEAN_MAX bounds the place before it is cut. */
enum { PLACE_FRAMES = 3, CLEAN_MAX = 4096, NAME_MAX_SIZE = 96 };

/* A slice of the text; it borrows. */
struct words {
    const char *text;
    size_t size;
};

/* Collective operations of MPI: the name after MPI_. A rank that ends while others compute waits in
 * Finalize. */
static const char *const of_mpi[] = {"Allreduce",
                                     "Barrier",
                                     "Bcast",
                                     "Reduce",
                                     "Allgather",
                                     "Allgatherv",
                                     "Alltoall",
                                     "Alltoallv",
                                     "Gather",
                                     "Gatherv",
                                     "Scatter",
                                     "Scatterv",
                                     "Scan",
                                     "Exscan",
                                     "Finalize",
                                     "Init",
                                     "Init_thread",
                                     "Reduce_scatter",
                                     "Alltoallw",
                                     "Comm_split",
                                     "Comm_dup",
                                     "Win_fence",
                                     "Reduce_scatter_block"};

/* Functions of torch.distributed, in Python, as its documentation names them. Starting a group is
 * one, too: all ranks have to come to it. */
static const char *const of_torch[] = {"all_reduce",
                                       "broadcast",
                                       "barrier",
                                       "all_gather",
                                       "reduce",
                                       "gather",
                                       "scatter",
                                       "all_gather_into_tensor",
                                       "reduce_scatter",
                                       "all_to_all",
                                       "all_gather_object",
                                       "reduce_scatter_tensor",
                                       "all_to_all_single",
                                       "gather_object",
                                       "monitored_barrier",
                                       "broadcast_object_list",
                                       "scatter_object_list",
                                       "init_process_group",
                                       "new_group",
                                       "all_reduce_coalesced"};

/* Native functions, by how their names begin: they are followed by arguments of templates, or by a
 * suffix of a type. */
static const struct native {
    const char *prefix;
    const char *name;
} natives[] = {
    {"gloo::allreduce", "all_reduce (gloo)"},
    {"gloo::broadcast", "broadcast (gloo)"},
    {"gloo::barrier", "barrier (gloo)"},
    {"gloo::allgather", "all_gather (gloo)"},
    {"gloo::reduce", "reduce (gloo)"},
    {"gloo::gather", "gather (gloo)"},
    {"gloo::scatter", "scatter (gloo)"},
    {"gloo::alltoall", "all_to_all (gloo)"},
    {"c10d::Reducer::finalize_backward", "all_reduce of gradients (DistributedDataParallel)"},
    {"ncclAllReduce", "ncclAllReduce"},
    {"ncclBroadcast", "ncclBroadcast"},
    {"ncclAllGather", "ncclAllGather"},
    {"ncclReduceScatter", "ncclReduceScatter"},
    {"ncclCommInitRank", "ncclCommInitRank"},
};

static bool equals(struct words w, const char *text) {
    return w.size == strlen(text) && memcmp(w.text, text, w.size) == 0;
}

static bool begins(struct words w, const char *text) {
    return w.size >= strlen(text) && memcmp(w.text, text, strlen(text)) == 0;
}

/* Words are not NUL-terminated, so strstr() cannot be used. */
static bool contains(struct words w, const char *text) {
    return memmem(w.text, w.size, text, strlen(text)) != NULL;
}

/* The last line need not end with a newline. */
static struct words next_line(struct words *rest) {
    const char *end = memchr(rest->text, '\n', rest->size);
    struct words line = {rest->text, end != NULL ? (size_t)(end - rest->text) : rest->size};
    size_t step = line.size + (end != NULL);
    *rest = (struct words){rest->text + step, rest->size - step};
    return line;
}

/* Takes COUNT bytes off the start, of which there are as many or more. */
static void drop(struct words *w, size_t count) {
    w->text += count;
    w->size -= count;
}

static void drop_blanks(struct words *w) {
    while (w->size > 0 && (*w->text == ' ' || *w->text == '\t'))
        drop(w, 1);
}

/* Drops a leading "0x7f12"; returns true if there was one. */
static bool drop_address(struct words *w) {
    if (!begins(*w, "0x"))
        return false;
    drop(w, 2);
    while (w->size > 0 && isxdigit((unsigned char)*w->text))
        drop(w, 1);
    drop_blanks(w);
    return true;
}

/* Returns the function's name in a native frame, "#1 0x7f12 in name (arguments) from library" or
 * "#1 0x7f12 name"; empty if the line is none. A C++ name may hold brackets itself, such as
 * operator(): one at the very start ends nothing. */
static struct words native_frame(struct words line) {
    const struct words none = {line.text, 0};
    drop_blanks(&line);
    if (line.size == 0 || *line.text != '#')
        return none;
    drop(&line, 1);
    if (line.size == 0 || !isdigit((unsigned char)*line.text))
        return none;
    while (line.size > 0 && isdigit((unsigned char)*line.text))
        drop(&line, 1);
    drop_blanks(&line);
    if (drop_address(&line) && begins(line, "in "))
        drop(&line, 3);
    const char *end = memmem(line.text, line.size, " (", 2);
    if (end != NULL)
        line.size = (size_t)(end - line.text);
    const char *arguments = memchr(line.text, '(', line.size);
    if (arguments != NULL && arguments > line.text)
        line.size = (size_t)(arguments - line.text);
    while (line.size > 0 && isspace((unsigned char)line.text[line.size - 1]))
        line.size--;
    return line;
}

/* Returns a frame of py-spy, "name (file:line)"; empty if the line is none. */
static struct words python_frame(struct words line) {
    const struct words none = {line.text, 0};
    if (!begins(line, "    ") || line.text[line.size - 1] != ')')
        return none;
    drop_blanks(&line);
    return contains(line, " (") && contains(line, ":") ? line : none;
}

/* The function of a Python frame, without its file and line, for a comparison with names of
 * torch.distributed. */
static struct words name_of(struct words python) {
    const char *end = memmem(python.text, python.size, " (", 2);
    return (struct words){python.text, end != NULL ? (size_t)(end - python.text) : python.size};
}

/* The names stand for whole functions: MPI_Reduce is not MPI_Reduce_scatter. PMPI_ is the form that
 * profiling tools call, and eu-stack shows. */
static const char *find_mpi(struct words name) {
    if (begins(name, "PMPI_"))
        drop(&name, 1);
    if (!begins(name, "MPI_"))
        return NULL;
    drop(&name, 4);
    for (size_t i = 0; i < sizeof(of_mpi) / sizeof(of_mpi[0]); i++)
        if (equals(name, of_mpi[i]))
            return of_mpi[i];
    return NULL;
}

/* Python names count only in files of torch.distributed, as a user's function may be called reduce,
 * too. Native ones are compared by their beginning, because C++ names continue with templates and
 * arguments. */
static void take_collective(struct words frame, bool is_python, struct stack_reading *ret) {
    struct words name = is_python ? name_of(frame) : frame;
    const char *mpi = find_mpi(name);
    if (mpi != NULL)
        (void)snprintf(ret->collective, sizeof(ret->collective), "MPI_%s", mpi);
    for (size_t i = 0; is_python && i < sizeof(of_torch) / sizeof(of_torch[0]); i++)
        if (contains(frame, "torch/distributed/") && equals(name, of_torch[i]))
            (void)snprintf(ret->collective, sizeof(ret->collective), "%s", of_torch[i]);
    for (size_t i = 0; !is_python && i < sizeof(natives) / sizeof(natives[0]); i++)
        if (begins(name, natives[i].prefix))
            (void)snprintf(ret->collective, sizeof(ret->collective), "%s", natives[i].name);
}

/* The thread of the lines that follow. */
struct thread {
    bool is_main;
    unsigned frames; /* that were added to the place */
};

/* Returns true if LINE begins a thread. The main thread is py-spy's "MainThread", gdb's Thread 1,
 * which it prints last, and eu-stack's first. */
static bool begins_thread(struct words line, bool first, struct thread *ret) {
    bool eu_stack = begins(line, "TID ");
    if (!begins(line, "Thread ") && !eu_stack)
        return false;
    *ret = (struct thread){.is_main = contains(line, "\"MainThread\"") ||
                                      begins(line, "Thread 1 (") || (eu_stack && first)};
    return true;
}

/* "??" is a frame without a symbol, which tells nothing. Frames of other threads are not part of
 * the place. */
static void add_place(struct words frame, struct thread *thread, struct buf *place) {
    char text[NAME_MAX_SIZE];
    if (!thread->is_main || thread->frames >= PLACE_FRAMES || equals(frame, "??"))
        return;
    (void)snprintf(text, sizeof(text), "%.*s",
                   (int)(frame.size < sizeof(text) ? frame.size : sizeof(text) - 1), frame.text);
    (void)buf_printf(place, NULL, "%s%s", place->size > 0 ? " < " : "", text);
    thread->frames++;
}

/* Makes the text valid UTF-8 on one line, as it goes into JSON and reports, and cuts it at SIZE
 * without splitting a character. */
static void put(const struct buf *from, char *ret, size_t size) {
    cleanup_buf struct buf clean;
    buf_init(&clean, CLEAN_MAX);
    (void)str_add_utf8(&clean, buf_text(from), from->size, NULL);
    size_t fit = str_utf8_prefix(buf_text(&clean), clean.size, size - 1);
    memcpy(ret, buf_text(&clean), fit);
    ret[fit] = '\0';
}

/* FIRST is true until the first thread of a process, which for eu-stack is the main thread. A
 * stopped process has one line in place of its stacks. Blank lines part threads and change
 * nothing. */
void stack_reading_take(const char *text, size_t size, struct stack_reading *ret) {
    struct words rest = {text, size};
    struct thread thread = {0};
    unsigned processes = 0;
    bool first = true;
    cleanup_buf struct buf place;
    buf_init(&place, CLEAN_MAX / 4);
    *ret = (struct stack_reading){0};
    while (rest.size > 0) {
        struct words line = next_line(&rest);
        if (begins(line, STACK_READING_PROCESS)) {
            processes++;
            first = true;
            thread = (struct thread){0};
            continue;
        }
        if (processes <= 1 && place.size == 0 && begins(line, STACK_READING_STOPPED))
            (void)buf_add_text(&place, STACK_READING_STOPPED, NULL);
        if (line.size == 0 || begins_thread(line, first, &thread)) {
            first = first && line.size == 0;
            continue;
        }
        struct words python = python_frame(line);
        struct words frame = python.size > 0 ? python : native_frame(line);
        if (frame.size == 0)
            continue;
        if (ret->collective[0] == '\0')
            take_collective(frame, python.size > 0, ret);
        if (processes <= 1)
            add_place(frame, &thread, &place);
    }
    put(&place, ret->place, sizeof(ret->place));
}
