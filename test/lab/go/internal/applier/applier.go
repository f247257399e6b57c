// Package applier stands in for the tool that applies a Distributor's values on a cluster (Flux, Argo CD,
// k3s): it watches the ConfigMap or Secret that holds them and runs real `helm upgrade --install`.
// Left out: sources in git, health checks, drift detection, conditions of its own on any object.
package applier

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"distverify.io/lab/internal/faults"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	firstRetry = time.Second
	lastRetry  = 10 * time.Second
	faultPoll  = 200 * time.Millisecond
)

type applier struct {
	source source
	helm   helm
	faults faults.File

	applied  string // the text that was last applied; it is what a revert puts back
	known    bool   // whether there is such a text
	reverted string // the text that a revert wrote: not reverted again
}

// Main is the command "applier".
func Main(args []string) int {
	flags := flag.NewFlagSet("applier", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig")
	namespace := flags.String("namespace", "", "namespace of the values and of the release")
	configMap := flags.String("configmap", "", "ConfigMap that holds the values")
	secret := flags.String("secret", "", "Secret that holds the values")
	key := flags.String("key", "values.yaml", "key of the values in it")
	release := flags.String("release", "", "name of the Helm release")
	chart := flags.String("chart", "", "directory of the chart")
	faultFile := flags.String("faults", os.Getenv("LAB_FAULTS"), "fault file")
	_ = flags.Parse(args) // ExitOnError
	if *namespace == "" || *release == "" || *chart == "" || (*configMap == "") == (*secret == "") {
		fmt.Fprintln(os.Stderr, "applier: --namespace, --release, --chart and one of --configmap, --secret are needed")
		return 2
	}
	client, err := newClient(*kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, "applier:", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	a := &applier{
		source: source{client: client, namespace: *namespace, configMap: *configMap, secret: *secret, key: *key},
		helm:   helm{kubeconfig: *kubeconfig, namespace: *namespace, release: *release, chart: *chart},
		faults: faults.File(*faultFile),
	}
	a.run(ctx)
	return 0
}

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(rest.AddUserAgent(config, "applier"))
}

// run applies what the source shows, one after the other; of several values that come while some are
// being applied, only the newest.
func (a *applier) run(ctx context.Context) {
	changes := a.source.watch(ctx)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case v := <-changes:
			a.settle(ctx, v, changes)
		}
	}
}

// settle tries until v, or newer values that come meanwhile, are applied.
func (a *applier) settle(ctx context.Context, v values, changes <-chan values) {
	pause := firstRetry
	for ctx.Err() == nil {
		newer, err := a.handle(ctx, v, changes)
		if err == nil && newer == nil {
			return
		}
		if err != nil {
			say("values %s not applied: %v; next try in %s", v.version, err, pause)
			newer = next(ctx, changes, pause)
			pause = min(2*pause, lastRetry)
		}
		if newer != nil {
			v, pause = *newer, firstRetry
		}
	}
}

// next waits at most d for newer values.
func next(ctx context.Context, changes <-chan values, d time.Duration) *values {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case v := <-changes:
		return &v
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// handle applies v, or does what a fault says; it gives back newer values when they came first.
func (a *applier) handle(ctx context.Context, v values, changes <-chan values) (*values, error) {
	if newer := a.hold(ctx, v, changes); newer != nil || ctx.Err() != nil {
		return newer, ctx.Err()
	}
	former, hadFormer := a.applied, a.known
	if err := a.apply(ctx, v); err != nil {
		return nil, err
	}
	a.applied, a.known = v.text, true
	if hadFormer && former != v.text && v.text != a.reverted {
		return a.revert(ctx, former, changes)
	}
	return nil, nil
}

// hold waits while the faults say so.
func (a *applier) hold(ctx context.Context, v values, changes <-chan values) *values {
	if delay, set := a.faults.Millis("applier.delayMs"); set && delay > 0 {
		say("values %s wait for %s (fault)", v.version, delay)
		if newer := next(ctx, changes, delay); newer != nil {
			return newer
		}
	}
	for said := false; a.faults.Is("applier.refuse") && ctx.Err() == nil; said = true {
		if !said {
			say("values %s refused (fault)", v.version)
		}
		if newer := next(ctx, changes, faultPoll); newer != nil {
			return newer
		}
	}
	return nil
}

// revert puts the former text back, as a tool does whose source of truth lies elsewhere.
func (a *applier) revert(ctx context.Context, former string, changes <-chan values) (*values, error) {
	delay, set := a.faults.Millis("applier.revert")
	if !set && !a.faults.Is("applier.revert") {
		return nil, nil
	}
	if newer := next(ctx, changes, delay); newer != nil || ctx.Err() != nil {
		return newer, ctx.Err()
	}
	a.reverted = former
	if err := a.source.write(ctx, former); err != nil {
		return nil, fmt.Errorf("put the former values back: %w", err)
	}
	say("former values put back (fault)")
	return nil, nil
}

func (a *applier) apply(ctx context.Context, v values) error {
	state, err := a.helm.state(ctx)
	if err != nil {
		return err
	}
	if state.pending() {
		say("release %s was left in %s: clearing it", a.helm.release, state.Info.Status)
		if err := a.helm.clear(ctx, state); err != nil {
			return err
		}
	} else if state.deployed() && a.helm.sameValues(ctx, v.text) {
		say("values %s are those of revision %d already", v.version, state.Version)
		return nil
	}
	began := time.Now()
	if err := a.helm.upgrade(ctx, v.text); err != nil {
		return err
	}
	if state, err = a.helm.state(ctx); err != nil {
		return err
	}
	say("values %s applied as revision %d in %.1f s", v.version, state.Version, time.Since(began).Seconds())
	return nil
}

func say(format string, args ...any) {
	fmt.Printf("%s applier: %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
}
