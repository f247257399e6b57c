package applier

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// helm runs the real program for one release.
type helm struct {
	kubeconfig, namespace, release, chart string
}

// state is what `helm status` says of the newest revision; the zero value: there is none.
type state struct {
	Version int `json:"version"`
	Info    struct {
		Status string `json:"status"`
	} `json:"info"`
}

func (s state) pending() bool  { return strings.HasPrefix(s.Info.Status, "pending-") }
func (s state) deployed() bool { return s.Info.Status == "deployed" }

func (h helm) state(ctx context.Context) (state, error) {
	var s state
	out, err := h.run(ctx, "status", h.release, "-o", "json")
	if err != nil {
		if strings.Contains(err.Error(), "release: not found") {
			return s, nil
		}
		return s, err
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, fmt.Errorf("helm status: %w", err)
	}
	return s, nil
}

// clear ends an operation that a killed helm left open: a first install is taken away, an upgrade is
// rolled back to the revision before it.
func (h helm) clear(ctx context.Context, s state) error {
	if s.Version <= 1 {
		_, err := h.run(ctx, "uninstall", h.release, "--no-hooks")
		return err
	}
	_, err := h.run(ctx, "rollback", h.release, "--no-hooks")
	return err
}

func (h helm) sameValues(ctx context.Context, text string) bool {
	out, err := h.run(ctx, "get", "values", h.release, "-o", "json")
	if err != nil {
		return false
	}
	var have, want any
	if json.Unmarshal(out, &have) != nil || yaml.Unmarshal([]byte(text), &want) != nil {
		return false
	}
	return reflect.DeepEqual(have, want)
}

func (h helm) upgrade(ctx context.Context, text string) error {
	file, err := os.CreateTemp("", "values-*.yaml")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	_, err = h.run(ctx, "upgrade", "--install", h.release, h.chart, "-f", file.Name(), "--history-max", "10", "--timeout", "2m")
	return err
}

// run gives helm's stdout; its stderr is the error's text. When ctx ends helm is asked to stop, so that
// it closes the revision that it is about to make.
func (h helm) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "helm", append(args, "--namespace", h.namespace)...)
	if h.kubeconfig != "" {
		cmd.Env = append(os.Environ(), "KUBECONFIG="+h.kubeconfig)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return nil, fmt.Errorf("helm %s: %s", args[0], strings.ReplaceAll(text, "\n", "; "))
		}
		return nil, fmt.Errorf("helm %s: %w", args[0], err)
	}
	return stdout.Bytes(), nil
}
