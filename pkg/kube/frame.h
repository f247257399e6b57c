/* Lines out of pieces: a stream's pieces end anywhere. */
#ifndef DV_KUBE_FRAME_H
#define DV_KUBE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct kube_frame {
    struct dv_buf rest; /* the line that is not complete yet */
    bool cut;           /* what comes before the next line break is dropped */
};

/* Takes a line without its break (and without a CR before it); NUL behind it, writable. false: no further lines are wanted. */
typedef bool kube_frame_line(void *arg, char *line, size_t len);

void kube_frame_init(struct kube_frame *frame, size_t line_max);
/* 0, or -1 when a line is longer than line_max: the frame is of no use then. */
int kube_frame_feed(struct kube_frame *frame, const char *bytes, size_t len, kube_frame_line *line, void *arg);
/* As feed, but a line that is too long is handed out cut, and the rest of it dropped. */
void kube_frame_feed_cut(struct kube_frame *frame, const char *bytes, size_t len, kube_frame_line *line, void *arg);
/* Hands out what stands there without a line break. */
void kube_frame_end(struct kube_frame *frame, kube_frame_line *line, void *arg);
void kube_frame_free(struct kube_frame *frame);

#endif
