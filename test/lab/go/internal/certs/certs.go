// Package certs makes the certificates of one API server of the lab: what kubeadm or an installer
// does on a cluster. Left out: rotation, separate CAs, an encrypted key.
package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const lifetime = 30 * 24 * time.Hour

// user is a client certificate and the kubeconfig that holds it.
type user struct {
	file, name string
	groups     []string
}

var users = []user{
	{"admin", "lab-admin", []string{"system:masters"}},
	{"controller-manager", "system:kube-controller-manager", []string{"system:masters"}},
	{"node", "system:node:lab", []string{"system:masters"}},
	{"kubelet-client", "kube-apiserver-kubelet-client", []string{"system:masters"}},
}

// Main is the command "certs DIR SERVER-URL": it fills DIR, unless that was done before.
func Main(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: certs DIR SERVER-URL")
		return 2
	}
	if err := Make(args[0], args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "certs:", err)
		return 1
	}
	return 0
}

// Make writes ca.crt, server.crt/.key, sa.key, and per user NAME.crt, NAME.key and NAME.kubeconfig.
func Make(dir, server string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return nil
	}
	ca, err := newAuthority(dir)
	if err != nil {
		return err
	}
	if err := ca.server(dir); err != nil {
		return err
	}
	if err := serviceAccountKey(dir); err != nil {
		return err
	}
	for _, u := range users {
		if err := ca.user(dir, server, u); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "complete"), nil, 0o600)
}

type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate(pkix.Name{CommonName: "lab-ca"})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	ca := &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}
	return ca, os.WriteFile(filepath.Join(dir, "ca.crt"), ca.pem, 0o644)
}

func (ca *authority) server(dir string) error {
	template := newTemplate(pkix.Name{CommonName: "lab-server"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	_, _, err := ca.issue(dir, "server", template)
	return err
}

func (ca *authority) user(dir, server string, u user) error {
	template := newTemplate(pkix.Name{CommonName: u.name, Organization: u.groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	cert, key, err := ca.issue(dir, u.file, template)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca.pem}
	config.AuthInfos[u.name] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: u.name}
	config.CurrentContext = "lab"
	return clientcmd.WriteToFile(*config, filepath.Join(dir, u.file+".kubeconfig"))
}

// issue signs template and writes file.crt and file.key.
func (ca *authority) issue(dir, file string, template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	certPEM, keyPEM = encode("CERTIFICATE", der), encode("EC PRIVATE KEY", keyDER)
	if err := os.WriteFile(filepath.Join(dir, file+".crt"), certPEM, 0o644); err != nil {
		return nil, nil, err
	}
	return certPEM, keyPEM, os.WriteFile(filepath.Join(dir, file+".key"), keyPEM, 0o600)
}

func serviceAccountKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sa.key"), encode("EC PRIVATE KEY", der), 0o600)
}

func newTemplate(subject pkix.Name) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // the system has no randomness: nothing else would work either
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
