package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// eagerPeriod is the period of a readiness probe until it first succeeds: nobody should wait for a
// pod that is ready.
const eagerPeriod = 200 * time.Millisecond

// watchHealth runs the probes of one run of the container; the channel gets the reason to end it.
func (c *container) watchHealth(ctx context.Context, p *process) <-chan string {
	sick := make(chan string, 2)
	ctx, cancel := context.WithCancel(ctx)
	go func() { <-p.ended; cancel() }()
	go func() {
		if !c.awaitStart(ctx, sick) {
			return
		}
		if probe := c.spec.LivenessProbe; probe != nil {
			go c.watchLiveness(ctx, probe, sick)
		}
		if probe := c.spec.ReadinessProbe; probe != nil {
			c.watchReadiness(ctx, probe)
		}
	}()
	return sick
}

func (c *container) awaitStart(ctx context.Context, sick chan<- string) bool {
	probe := c.spec.StartupProbe
	if probe == nil {
		return true
	}
	failures := int32(0)
	for pause := seconds(probe.InitialDelaySeconds); wait(ctx, pause); pause = period(probe) {
		err := c.check(ctx, probe)
		if err == nil {
			c.change(func() { c.started, c.ready = true, c.spec.ReadinessProbe == nil && !c.init })
			return true
		}
		if failures++; failures >= max(probe.FailureThreshold, 1) {
			sick <- fmt.Sprintf("Startup probe failed: %v", err)
			return false
		}
	}
	return false
}

func (c *container) watchLiveness(ctx context.Context, probe *corev1.Probe, sick chan<- string) {
	failures := int32(0)
	for pause := seconds(probe.InitialDelaySeconds); wait(ctx, pause); pause = period(probe) {
		err := c.check(ctx, probe)
		if err == nil {
			failures = 0
			continue
		}
		if failures++; failures >= max(probe.FailureThreshold, 1) {
			sick <- fmt.Sprintf("Liveness probe failed: %v", err)
			return
		}
	}
}

func (c *container) watchReadiness(ctx context.Context, probe *corev1.Probe) {
	ready, everReady := false, false
	row := int32(0) // results in a row that contradict `ready`
	for pause := seconds(probe.InitialDelaySeconds); wait(ctx, pause); pause = readinessPeriod(probe, everReady) {
		healthy := c.check(ctx, probe) == nil
		threshold := max(probe.SuccessThreshold, 1)
		if ready {
			threshold = max(probe.FailureThreshold, 1)
		}
		if healthy == ready {
			row = 0
			continue
		}
		if row++; row < threshold || ctx.Err() != nil {
			continue
		}
		row, ready, everReady = 0, healthy, true
		c.change(func() { c.ready = healthy && c.state.Running != nil })
	}
}

func readinessPeriod(probe *corev1.Probe, everReady bool) time.Duration {
	if everReady {
		return period(probe)
	}
	return min(period(probe), eagerPeriod)
}

func period(probe *corev1.Probe) time.Duration {
	if probe.PeriodSeconds > 0 {
		return seconds(probe.PeriodSeconds)
	}
	return 10 * time.Second
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (c *container) check(ctx context.Context, probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, max(seconds(probe.TimeoutSeconds), time.Second))
	defer cancel()
	switch {
	case probe.HTTPGet != nil:
		return c.checkHTTP(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		return c.checkTCP(ctx, probe.TCPSocket)
	case probe.Exec != nil:
		c.pod.mu.Lock()
		env := c.env
		c.pod.mu.Unlock()
		return runCommand(ctx, c.command(env, probe.Exec.Command), nil)
	}
	return errors.New("this kind of probe is not to be had in the lab")
}

var probeClient = &http.Client{Transport: &http.Transport{
	DisableKeepAlives: true,
	Proxy:             nil,
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // as kubelets do
}}

func (c *container) checkHTTP(ctx context.Context, get *corev1.HTTPGetAction) error {
	address, err := c.address(get.Host, get.Port)
	if err != nil {
		return err
	}
	scheme := "http"
	if get.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+get.Path, nil)
	if err != nil {
		return err
	}
	for _, header := range get.HTTPHeaders {
		request.Header.Add(header.Name, header.Value)
	}
	response, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return nil
}

func (c *container) checkTCP(ctx context.Context, socket *corev1.TCPSocketAction) error {
	address, err := c.address(socket.Host, socket.Port)
	if err != nil {
		return err
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

func (c *container) address(host string, port intstr.IntOrString) (string, error) {
	if host == "" {
		host = c.pod.ip.String()
	}
	if port.Type == intstr.Int {
		return net.JoinHostPort(host, strconv.Itoa(port.IntValue())), nil
	}
	for _, named := range c.spec.Ports {
		if named.Name == port.StrVal {
			return net.JoinHostPort(host, strconv.Itoa(int(named.ContainerPort))), nil
		}
	}
	if _, err := strconv.Atoi(port.StrVal); err == nil {
		return net.JoinHostPort(host, port.StrVal), nil
	}
	return "", fmt.Errorf("container %s has no port named %q", c.spec.Name, port.StrVal)
}
