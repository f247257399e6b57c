package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	statsv1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// shutdownGrace is what pods get to end when the node ends.
const shutdownGrace = 2 * time.Second

// provider holds the pods of the node: what virtual-kubelet asks for on behalf of the API server.
type provider struct {
	options    options
	server, ca string // of the API server, for pods
	client     kubernetes.Interface
	lister     corev1listers.PodLister
	addresses  *addresses
	events     record.EventRecorder

	mu     sync.Mutex
	pods   map[types.UID]*pod
	notify func(*corev1.Pod)
}

var _ nodeutil.Provider = (*provider)(nil)

func newPodProvider(o options, config *rest.Config, client kubernetes.Interface, c nodeutil.ProviderConfig, a *addresses) *provider {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return &provider{
		options:   o,
		server:    config.Host,
		ca:        o.ca,
		client:    client,
		lister:    c.Pods,
		addresses: a,
		events:    broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: o.name}),
		pods:      map[types.UID]*pod{},
	}
}

// NotifyPods is called once, before any pod is made.
func (p *provider) NotifyPods(_ context.Context, notify func(*corev1.Pod)) { p.notify = notify }

func (p *provider) CreatePod(_ context.Context, object *corev1.Pod) error {
	if former := p.find(object.Namespace, object.Name, ""); former != nil && former.uid != object.UID {
		former.stop(0) // deleted by force, and made again under its name
		<-former.done
		go p.finish(former)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pods[object.UID] != nil {
		return nil
	}
	one, err := newPod(p, object)
	if err != nil {
		return err
	}
	p.pods[object.UID] = one
	go one.run()
	go one.report(p.notify)
	return nil
}

func (p *provider) UpdatePod(_ context.Context, object *corev1.Pod) error {
	if one := p.find(object.Namespace, object.Name, object.UID); one != nil {
		one.update(object)
	}
	return nil
}

// DeletePod starts the end of a pod; the rest goes on in the background.
func (p *provider) DeletePod(_ context.Context, object *corev1.Pod) error {
	one := p.find(object.Namespace, object.Name, object.UID)
	if one == nil {
		return errdefs.NotFoundf("pod %s/%s is not on this node", object.Namespace, object.Name)
	}
	grace := time.Duration(0) // the object is gone already: nobody waits
	if object.DeletionTimestamp != nil && object.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*object.DeletionGracePeriodSeconds) * time.Second
	}
	one.stop(grace)
	go p.finish(one)
	return nil
}

// finish writes the last status, then takes the object away, as a kubelet does once nothing runs any more.
func (p *provider) finish(one *pod) {
	<-one.done
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	object := one.snapshot()
	pods := statusPatcher{p.client.CoreV1()}.Pods(object.Namespace)
	if _, err := pods.UpdateStatus(ctx, object, metav1.UpdateOptions{}); err == nil {
		options := metav1.NewDeleteOptions(0)
		options.Preconditions = metav1.NewUIDPreconditions(string(object.UID))
		err = pods.Delete(ctx, object.Name, *options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			logf("delete pod %s/%s: %v", object.Namespace, object.Name, err)
		}
	} else if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
		logf("last status of pod %s/%s: %v", object.Namespace, object.Name, err)
	}
	one.cleanUp()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, object.UID)
}

// find gives the pod of that name; uid may be empty for the one that is not about to be replaced.
func (p *provider) find(namespace, name string, uid types.UID) *pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if uid != "" {
		return p.pods[uid]
	}
	var found *pod
	for _, one := range p.pods {
		if one.namespace == namespace && one.name == name && (found == nil || one.created.After(found.created)) {
			found = one
		}
	}
	return found
}

// GetPod says "not found" while another pod of that name is wanted, so that this one gets made.
func (p *provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	one := p.find(namespace, name, "")
	if one != nil {
		wanted, err := p.lister.Pods(namespace).Get(name)
		if err == nil && wanted.UID != one.uid {
			one = nil
		}
	}
	if one == nil {
		return nil, errdefs.NotFoundf("pod %s/%s is not on this node", namespace, name)
	}
	return one.snapshot(), nil
}

func (p *provider) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	object, err := p.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &object.Status, nil
}

func (p *provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	var objects []*corev1.Pod
	for _, one := range p.all() {
		objects = append(objects, one.snapshot())
	}
	return objects, nil
}

func (p *provider) all() []*pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pods []*pod
	for _, one := range p.pods {
		pods = append(pods, one)
	}
	return pods
}

// stopAll ends the processes of all pods, not the pods: a later node starts them again.
func (p *provider) stopAll() {
	if p == nil {
		return
	}
	pods := p.all()
	for _, one := range pods {
		one.stop(shutdownGrace)
	}
	for _, one := range pods {
		<-one.done
	}
}

func (p *provider) container(namespace, name, containerName string) (*pod, *container, error) {
	one := p.find(namespace, name, "")
	if one == nil {
		return nil, nil, errdefs.NotFoundf("pod %s/%s is not on this node", namespace, name)
	}
	for _, c := range one.containers {
		if c.spec.Name == containerName {
			return one, c, nil
		}
	}
	return nil, nil, errdefs.NotFoundf("container %q not found in pod %q", containerName, name)
}

func (p *provider) GetContainerLogs(ctx context.Context, namespace, name, containerName string, o api.ContainerLogOpts) (io.ReadCloser, error) {
	one, c, err := p.container(namespace, name, containerName)
	if err != nil {
		return nil, err
	}
	log, err := one.log(c, o.Previous)
	if err != nil {
		return nil, errdefs.AsInvalidInput(err)
	}
	return log.open(ctx, o)
}

func (p *provider) RunInContainer(ctx context.Context, namespace, name, containerName string, command []string, streams api.AttachIO) error {
	one, c, err := p.container(namespace, name, containerName)
	if err != nil {
		return err
	}
	return one.exec(ctx, c, command, streams)
}

func (p *provider) AttachToContainer(context.Context, string, string, string, api.AttachIO) error {
	return errors.New("the lab's node has no attach")
}

func (p *provider) PortForward(ctx context.Context, namespace, name string, port int32, stream io.ReadWriteCloser) error {
	one := p.find(namespace, name, "")
	if one == nil {
		return errdefs.NotFoundf("pod %s/%s is not on this node", namespace, name)
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(one.ip.String(), strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("forward to port %d: %w", port, err)
	}
	defer connection.Close()
	ends := make(chan error, 2)
	go func() { _, err := io.Copy(connection, stream); ends <- err }()
	go func() { _, err := io.Copy(stream, connection); ends <- err }()
	return <-ends
}

func (p *provider) GetStatsSummary(context.Context) (*statsv1alpha1.Summary, error) {
	return &statsv1alpha1.Summary{Node: statsv1alpha1.NodeStats{NodeName: p.options.name}}, nil
}

func (p *provider) GetMetricsResource(context.Context) ([]*dto.MetricFamily, error) { return nil, nil }

func short(uid types.UID) string { head, _, _ := strings.Cut(string(uid), "-"); return head }
