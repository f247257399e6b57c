package applier

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"distverify.io/lab/internal/faults"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// fakeHelm is put on PATH: it writes down what it was asked, and keeps a state in files.
const fakeHelm = `#!/bin/sh
cd "$FAKE_HELM"
echo "$*" >> calls
case $1 in
status)
  [ -e status ] || { echo "Error: release: not found" >&2; exit 1; }
  printf '{"version":%s,"info":{"status":"%s"}}' "$(cat version)" "$(cat status)";;
get) cat applied;;
upgrade)
  [ ! -e broken ] || { rm broken; echo "Error: broken" >&2; exit 1; }
  shift 3; while [ "$1" != -f ]; do shift; done
  sed 's/\(.*\): \(.*\)/{"\1":\2}/' "$2" > applied
  echo $(( $(cat version 2>/dev/null || echo 0) + 1 )) > version; printf deployed > status;;
rollback) echo $(( $(cat version) + 1 )) > version; printf deployed > status; echo {} > applied;;
uninstall) rm -f status version applied;;
esac
`

type fixture struct {
	*applier
	dir     string
	changes chan values
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte(fakeHelm), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FAKE_HELM", dir)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "values", Namespace: "ns"}, Data: map[string]string{"values.yaml": "a: 1"}}
	return &fixture{dir: dir, changes: make(chan values, 1), applier: &applier{
		source: source{client: fake.NewClientset(object), namespace: "ns", configMap: "values", key: "values.yaml"},
		helm:   helm{namespace: "ns", release: "release", chart: "chart"},
		faults: faults.File(filepath.Join(dir, "faults")),
	}}
}

func (f *fixture) put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) have(t *testing.T, file, want string) {
	t.Helper()
	text, _ := os.ReadFile(filepath.Join(f.dir, file))
	if got := strings.TrimSpace(string(text)); got != want {
		t.Errorf("%s is %q, want %q", file, got, want)
	}
}

func (f *fixture) count(t *testing.T, call string, want int) {
	t.Helper()
	text, _ := os.ReadFile(filepath.Join(f.dir, "calls"))
	if got := strings.Count("\n"+string(text), "\n"+call); got != want {
		t.Errorf("%d calls of %s, want %d:\n%s", got, call, want, text)
	}
}

func text(n int) values { return values{text: fmt.Sprintf("a: %d", n), version: fmt.Sprint(n)} }

func TestApplies(t *testing.T) {
	f := newFixture(t)
	f.settle(t.Context(), text(1), f.changes)
	f.settle(t.Context(), text(2), f.changes)
	f.have(t, "applied", `{"a":2}`)
	f.have(t, "version", "2")
}

func TestDoesNotRepeatWhatIsDeployed(t *testing.T) {
	f := newFixture(t)
	f.settle(t.Context(), text(1), f.changes)
	f.settle(t.Context(), text(1), f.changes)
	f.count(t, "upgrade", 1)
}

func TestTriesAgain(t *testing.T) {
	f := newFixture(t)
	f.put(t, "broken", "")
	f.settle(t.Context(), text(1), f.changes)
	f.count(t, "upgrade", 2)
	f.have(t, "applied", `{"a":1}`)
}

func TestNewerValuesEndTheTrying(t *testing.T) {
	f := newFixture(t)
	f.put(t, "broken", "")
	f.changes <- text(2)
	began := time.Now()
	f.settle(t.Context(), text(1), f.changes)
	f.count(t, "upgrade", 2)
	f.have(t, "applied", `{"a":2}`)
	if took := time.Since(began); took > firstRetry {
		t.Errorf("after %s", took)
	}
}

func TestClearsAPendingUpgrade(t *testing.T) {
	f := newFixture(t)
	f.settle(t.Context(), text(1), f.changes)
	f.settle(t.Context(), text(2), f.changes)
	f.put(t, "status", "pending-upgrade")
	f.settle(t.Context(), text(2), f.changes)
	f.count(t, "rollback release", 1)
	f.count(t, "upgrade", 3)
	f.have(t, "status", "deployed")
}

func TestClearsAPendingInstall(t *testing.T) {
	f := newFixture(t)
	f.put(t, "status", "pending-install")
	f.put(t, "version", "1")
	f.settle(t.Context(), text(1), f.changes)
	f.count(t, "uninstall release", 1)
	f.have(t, "applied", `{"a":1}`)
}

func TestRefuses(t *testing.T) {
	f := newFixture(t)
	f.put(t, "faults", "applier.refuse=true")
	ctx, cancel := context.WithTimeout(t.Context(), 2*faultPoll)
	defer cancel()
	f.settle(ctx, text(1), f.changes)
	f.count(t, "upgrade", 0)
	f.put(t, "faults", "")
	f.settle(t.Context(), text(1), f.changes)
	f.have(t, "applied", `{"a":1}`)
}

func TestIsLate(t *testing.T) {
	f := newFixture(t)
	f.put(t, "faults", "applier.delayMs=300")
	began := time.Now()
	f.settle(t.Context(), text(1), f.changes)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("after %s", took)
	}
}

func TestRevertsOnce(t *testing.T) {
	f := newFixture(t)
	f.put(t, "faults", "applier.revert=true")
	f.settle(t.Context(), text(1), f.changes)
	f.source.has(t, "a: 1")
	f.settle(t.Context(), text(2), f.changes)
	f.source.has(t, "a: 1")
	f.settle(t.Context(), text(1), f.changes) // what the revert wrote
	f.source.has(t, "a: 1")
	f.have(t, "applied", `{"a":1}`)
}

func (s source) has(t *testing.T, want string) {
	t.Helper()
	object, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), s.configMap, metav1.GetOptions{})
	if err != nil || object.Data[s.key] != want {
		t.Errorf("the source holds %q, %v; want %q", object.Data[s.key], err, want)
	}
}

func TestWatchGivesTheNewest(t *testing.T) {
	f := newFixture(t)
	changes := f.source.watch(t.Context())
	if v := <-changes; v.text != "a: 1" {
		t.Errorf("first %q", v.text)
	}
	for _, text := range []string{"a: 2", "a: 3"} {
		if err := f.source.write(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for v := range changes {
		if v.text == "a: 3" {
			return
		}
	}
}
