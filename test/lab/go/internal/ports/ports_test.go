package ports

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestLabsShareNoPort(t *testing.T) {
	dir := t.TempDir()
	claims := filepath.Join(dir, "claims")
	names := []string{"a", "b", "c", "d"}
	const labs = 8
	var group sync.WaitGroup
	for i := range labs {
		lab := filepath.Join(dir, string(rune('0'+i)))
		if err := os.Mkdir(lab, 0o700); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			if err := Claim(claims, lab, names); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := map[int]bool{}
	for i := range labs {
		entries, err := readPorts(filepath.Join(dir, string(rune('0'+i))))
		if err != nil || len(entries) != len(names) {
			t.Fatalf("%v %v", entries, err)
		}
		for _, one := range entries {
			if seen[one.port] {
				t.Errorf("port %d twice", one.port)
			}
			seen[one.port] = true
		}
	}
}

func TestANameKeepsItsPort(t *testing.T) {
	dir := t.TempDir()
	claims := filepath.Join(dir, "claims")
	if err := Claim(claims, dir, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	before, _ := readPorts(dir)
	if err := Claim(claims, dir, []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	after, _ := readPorts(dir)
	if len(after) != 2 || after[0] != before[0] {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestAClaimEndsWithItsLab(t *testing.T) {
	dir := t.TempDir()
	claims := filepath.Join(dir, "claims")
	if err := Claim(claims, dir, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "ports")); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(claims)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if taken, err := claimed(file); err != nil || len(taken) != 0 {
		t.Errorf("%v %v", taken, err)
	}
}
