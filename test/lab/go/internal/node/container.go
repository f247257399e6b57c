package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Back-off between restarts: a kubelet's, made short.
const (
	firstBackOff = 500 * time.Millisecond
	lastBackOff  = 5 * time.Second
	calmAfter    = 30 * time.Second // a run this long starts the back-off anew
)

// missingImage is the tag of an image that cannot be pulled, for tests of pods that do not start.
const missingImage = ":missing"

// outputGrace is how long output is waited for that other processes than the container's may hold open.
const outputGrace = time.Second

// container runs one container of a pod, again and again as the restart policy says.
type container struct {
	pod  *pod
	spec *corev1.Container
	init bool

	// guarded by pod.mu
	state, last corev1.ContainerState
	restarts    int32
	ready       bool
	started     bool
	final       bool // ended for good in an earlier life of the node
	env         environment
	current     *logFile
	previous    *logFile
}

func newContainer(p *pod, spec *corev1.Container, init bool) *container {
	c := &container{pod: p, spec: spec, init: init}
	c.state.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	if init || len(p.first.Spec.InitContainers) > 0 {
		c.state.Waiting.Reason = "PodInitializing"
	}
	for _, former := range append(p.first.Status.InitContainerStatuses, p.first.Status.ContainerStatuses...) {
		if former.Name == spec.Name {
			c.restore(former)
		}
	}
	return c
}

// restore takes up what the API knows of the container from an earlier life of the node.
func (c *container) restore(former corev1.ContainerStatus) {
	if former.State.Running == nil && former.State.Terminated == nil && former.RestartCount == 0 {
		return // it never ran
	}
	c.last = corev1.ContainerState{Terminated: former.State.Terminated}
	if c.last.Terminated == nil {
		c.last.Terminated = former.LastTerminationState.Terminated
	}
	if running := former.State.Running; running != nil {
		c.last.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error",
			Message: "the node went away", StartedAt: running.StartedAt, FinishedAt: metav1.Now(), ContainerID: former.ContainerID}
	}
	c.restarts = former.RestartCount
	c.current = finishedLog(c.logPath(c.restarts))
	if c.last.Terminated != nil && !c.restarting(c.last.Terminated.ExitCode) {
		c.state, c.last, c.final = c.last, corev1.ContainerState{}, true
		return
	}
	c.restarts++
}

// status needs pod.mu.
func (c *container) status() corev1.ContainerStatus {
	started := c.started
	return corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: c.spec.Image,
		State: *c.state.DeepCopy(), LastTerminationState: *c.last.DeepCopy(),
		RestartCount: c.restarts, Ready: c.ready, Started: &started, ContainerID: c.id(),
	}
}

func (c *container) id() string {
	if c.state.Waiting != nil && c.last.Terminated == nil {
		return ""
	}
	return fmt.Sprintf("lab://%s/%s/%d", c.pod.uid, c.spec.Name, c.restarts)
}

func (c *container) logPath(run int32) string {
	return filepath.Join(c.pod.logDir, fmt.Sprintf("%s.%d.log", c.spec.Name, run))
}

// change sets fields of the container and reports the new status.
func (c *container) change(set func()) {
	c.pod.mu.Lock()
	set()
	c.pod.mu.Unlock()
	c.pod.touch()
}

// keepRunning runs the container until it has ended for good; true when it did so with exit code 0.
func (c *container) keepRunning(ctx context.Context) bool {
	if c.final {
		return succeeded(c.state)
	}
	var pause time.Duration // before the next start; the first restart comes at once
	for {
		began := time.Now()
		code := c.runOnce(ctx)
		if ctx.Err() != nil || !c.restarting(code) {
			return code == 0
		}
		pause = nextPause(pause, time.Since(began))
		if !c.backOff(pause) {
			return false
		}
	}
}

func (c *container) restarting(code int32) bool {
	switch c.pod.first.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return !c.init || code != 0
}

// nextPause is the pause before the next restart, given the last one and how long the container ran.
func nextPause(last, ran time.Duration) time.Duration {
	switch {
	case ran >= calmAfter:
		return time.Nanosecond
	case last == 0:
		return time.Nanosecond // at once; not 0, which means that there was none yet
	case last < firstBackOff:
		return firstBackOff
	}
	return min(2*last, lastBackOff)
}

func (c *container) backOff(pause time.Duration) bool {
	if pause >= firstBackOff {
		message := fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s", pause, c.spec.Name, c.pod.name, c.pod.namespace)
		c.change(func() {
			c.last = c.state
			c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: message}}
		})
		c.pod.node.events.Event(c.pod.first, corev1.EventTypeWarning, "BackOff", message)
	}
	if !c.pod.sleep(pause) {
		return false
	}
	c.change(func() {
		if c.state.Terminated != nil {
			c.last = c.state
		}
		c.restarts++
	})
	return true
}

// runOnce runs the container once and gives its exit code.
func (c *container) runOnce(ctx context.Context) int32 {
	env, ok := c.configure(ctx)
	if !ok {
		return c.ended(time.Now(), 137, "Error", "stopped before it was started")
	}
	began := time.Now()
	process, log, err := c.launch(env)
	if err != nil {
		return c.ended(began, 128, "StartError", err.Error())
	}
	hasProbe := c.spec.ReadinessProbe != nil || c.spec.StartupProbe != nil
	c.change(func() {
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(began)}}
		c.ready = !hasProbe && !c.init
		c.started = c.spec.StartupProbe == nil
	})
	sick := c.watchHealth(ctx, process)
	code := c.wait(ctx, process, sick)
	log.finish()
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return c.ended(began, code, reason, "")
}

