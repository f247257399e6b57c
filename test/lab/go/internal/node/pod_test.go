package node

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	utilexec "k8s.io/utils/exec"
)

func newTestProvider(t *testing.T) *provider {
	t.Helper()
	dir := t.TempDir()
	o := options{state: filepath.Join(dir, "state"), logs: filepath.Join(dir, "logs"), pids: dir}
	return &provider{
		options:   o,
		client:    fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: "ns"}, Data: map[string]string{"key": "value"}}),
		addresses: &addresses{node: net.IPv4(127, 0, 0, 1).To4(), used: map[byte]bool{}, last: 1},
		events:    &record.FakeRecorder{},
	}
}

func shellPod(policy corev1.RestartPolicy, script string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns", UID: "12345678-9"},
		Spec: corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{
			{Name: "main", Image: "any", Command: []string{"sh", "-c", script}},
		}},
	}
}

func runPod(t *testing.T, p *provider, object *corev1.Pod) *pod {
	t.Helper()
	one, err := newPod(p, object)
	if err != nil {
		t.Fatal(err)
	}
	go one.run()
	t.Cleanup(func() { one.stop(0); <-one.done })
	return one
}

func await(t *testing.T, one *pod, what string, is func(corev1.PodStatus) bool) corev1.PodStatus {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		status := one.snapshot().Status
		if is(status) {
			return status
		}
		select {
		case <-one.changed:
		case <-deadline:
			t.Fatalf("never %s: %+v", what, status)
		}
	}
}

func phaseIs(phase corev1.PodPhase) func(corev1.PodStatus) bool {
	return func(s corev1.PodStatus) bool { return s.Phase == phase }
}

func logText(t *testing.T, one *pod, previous bool) string {
	t.Helper()
	log, err := one.log(one.containers[len(one.containers)-1], previous)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, t.Context(), log, api.ContainerLogOpts{})
}

func awaitOutput(t *testing.T, one *pod) {
	t.Helper()
	log, err := one.log(one.containers[0], false)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := log.open(t.Context(), api.ContainerLogOpts{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := reader.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func TestPodSucceeds(t *testing.T) {
	one := runPod(t, newTestProvider(t), shellPod(corev1.RestartPolicyNever, "echo done"))
	status := await(t, one, "succeeded", phaseIs(corev1.PodSucceeded))
	if ended := status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 0 || ended.Reason != "Completed" {
		t.Errorf("state %+v", status.ContainerStatuses[0].State)
	}
	if got := logText(t, one, false); got != "done\n" {
		t.Errorf("log %q", got)
	}
}

func TestPodFailsWithItsExitCode(t *testing.T) {
	one := runPod(t, newTestProvider(t), shellPod(corev1.RestartPolicyNever, "exit 3"))
	status := await(t, one, "failed", phaseIs(corev1.PodFailed))
	if code := status.ContainerStatuses[0].State.Terminated.ExitCode; code != 3 {
		t.Errorf("exit code %d", code)
	}
}

func TestFailedContainerBacksOff(t *testing.T) {
	one := runPod(t, newTestProvider(t), shellPod(corev1.RestartPolicyOnFailure, "echo run; exit 4"))
	status := await(t, one, "in back-off", func(s corev1.PodStatus) bool {
		waiting := s.ContainerStatuses[0].State.Waiting
		return waiting != nil && waiting.Reason == "CrashLoopBackOff"
	})
	if s := status.ContainerStatuses[0]; s.RestartCount < 1 || s.LastTerminationState.Terminated.ExitCode != 4 || s.Ready {
		t.Errorf("status %+v", s)
	}
	if status.Phase != corev1.PodRunning {
		t.Errorf("phase %s", status.Phase)
	}
	if got := logText(t, one, true); got != "run\n" {
		t.Errorf("previous log %q", got)
	}
}

func TestFailedContainerSucceedsOnItsNextRun(t *testing.T) {
	one := runPod(t, newTestProvider(t), shellPod(corev1.RestartPolicyOnFailure, "test -e been && exit 0; touch been; exit 1"))
	status := await(t, one, "succeeded", phaseIs(corev1.PodSucceeded))
	if n := status.ContainerStatuses[0].RestartCount; n != 1 {
		t.Errorf("%d restarts", n)
	}
}

func TestMissingProgram(t *testing.T) {
	object := shellPod(corev1.RestartPolicyNever, "")
	object.Spec.Containers[0].Command = []string{"no-such-program"}
	one := runPod(t, newTestProvider(t), object)
	status := await(t, one, "failed", phaseIs(corev1.PodFailed))
	if ended := status.ContainerStatuses[0].State.Terminated; ended.ExitCode != 128 || ended.Reason != "StartError" {
		t.Errorf("state %+v", ended)
	}
}

func TestInitContainersComeFirst(t *testing.T) {
	object := shellPod(corev1.RestartPolicyNever, "cat order; echo main")
	object.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "any", Command: []string{"sh", "-c", "echo first > order"}}}
	one := runPod(t, newTestProvider(t), object)
	await(t, one, "succeeded", phaseIs(corev1.PodSucceeded))
	if got := logText(t, one, false); got != "first\nmain\n" {
		t.Errorf("log %q", got)
	}
}

func TestFailedInitContainerFailsThePod(t *testing.T) {
	object := shellPod(corev1.RestartPolicyNever, "echo main")
	object.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "any", Command: []string{"false"}}}
	status := await(t, runPod(t, newTestProvider(t), object), "failed", phaseIs(corev1.PodFailed))
	if status.ContainerStatuses[0].State.Waiting == nil {
		t.Errorf("the main container ran: %+v", status.ContainerStatuses[0])
	}
}

