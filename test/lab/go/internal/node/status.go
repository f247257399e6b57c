package node

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// snapshot is the pod as the API should show it now.
func (p *pod) snapshot() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	object := p.object.DeepCopy()
	object.Status = p.status()
	return object
}

// status needs p.mu.
func (p *pod) status() corev1.PodStatus {
	var initial, main []corev1.ContainerStatus
	initialised, ready := true, true
	for _, c := range p.containers {
		status := c.status()
		if c.init {
			initial = append(initial, status)
			initialised = initialised && succeeded(status.State)
		} else {
			main = append(main, status)
			ready = ready && status.Ready
		}
	}
	status := corev1.PodStatus{
		Phase:                 p.phase(initial, main),
		HostIP:                p.node.addresses.node.String(),
		HostIPs:               []corev1.HostIP{{IP: p.node.addresses.node.String()}},
		PodIP:                 p.ip.String(),
		PodIPs:                []corev1.PodIP{{IP: p.ip.String()}},
		StartTime:             p.object.Status.StartTime,
		InitContainerStatuses: initial,
		ContainerStatuses:     main,
		QOSClass:              p.object.Status.QOSClass,
	}
	status.Conditions = p.conditionList(initialised, ready, status.Phase)
	return status
}

func (p *pod) phase(initial, main []corev1.ContainerStatus) corev1.PodPhase {
	never := p.first.Spec.RestartPolicy == corev1.RestartPolicyNever
	for _, status := range initial {
		if terminated := status.State.Terminated; terminated == nil || terminated.ExitCode != 0 {
			if terminated != nil && (never || p.over()) {
				return corev1.PodFailed
			}
			return corev1.PodPending
		}
	}
	started, ended, failed := false, true, false
	for _, status := range main {
		terminated := status.State.Terminated
		started = started || status.State.Running != nil || terminated != nil || status.LastTerminationState.Terminated != nil
		ended = ended && terminated != nil
		failed = failed || terminated != nil && terminated.ExitCode != 0
	}
	switch {
	case ended && p.over() && failed:
		return corev1.PodFailed
	case ended && p.over():
		return corev1.PodSucceeded
	case started:
		return corev1.PodRunning
	}
	return corev1.PodPending
}

// over tells whether the pod has ended for good.
func (p *pod) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *pod) conditionList(initialised, ready bool, phase corev1.PodPhase) []corev1.PodCondition {
	unready := "ContainersNotReady"
	if phase == corev1.PodSucceeded {
		unready = "PodCompleted"
	}
	p.setCondition(corev1.PodScheduled, true, "")
	p.setCondition(corev1.PodInitialized, initialised, "ContainersNotInitialized")
	p.setCondition(corev1.ContainersReady, ready, unready)
	p.setCondition(corev1.PodReady, ready, unready)
	var list []corev1.PodCondition
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		list = append(list, p.conditions[kind])
	}
	return list
}

func (p *pod) setCondition(kind corev1.PodConditionType, is bool, reason string) {
	condition := p.conditions[kind]
	status := corev1.ConditionFalse
	if is {
		status, reason = corev1.ConditionTrue, ""
	}
	if condition.Status != status {
		condition.LastTransitionTime = metav1.Now()
	}
	condition.Type, condition.Status, condition.Reason = kind, status, reason
	p.conditions[kind] = condition
}

func succeeded(state corev1.ContainerState) bool {
	return state.Terminated != nil && state.Terminated.ExitCode == 0
}
