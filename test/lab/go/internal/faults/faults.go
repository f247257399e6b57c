// Package faults reads the lab's fault files: Java properties, plain KEY=VALUE lines. They are read anew
// at every look, so that a fault holds from the moment it is set.
package faults

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// File is the path of a fault file; the empty path has no faults.
type File string

// Get gives the value of a fault, or "".
func (f File) Get(key string) string {
	if f == "" {
		return ""
	}
	text, err := os.ReadFile(string(f))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if found && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Is tells whether a fault is on.
func (f File) Is(key string) bool { return f.Get(key) == "true" }

// Millis gives a fault's value as milliseconds; `set` is false where it has none.
func (f File) Millis(key string) (d time.Duration, set bool) {
	n, err := strconv.Atoi(f.Get(key))
	return time.Duration(n) * time.Millisecond, err == nil
}
