// The lab's programs in one binary: etcd, kube-apiserver, kube-controller-manager and kubectl are
// the real ones, compiled from their own modules; node and applier are stand-ins (see their sources).
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"distverify.io/lab/internal/applier"
	"distverify.io/lab/internal/certs"
	"distverify.io/lab/internal/node"
	"distverify.io/lab/internal/ports"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

var programs = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(kcm.NewControllerManagerCommand()) },
	"kubectl":                 runKubectl,
	"applier":                 func() int { return applier.Main(os.Args[1:]) },
	"node":                    func() int { return node.Main(os.Args[1:]) },
	"certs":                   func() int { return certs.Main(os.Args[1:]) },
	"ports":                   func() int { return ports.Main(os.Args[1:]) },
}

func runKubectl() int {
	// As in kubectl's own main: -v must hold while the command tree is built, too.
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
	return 0
}

func names() string {
	all := make([]string, 0, len(programs))
	for name := range programs {
		all = append(all, name)
	}
	sort.Strings(all)
	return strings.Join(all, " ")
}

func main() {
	name := filepath.Base(os.Args[0])
	run, ok := programs[name]
	if !ok && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = append([]string{name}, os.Args[2:]...)
		run, ok = programs[name]
	}
	if !ok {
		fmt.Fprintf(os.Stderr, "usage: lab-bin PROGRAM [ARG...], or a link named PROGRAM: %s\n", names())
		os.Exit(2)
	}
	os.Exit(run())
}
