package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// spawner starts every process from one thread that never ends: the kernel sends the death signal of a
// child when the thread that made it ends, not when the process does.
var spawner = func() chan func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
}()

// start starts cmd as the leader of a process group that dies with the node.
func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error)
	spawner <- func() { result <- cmd.Start() }
	return <-result
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// writePid records a process as "pid start-time"; the pair is never used twice.
func writePid(file string, pid int) error {
	started, err := startTime(pid)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(fmt.Sprintf("%d %s\n", pid, started)), 0o644)
}

func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before it may hold blanks
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	return fields[19], nil
}

// sweep ends what is left of a node that was killed: children of containers, which got no death signal.
func sweep(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
	for _, file := range files {
		var pid int
		var recorded string
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if _, err := fmt.Sscan(string(text), &pid, &recorded); err == nil && pid > 1 {
			// A leader that is gone: the group, if there still is one, can only be the container's.
			if started, err := startTime(pid); err != nil || started == recorded {
				killGroup(pid)
			}
		}
		os.Remove(file)
	}
}