func TestStopWaitsNoLongerThanItsGrace(t *testing.T) {
	one := runPod(t, newTestProvider(t), shellPod(corev1.RestartPolicyAlways, `trap "" TERM; echo up; while :; do sleep 0.05; done`))
	await(t, one, "running", phaseIs(corev1.PodRunning))
	awaitOutput(t, one) // the trap is set
	began := time.Now()
	one.stop(300 * time.Millisecond)
	<-one.done
	if took := time.Since(began); took < 200*time.Millisecond || took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if code := one.snapshot().Status.ContainerStatuses[0].State.Terminated.ExitCode; code != 137 {
		t.Errorf("exit code %d", code)
	}
}

func TestChildrenEndWithTheContainer(t *testing.T) {
	one := runPod(t, newTestProvider(t), shellPod(corev1.RestartPolicyNever, "sleep 1000 & echo $!"))
	await(t, one, "succeeded", phaseIs(corev1.PodSucceeded))
	pid := strings.TrimSpace(logText(t, one, false))
	deadline := time.Now().Add(5 * time.Second)
	for alive(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %s is left", pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestReadinessFollowsTheProbe(t *testing.T) {
	object := shellPod(corev1.RestartPolicyAlways, "sleep 1000")
	object.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1,
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-e", "ready"}}}}
	one := runPod(t, newTestProvider(t), object)
	status := await(t, one, "running", phaseIs(corev1.PodRunning))
	if status.ContainerStatuses[0].Ready {
		t.Error("ready before its probe")
	}
	file := filepath.Join(one.dir, "root", "ready")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ready := func(s corev1.PodStatus) bool { return s.ContainerStatuses[0].Ready }
	await(t, one, "ready", ready)
	os.Remove(file)
	await(t, one, "unready", func(s corev1.PodStatus) bool { return !ready(s) })
}

func TestLivenessRestarts(t *testing.T) {
	object := shellPod(corev1.RestartPolicyAlways, "exec sleep 1000")
	object.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1,
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}}}
	one := runPod(t, newTestProvider(t), object)
	await(t, one, "restarted", func(s corev1.PodStatus) bool { return s.ContainerStatuses[0].RestartCount > 0 })
}

func TestVolumesAndVariables(t *testing.T) {
	object := shellPod(corev1.RestartPolicyNever, "cat $(LAB_MOUNT_MY_SETTINGS)/key; echo \" $POD_IP $ADDRESS $NAME $FROM\"")
	object.Spec.Volumes = []corev1.Volume{{Name: "my-settings", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}}
	object.Spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "ADDRESS", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
		{Name: "NAME", Value: "my $(POD_NAME)"},
		{Name: "FROM", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "key"}}},
	}
	one := runPod(t, newTestProvider(t), object)
	await(t, one, "succeeded", phaseIs(corev1.PodSucceeded))
	if got, want := logText(t, one, false), "value 127.0.0.2 127.0.0.2 my pod value\n"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

func TestMissingConfigMapKeepsThePodWaiting(t *testing.T) {
	object := shellPod(corev1.RestartPolicyNever, "true")
	object.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "absent"}, Key: "key"}}}}
	one := runPod(t, newTestProvider(t), object)
	await(t, one, "waiting", func(s corev1.PodStatus) bool {
		waiting := s.ContainerStatuses[0].State.Waiting
		return s.Phase == corev1.PodPending && waiting != nil && waiting.Reason == "CreateContainerConfigError"
	})
}

