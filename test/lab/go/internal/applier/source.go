package applier

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// fieldManager is the name under which a revert writes.
const fieldManager = "values-applier"

// source is the object that holds the values.
type source struct {
	client            kubernetes.Interface
	namespace         string
	configMap, secret string // one of them
	key               string
}

// values are one state of the source.
type values struct {
	text    string
	version string // resourceVersion
}

func (s source) name() string { return s.configMap + s.secret }

// watch gives the values that the source has, and then every change of them; one that nobody took yet
// is replaced by the next.
func (s source) watch(ctx context.Context) <-chan values {
	changes := make(chan values, 1)
	offer := func(object any) {
		v, ok := s.valuesOf(object)
		if !ok {
			say("%s has no key %s", s.name(), s.key)
			return
		}
		select {
		case <-changes:
		default:
		}
		changes <- v // one event at a time comes here, so there is room
	}
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.name()).String()
		}))
	informer := factory.Core().V1().ConfigMaps().Informer()
	if s.secret != "" {
		informer = factory.Core().V1().Secrets().Informer()
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: offer,
		UpdateFunc: func(before, after any) {
			old, hadOld := s.valuesOf(before)
			if v, ok := s.valuesOf(after); ok && hadOld && v.text == old.text {
				return
			}
			offer(after)
		},
	})
	if err != nil {
		panic(err) // only an informer that was stopped refuses a handler
	}
	factory.Start(ctx.Done())
	return changes
}

func (s source) valuesOf(object any) (values, bool) {
	switch o := object.(type) {
	case *corev1.ConfigMap:
		text, ok := o.Data[s.key]
		return values{text, o.ResourceVersion}, ok
	case *corev1.Secret:
		bytes, ok := o.Data[s.key]
		return values{string(bytes), o.ResourceVersion}, ok
	}
	return values{}, false
}

func (s source) write(ctx context.Context, text string) error {
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if s.secret != "" {
		patch, err := json.Marshal(map[string]any{"data": map[string][]byte{s.key: []byte(text)}})
		if err == nil {
			_, err = s.client.CoreV1().Secrets(s.namespace).Patch(ctx, s.secret, types.MergePatchType, patch, options)
		}
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{s.key: text}})
	if err == nil {
		_, err = s.client.CoreV1().ConfigMaps(s.namespace).Patch(ctx, s.configMap, types.MergePatchType, patch, options)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.name(), err)
	}
	return nil
}
