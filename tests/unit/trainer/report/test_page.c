#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/report/page.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define EVIL "<script>alert(1)</script>\\\"'&"

static void put_file(const char *folder, const char *name, const char *text) {
    char path[1024];
    CU_ASSERT_EQUAL(file_make_dirs(folder, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(file_put(path, text, strlen(text), 0644, NULL), 0);
}

/* Writes the page of COUNT folders; the text is the caller's. */
static void page_of(const char *const *folders, size_t count, struct buf *text) {
    char path[1024];
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/page.html", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(page_write(folders, count, path, &err), 0);
    *text = (struct buf){.max = 1 << 22};
    CU_ASSERT_EQUAL_FATAL(file_read(path, text, NULL), 0);
}

static const char *folder_of(const char *name, char ret[512]) {
    (void)snprintf(ret, 512, "%s/%s", unit_temp_dir(), name);
    return ret;
}

/* Names of classes, data and flags come from folders and shells. */
static void hostile_names_stay_text(void) {
    cleanup_buf struct buf text = {0};
    char folder[512], pictures[600];
    put_file(folder_of("<b onload=x>", folder), "run.jsonl",
             "{\"kind\":\"run\",\"time\":\"" EVIL "\",\"model\":\"" EVIL "\",\"data\":\"" EVIL
             "\",\"recipe\":\"" EVIL "\",\"flags\":{\"" EVIL "\":\"" EVIL "\"}}\n"
             "{\"kind\":\"start\",\"step\":0}\n"
             "{\"kind\":\"train\",\"step\":1,\"" EVIL "\":1,\"loss\":2}\n"
             "{\"kind\":\"classes\",\"step\":1,\"metric\":\"" EVIL "\",\"rows\":[[\"" EVIL
             "\",1,0],[\"b\",2,0]],\"cells\":[[0,1,1]]}\n");
    (void)snprintf(pictures, sizeof(pictures), "%s/pictures", folder);
    put_file(pictures, "step-000000001-1.jpg", "<script>no picture");
    put_file(pictures, "step-000000001-2.jpg", "\xff\xd8\xff<script>");
    const char *list[] = {folder};
    page_of(list, 1, &text);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "<script"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "<b onload"));
    ASSERT_CONTAINS(buf_text(&text), "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;");
    ASSERT_CONTAINS(buf_text(&text), "data:image/jpeg;base64,/9j/PHNjcmlwdD4=\"");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "mistake 1,"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "http:"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "https:"));
}

/* A run that has just begun. */
static void what_is_missing_is_reported(void) {
    cleanup_buf struct buf text = {0};
    char folder[512];
    put_file(folder_of("new", folder), "run.jsonl", "{\"kind\":\"run\"}\n{\"kind\":\"tr");
    const char *list[] = {folder};
    page_of(list, 1, &text);
    ASSERT_CONTAINS(buf_text(&text), "running or killed");
    ASSERT_CONTAINS(buf_text(&text), "No step has been reported yet.");
    ASSERT_CONTAINS(buf_text(&text), "No evaluation has recorded them yet.");
    ASSERT_CONTAINS(buf_text(&text), "run.jsonl has no times");
    ASSERT_CONTAINS(buf_text(&text), "There are no pictures");
    ASSERT_CONTAINS(buf_text(&text), "</html>\n");
}

