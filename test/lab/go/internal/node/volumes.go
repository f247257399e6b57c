package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// volumes lays the volumes of a pod out as directories. There is no mount namespace, so a container
// finds a volume not at its mountPath but at $LAB_MOUNT_<VOLUME> (name in capitals, - as _).
// They are filled once, when the pod starts; a later change of a ConfigMap or Secret is not seen.
type volumes struct {
	client kubernetes.Interface
	pod    *corev1.Pod
	dir    string // one directory per volume below it
	podIP  string
	nodeIP string

	tokenDir string // directory with the service account's token, when the pod has one
}

func (v *volumes) path(name string) string { return filepath.Join(v.dir, name) }

func (v *volumes) fill(ctx context.Context) error {
	for i := range v.pod.Spec.Volumes {
		volume := &v.pod.Spec.Volumes[i]
		if err := v.fillOne(ctx, volume); err != nil {
			return fmt.Errorf("volume %q: %w", volume.Name, err)
		}
	}
	return nil
}

func (v *volumes) fillOne(ctx context.Context, volume *corev1.Volume) error {
	path := v.path(volume.Name)
	if volume.HostPath != nil {
		_ = os.Remove(path)
		return os.Symlink(volume.HostPath.Path, path)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	switch {
	case volume.EmptyDir != nil:
		return nil
	case volume.ConfigMap != nil:
		return v.configMap(ctx, path, volume.ConfigMap.Name, volume.ConfigMap.Items, volume.ConfigMap.Optional)
	case volume.Secret != nil:
		return v.secret(ctx, path, volume.Secret.SecretName, volume.Secret.Items, volume.Secret.Optional)
	case volume.DownwardAPI != nil:
		return v.downward(path, volume.DownwardAPI.Items)
	case volume.Projected != nil:
		return v.projected(ctx, path, volume.Projected.Sources)
	}
	return fmt.Errorf("this kind of volume is not to be had in the lab")
}

func (v *volumes) projected(ctx context.Context, path string, sources []corev1.VolumeProjection) error {
	for _, source := range sources {
		var err error
		switch {
		case source.ConfigMap != nil:
			err = v.configMap(ctx, path, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
		case source.Secret != nil:
			err = v.secret(ctx, path, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
		case source.DownwardAPI != nil:
			err = v.downward(path, source.DownwardAPI.Items)
		case source.ServiceAccountToken != nil:
			err = v.token(ctx, path, source.ServiceAccountToken)
		default:
			err = fmt.Errorf("this kind of projection is not to be had in the lab")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *volumes) configMap(ctx context.Context, path, name string, items []corev1.KeyToPath, optional *bool) error {
	object, err := v.client.CoreV1().ConfigMaps(v.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	if err != nil {
		return err
	}
	data := map[string][]byte{}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	for key, value := range object.BinaryData {
		data[key] = value
	}
	return writeItems(path, "configmap "+name, data, items, optional)
}

func (v *volumes) secret(ctx context.Context, path, name string, items []corev1.KeyToPath, optional *bool) error {
	object, err := v.client.CoreV1().Secrets(v.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	if err != nil {
		return err
	}
	return writeItems(path, "secret "+name, object.Data, items, optional)
}

func writeItems(path, what string, data map[string][]byte, items []corev1.KeyToPath, optional *bool) error {
	if items == nil {
		for key := range data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			if optional != nil && *optional {
				continue
			}
			return fmt.Errorf("%s has no key %q", what, item.Key)
		}
		if err := writeBelow(path, item.Path, value); err != nil {
			return err
		}
	}
	return nil
}

func (v *volumes) downward(path string, items []corev1.DownwardAPIVolumeFile) error {
	for _, item := range items {
		if item.FieldRef == nil {
			continue
		}
		value, err := fieldValue(v.pod, item.FieldRef.FieldPath, v.podIP, v.nodeIP)
		if err != nil {
			return err
		}
		if err := writeBelow(path, item.Path, []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

func (v *volumes) token(ctx context.Context, path string, projection *corev1.ServiceAccountTokenProjection) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: projection.ExpirationSeconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			Kind: "Pod", APIVersion: "v1", Name: v.pod.Name, UID: v.pod.UID,
		},
	}}
	if projection.Audience != "" {
		request.Spec.Audiences = []string{projection.Audience}
	}
	account := v.pod.Spec.ServiceAccountName
	answer, err := v.client.CoreV1().ServiceAccounts(v.pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of service account %s: %w", account, err)
	}
	if projection.Audience == "" {
		v.tokenDir = filepath.Join(path, filepath.Dir(projection.Path))
	}
	return writeBelow(path, projection.Path, []byte(answer.Status.Token))
}

// writeKubeconfig lets a pod with a service account talk to the API server: clients look for their
// token at a fixed place, which a process without a mount namespace does not have.
func (v *volumes) writeKubeconfig(file, server, ca string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: ca}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(v.tokenDir, "token")}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "pod", Namespace: v.pod.Namespace}
	config.CurrentContext = "lab"
	return clientcmd.WriteToFile(*config, file)
}

func writeBelow(dir, name string, value []byte) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("path %q leads out of the volume", name)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, value, 0o644)
}

// mountVariable is the name of the variable that tells where a volume is.
func mountVariable(volume string) string {
	return "LAB_MOUNT_" + strings.ToUpper(strings.ReplaceAll(volume, "-", "_"))
}
