package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/client"
)

// resolver turns entries and overrides into a Config.
type resolver struct {
	o    Options
	m    *merged
	cfg  *Config
	from string // source of the cluster, for warnings

	extensions yaml.Node  // of the cluster's entry
	proxy      string     // the URL in use, for a plugin
	exec       *execution // nil = no plugin
	provider   error      // set if the user has an auth-provider
}

// resolve selects context, cluster and user from m and applies the overrides.
func (o Options) resolve(m *merged) (*Config, error) {
	r := resolver{o: o, m: m, from: "--server", cfg: &Config{Sources: m.sources, Warnings: m.warnings}}
	ctx, err := r.context()
	if err != nil {
		return nil, err
	}
	if err := r.cluster(cmp.Or(o.Cluster, ctx.Cluster), ctx); err != nil {
		return nil, err
	}
	if err := r.user(cmp.Or(o.User, ctx.User), ctx); err != nil {
		return nil, err
	}
	if err := r.override(); err != nil {
		return nil, err
	}
	r.cfg.Namespace = cmp.Or(o.Namespace, ctx.Namespace, "default")
	return r.cfg, nil
}

func (r *resolver) context() (contextEntry, error) {
	name, flag := r.m.current, "current-context "
	if r.o.Context != "" {
		name, flag = r.o.Context, "context "
	}
	ctx, ok := r.m.contexts[name]
	if !ok && name == "" {
		return ctx, nil
	}
	if !ok {
		return ctx, fmt.Errorf("%s%s is not in %s; it has: %s", flag, quote(name), r.files(), names(r.m.contexts))
	}
	r.cfg.Context = name
	return ctx, nil
}

func (r *resolver) files() string { return cmp.Or(r.m.where(), "any kubeconfig") }

// missing returns the error for a cluster or user that no file has.
func (r *resolver) missing(what, name string, ctx contextEntry, flag, have string) error {
	by := ""
	if flag == "" {
		by = fmt.Sprintf(", which context %s of %s names,", quote(r.cfg.Context), ctx.file)
	}
	return fmt.Errorf("%s %s%s is not in %s; it has: %s", what, quote(name), by, r.files(), have)
}

func (r *resolver) cluster(name string, ctx contextEntry) error {
	e, ok := r.m.clusters[name]
	if !ok && r.o.Server != "" && r.o.Cluster == "" {
		return nil // --server is enough
	}
	if !ok && name == "" {
		if r.cfg.Context != "" {
			return fmt.Errorf("%w: context %s in %s names no cluster; give --cluster, one of: %s",
				ErrNoCluster, quote(r.cfg.Context), ctx.file, names(r.m.clusters))
		}
		return r.o.nothing(r.m)
	}
	if !ok {
		return r.missing("cluster", name, ctx, r.o.Cluster, names(r.m.clusters))
	}
	r.from = "cluster " + quote(name) + " in " + e.file
	r.cfg.Cluster = name
	c := &r.cfg.Client
	c.Server, c.TLS.ServerName, c.TLS.Insecure = e.Server, e.TLSServerName, e.Insecure
	r.extensions = e.Extensions
	if e.DisableCompression {
		c.Compression = "none"
	}
	if c.Server == "" && r.o.Server == "" {
		return fmt.Errorf("%s has no server: add one such as https://host:6443, or give --server", r.from)
	}
	if e.ProxyURL != "" && r.o.ProxyURL == "" {
		if err := r.setProxy(e.ProxyURL); err != nil {
			return fmt.Errorf("%s: proxy-url %w", r.from, err)
		}
	}
	if r.o.CAFile != "" || r.o.Insecure {
		return nil // the CA is overridden, broken or not
	}
	if e.Insecure && (e.CAFile != "" || e.CAData != "") {
		return fmt.Errorf("%s: insecure-skip-tls-verify and certificate-authority contradict each other: remove one", r.from)
	}
	var err error
	if c.TLS.CAFile, c.TLS.CAData, err = r.pem(r.from, "certificate-authority", e.CAFile, e.CAData); err != nil {
		return err
	}
	if c.TLS.CAData != nil && !x509.NewCertPool().AppendCertsFromPEM(c.TLS.CAData) {
		return fmt.Errorf("%s: certificate-authority-data holds no certificate: want PEM, in base64", r.from)
	}
	return nil
}

