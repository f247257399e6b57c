package node

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newLog has the lines 0 to n-1, a second apart.
func newLog(t *testing.T, n int) *logFile {
	t.Helper()
	log, err := createLog(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		log.write(epoch.Add(time.Duration(i)*time.Second), []byte(strings.Repeat("x", i)))
	}
	return log
}

func read(t *testing.T, ctx context.Context, log *logFile, o api.ContainerLogOpts) string {
	t.Helper()
	reader, err := log.open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLogOptions(t *testing.T) {
	log := newLog(t, 4)
	zero := context.WithValue(t.Context(), tailZero{}, true)
	for _, test := range []struct {
		name string
		ctx  context.Context
		o    api.ContainerLogOpts
		want string
	}{
		{"all", t.Context(), api.ContainerLogOpts{}, "\nx\nxx\nxxx\n"},
		{"tail", t.Context(), api.ContainerLogOpts{Tail: 2}, "xx\nxxx\n"},
		{"tail longer than the log", t.Context(), api.ContainerLogOpts{Tail: 9}, "\nx\nxx\nxxx\n"},
		{"tail 0", zero, api.ContainerLogOpts{}, ""},
		{"since a line's own time", t.Context(), api.ContainerLogOpts{SinceTime: epoch.Add(2 * time.Second)}, "xx\nxxx\n"},
		{"since between two lines", t.Context(), api.ContainerLogOpts{SinceTime: epoch.Add(2500 * time.Millisecond)}, "xxx\n"},
		{"since after the end", t.Context(), api.ContainerLogOpts{SinceTime: epoch.Add(time.Minute)}, ""},
		{"since and tail", t.Context(), api.ContainerLogOpts{SinceTime: epoch.Add(time.Second), Tail: 1}, "xxx\n"},
		{"limit", t.Context(), api.ContainerLogOpts{LimitBytes: 4}, "\nx\nx"},
		{"timestamps", t.Context(), api.ContainerLogOpts{Timestamps: true, Tail: 1}, "2026-01-02T03:04:08.000000000Z xxx\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := read(t, test.ctx, log, test.o); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFollowEndsWithTheLog(t *testing.T) {
	log := newLog(t, 2)
	reader, err := log.open(t.Context(), api.ContainerLogOpts{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 3)
	if _, err := io.ReadFull(reader, head); err != nil {
		t.Fatal(err)
	}
	log.write(epoch, []byte("later"))
	log.close()
	rest, err := io.ReadAll(reader)
	if got := string(head) + string(rest); err != nil || got != "\nx\nlater\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFollowEndsWithTheReader(t *testing.T) {
	log := newLog(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	reader, err := log.open(ctx, api.ContainerLogOpts{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(reader); err != nil {
		t.Error(err)
	}
}

func TestCopyFromStampsLinesWholeAndUnended(t *testing.T) {
	log := newLog(t, 0)
	long := bytes.Repeat([]byte("y"), longestLine+10)
	log.copyFrom(io.MultiReader(strings.NewReader("one\n\n"), bytes.NewReader(long), strings.NewReader("\nend")))
	log.close()
	lines := strings.Split(read(t, t.Context(), log, api.ContainerLogOpts{}), "\n")
	if len(lines) != 6 || lines[0] != "one" || lines[1] != "" || lines[2]+lines[3] != string(long) || lines[4] != "end" {
		t.Errorf("%d lines, first %q, last %q", len(lines), lines[0], lines[len(lines)-2])
	}
}

func TestWriteAfterCloseIsDropped(t *testing.T) {
	log := newLog(t, 1)
	log.close()
	log.write(epoch, []byte("late"))
	if got := read(t, t.Context(), log, api.ContainerLogOpts{}); got != "\n" {
		t.Errorf("got %q", got)
	}
}
