package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/listwatch/listwatch/client"
)

// override applies the options to the result of the entries, then checks it.
func (r *resolver) override() error {
	o, c := r.o, &r.cfg.Client
	c.Server = cmp.Or(o.Server, c.Server)
	if o.TLSServerName != "" || o.Server != "" {
		c.TLS.ServerName = o.TLSServerName // the entry's name is for another server
	}
	c.Timeout = o.RequestTimeout
	if o.DisableCompression {
		c.Compression = "none"
	}
	if o.ProxyURL != "" {
		if err := r.setProxy(o.ProxyURL); err != nil {
			return fmt.Errorf("--proxy-url %w", err)
		}
	}
	switch {
	case o.CAFile != "":
		c.TLS.CAFile, c.TLS.CAData, c.TLS.Insecure = o.CAFile, nil, false
	case o.Insecure:
		c.TLS.CAFile, c.TLS.CAData, c.TLS.Insecure = "", nil, true
	}
	if err := r.identity(); err != nil {
		return err
	}
	if err := r.impersonate(); err != nil {
		return err
	}
	from := r.from
	if o.Server != "" {
		from = "--server"
	}
	u, assumed, err := base(c.Server)
	if err != nil {
		if o.Server != "" {
			return fmt.Errorf("--server %w", err)
		}
		return fmt.Errorf("%s: server %w", from, err)
	}
	c.Server = u.String()
	if assumed {
		r.warn("%s: the server %s has no scheme: http is used, as in kubectl; write https:// in front if it uses TLS", from, quote(u.Host))
	}
	if u.Scheme == "http" {
		r.plain()
		return nil
	}
	if c.TLS.Insecure {
		why := r.from
		if o.Insecure {
			why = "--insecure-skip-tls-verify"
		}
		r.warn("the certificate of %s is not verified (%s): anybody in between can read and change everything", u.Host, why)
	}
	if r.provider != nil {
		return r.provider
	}
	r.permissions()
	r.expired()
	return r.credentials()
}

// identity replaces the user's credentials by those of the options.
func (r *resolver) identity() error {
	o, c := r.o, &r.cfg.Client
	if o.identified() {
		c.Token, c.TokenFile, c.Username, c.Password = o.Token, o.TokenFile, o.Username, o.Password
		c.TLS.CertFile, c.TLS.CertData, c.TLS.KeyFile, c.TLS.KeyData = "", nil, "", nil
	}
	if o.CertFile != "" {
		c.TLS.CertFile, c.TLS.CertData = o.CertFile, nil
	}
	if o.KeyFile != "" {
		c.TLS.KeyFile, c.TLS.KeyData = o.KeyFile, nil
	}
	if cert, key := c.TLS.CertFile != "" || c.TLS.CertData != nil, c.TLS.KeyFile != "" || c.TLS.KeyData != nil; cert != key {
		return errors.New("--client-certificate and --client-key belong together: give both")
	}
	for _, f := range []struct{ flag, path string }{
		{"--certificate-authority", o.CAFile},
		{"--client-certificate", o.CertFile},
		{"--client-key", o.KeyFile},
		{"token file", o.TokenFile},
	} {
		if f.path == "" {
			continue
		}
		if err := readable(f.path); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return nil
}

// impersonate replaces all impersonation if --as is given: groups that a file gives to
// one user must not apply to another.
func (r *resolver) impersonate() error {
	o, im := r.o, &r.cfg.Client.Impersonate
	if o.As != "" {
		*im = client.Impersonate{User: o.As}
	}
	if len(o.AsGroups) > 0 {
		im.Groups = append([]string(nil), o.AsGroups...)
	}
	im.UID = cmp.Or(o.AsUID, im.UID)
	if len(o.AsExtra) > 0 {
		im.Extra = maps.Clone(im.Extra) // the map belongs to the file
		if im.Extra == nil {
			im.Extra = make(map[string][]string)
		}
		for key, values := range o.AsExtra {
			im.Extra[key] = append([]string(nil), values...)
		}
	}
	if im.User == "" && (im.UID != "" || len(im.Groups) > 0 || len(im.Extra) > 0) {
		return errors.New("--as-group, --as-uid and --as-user-extra need --as")
	}
	return nil
}

// plain removes all credentials, a plugin and the error about a provider from a
// configuration with plain HTTP, as kubectl does: they would cross the network
// unencrypted.
func (r *resolver) plain() {
	c := &r.cfg.Client
	if c.Token != "" || c.TokenFile != "" || c.Username != "" || c.Password != "" || r.exec != nil || r.provider != nil {
		r.warn("the server's URL is http, not https: no credentials are sent")
	}
	c.Token, c.TokenFile, c.Username, c.Password, c.TLS = "", "", "", "", client.TLS{}
}
