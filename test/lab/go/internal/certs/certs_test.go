package certs

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestMake(t *testing.T) {
	dir := t.TempDir()
	if err := Make(dir, "https://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	verify := func(file string, usage x509.ExtKeyUsage, host string) {
		t.Helper()
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, file+".crt"), filepath.Join(dir, file+".key"))
		if err != nil {
			t.Fatal(err)
		}
		options := x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}}
		if _, err := pair.Leaf.Verify(options); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	verify("server", x509.ExtKeyUsageServerAuth, "127.0.0.1")
	for _, u := range users {
		verify(u.file, x509.ExtKeyUsageClientAuth, "")
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, u.file+".kubeconfig"))
		if err != nil || config.Host != "https://127.0.0.1:1" {
			t.Errorf("%s: %+v %v", u.file, config, err)
		}
	}
}

func TestMakeAgainChangesNothing(t *testing.T) {
	dir := t.TempDir()
	read := func() string {
		if err := Make(dir, "https://127.0.0.1:1"); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "admin.kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if read() != read() {
		t.Error("the kubeconfig changed")
	}
}
