package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mountRetry is the pause before a missing ConfigMap, Secret or ServiceAccount is looked for again.
const mountRetry = 500 * time.Millisecond

// pod runs the containers of one pod until they have ended for good or the pod is stopped.
type pod struct {
	node            *provider
	namespace, name string
	uid             types.UID
	created         time.Time
	ip              net.IP
	ownIP           bool
	dir             string // volumes, working directory, kubeconfig
	logDir          string
	volumes         *volumes
	first           *corev1.Pod  // as the node got it; never changed
	containers      []*container // init containers first; the list itself never changes

	ctx     context.Context // ends when the pod is told to stop
	cancel  context.CancelFunc
	killed  chan struct{} // closed when its grace is over
	kill    sync.Once
	done    chan struct{} // closed when nothing runs any more
	changed chan struct{} // holds one token when the status may have changed

	mu         sync.Mutex // guards what follows, and the fields of containers that say so
	object     *corev1.Pod
	conditions map[corev1.PodConditionType]corev1.PodCondition
}

func newPod(node *provider, object *corev1.Pod) (*pod, error) {
	p := &pod{
		node: node, namespace: object.Namespace, name: object.Name, uid: object.UID, created: time.Now(),
		dir:        filepath.Join(node.options.state, string(object.UID)),
		logDir:     filepath.Join(node.options.logs, fmt.Sprintf("%s_%s_%s", object.Namespace, object.Name, short(object.UID))),
		killed:     make(chan struct{}),
		done:       make(chan struct{}),
		changed:    make(chan struct{}, 1),
		first:      object,
		object:     object.DeepCopy(),
		conditions: map[corev1.PodConditionType]corev1.PodCondition{},
	}
	if object.Spec.HostNetwork {
		p.ip = node.addresses.node
	} else {
		ip, err := node.addresses.take()
		if err != nil {
			return nil, err
		}
		p.ip, p.ownIP = ip, true
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.volumes = &volumes{client: node.client, pod: object, dir: filepath.Join(p.dir, "volumes"),
		podIP: p.ip.String(), nodeIP: node.addresses.node.String()}
	for _, condition := range object.Status.Conditions {
		p.conditions[condition.Type] = condition
	}
	if p.object.Status.StartTime == nil {
		now := metav1.Now()
		p.object.Status.StartTime = &now
	}
	for i := range object.Spec.InitContainers {
		p.containers = append(p.containers, newContainer(p, &object.Spec.InitContainers[i], true))
	}
	for i := range object.Spec.Containers {
		p.containers = append(p.containers, newContainer(p, &object.Spec.Containers[i], false))
	}
	return p, nil
}

func (p *pod) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }

func (p *pod) run() {
	defer p.touch()
	defer close(p.done)
	p.touch()
	if !p.prepare() || !p.initialise() {
		return
	}
	var running sync.WaitGroup
	for _, c := range p.containers {
		if !c.init {
			running.Go(func() { c.keepRunning(p.ctx) })
		}
	}
	running.Wait()
}

// prepare makes directories and volumes; what is missing is waited for.
func (p *pod) prepare() bool {
	for {
		err := p.makeFiles()
		if err == nil {
			return true
		}
		p.node.events.Event(p.first, corev1.EventTypeWarning, "FailedMount", err.Error())
		if !p.sleep(mountRetry) {
			return false
		}
	}
}

func (p *pod) makeFiles() error {
	for _, dir := range []string{filepath.Join(p.dir, "root"), p.volumes.dir, p.logDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := p.volumes.fill(p.ctx); err != nil {
		return err
	}
	if p.volumes.tokenDir == "" {
		return nil
	}
	return p.volumes.writeKubeconfig(p.kubeconfig(), p.node.server, p.node.ca)
}

// initialise runs the init containers one after the other.
func (p *pod) initialise() bool {
	for _, c := range p.containers {
		if !c.init {
			continue
		}
		if !c.keepRunning(p.ctx) {
			return false
		}
	}
	return true
}

// stop ends the pod within grace; a later call can only shorten it.
func (p *pod) stop(grace time.Duration) {
	p.cancel()
	end := func() { p.kill.Do(func() { close(p.killed) }) }
	if grace <= 0 {
		end()
		return
	}
	timer := time.AfterFunc(grace, end)
	go func() { <-p.done; timer.Stop() }()
}

// sleep is false when the pod was stopped meanwhile.
func (p *pod) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

func (p *pod) cleanUp() {
	if p.ownIP {
		p.node.addresses.give(p.ip)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		logf("%v", err)
	}
}

func (p *pod) update(object *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	start := p.object.Status.StartTime
	p.object = object
	p.object.Status.StartTime = start
}

// touch says that the status may have changed.
func (p *pod) touch() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// report hands every change of the status to notify, the newest only when they come fast.
func (p *pod) report(notify func(*corev1.Pod)) {
	for {
		select {
		case <-p.changed:
			notify(p.snapshot())
		case <-p.done:
			notify(p.snapshot())
			return
		}
	}
}
