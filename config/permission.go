package config

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// openness says which files matter if other users can read or write them.
type openness struct {
	mode    fs.FileMode
	secrets bool // it holds credentials
	command bool // it names commands that are run
}

// warning returns one sentence about unsafe permissions of the file at path, and what to
// do; empty = none.
func (s openness) warning(what, path string) string {
	if runtime.GOOS == "windows" || !s.mode.IsRegular() || mounted(path) {
		return "" // no permission bits, or a pipe
	}
	mode := s.mode.Perm()
	switch {
	case s.secrets && mode&0o077 != 0:
		return fmt.Sprintf("%s %s holds credentials, and others than its owner get at it (mode %04o): chmod 600 %s", what, path, mode, path)
	case s.command && mode&0o022 != 0:
		return fmt.Sprintf("%s %s names a command to run, and others than its owner may change it (mode %04o): chmod 600 %s", what, path, mode, path)
	}
	return ""
}

// look notes whether k holds credentials or names commands.
func (k *kubeconfig) look() {
	for _, e := range k.Clusters {
		k.open.secrets = k.open.secrets || e.Cluster.secrets()
	}
	for _, e := range k.Users {
		k.open.secrets = k.open.secrets || e.User.secrets()
		k.open.command = k.open.command || e.User.Exec != nil
	}
}

// permissions warns of files with credentials that other users can read, among those that
// the result names. Kubeconfig files are checked when they are read.
func (r *resolver) permissions() {
	c := &r.cfg.Client
	for _, f := range []struct{ what, path string }{{"client key", c.TLS.KeyFile}, {"token file", c.TokenFile}} {
		if f.path == "" {
			continue
		}
		info, err := os.Stat(f.path)
		if err != nil {
			continue // reading it reports the error
		}
		if w := (openness{mode: info.Mode(), secrets: true}).warning(f.what, f.path); w != "" {
			r.warn("%s", w)
		}
	}
}

// mounted reports whether path belongs to a pod's service account, whose mode the
// kubelet sets: all users in the pod may read it.
func mounted(path string) bool {
	path = strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/var")
	return strings.HasPrefix(path, "/run/secrets/kubernetes.io/serviceaccount/")
}

// expired warns of an expired client certificate: the server would only answer
// Unauthorized.
func (r *resolver) expired() {
	t := r.cfg.Client.TLS
	b := t.CertData
	if b == nil && t.CertFile != "" {
		b, _, _ = readLimited(t.CertFile) // client.New reports the error
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return
	}
	if cert, err := x509.ParseCertificate(block.Bytes); err == nil && time.Now().After(cert.NotAfter) {
		r.warn("the client certificate %sexpired on %s: get a new one", strings.TrimPrefix(t.CertFile+" ", " "), cert.NotAfter.UTC().Format(time.DateOnly))
	}
}