func TestRestoreAfterTheNodeDied(t *testing.T) {
	running := corev1.ContainerStatus{Name: "main", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	t.Run("a service starts again", func(t *testing.T) {
		object := shellPod(corev1.RestartPolicyAlways, "sleep 1000")
		object.Status.ContainerStatuses = []corev1.ContainerStatus{running}
		status := await(t, runPod(t, newTestProvider(t), object), "running", func(s corev1.PodStatus) bool {
			return s.ContainerStatuses[0].State.Running != nil
		})
		if s := status.ContainerStatuses[0]; s.RestartCount != 3 || s.LastTerminationState.Terminated.ExitCode != 137 {
			t.Errorf("status %+v", s)
		}
	})
	t.Run("a Job's pod has failed", func(t *testing.T) {
		object := shellPod(corev1.RestartPolicyNever, "echo again")
		object.Status.ContainerStatuses = []corev1.ContainerStatus{running}
		status := await(t, runPod(t, newTestProvider(t), object), "failed", phaseIs(corev1.PodFailed))
		if code := status.ContainerStatuses[0].State.Terminated.ExitCode; code != 137 {
			t.Errorf("exit code %d", code)
		}
	})
}

func TestNextPause(t *testing.T) {
	var pauses []time.Duration
	pause := time.Duration(0)
	for range 7 {
		pause = nextPause(pause, 0)
		pauses = append(pauses, pause.Round(time.Millisecond))
	}
	want := []time.Duration{0, 500e6, 1e9, 2e9, 4e9, 5e9, 5e9}
	for i := range want {
		if pauses[i] != want[i] {
			t.Fatalf("pauses %v, want %v", pauses, want)
		}
	}
	if pause = nextPause(pause, calmAfter).Round(time.Millisecond); pause != 0 {
		t.Errorf("%s after a long run", pause)
	}
}

func TestRunCommand(t *testing.T) {
	code := func(script string) error {
		return runCommand(t.Context(), exec.Command("sh", "-c", script), strings.NewReader(""))
	}
	if err := code("exit 0"); err != nil {
		t.Error(err)
	}
	var exit utilexec.CodeExitError
	if err := code("exit 9"); !errors.As(err, &exit) || exit.Code != 9 {
		t.Errorf("%v", err)
	}
	if err := runCommand(t.Context(), exec.Command("/no/such"), nil); !errors.As(err, &exit) || exit.Code != notFoundCode {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := runCommand(ctx, exec.Command("sleep", "1000"), nil); !errors.As(err, &exit) || exit.Code != 137 {
		t.Errorf("%v", err)
	}
}

func TestSweepEndsWhatADeadNodeLeft(t *testing.T) {
	dir := t.TempDir()
	leftover, stranger := exec.Command("sleep", "1000"), exec.Command("sleep", "1000")
	for _, cmd := range []*exec.Cmd{leftover, stranger} {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { killGroup(cmd.Process.Pid); _ = cmd.Wait() })
	}
	if err := writePid(filepath.Join(dir, "a.pid"), leftover.Process.Pid); err != nil {
		t.Fatal(err)
	}
	// The second file names a process that has ended, and whose number another one has now.
	text := []byte(strconv.Itoa(stranger.Process.Pid) + " 1\n")
	if err := os.WriteFile(filepath.Join(dir, "b.pid"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	sweep(dir)
	if err := leftover.Wait(); err == nil {
		t.Error("the leftover ended by itself")
	}
	if !alive(strconv.Itoa(stranger.Process.Pid)) {
		t.Error("a stranger was killed")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAddressesOfTwoNodesDiffer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "addresses")
	first, err := claimAddresses(file)
	if err != nil {
		t.Fatal(err)
	}
	defer first.release()
	second, err := claimAddresses(file)
	if err != nil {
		t.Fatal(err)
	}
	defer second.release()
	if first.node.Equal(second.node) {
		t.Errorf("both have %s", first.node)
	}
	seen := map[string]bool{}
	for range 253 {
		ip, err := first.take()
		if err != nil || seen[ip.String()] || ip.Equal(first.node) {
			t.Fatalf("%s %v", ip, err)
		}
		seen[ip.String()] = true
	}
	if _, err := first.take(); err == nil {
		t.Error("a 254th address")
	}
}
