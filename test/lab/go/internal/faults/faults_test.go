package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "faults")
	f := File(path)
	if f.Is("applier.refuse") {
		t.Error("a fault without a file")
	}
	text := "# a comment\napplier.refuse = true\napplier.delayMs=1500\nodd\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if !f.Is("applier.refuse") || f.Is("applier.revert") {
		t.Error("applier.refuse alone is set")
	}
	if d, set := f.Millis("applier.delayMs"); !set || d != 1500*time.Millisecond {
		t.Errorf("%s %v", d, set)
	}
	if _, set := f.Millis("applier.refuse"); set {
		t.Error("true is no number")
	}
	if File("").Is("applier.refuse") {
		t.Error("a fault without a name")
	}
}
