package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
)

// A log file holds one line per line of output: time, blank, text. Times are of fixed width.
const (
	stampLayout = "2006-01-02T15:04:05.000000000Z07:00"
	stampLen    = len("2006-01-02T15:04:05.000000000Z")
	longestLine = 256 << 10 // a longer one is cut into several
)

// logFile is the output of one run of one container.
type logFile struct {
	path string

	mu      sync.Mutex
	file    *os.File
	closed  bool
	changed chan struct{} // closed at the next change
}

func createLog(path string) (*logFile, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &logFile{path: path, file: file, changed: make(chan struct{})}, nil
}

// finishedLog is the log of a run in an earlier life of the node.
func finishedLog(path string) *logFile {
	return &logFile{path: path, closed: true, changed: make(chan struct{})}
}

// copyFrom stamps and writes every line of r, until r ends.
func (l *logFile) copyFrom(r io.Reader) {
	reader := bufio.NewReaderSize(r, longestLine)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			l.write(time.Now(), bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (l *logFile) write(now time.Time, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	record := now.UTC().AppendFormat(make([]byte, 0, stampLen+len(line)+2), stampLayout)
	record = append(append(append(record, ' '), line...), '\n')
	if _, err := l.file.Write(record); err != nil {
		logf("%s: %v", l.path, err)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	l.file.Close()
	close(l.changed)
}

// state tells whether the log is complete, and what is closed when that or the text changes.
func (l *logFile) state() (closed bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed, l.changed
}

// open gives the log's text as `kubectl logs` shows it.
func (l *logFile) open(ctx context.Context, o api.ContainerLogOpts) (io.ReadCloser, error) {
	file, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	since := sinceTime(o, time.Now())
	start, err := startOffset(file, since, tailLines(ctx, o))
	if err == nil {
		_, err = file.Seek(start, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	reader, writer := io.Pipe()
	go func() {
		defer file.Close()
		var out io.Writer = writer
		if o.LimitBytes > 0 {
			out = &limitedWriter{writer, o.LimitBytes}
		}
		writer.CloseWithError(l.send(ctx, file, out, o))
	}()
	return reader, nil
}

// send writes the lines from file's position on; with Follow until the container or the reader ends.
func (l *logFile) send(ctx context.Context, file *os.File, out io.Writer, o api.ContainerLogOpts) error {
	reader := bufio.NewReaderSize(file, longestLine+stampLen+2)
	var partial []byte
	for {
		closed, changed := l.state() // before reading: what comes later closes changed
		for {
			line, err := reader.ReadSlice('\n')
			if err != nil {
				partial = append(partial, line...) // a record that is just being written
				break
			}
			if partial != nil {
				line, partial = append(partial, line...), nil
			}
			if !o.Timestamps {
				line = line[stampLen+1:]
			}
			if _, err := out.Write(line); err != nil {
				return ignoreLimit(err)
			}
		}
		if closed || !o.Follow {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func sinceTime(o api.ContainerLogOpts, now time.Time) time.Time {
	if o.SinceSeconds > 0 {
		return now.Add(-time.Duration(o.SinceSeconds) * time.Second)
	}
	return o.SinceTime
}

// startOffset finds the first record that is neither older than since nor before the last `tail` ones
// (-1: all).
func startOffset(r io.Reader, since time.Time, tail int) (int64, error) {
	reader := bufio.NewReaderSize(r, longestLine+stampLen+2)
	var starts []int64 // of records new enough
	var offset int64
	for {
		line, err := reader.ReadSlice('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
		stamp, err := time.Parse(stampLayout, string(line[:min(stampLen, len(line))]))
		if err != nil {
			return 0, err
		}
		if !stamp.Before(since) {
			starts = append(starts, offset)
		}
		offset += int64(len(line))
	}
	if tail >= 0 && len(starts) > tail {
		starts = starts[len(starts)-tail:]
	}
	if len(starts) == 0 {
		return offset, nil
	}
	return starts[0], nil
}

type tailZero struct{}

// allowTailZero keeps tailLines=0 apart from no tailLines, which virtual-kubelet does not.
func allowTailZero(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("tailLines") == "0" {
			r = r.WithContext(context.WithValue(r.Context(), tailZero{}, true))
		}
		next.ServeHTTP(w, r)
	})
}

func tailLines(ctx context.Context, o api.ContainerLogOpts) int {
	if o.Tail > 0 {
		return o.Tail
	}
	if ctx.Value(tailZero{}) != nil {
		return 0
	}
	return -1
}

var errLimit = errors.New("limit reached")

type limitedWriter struct {
	out  io.Writer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errLimit
	}
	p = p[:min(len(p), w.left)]
	w.left -= len(p)
	return w.out.Write(p)
}

func ignoreLimit(err error) error {
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}