// configure resolves image and environment; it waits for what is missing, as long as the pod lives.
func (c *container) configure(ctx context.Context) (environment, bool) {
	if strings.HasSuffix(c.spec.Image, missingImage) {
		c.waiting("ImagePullBackOff", "Back-off pulling image "+c.spec.Image)
		<-ctx.Done()
		return nil, false
	}
	for {
		env, err := c.pod.environment(ctx, c.spec)
		if err == nil {
			return env, true
		}
		c.waiting("CreateContainerConfigError", err.Error())
		if !c.pod.sleep(mountRetry) {
			return nil, false
		}
	}
}

func (c *container) waiting(reason, message string) {
	c.change(func() {
		c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

// process is a running container: its leader, and its end.
type process struct {
	pid    int
	ended  chan struct{} // closed when it has ended
	status syscall.WaitStatus
}

// output is the log of a run, and the end of what is written to it.
type output struct {
	log    *logFile
	reader *os.File
	copied chan struct{}
}

func (o *output) finish() {
	select {
	case <-o.copied:
	case <-time.After(outputGrace):
	}
	o.log.close()
	o.reader.Close()
}

func (c *container) launch(env environment) (*process, *output, error) {
	words := env.expand(append(append([]string{}, c.spec.Command...), c.spec.Args...))
	if len(c.spec.Command) == 0 {
		return nil, nil, errors.New("the lab has no images: a container needs a command")
	}
	log, err := createLog(c.logPath(c.restarts))
	if err != nil {
		return nil, nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	c.change(func() { c.previous, c.current, c.env = c.current, log, env })
	cmd := c.command(env, words)
	cmd.Stdout, cmd.Stderr = writer, writer
	err = start(cmd)
	writer.Close()
	if err != nil {
		reader.Close()
		log.close()
		return nil, nil, err
	}
	out := &output{log: log, reader: reader, copied: make(chan struct{})}
	go func() { log.copyFrom(reader); close(out.copied) }()
	return c.follow(cmd), out, nil
}

// command is a process that sees what the container sees.
func (c *container) command(env environment, words []string) *exec.Cmd {
	cmd := &exec.Cmd{Path: lookUp(words[0], env["PATH"]), Args: words, Env: env.list(), Dir: filepath.Join(c.pod.dir, "root")}
	if info, err := os.Stat(c.spec.WorkingDir); err == nil && info.IsDir() {
		cmd.Dir = c.spec.WorkingDir
	}
	return cmd
}

// lookUp finds a program as a shell would, in the container's PATH and not in the node's.
func lookUp(name, path string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return name // the start will say that there is no such file
}

// follow records the process and waits for its end; what else is left of its group ends with it, as
// the processes of a container do.
func (c *container) follow(cmd *exec.Cmd) *process {
	p := &process{pid: cmd.Process.Pid, ended: make(chan struct{})}
	file := filepath.Join(c.pod.node.options.pids, fmt.Sprintf("%s-%s.pid", c.pod.uid, c.spec.Name))
	if err := writePid(file, p.pid); err != nil {
		logf("%v", err)
	}
	go func() {
		_ = cmd.Wait() // the status tells it all
		killGroup(p.pid)
		os.Remove(file)
		p.status = cmd.ProcessState.Sys().(syscall.WaitStatus)
		close(p.ended)
	}()
	return p
}

// wait gives the exit code. It ends the process when the pod stops or its health is gone.
func (c *container) wait(ctx context.Context, p *process, sick <-chan string) int32 {
	stopping := ctx.Done()
	var overdue <-chan time.Time
	for {
		select {
		case <-p.ended:
			return exitCode(p.status)
		case <-stopping:
			stopping = nil
			_ = syscall.Kill(p.pid, syscall.SIGTERM)
		case why := <-sick:
			sick = nil
			c.pod.node.events.Event(c.pod.first, corev1.EventTypeWarning, "Unhealthy", why)
			_ = syscall.Kill(p.pid, syscall.SIGTERM)
			overdue = time.After(c.grace())
		case <-c.pod.killed:
			killGroup(p.pid)
			<-p.ended
		case <-overdue:
			killGroup(p.pid)
			<-p.ended
		}
	}
}

func (c *container) grace() time.Duration {
	if seconds := c.pod.first.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return 30 * time.Second
}

func exitCode(status syscall.WaitStatus) int32 {
	if status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(status.ExitStatus())
}

func (c *container) ended(began time.Time, code int32, reason, message string) int32 {
	c.change(func() {
		c.ready, c.started = false, false
		c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, Message: message, ContainerID: fmt.Sprintf("lab://%s/%s/%d", c.pod.uid, c.spec.Name, c.restarts),
			StartedAt: metav1.NewTime(began), FinishedAt: metav1.Now(),
		}}
		if c.init && code == 0 {
			c.ready = true
		}
	})
	return code
}

// log is that of the running or last run, or of the one before it.
func (p *pod) log(c *container, previous bool) (*logFile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if previous {
		if c.state.Running == nil && c.last.Terminated != nil && c.state.Waiting != nil && c.current != nil {
			return c.current, nil // in back-off: the run that just ended
		}
		if c.previous == nil || c.last.Terminated == nil {
			return nil, fmt.Errorf("previous terminated container %q in pod %q not found", c.spec.Name, p.name)
		}
		return c.previous, nil
	}
	if c.current == nil {
		return nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", c.spec.Name, p.name, c.state.Waiting.Reason)
	}
	return c.current, nil
}
