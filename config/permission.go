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

// openness is what matters of a file when others than its owner get at it.
type openness struct {
	mode    fs.FileMode
	secrets bool // it holds credentials
	command bool // it names commands that are run
}

// warning says in one sentence what is wrong with the permissions of the file at
// path, and what to do; empty if nothing is.
func (s openness) warning(what, path string) string {
	if runtime.GOOS == "windows" || !s.mode.IsRegular() || mounted(path) {
		return "" // no such bits; a pipe
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

// permissions warns of files with credentials that others may read: those that
// the result names. The kubeconfig files were looked at as they were read.
func (r *resolver) permissions() {
	c := &r.cfg.Client
	for _, f := range []struct{ what, path string }{{"client key", c.TLS.KeyFile}, {"token file", c.TokenFile}} {
		if f.path == "" {
			continue
		}
		info, err := os.Stat(f.path)
		if err != nil {
			continue // whoever reads it says so
		}
		if w := (openness{mode: info.Mode(), secrets: true}).warning(f.what, f.path); w != "" {
			r.warn("%s", w)
		}
	}
}

// mounted reports whether path is that of a pod's service account, whose mode is
// the kubelet's business: others in the pod are to read it too.
func mounted(path string) bool {
	path = strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/var")
	return strings.HasPrefix(path, "/run/secrets/kubernetes.io/serviceaccount/")
}

// expired warns of a client certificate that is no longer any good, for which
// the server has no other word than Unauthorized.
func (r *resolver) expired() {
	t := r.cfg.Client.TLS
	b := t.CertData
	if b == nil && t.CertFile != "" {
		b, _, _ = readLimited(t.CertFile) // whoever uses it says what is wrong
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return
	}
	if cert, err := x509.ParseCertificate(block.Bytes); err == nil && time.Now().After(cert.NotAfter) {
		r.warn("the client certificate %sexpired on %s: get a new one", strings.TrimPrefix(t.CertFile+" ", " "), cert.NotAfter.UTC().Format(time.DateOnly))
	}
}
