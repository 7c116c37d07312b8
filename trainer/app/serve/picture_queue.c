#include "trainer/app/serve/picture_queue.h"

/* Each size is this many times the one before. */
enum { SIZE_STEP = 4 };

void picture_queue_sizes(struct picture_queue *queue, int most) {
    queue->size_count = 0;
    for (int size = 1; size < most && queue->size_count < PICTURE_QUEUE_SIZES_MAX - 1;
         size *= SIZE_STEP)
        queue->sizes[queue->size_count++] = size;
    queue->sizes[queue->size_count++] = most;
}

bool picture_queue_add(struct picture_queue *queue, struct queued_picture *const *pictures,
                       size_t count, int64_t now) {
    if (count > queue->limit - queue->count)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct queued_picture *picture = pictures[i];
        picture->next = NULL;
        picture->since = now;
        if (queue->last != NULL)
            queue->last->next = picture;
        else
            queue->first = picture;
        queue->last = picture;
        queue->count++;
    }
    return true;
}

static int largest(const struct picture_queue *queue) {
    return queue->sizes[queue->size_count - 1];
}

int picture_queue_size_of(const struct picture_queue *queue, int count) {
    int size = 0;
    for (int i = 0; i < queue->size_count && size < count; i++)
        size = queue->sizes[i];
    return size;
}

/* Counts pictures of the oldest one's group, up to the largest batch. */
static int count_waiting(const struct picture_queue *queue) {
    int count = 0;
    for (const struct queued_picture *p = queue->first; p != NULL && count < largest(queue);
         p = p->next)
        count += p->group == queue->first->group;
    return count;
}

/* Returns how many of COUNT pictures make the next batch. */
static int cut(const struct picture_queue *queue, int count) {
    int size = 0;
    for (int i = 0; i < queue->size_count && queue->sizes[i] <= count; i++)
        size = queue->sizes[i];
    return queue->pads ? count : size;
}

/* Moves the first COUNT pictures of the oldest one's group to RET. */
static void move(struct picture_queue *queue, int count, struct queued_picture **ret) {
    const int group = queue->first->group;
    struct queued_picture **link = &queue->first, *before = NULL;
    for (int moved = 0; moved < count;) {
        struct queued_picture *picture = *link;
        if (picture->group != group) {
            before = picture;
            link = &picture->next;
            continue;
        }
        *link = picture->next;
        if (queue->last == picture)
            queue->last = before;
        picture->next = NULL;
        ret[moved++] = picture;
    }
    queue->count -= (size_t)count;
}

int picture_queue_take(struct picture_queue *queue, int64_t now, bool more,
                       struct queued_picture **ret, int64_t *ret_wake) {
    *ret_wake = INT64_MAX;
    if (queue->first == NULL)
        return 0;
    const int waiting = count_waiting(queue);
    const int64_t due = queue->first->since + queue->delay;
    if (waiting < largest(queue) && more && now < due) {
        *ret_wake = due;
        return 0;
    }
    const int count = cut(queue, waiting);
    move(queue, count, ret);
    return count;
}

struct queued_picture *picture_queue_clear(struct picture_queue *queue) {
    struct queued_picture *list = queue->first;
    queue->first = queue->last = NULL;
    queue->count = 0;
    return list;
}