func (r *resolver) user(name string, ctx contextEntry) error {
	e, ok := r.m.users[name]
	switch {
	case ok:
	case name == "", r.o.User == "" && (r.o.identified() || r.o.CertFile != "" && r.o.KeyFile != ""):
		return nil // anonymous, or the flags hold credentials
	default:
		return r.missing("user", name, ctx, r.o.User, names(r.m.users))
	}
	from := "user " + quote(name) + " in " + e.file
	r.cfg.User = name
	c := &r.cfg.Client
	c.Impersonate = client.Impersonate{User: e.As, UID: e.AsUID, Groups: e.AsGroups, Extra: e.AsExtra}
	if e.As == "" && r.o.As == "" && (e.AsUID != "" || len(e.AsGroups) > 0 || len(e.AsExtra) > 0) {
		return fmt.Errorf("%s: as is missing, which as-uid, as-groups and as-user-extra need", from)
	}
	if r.o.identified() {
		return nil // the flags hold credentials
	}
	if (e.Token != "" || e.TokenFile != "") && (e.Username != "" || e.Password != "") {
		return fmt.Errorf("%s has both a token and a username or password: remove one", from)
	}
	c.Token, c.TokenFile, c.Username, c.Password = e.Token, e.TokenFile, e.Username, e.Password
	if e.TokenFile != "" {
		check := readable
		if e.Token != "" {
			check = holdsToken
		}
		switch err := check(e.TokenFile); {
		case err != nil && e.Token == "":
			return fmt.Errorf("%s: tokenFile: %w", from, err)
		case err != nil:
			r.warn("%s: tokenFile: %v; the token is used", from, err)
			c.TokenFile = ""
		}
	}
	if err := r.certificate(from, e); err != nil {
		return err
	}
	return r.command(name, from, e)
}

// command looks for an exec plugin. As in kubectl, other credentials of the entry take
// precedence over a plugin. An auth-provider is refused in any case.
func (r *resolver) command(name, from string, e userEntry) error {
	c := &r.cfg.Client
	switch {
	case e.Exec != nil && e.Provider != nil:
		return fmt.Errorf("%s has both an exec entry and an auth-provider: remove one", from)
	case e.Exec == nil && e.Provider == nil:
		return nil
	}
	wins := ""
	switch {
	case r.o.CertFile != "" && r.o.KeyFile != "":
		return nil
	case c.Token != "":
		wins = "token"
	case c.TokenFile != "":
		wins = "tokenFile"
	case c.Username != "":
		wins = "username"
	case c.TLS.CertFile != "" || c.TLS.CertData != nil:
		wins = "client-certificate"
	}
	switch {
	case wins != "" && e.Exec != nil:
		r.warn("%s has both %s and exec; the %s is used, as by kubectl", from, wins, wins)
	case wins != "":
		r.warn("%s has both %s and auth-provider; the %s is used", from, wins, wins)
	case e.Exec != nil:
		r.exec = &execution{e.Exec, from}
	default:
		r.provider = &ProviderError{User: name, File: e.file, Provider: e.Provider.Name}
	}
	return nil
}

// certificate uses the client certificate of e, unless options override it.
func (r *resolver) certificate(from string, e userEntry) error {
	t := &r.cfg.Client.TLS
	var err error
	if r.o.CertFile == "" {
		if t.CertFile, t.CertData, err = r.pem(from, "client-certificate", e.CertFile, e.CertData); err != nil {
			return err
		}
	}
	if r.o.KeyFile == "" {
		if t.KeyFile, t.KeyData, err = r.pem(from, "client-key", e.KeyFile, e.KeyData); err != nil {
			return err
		}
	}
	cert := r.o.CertFile != "" || t.CertFile != "" || len(t.CertData) > 0
	key := r.o.KeyFile != "" || t.KeyFile != "" || len(t.KeyData) > 0
	switch {
	case cert && !key && r.o.CertFile != "":
		return fmt.Errorf("--client-certificate needs --client-key: %s has none", from)
	case cert && !key:
		return fmt.Errorf("%s has a client-certificate without a client-key", from)
	case key && !cert && r.o.KeyFile != "":
		return fmt.Errorf("%s has no client-certificate: --client-key needs --client-certificate", from)
	case key && !cert:
		r.warn("%s has a client-key without a client-certificate; it is not used", from)
		t.KeyFile, t.KeyData = "", nil
	}
	if t.CertData != nil && t.KeyData != nil {
		// The cause may quote the data.
		if _, err := tls.X509KeyPair(t.CertData, t.KeyData); err != nil {
			return fmt.Errorf("%s: client-certificate-data and client-key-data are not a certificate and its key: want PEM, in base64", from)
		}
	}
	return nil
}

// pem returns the file or the data of key. If both are set, data is used, as the API
// documents; kubectl refuses both.
func (r *resolver) pem(from, key, file, data string) (string, []byte, error) {
	if strings.TrimSpace(data) != "" {
		if file != "" {
			r.warn("%s: %s-data and %s are both set; the data is used", from, key, key)
		}
		b, err := decode64(data)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %s-data is %w", from, key, err)
		}
		return "", b, nil
	}
	if file == "" {
		return "", nil, nil
	}
	if err := readable(file); err != nil {
		return "", nil, fmt.Errorf("%s: %s: %w", from, key, err)
	}
	return file, nil, nil
}

func (r *resolver) warn(format string, args ...any) {
	r.cfg.Warnings = append(r.cfg.Warnings, fmt.Sprintf(format, args...))
}
