#include "kube/frame.h"

#include <string.h>

/* One huge line must not leave its memory behind for ever. */
#define KEEP_MAX (64u * 1024)

void kube_frame_init(struct kube_frame *frame, size_t line_max)
{
    *frame = (struct kube_frame){.rest = DV_BUF_INIT(line_max)};
}

static bool frame_line(struct kube_frame *frame, kube_frame_line *line, void *arg)
{
    size_t len = frame->rest.len;
    if (len > 0 && frame->rest.data[len - 1] == '\r')
        frame->rest.data[--len] = '\0';
    bool more = len == 0 || line(arg, frame->rest.data, len);
    dv_buf_reset(&frame->rest);
    if (frame->rest.cap > KEEP_MAX)
        dv_buf_free(&frame->rest);
    return more;
}

/* Lines that are complete within the piece are copied too: the callback gets a NUL behind them and may write into them. */
static int frame_feed(struct kube_frame *frame, const char *bytes, size_t len, bool cut, kube_frame_line *line, void *arg)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end != NULL ? (size_t)(end - bytes) : len;
        size_t room = frame->rest.max - frame->rest.len;
        if (!frame->cut && part > room && !cut)
            return -1;
        if (!frame->cut)
            (void)dv_buf_add(&frame->rest, bytes, part < room ? part : room);
        frame->cut = part > room || frame->cut;
        bytes += part;
        len -= part;
        if (end == NULL)
            break;
        bytes++;
        len--;
        frame->cut = false;
        if (!frame_line(frame, line, arg))
            break;
    }
    return 0;
}

int kube_frame_feed(struct kube_frame *frame, const char *bytes, size_t len, kube_frame_line *line, void *arg)
{
    return frame_feed(frame, bytes, len, false, line, arg);
}

void kube_frame_feed_cut(struct kube_frame *frame, const char *bytes, size_t len, kube_frame_line *line, void *arg)
{
    (void)frame_feed(frame, bytes, len, true, line, arg);
}

void kube_frame_end(struct kube_frame *frame, kube_frame_line *line, void *arg)
{
    if (frame->rest.len > 0)
        (void)frame_line(frame, line, arg);
    frame->cut = false;
}

void kube_frame_free(struct kube_frame *frame)
{
    dv_buf_free(&frame->rest);
    frame->cut = false;
}
