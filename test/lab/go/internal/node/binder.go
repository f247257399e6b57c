package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// bindPods stands in for the scheduler: every pod that asks for the default scheduler goes to this node.
// A pod with another schedulerName stays Pending, as one that fits nowhere.
func bindPods(ctx context.Context, client kubernetes.Interface, node string) {
	unbound := informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", "").String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 5*time.Second, unbound)
	bind := func(object any) { bindPod(ctx, client, object.(*corev1.Pod), node) }
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    bind,
		UpdateFunc: func(_, object any) { bind(object) }, // a resync repeats what failed
	})
	if err != nil {
		logf("no pod will be bound: %v", err)
		return
	}
	factory.Start(ctx.Done())
}

func bindPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, node string) {
	if pod.Spec.SchedulerName != corev1.DefaultSchedulerName || pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 {
		return
	}
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	err := client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		logf("bind pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
}
