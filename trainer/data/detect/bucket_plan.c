#include "trainer/data/detect/bucket_plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A plan is made in three steps. Pictures are scaled and put on the smallest of six offered
 * canvases, landscape and portrait. Each canvas is cut down to what its own pictures need. Canvases
 * with too few training pictures are joined with others, one at a time, and the pictures are
 * counted anew after each.
 *
 * All is computed from sizes, without a picture being opened. The result depends neither on their
 * order nor on anything random, so that every rank makes the same plan. detection_groups.c plans
 * for sets; trainer/app/task/detect_batches.c parses canvases that the user gave. */

/* Pictures that fit none of the offered canvases share one more: rules that round up can exceed
 * the long side a little. */
enum { SHAPES = 3, OFFERED = 2 * SHAPES, ODD = OFFERED, GROUPS };

/* Rounds up to a whole number, and then to a multiple of CANVAS_STEP. */
static int up_to_step(double side) {
    int whole = (int)side + (side > (int)side);
    return (whole + CANVAS_STEP - 1) / CANVAS_STEP * CANVAS_STEP;
}

/* Pictures are never turned: a canvas for portrait does not hold one in landscape. */
static bool holds(struct detect_size canvas, struct detect_size size) {
    return size.height <= canvas.height && size.width <= canvas.width;
}

static double area(struct detect_size size) {
    return (double)size.height * size.width;
}

/* Returns the smallest size that holds both. */
static struct detect_size both(struct detect_size a, struct detect_size b) {
    return (struct detect_size){a.height > b.height ? a.height : b.height,
                                a.width > b.width ? a.width : b.width};
}

/* The first of equal areas is taken, which makes the choice the same on all ranks. */
static int place(const struct detect_size *canvases, int count, struct detect_size scaled) {
    int best = CANVAS_NONE;
    for (int i = 0; i < count; i++)
        if (holds(canvases[i], scaled) &&
            (best == CANVAS_NONE || area(canvases[i]) < area(canvases[best])))
            best = i;
    return best;
}

int bucket_plan_place(const struct bucket_plan *plan, struct detect_size scaled) {
    return place(plan->canvases, plan->count, scaled);
}

/* Offers canvases of shape 4:3, of 3:2, and of the longest shape, each in both directions. Some may
 * be equal, where the long side is a limit. */
static void offer(const struct detect_sizes *sizes, struct detect_size ret[OFFERED]) {
    const double shapes[SHAPES] = {sizes->short_side * 4.0 / 3, sizes->short_side * 3.0 / 2,
                                   sizes->long_side};
    for (int i = 0; i < SHAPES; i++) {
        double longer = shapes[i] < sizes->long_side ? shapes[i] : sizes->long_side;
        struct detect_size flat = {up_to_step(sizes->short_side), up_to_step(longer)};
        ret[2 * i] = flat;
        ret[2 * i + 1] = (struct detect_size){flat.width, flat.height};
    }
}

/* Returns the additional pixels, over all pictures of the set, if canvases A and B become one. They
 * are the price of joining: padding is computed like any other pixel. */
static double cost_of_joining(const struct bucket_plan *plan, int a, int b) {
    double joined = area(both(plan->canvases[a], plan->canvases[b]));
    return (double)plan->pictures[a] * (joined - area(plan->canvases[a])) +
           (double)plan->pictures[b] * (joined - area(plan->canvases[b]));
}

/* Merges canvas FROM with the one for which that costs least. The counts of pictures are wrong
 * afterwards: other pictures may fit the new canvas as well. */
static void join(struct bucket_plan *plan, int from) {
    int into = -1;
    for (int i = 0; i < plan->count; i++)
        if (i != from &&
            (into < 0 || cost_of_joining(plan, from, i) < cost_of_joining(plan, from, into)))
            into = i;
    plan->canvases[into] = both(plan->canvases[into], plan->canvases[from]);
    plan->count--;
    for (int i = from; i < plan->count; i++)
        plan->canvases[i] = plan->canvases[i + 1];
}

/* Returns the canvas with the fewest training pictures, if these are fewer than a global batch;
 * else -1. A canvas needed only for validation does not lose any picture. */
static int too_small(const struct bucket_plan *plan, size_t global_batch) {
    int least = -1;
    for (int i = 0; i < plan->count; i++)
        if (plan->learnt[i] > 0 && plan->learnt[i] < global_batch &&
            (least < 0 || plan->learnt[i] < plan->learnt[least]))
            least = i;
    return least;
}

/* Crops the offered canvases to what their pictures need, each picture being on the smallest
 * offered one. Canvases without pictures are left out; ODD is for those that fit none. */
static void cut_down(struct bucket_plan *plan, const struct detect_sizes *sizes,
                     const struct detect_size *pictures, size_t count) {
    struct detect_size offered[OFFERED], needed[GROUPS] = {0};
    offer(sizes, offered);
    for (size_t i = 0; i < count; i++) {
        struct detect_size scaled = detect_resized(sizes, pictures[i]);
        int at = place(offered, OFFERED, scaled);
        at = at == CANVAS_NONE ? ODD : at;
        needed[at] = both(needed[at], scaled);
    }
    plan->count = 0;
    for (int i = 0; i < GROUPS; i++)
        if (needed[i].height > 0)
            plan->canvases[plan->count++] =
                (struct detect_size){up_to_step(needed[i].height), up_to_step(needed[i].width)};
}

/* Counts the pictures of each canvas and removes canvases without any. Each picture fits one:
 * canvases were made to hold all of them, and joining only makes them larger. */
