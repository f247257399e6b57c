// Package ports gives the parts of a lab ports of their own. They lie below the range from which the
// kernel takes ports for outgoing connections, so a part that is restarted finds its port free, and
// they are claimed in one file under a lock, so that two labs that start together do not collide.
package ports

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	lowest  = 20000
	highest = 32000
)

// Main is the command "ports LAB-DIR NAME...": it adds NAME=PORT lines to LAB-DIR/ports.
func Main(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: ports LAB-DIR NAME...")
		return 2
	}
	claims := filepath.Join(os.TempDir(), fmt.Sprintf("distverify-lab-ports.%d", os.Getuid()))
	if err := Claim(claims, args[0], args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ports:", err)
		return 1
	}
	return 0
}

// Claim gives every name a port; a name that has one keeps it.
func Claim(claimsFile, lab string, names []string) error {
	file, err := os.OpenFile(claimsFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	taken, err := claimed(file)
	if err != nil {
		return err
	}
	mine, err := readPorts(lab)
	if err != nil {
		return err
	}
	for _, name := range names {
		if mine.has(name) {
			continue
		}
		port, err := pick(taken)
		if err != nil {
			return err
		}
		taken[port] = lab
		mine = append(mine, entry{name, port})
	}
	if err := mine.write(lab); err != nil {
		return err
	}
	return writeClaims(file, taken)
}

// claimed reads the claims that still hold: those whose lab still lists the port.
func claimed(file *os.File) (map[int]string, error) {
	taken := map[int]string{}
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		number, lab, _ := strings.Cut(scanner.Text(), " ")
		port, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		if entries, err := readPorts(lab); err == nil && entries.hasPort(port) {
			taken[port] = lab
		}
	}
	return taken, scanner.Err()
}

func writeClaims(file *os.File, taken map[int]string) error {
	var text strings.Builder
	for port, lab := range taken {
		fmt.Fprintf(&text, "%d %s\n", port, lab)
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(text.String()), 0)
	return err
}

func pick(taken map[int]string) (int, error) {
	for range highest - lowest {
		port := lowest + rand.IntN(highest-lowest)
		if _, ok := taken[port]; !ok && free(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d", lowest, highest)
}

func free(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

type entry struct {
	name string
	port int
}

type entries []entry

func (e entries) has(name string) bool {
	for _, one := range e {
		if one.name == name {
			return true
		}
	}
	return false
}

func (e entries) hasPort(port int) bool {
	for _, one := range e {
		if one.port == port {
			return true
		}
	}
	return false
}

func (e entries) write(lab string) error {
	var text strings.Builder
	for _, one := range e {
		fmt.Fprintf(&text, "%s=%d\n", one.name, one.port)
	}
	path := filepath.Join(lab, "ports")
	if err := os.WriteFile(path+".new", []byte(text.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func readPorts(lab string) (entries, error) {
	text, err := os.ReadFile(filepath.Join(lab, "ports"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all entries
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), "=")
		port, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%s/ports: %q is not NAME=PORT", lab, line)
		}
		all = append(all, entry{name, port})
	}
	return all, nil
}
