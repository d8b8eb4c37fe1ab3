package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/listwatch/listwatch/client"
)

// resolver turns entries and overrides into a Config.
type resolver struct {
	o    Options
	m    *merged
	cfg  *Config
	from string // where the cluster comes from, for warnings

	plugin error // set where the user needs what we do not have
}

// resolve picks context, cluster and user from m and lays the overrides on top.
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
	if name == "" {
		return contextEntry{}, nil
	}
	ctx, ok := r.m.contexts[name]
	if !ok {
		return ctx, fmt.Errorf("%s%s is not in %s; it has: %s", flag, quote(name), r.files(), names(r.m.contexts))
	}
	r.cfg.Context = name
	return ctx, nil
}

func (r *resolver) files() string { return cmp.Or(r.m.where(), "any kubeconfig") }

// missing is the error for a cluster or user that stands nowhere.
func (r *resolver) missing(what, name string, ctx contextEntry, flag, have string) error {
	by := ""
	if flag == "" {
		by = fmt.Sprintf(", which context %s of %s names,", quote(r.cfg.Context), ctx.file)
	}
	return fmt.Errorf("%s %s%s is not in %s; it has: %s", what, quote(name), by, r.files(), have)
}

func (r *resolver) cluster(name string, ctx contextEntry) error {
	if name == "" {
		switch {
		case r.o.Server != "":
			return nil
		case r.cfg.Context != "":
			return fmt.Errorf("%w: context %s in %s names no cluster; give --cluster, one of: %s",
				ErrNoCluster, quote(r.cfg.Context), ctx.file, names(r.m.clusters))
		}
		return r.o.nothing(r.m)
	}
	e, ok := r.m.clusters[name]
	if !ok {
		return r.missing("cluster", name, ctx, r.o.Cluster, names(r.m.clusters))
	}
	r.from = "cluster " + quote(name) + " in " + e.file
	c := &r.cfg.Client
	c.Server, c.TLS.ServerName, c.TLS.Insecure = e.Server, e.TLSServerName, e.Insecure
	if e.DisableCompression {
		c.Compression = "none"
	}
	if c.Server == "" && r.o.Server == "" {
		return fmt.Errorf("%s has no server: add one such as https://host:6443, or give --server", r.from)
	}
	if e.ProxyURL != "" {
		u, err := parseProxy(e.ProxyURL)
		if err != nil {
			return fmt.Errorf("%s: proxy-url %w", r.from, err)
		}
		c.Proxy = http.ProxyURL(u)
	}
	if r.o.CAFile != "" || r.o.Insecure {
		return nil // the CA is overridden, broken or not
	}
	if e.Insecure && (e.CAFile != "" || e.CAData != "") {
		return fmt.Errorf("%s: insecure-skip-tls-verify and certificate-authority contradict each other: remove one", r.from)
	}
	var err error
	c.TLS.CAFile, c.TLS.CAData, err = r.pem(r.from, "certificate-authority", e.CAFile, e.CAData)
	return err
}

func (r *resolver) user(name string, ctx contextEntry) error {
	if name == "" {
		return nil
	}
	e, ok := r.m.users[name]
	if !ok {
		return r.missing("user", name, ctx, r.o.User, names(r.m.users))
	}
	from := "user " + quote(name) + " in " + e.file
	c := &r.cfg.Client
	c.Impersonate = client.Impersonate{User: e.As, UID: e.AsUID, Groups: e.AsGroups, Extra: e.AsExtra}
	if e.As == "" && r.o.As == "" && (e.AsUID != "" || len(e.AsGroups) > 0 || len(e.AsExtra) > 0) {
		return fmt.Errorf("%s: as-uid, as-groups and as-user-extra need as", from)
	}
	if r.o.Token != "" || r.o.TokenFile != "" {
		return nil // the flag says who we are
	}
	switch {
	case e.Exec != nil:
		r.plugin = &PluginError{User: name, File: e.file, Kind: "exec", Command: e.Exec.Command}
	case e.Provider != nil:
		r.plugin = &PluginError{User: name, File: e.file, Kind: "auth-provider", Command: e.Provider.Name}
	}
	if (e.Token != "" || e.TokenFile != "") && (e.Username != "" || e.Password != "") {
		return fmt.Errorf("%s has both a token and a username or password: remove one", from)
	}
	c.Token, c.TokenFile, c.Username, c.Password = e.Token, e.TokenFile, e.Username, e.Password
	if e.TokenFile != "" {
		if err := readable(e.TokenFile); err != nil {
			return fmt.Errorf("%s: tokenFile: %w", from, err)
		}
	}
	return r.certificate(from, e)
}

// certificate takes the client certificate of e, less what is overridden.
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
	case cert && !key:
		return fmt.Errorf("%s has a client-certificate without a client-key", from)
	case key && !cert:
		return fmt.Errorf("%s has a client-key without a client-certificate", from)
	}
	return nil
}

// pem returns the file or the data of key; data wins, as in kubectl.
func (r *resolver) pem(from, key, file, data string) (string, []byte, error) {
	if data != "" {
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

// parseProxy reads a proxy URL. Its errors do not show it: it may hold a password.
func parseProxy(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil, errors.New("is not a URL such as http://proxy:3128")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return u, nil
	}
	return nil, errors.New("has a scheme other than http, https and socks5")
}

// checkServer refuses what is not a base URL, without showing what may hold a
// password.
func checkServer(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		if u.User != nil {
			return nil, errors.New("holds a user name: put it into the user's entry")
		}
		return u, nil
	}
	if strings.ContainsAny(s, "@?") {
		return nil, errors.New("is not a URL such as https://host:6443")
	}
	return nil, fmt.Errorf("%s is not a URL such as https://host:6443", quote(s))
}
