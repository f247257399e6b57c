package node

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// statusPatcher makes UpdateStatus write the status only. virtual-kubelet writes the whole object as the
// provider last saw it, which undoes labels, annotations and finalizers that others changed since.
type statusPatcher struct{ corev1client.PodsGetter }

func (s statusPatcher) Pods(namespace string) corev1client.PodInterface {
	return podStatusPatcher{s.PodsGetter.Pods(namespace)}
}

type podStatusPatcher struct{ corev1client.PodInterface }

func (p podStatusPatcher) UpdateStatus(ctx context.Context, pod *corev1.Pod, _ metav1.UpdateOptions) (*corev1.Pod, error) {
	patch, err := statusPatch(pod)
	if err != nil {
		return nil, err
	}
	return p.Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
}

// statusPatch names the pod's UID, so that it never lands on a later pod of the same name.
func statusPatch(pod *corev1.Pod) ([]byte, error) {
	encoded, err := json.Marshal(pod.Status)
	if err != nil {
		return nil, err
	}
	status := map[string]any{"message": nil, "reason": nil} // gone when empty
	if err := json.Unmarshal(encoded, &status); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
}