static void count_pictures(struct bucket_plan *plan, const struct detect_sizes *sizes,
                           const struct detect_size *pictures, size_t count, size_t learnt) {
    int used = 0;
    memset(plan->pictures, 0, sizeof(plan->pictures));
    memset(plan->learnt, 0, sizeof(plan->learnt));
    for (size_t i = 0; i < count; i++) {
        int at = bucket_plan_place(plan, detect_resized(sizes, pictures[i]));
        plan->pictures[at]++;
        plan->learnt[at] += i < learnt;
    }
    for (int i = 0; i < plan->count; i++) {
        plan->canvases[used] = plan->canvases[i];
        plan->pictures[used] = plan->pictures[i];
        plan->learnt[used] = plan->learnt[i];
        used += plan->pictures[i] > 0;
    }
    plan->count = used;
}

int bucket_plan_make(struct bucket_plan *ret, const struct detect_sizes *sizes,
                     const struct detect_size *pictures, size_t count, size_t learnt,
                     size_t global_batch, struct error *err) {
    struct bucket_plan plan = {0};
    int small;
    if (detect_sizes_check(sizes, err) != 0)
        return -1;
    if (count == 0)
        return error_set(err, EXIT_CODE_DATA, "no pictures to plan canvases for");
    cut_down(&plan, sizes, pictures, count);
    count_pictures(&plan, sizes, pictures, count, learnt);
    /* Each round has a canvas less, so that it ends; the last canvas stays, however few its
     * pictures are. */
    while (plan.count > 1 && (small = too_small(&plan, global_batch)) >= 0) {
        join(&plan, small);
        count_pictures(&plan, sizes, pictures, count, learnt);
    }
    *ret = plan;
    return 0;
}

/* Returns true if every picture of the largest size exceeds CANVAS: its short side has the largest
 * length, or its long one does, minus a pixel if a rule rounds down. */
static bool is_below(const struct detect_sizes *sizes, struct detect_size canvas) {
    int low = canvas.height < canvas.width ? canvas.height : canvas.width;
    int high = canvas.height < canvas.width ? canvas.width : canvas.height;
    return low + 1 < sizes->short_side && high + 1 < sizes->long_side;
}

/* Adds a canvas for the pictures that OFFERED holds when they are scaled to SIZES, if there are at
 * least LEAST of them. An existing canvas of the same area or less that would do makes it
 * useless. */
static void add_smaller(struct bucket_plan *plan, const struct detect_sizes *sizes,
                        struct detect_size offered, const struct detect_size *pictures,
                        size_t count, size_t least) {
    struct detect_size needed = {0};
    size_t fit = 0;
    for (size_t i = 0; i < count; i++) {
        struct detect_size scaled = detect_resized(sizes, pictures[i]);
        if (!holds(offered, scaled))
            continue;
        needed = both(needed, scaled);
        fit++;
    }
    const struct detect_size canvas = {up_to_step(needed.height), up_to_step(needed.width)};
    const int other = place(plan->canvases, plan->count, canvas);
    if (fit < least || plan->count == CANVASES_MAX ||
        (other != CANVAS_NONE && area(plan->canvases[other]) <= area(canvas)))
        return;
    plan->pictures[plan->count] = plan->learnt[plan->count] = 0;
    plan->canvases[plan->count++] = canvas;
}

void bucket_plan_add_smaller(struct bucket_plan *plan, const struct detect_sizes *sizes,
                             int short_side, const struct detect_size *pictures, size_t count,
                             size_t global_batch) {
    /* The first two of the offered canvases are those of 4:3. */
    const struct detect_sizes smaller = {sizes->rule, short_side, sizes->long_side};
    struct detect_size offered[OFFERED];
    offer(&smaller, offered);
    for (int i = 0; i < 2; i++)
        if (is_below(sizes, offered[i]))
            add_smaller(plan, &smaller, offered[i], pictures, count, 2 * global_batch);
}

/* Parses a side, a multiple of CANVAS_STEP within the limits, and advances *TEXT after it. The
 * first character must be a digit, as strtol accepts signs and blanks. */
static int parse_side(const char **text, int *ret) {
    char *end = NULL;
    if (**text < '0' || **text > '9')
        return -1;
    long side = strtol(*text, &end, 10);
    *text = end;
    if (side < CANVAS_STEP || side > DETECT_SIDE_MAX || side % CANVAS_STEP != 0)
        return -1;
    *ret = (int)side;
    return 0;
}

/* Nothing is said of pictures here: whether they fit is found when they are placed. RET stays as it
 * was on failure. */
int bucket_plan_parse(struct bucket_plan *ret, const char *text, struct error *err) {
    struct bucket_plan plan = {0};
    const char *at = text;
    do {
        struct detect_size *canvas = &plan.canvases[plan.count];
        if (plan.count == CANVASES_MAX)
            return error_set(err, EXIT_CODE_USAGE, "\"%s\": more than %d canvases", text,
                             CANVASES_MAX);
        if (parse_side(&at, &canvas->height) != 0 || *at++ != 'x' ||
            parse_side(&at, &canvas->width) != 0 || (*at != '\0' && *at != ','))
            return error_set(err, EXIT_CODE_USAGE,
                             "\"%s\": canvas %d is not HEIGHTxWIDTH, multiples of %d up to %d",
                             text, plan.count + 1, CANVAS_STEP, DETECT_SIDE_MAX);
        plan.count++;
    } while (*at++ == ',');
    *ret = plan;
    return 0;
}

int bucket_plan_format(const struct bucket_plan *plan, struct buf *out, struct error *err) {
    for (int i = 0; i < plan->count; i++)
        if (buf_printf(out, err, "%s%dx%d", i > 0 ? "," : "", plan->canvases[i].height,
                       plan->canvases[i].width) != 0)
            return -1;
    return 0;
}