static void runs_stand_beside_each_other(void) {
    cleanup_buf struct buf text = {0};
    char one[512], two[512];
    put_file(
        folder_of("one/output/data", one), "run.jsonl",
        "{\"kind\":\"run\",\"flags\":{\"lr\":\"0.1\",\"seed\":\"0\"},\"own_flags\":\"\"}\n"
        "{\"kind\":\"start\",\"step\":0}\n"
        "{\"kind\":\"eval\",\"step\":10,\"top1\":0.5}\n"
        "{\"kind\":\"eval\",\"step\":20,\"top1\":0.4}\n"
        "{\"kind\":\"end\",\"step\":20,\"code\":0,\"seconds\":10,\"training_seconds\":8,"
        "\"data_seconds\":2,\"ranks_seconds\":2,\"eval_seconds\":1,\"checkpoint_seconds\":0}\n");
    put_file(folder_of("two/output/data", two), "run.jsonl",
             "{\"kind\":\"run\",\"flags\":{\"lr\":\"0.2\",\"seed\":\"0\"},\"own_flags\":\"\"}\n"
             "{\"kind\":\"end\",\"step\":0,\"code\":66}\n");
    const char *list[] = {one, two};
    page_of(list, 2, &text);
    ASSERT_CONTAINS(buf_text(&text), "/one");
    ASSERT_CONTAINS(buf_text(&text), "complete</span>");
    ASSERT_CONTAINS(buf_text(&text), "failed, exit code 66");
    ASSERT_CONTAINS(buf_text(&text), "<td class=n>50 %");
    ASSERT_CONTAINS(buf_text(&text),
                    "<tr class=differs><td class=name>--lr<td class=value>0.1<td class=value>0.2");
    ASSERT_CONTAINS(buf_text(&text), "<tr><td class=name>--seed");
    ASSERT_CONTAINS(buf_text(&text), "computation <b>40.0 %</b> <span>4.0 s");
    ASSERT_CONTAINS(buf_text(&text), "set-up and the rest <b>10.0 %</b> <span>1.0 s");
}

/* One row of 1 step, one of 19: 20 steps of 10 images in 2 s and 9.5 s. */
static void throughput_is_that_of_all_steps(void) {
    cleanup_buf struct buf text = {0};
    char folder[512];
    put_file(folder_of("fast", folder), "run.jsonl",
             "{\"kind\":\"run\",\"ranks\":2,\"global_batch\":10}\n"
             "{\"kind\":\"start\",\"step\":0}\n"
             "{\"kind\":\"train\",\"step\":1,\"images_per_second\":5}\n"
             "{\"kind\":\"train\",\"step\":20,\"images_per_second\":20}\n");
    const char *list[] = {folder};
    page_of(list, 1, &text);
    ASSERT_CONTAINS(buf_text(&text), "Throughput</span><b>17.39 <small>images/s");
    ASSERT_CONTAINS(buf_text(&text), "Ranks</span><b>2 <small>10 images a step");
}

static void a_failed_run_says_why_until_it_is_started_again(void) {
    cleanup_buf struct buf text = {0}, later = {0};
    char folder[512], other[512];
    const char failed[] = "{\"kind\":\"run\",\"time\":\"2026-11-27T16:08:15.042Z\"}\n"
                          "{\"kind\":\"train\",\"step\":1,\"loss\":2}\n"
                          "{\"kind\":\"train\",\"step\":2,\"loss\":null}\n"
                          "{\"kind\":\"failure\",\"error\":\"diverged at <step> 2\"}\n"
                          "{\"kind\":\"end\",\"step\":2,\"code\":65}\n";
    char again[sizeof(failed) + 32];
    (void)snprintf(again, sizeof(again), "%s{\"kind\":\"run\"}\n", failed);
    put_file(folder_of("failed", folder), "run.jsonl", failed);
    put_file(folder_of("again", other), "run.jsonl", again);
    const char *list[] = {folder, other};
    page_of(list, 1, &text);
    ASSERT_CONTAINS(buf_text(&text), "<p class=\"words bad\">diverged at &lt;step&gt; 2</p>");
    ASSERT_CONTAINS(buf_text(&text), "1 of 2 points are not finite, the first at step 2");
    ASSERT_CONTAINS(buf_text(&text), "<span class=time>2026-11-27 16:08:15</span>");
    page_of(list + 1, 1, &later);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&later), "diverged"));
}

static void a_process_without_a_step_leaves_the_run_as_it_is(void) {
    cleanup_buf struct buf text = {0};
    char folder[512];
    put_file(
        folder_of("refused", folder), "run.jsonl",
        "{\"kind\":\"run\",\"model\":\"resnet50\"}\n{\"kind\":\"start\",\"step\":0}\n"
        "{\"kind\":\"train\",\"step\":9,\"loss\":2}\n{\"kind\":\"end\",\"step\":9,\"code\":0}\n"
        "{\"kind\":\"run\",\"model\":\"vgg16\",\"time\":\"2026-11-27T16:08:15.042Z\"}\n"
        "{\"kind\":\"failure\",\"error\":\"another network\"}\n"
        "{\"kind\":\"end\",\"step\":0,\"code\":66}\n");
    const char *list[] = {folder};
    page_of(list, 1, &text);
    ASSERT_CONTAINS(buf_text(&text), "<span class=\"state good\">complete</span> <b>resnet50</b>");
    ASSERT_CONTAINS(buf_text(&text), "2026-11-27 16:08:15</span> UTC, has taken no step, and the "
                                     "run before it is shown. It failed: another network</p>");
    ASSERT_CONTAINS(buf_text(&text), "Steps</span><b>9 <small>");
}

