package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// environment is what a container's process sees. It is made anew for every start.
type environment map[string]string

// inherited are the variables of the node that every container gets, besides LAB and LAB_*.
var inherited = []string{"PATH", "HOME", "JAVA_HOME", "LANG", "TMPDIR", "TZ"}

func (p *pod) environment(ctx context.Context, c *corev1.Container) (environment, error) {
	env := p.baseEnvironment(c)
	for _, source := range c.EnvFrom {
		if err := env.addAll(ctx, p.node.client, p.first.Namespace, source); err != nil {
			return nil, err
		}
	}
	for _, variable := range c.Env {
		value := expansion.Expand(variable.Value, expansion.MappingFuncFor(env))
		if variable.ValueFrom != nil {
			var err error
			var found bool
			value, found, err = p.valueFrom(ctx, variable.ValueFrom)
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
			}
			if !found {
				continue
			}
		}
		env[variable.Name] = value
	}
	return env, nil
}

func (p *pod) baseEnvironment(c *corev1.Container) environment {
	env := environment{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if name == "LAB" || strings.HasPrefix(name, "LAB_") {
			env[name] = value
		}
	}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	if bin := env["LAB_BIN"]; bin != "" {
		env["PATH"] = bin + ":" + env["PATH"]
	}
	for _, volume := range p.first.Spec.Volumes {
		env[mountVariable(volume.Name)] = p.volumes.path(volume.Name)
	}
	for _, mount := range c.VolumeMounts {
		if mount.SubPath != "" {
			env[mountVariable(mount.Name)] = filepath.Join(p.volumes.path(mount.Name), mount.SubPath)
		}
	}
	if p.volumes.tokenDir != "" {
		env["KUBECONFIG"] = p.kubeconfig()
	}
	env["POD_IP"] = p.ip.String()
	env["POD_NAME"] = p.first.Name
	env["POD_NAMESPACE"] = p.first.Namespace
	env["HOSTNAME"] = p.first.Name
	return env
}

func (env environment) addAll(ctx context.Context, client kubernetes.Interface, namespace string, source corev1.EnvFromSource) error {
	if ref := source.ConfigMapRef; ref != nil {
		object, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return missing(err, ref.Optional)
		}
		for key, value := range object.Data {
			env[source.Prefix+key] = value
		}
	}
	if ref := source.SecretRef; ref != nil {
		object, err := client.CoreV1().Secrets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return missing(err, ref.Optional)
		}
		for key, value := range object.Data {
			env[source.Prefix+key] = string(value)
		}
	}
	return nil
}

func missing(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}

func (p *pod) valueFrom(ctx context.Context, source *corev1.EnvVarSource) (value string, found bool, err error) {
	client, namespace := p.node.client, p.first.Namespace
	switch {
	case source.FieldRef != nil:
		value, err = fieldValue(p.first, source.FieldRef.FieldPath, p.ip.String(), p.node.addresses.node.String())
		return value, true, err
	case source.ConfigMapKeyRef != nil:
		ref := source.ConfigMapKeyRef
		object, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", false, missing(err, ref.Optional)
		}
		value, found = object.Data[ref.Key]
		return value, found, missingKey("configmap", ref.Name, ref.Key, found, ref.Optional)
	case source.SecretKeyRef != nil:
		ref := source.SecretKeyRef
		object, err := client.CoreV1().Secrets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", false, missing(err, ref.Optional)
		}
		bytes, found := object.Data[ref.Key]
		return string(bytes), found, missingKey("secret", ref.Name, ref.Key, found, ref.Optional)
	case source.ResourceFieldRef != nil:
		return "0", true, nil // nothing is limited here
	}
	return "", false, fmt.Errorf("this source is not to be had in the lab")
}

func missingKey(kind, name, key string, found bool, optional *bool) error {
	if found || (optional != nil && *optional) {
		return nil
	}
	return fmt.Errorf("couldn't find key %s in %s %s", key, kind, name)
}

func fieldValue(pod *corev1.Pod, path, podIP, nodeIP string) (string, error) {
	switch path {
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return podIP, nil
	case "status.hostIP", "status.hostIPs":
		return nodeIP, nil
	}
	return fieldpath.ExtractFieldPathAsString(pod, path)
}

func (env environment) list() []string {
	all := make([]string, 0, len(env))
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	sort.Strings(all)
	return all
}

// expand replaces $(NAME), as Kubernetes does in command and args.
func (env environment) expand(words []string) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = expansion.Expand(word, expansion.MappingFuncFor(env))
	}
	return all
}
