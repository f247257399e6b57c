// Package node stands in for a Kubernetes node, its kubelet, and the scheduler: it runs the containers
// of pods as local processes. Left out: images (a container must have a command; its files are this
// machine's), isolation of any kind (see volumes.go for mounts), resource limits, lifecycle hooks,
// sidecar init containers, terminals for exec, scheduling rules (every pod goes to the one node).
package node

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/log"
	"github.com/virtual-kubelet/virtual-kubelet/log/klogv2"
	vk "github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

type options struct {
	name, kubeconfig string
	ca, cert, key    string
	state, logs      string
	pids             string
}

// Main is the command "node".
func Main(args []string) int {
	var o options
	flags := flag.NewFlagSet("node", flag.ExitOnError)
	flags.StringVar(&o.name, "name", "lab", "name of the node")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the node")
	flags.StringVar(&o.ca, "ca", "", "CA of the API server, and of the clients of the node's own port")
	flags.StringVar(&o.cert, "cert", "", "certificate of the node's own port")
	flags.StringVar(&o.key, "key", "", "its key")
	flags.StringVar(&o.state, "state", "", "directory for volumes and working directories of pods")
	flags.StringVar(&o.logs, "logs", "", "directory for logs of containers; they outlive their pods")
	flags.StringVar(&o.pids, "pids", "", "directory for a pid file per container")
	_ = flags.Parse(args) // ExitOnError
	for _, value := range []string{o.kubeconfig, o.ca, o.cert, o.key, o.state, o.logs, o.pids} {
		if value == "" {
			fmt.Fprintln(os.Stderr, "node: --kubeconfig, --ca, --cert, --key, --state, --logs and --pids are all needed")
			return 2
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "node:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, o options) error {
	log.L = klogv2.New(nil)
	for _, dir := range []string{o.state, o.logs, o.pids} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	sweep(o.pids)
	addresses, err := claimAddresses(filepath.Join(o.state, "addresses"))
	if err != nil {
		return err
	}
	defer addresses.release()
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var p *provider
	newProvider := func(c nodeutil.ProviderConfig) (nodeutil.Provider, vk.NodeProvider, error) {
		p = newPodProvider(o, config, client, c, addresses)
		return p, nil, nil
	}
	node, err := newNode(o, client, newProvider, addresses)
	if err != nil {
		return err
	}
	go bindPods(ctx, client, o.name)
	err = node.Run(ctx)
	p.stopAll()
	return err
}

func newNode(o options, client kubernetes.Interface, newProvider nodeutil.NewProviderFunc, a *addresses) (*nodeutil.Node, error) {
	mux := http.NewServeMux()
	return nodeutil.NewNode(o.name, newProvider,
		nodeutil.WithClient(client),
		func(c *nodeutil.NodeConfig) error {
			describe(&c.NodeSpec, a.node)
			c.SkipDownwardAPIResolution = true // it never starts a pod that asks for status.podIP
			c.NumWorkers = 8
			c.Handler = allowTailZero(mux)
			c.HTTPListenAddr = net.JoinHostPort(a.node.String(), kubeletPort)
			c.StreamIdleTimeout = time.Hour
			return nil
		},
		func(c *nodeutil.NodeConfig) (err error) {
			c.TLSConfig, err = serverTLS(o)
			return err
		},
		nodeutil.AttachProviderRoutes(mux),
		nodeutil.WithPodControllerConfigOverrides(func(c *vk.PodControllerConfig) error {
			c.PodClient = statusPatcher{client.CoreV1()}
			for _, limiter := range []*workqueue.TypedRateLimiter[any]{&c.SyncPodsFromKubernetesRateLimiter,
				&c.DeletePodsFromKubernetesRateLimiter, &c.SyncPodStatusFromProviderRateLimiter} {
				*limiter = workqueue.NewTypedItemExponentialFailureRateLimiter[any](5*time.Millisecond, time.Second)
			}
			return nil
		}))
}

func serverTLS(o options) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := nodeutil.WithCAFromPath(o.ca)(config); err != nil {
		return nil, err
	}
	return config, nodeutil.WithKeyPairFromPath(o.cert, o.key)(config)
}

func describe(node *corev1.Node, address net.IP) {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("16"),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("250"),
	}
	node.Status.Capacity, node.Status.Allocatable = resources, resources
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address.String()},
		{Type: corev1.NodeHostName, Address: node.Name},
	}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = kubeletPortNumber
	node.Status.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "lab"}
	now := metav1.Now()
	for i := range node.Status.Conditions {
		condition := &node.Status.Conditions[i]
		condition.Status = corev1.ConditionFalse
		condition.LastTransitionTime, condition.LastHeartbeatTime = now, now
	}
}

func logf(format string, args ...any) { klog.InfofDepth(1, format, args...) }
