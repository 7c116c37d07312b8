#include "trainer/report/page.h"

#include "common/file/file.h"
#include "common/html/page_style.h"
#include "trainer/report/section.h"

#include <stdlib.h>

/* Pictures of a run, by the number of runs. */
enum { PICTURES_OF_ONE = RUN_FOLDER_PICTURES_MAX, PICTURES_OF_SEVERAL = 4 };

#define PROGRAM "ringtrain report"
#define START "<!doctype html>\n<!-- " PROGRAM " -->\n"

static const char *const STARTS[] = {START, NULL};
const struct output_path_kind PAGE_KIND = {"a report", STARTS};

static void put_names(struct html *h, const struct page_runs *runs) {
    for (size_t i = 0; i < runs->count; i++) {
        if (i > 0)
            html_put(h, i + 1 == runs->count ? " and " : ", ");
        if (runs->count > 3 && i == 2) {
            html_put(h, "%zu more", runs->count - i);
            return;
        }
        html_text(h, runs->list[i]->name);
    }
}

void page_put(struct html *h, const struct run_folder *const *list, size_t count) {
    const struct page_runs runs = {list, count};
    page_head_open(h, PROGRAM, true);
    put_names(h, &runs);
    page_head_style(h);
    html_put(h, "</style></head>\n<body><main><h1>");
    put_names(h, &runs);
    html_put(h, "</h1>\n");
    section_summary(h, &runs);
    section_curves(h, &runs);
    section_times(h, &runs);
    section_classes(h, &runs);
    section_confusion(h, &runs);
    section_pictures(h, &runs);
    section_settings(h, &runs);
    section_attempts(h, &runs);
    html_put(h, "<footer>Made by ringtrain report from run.jsonl. A point of a curve shows its "
                "numbers under the pointer.</footer></main></body></html>\n");
}

static int publish(const struct run_folder *const *runs, size_t count, const char *path,
                   struct error *err) {
    cleanup_html struct html h;
    html_open(&h);
    page_put(&h, runs, count);
    return html_error(&h, err) != 0 ? error_wrap(err, "%s", path)
                                    : file_publish(path, h.out.data, h.out.size, 0644, err);
}

int page_write(const char *const *folders, size_t count, const char *path, struct error *err) {
    struct run_folder *runs = calloc(count + 1, sizeof(*runs));
    const struct run_folder *list[PAGE_RUNS_MAX];
    size_t read = 0;
    int result = 0;
    if (runs == NULL)
        return error_no_memory(err, "runs");
    if (count == 0 || count > PAGE_RUNS_MAX)
        result = error_set(err, EXIT_CODE_USAGE, "%zu runs; a report shows 1 to %d", count,
                           PAGE_RUNS_MAX);
    for (; read < count && result == 0; read++) {
        result = run_folder_read(&runs[read], folders[read], folders[read],
                                 count == 1 ? PICTURES_OF_ONE : PICTURES_OF_SEVERAL,
                                 PAGE_PICTURES_BYTES / count, err);
        list[read] = &runs[read];
    }
    if (result == 0)
        result = publish(list, count, path, err);
    for (size_t i = 0; i < read; i++)
        run_folder_done(&runs[i]);
    free(runs);
    return result;
}

int page_write_run(const char *folder, const char *pictures_folder, const char *path,
                   struct error *err) {
    struct run_folder *run = calloc(1, sizeof(*run));
    const struct run_folder *const list[] = {run};
    if (run == NULL)
        return error_no_memory(err, "a run");
    int result =
        run_folder_read(run, folder, pictures_folder, PICTURES_OF_ONE, PAGE_PICTURES_BYTES, err);
    if (result == 0)
        result = publish(list, 1, path, err);
    run_folder_done(run);
    free(run);
    return result;
}
