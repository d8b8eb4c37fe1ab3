package webhook

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipeIsNoCertificate: nobody writes into it, and Run would not end.
func TestPipeIsNoCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tls.crt")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readPEM(path); err == nil || !strings.HasSuffix(err.Error(), "tls.crt is no file") {
		t.Error(err)
	}
}
