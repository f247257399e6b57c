package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	utilexec "k8s.io/utils/exec"
)

const notFoundCode = 127

// exec runs a command beside the container's process. Its exit code must come back as CodeExitError
// itself: virtual-kubelet looks no deeper.
func (p *pod) exec(ctx context.Context, c *container, words []string, streams api.AttachIO) error {
	p.mu.Lock()
	running, env := c.state.Running != nil, c.env
	p.mu.Unlock()
	if !running {
		return fmt.Errorf("container %q of pod %q is not running", c.spec.Name, p.name)
	}
	if len(words) == 0 {
		return errors.New("no command")
	}
	cmd := c.command(env, words)
	cmd.WaitDelay = outputGrace
	if streams.Stdout() != nil {
		cmd.Stdout = streams.Stdout()
	}
	if streams.Stderr() != nil {
		cmd.Stderr = streams.Stderr()
	} else if streams.TTY() {
		cmd.Stderr = cmd.Stdout
	}
	return runCommand(ctx, cmd, streams.Stdin())
}

func runCommand(ctx context.Context, cmd *exec.Cmd, stdin io.Reader) error {
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := start(cmd); err != nil {
		return utilexec.CodeExitError{Err: err, Code: notFoundCode}
	}
	go func() { // not by cmd itself, which would wait for the end of stdin
		if stdin != nil {
			_, _ = io.Copy(input, stdin)
		}
		input.Close()
	}()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ctx.Done():
			killGroup(cmd.Process.Pid)
		case <-ended:
		}
	}()
	err = cmd.Wait()
	killGroup(cmd.Process.Pid) // nothing that was started by exec outlives it
	return codeError(err)
}

func codeError(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.As(err, &exit):
		code := exit.ExitCode()
		if code < 0 {
			code = 137 // by a signal
		}
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return err
}
