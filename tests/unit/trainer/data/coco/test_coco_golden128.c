#include "tests/unit/trainer/data/coco/coco_golden.h"
#include "trainer/data/coco/coco_load.h"

#include <limits.h>
#include <math.h>
#include <unistd.h>

/* recipe_results() of coco_compare.py. */
struct recipe {
    uint64_t state;
    FILE *out;
    const struct coco_index *index;
    size_t count;
};

static int64_t draw(struct recipe *r, int64_t below) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return (int64_t)((r->state >> 11) % (uint64_t)below);
}

static int64_t hundredths(double value) {
    return (int64_t)floor(value * 100 + 0.5);
}

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && a < 0);
}

static void write_hundredths(FILE *out, int64_t value) {
    fprintf(out, "%s%" PRIdMAX ".%02" PRIdMAX, value < 0 ? "-" : "", imaxabs(value) / 100,
            imaxabs(value) % 100);
}

static void write_points(struct recipe *r, const int64_t *at, size_t count, const int64_t move[2]) {
    fputc('[', r->out);
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", r->out);
        write_hundredths(r->out, at[i] + move[i % 2]);
    }
    fputc(']', r->out);
}

static void write_outline(struct recipe *r, const struct coco_annotation *a, const int64_t box[4],
                          const int64_t move[2]) {
    if ((a->flags & COCO_ANNOTATION_CROWD) != 0) {
        int64_t right = box[0] + box[2], bottom = box[1] + box[3];
        const int64_t at[] = {box[0], box[1], right, box[1], right, bottom, box[0], bottom};
        write_points(r, at, 8, move);
        return;
    }
    cleanup_coco_outline struct coco_outline outline = {0};
    struct error err = {0};
    struct coco_segment segment = coco_index_segment(r->index, a);
    CU_ASSERT_EQUAL_FATAL(coco_segment_outline(&segment, &outline, &err), 0);
    const double *numbers = outline.numbers;
    for (size_t part = 0; part < outline.count; part++) {
        int64_t at[4096];
        CU_ASSERT_FATAL(outline.sizes[part] <= 4096);
        for (size_t i = 0; i < outline.sizes[part]; i++)
            at[i] = hundredths(numbers[i]);
        fputs(part > 0 ? "," : "", r->out);
        write_points(r, at, outline.sizes[part], move);
        numbers += outline.sizes[part];
    }
}

static void write_result(struct recipe *r, const struct coco_annotation *a) {
    int64_t box[4], move[2];
    for (int i = 0; i < 4; i++)
        box[i] = hundredths(a->box[i]);
    int64_t span = 1 + draw(r, 60);
    for (int i = 0; i < 2; i++)
        move[i] = floor_divide(box[2 + i] * (draw(r, 2 * span) - span), 200);
    uint32_t category = a->category;
    if (draw(r, 8) == 0)
        category = (uint32_t)draw(r, (int64_t)r->index->category_count);
    double score = draw(r, 2) != 0 ? (double)draw(r, 50) / 50 : (double)draw(r, 1000000) / 1000000;
    fprintf(r->out, "%s{\"image_id\":%" PRId64 ",\"category_id\":%" PRId64 ",\"score\":%.17g,",
            r->count++ > 0 ? "," : "", r->index->images[a->image].id,
            r->index->categories[category].id, score);
    fputs("\"bbox\":", r->out);
    const int64_t moved[] = {box[0] + move[0], box[1] + move[1], box[2], box[3]};
    write_points(r, moved, 4, (const int64_t[]){0, 0});
    fputs(",\"segmentation\":[", r->out);
    write_outline(r, a, box, move);
    fputs("]}", r->out);
}

static void coco128_gives_the_reference_numbers_to_the_last_bit(void) {
    const char *data = getenv("RINGMASTER_DATA");
    char truth[PATH_MAX], found[PATH_MAX], expect[PATH_MAX];
    snprintf(truth, sizeof(truth), "%s/coco128/annotations/instances_train2017.json",
             data != NULL ? data : "");
    if (data == NULL || access(truth, R_OK) != 0) {
        unit_skip("RINGMASTER_DATA does not lead to coco128");
        return;
    }
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, truth, NULL, &err), 0);
    snprintf(found, sizeof(found), "%s/results.json", unit_temp_dir());
    snprintf(expect, sizeof(expect), "%s/coco128.expect", GOLDEN);
    struct recipe r = {
        .state = UINT64_C(88172645463325252), .out = fopen(found, "w"), .index = &index};
    CU_ASSERT_PTR_NOT_NULL_FATAL(r.out);
    fputc('[', r.out);
    for (size_t i = 0; i < index.placed_count; i++) {
        int64_t copies = draw(&r, 20) != 0 ? draw(&r, 4) : 40;
        for (; copies > 0; copies--)
            write_result(&r, &index.annotations[i]);
    }
    fputc(']', r.out);
    CU_ASSERT_EQUAL(fclose(r.out), 0);
    check_case(truth, found, expect);
}

UNIT_SUITE("data.coco_golden128", UNIT(coco128_gives_the_reference_numbers_to_the_last_bit))
