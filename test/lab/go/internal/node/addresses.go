package node

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
)

const (
	kubeletPort       = "10250"
	kubeletPortNumber = 10250
	claimPort         = "10249"
	blocks            = 254 * 256
)

// addresses is a block 127.x.y.0/24 that this node alone uses. The claim is a listening socket on .1,
// so the kernel keeps two nodes apart and takes the claim back when a node dies.
type addresses struct {
	node  net.IP
	claim net.Listener

	mu   sync.Mutex
	used map[byte]bool
	last byte
}

// claimAddresses prefers the block named in file (that of the node's last life), and writes it there.
func claimAddresses(file string) (*addresses, error) {
	first := preferredBlock(file)
	for i := range uint32(blocks) {
		block := (first + i) % blocks
		ip := net.IPv4(127, byte(1+block/256), byte(block%256), 1)
		claim, err := net.Listen("tcp", net.JoinHostPort(ip.String(), claimPort))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, err
		}
		a := &addresses{node: ip.To4(), claim: claim, used: map[byte]bool{}, last: 1}
		return a, os.WriteFile(file, []byte(fmt.Sprintln(block)), 0o644)
	}
	return nil, fmt.Errorf("all %d blocks of loopback addresses are taken", blocks)
}

func preferredBlock(file string) uint32 {
	var block uint32
	if text, err := os.ReadFile(file); err == nil {
		if _, err := fmt.Sscan(strings.TrimSpace(string(text)), &block); err == nil {
			return block % blocks
		}
	}
	hash := fnv.New32a()
	hash.Write([]byte(file))
	return hash.Sum32() % blocks
}

func (a *addresses) release() { a.claim.Close() }

// take gives an address to a pod; addresses are used in turn, so that one is not soon used again.
func (a *addresses) take() (net.IP, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 253 {
		a.last++
		if a.last < 2 || a.last > 254 {
			a.last = 2
		}
		if !a.used[a.last] {
			a.used[a.last] = true
			return net.IPv4(a.node[0], a.node[1], a.node[2], a.last).To4(), nil
		}
	}
	return nil, errors.New("no free pod address on this node")
}

func (a *addresses) give(ip net.IP) {
	if ip == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, ip.To4()[3])
}