static void the_last_of_a_few_evaluations_is_no_peak(void) {
    cleanup_buf struct buf text = {0};
    char folder[512];
    put_file(folder_of("rising", folder), "run.jsonl",
             "{\"kind\":\"run\"}\n"
             "{\"kind\":\"eval\",\"step\":1,\"segm_mAP\":0}\n"
             "{\"kind\":\"eval\",\"step\":2,\"segm_mAP\":0.01}\n"
             "{\"kind\":\"eval\",\"step\":3,\"segm_mAP\":0.05}\n");
    const char *list[] = {folder};
    page_of(list, 1, &text);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "cut off"));
    ASSERT_CONTAINS(buf_text(&text), ">0.06</text>");
}

static void a_containers_folder_is_no_name(void) {
    cleanup_buf struct buf text = {0};
    char folder[512];
    put_file(folder_of("opt/ml/output/data", folder), "run.jsonl",
             "{\"kind\":\"run\",\"model\":\"resnet18\"}\n");
    const char *list[] = {folder};
    page_of(list, 1, &text);
    ASSERT_CONTAINS(buf_text(&text), "<h1>resnet18</h1>");
}

static void a_share_has_no_axis_above_all(void) {
    cleanup_buf struct buf text = {0}, five = {0};
    char folder[512], other[512];
    put_file(folder_of("ten", folder), "run.jsonl",
             "{\"kind\":\"run\",\"classes\":10}\n{\"kind\":\"eval\",\"step\":9,\"top5\":1}\n");
    put_file(folder_of("five", other), "run.jsonl",
             "{\"kind\":\"run\",\"classes\":5}\n{\"kind\":\"eval\",\"step\":9,\"top5\":1}\n");
    const char *list[] = {folder, other};
    page_of(list, 1, &text);
    ASSERT_CONTAINS(buf_text(&text), ">100</text>");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), ">105</text>"));
    page_of(list + 1, 1, &five);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&five), "Top-5"));
}

static void a_page_does_not_change_with_the_time(void) {
    cleanup_buf struct buf text = {0}, again = {0};
    char folder[512];
    put_file(folder_of("same", folder), "run.jsonl",
             "{\"kind\":\"run\"}\n{\"kind\":\"train\",\"step\":1,\"loss\":2}\n");
    const char *list[] = {folder};
    page_of(list, 1, &text);
    page_of(list, 1, &again);
    CU_ASSERT(text.size == again.size && memcmp(text.data, again.data, text.size) == 0);
}

static void a_folder_without_a_record_is_an_error(void) {
    char path[1024];
    struct error err = {0};
    const char *list[] = {"/nowhere"};
    (void)snprintf(path, sizeof(path), "%s/none.html", unit_temp_dir());
    CU_ASSERT_EQUAL(page_write(list, 1, path, &err), -1);
    ASSERT_CONTAINS(err.text, "/nowhere/run.jsonl");
    CU_ASSERT_EQUAL(page_write(list, 0, path, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("report.page", UNIT(hostile_names_stay_text), UNIT(what_is_missing_is_reported),
           UNIT(runs_stand_beside_each_other), UNIT(throughput_is_that_of_all_steps),
           UNIT(a_failed_run_says_why_until_it_is_started_again),
           UNIT(a_process_without_a_step_leaves_the_run_as_it_is),
           UNIT(the_last_of_a_few_evaluations_is_no_peak), UNIT(a_containers_folder_is_no_name),
           UNIT(a_share_has_no_axis_above_all), UNIT(a_page_does_not_change_with_the_time),
           UNIT(a_folder_without_a_record_is_an_error))
