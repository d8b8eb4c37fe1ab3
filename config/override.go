package config

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/client"
)

// override lays the options over what the entries gave, then checks the whole.
func (r *resolver) override() error {
	o, c := r.o, &r.cfg.Client
	c.Server = cmp.Or(o.Server, c.Server)
	c.TLS.ServerName = cmp.Or(o.TLSServerName, c.TLS.ServerName)
	c.Timeout = o.RequestTimeout
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
	u, err := checkServer(c.Server)
	if err != nil {
		return fmt.Errorf("%s: server %w", from, err)
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
	return r.plugin
}

// identity lays the credentials of the options over those of the user.
func (r *resolver) identity() error {
	o, c := r.o, &r.cfg.Client
	if o.Token != "" || o.TokenFile != "" {
		c.Token, c.TokenFile, c.Username, c.Password = o.Token, o.TokenFile, "", ""
		c.TLS.CertFile, c.TLS.CertData, c.TLS.KeyFile, c.TLS.KeyData = "", nil, "", nil
		r.plugin = nil
	}
	if o.CertFile != "" {
		c.TLS.CertFile, c.TLS.CertData = o.CertFile, nil
	}
	if o.KeyFile != "" {
		c.TLS.KeyFile, c.TLS.KeyData = o.KeyFile, nil
	}
	if o.CertFile != "" && o.KeyFile != "" {
		r.plugin = nil
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

// impersonate replaces the whole of it where --as is given: groups that a file
// grants to one name are not for another.
func (r *resolver) impersonate() error {
	o, im := r.o, &r.cfg.Client.Impersonate
	if o.As != "" {
		*im = client.Impersonate{User: o.As}
	}
	if len(o.AsGroups) > 0 {
		im.Groups = append([]string(nil), o.AsGroups...)
	}
	im.UID = cmp.Or(o.AsUID, im.UID)
	if im.User == "" && (im.UID != "" || len(im.Groups) > 0) {
		return errors.New("--as-group and --as-uid need --as")
	}
	return nil
}

// plain takes all credentials out of a configuration that speaks plain HTTP,
// as kubectl does: they would cross the network in the clear.
func (r *resolver) plain() {
	c := &r.cfg.Client
	if c.Token != "" || c.TokenFile != "" || c.Username != "" || c.Password != "" {
		r.warn("the server's URL is http, not https: no credentials are sent")
	}
	c.Token, c.TokenFile, c.Username, c.Password, c.TLS = "", "", "", "", client.TLS{}
}

// PluginError means that a user's credentials come from a command or a
// provider, which this package does not run.
type PluginError struct {
	User    string // name of the user's entry
	File    string // the kubeconfig it stands in
	Kind    string // "exec" or "auth-provider"
	Command string // the command, or the provider's name
}

// Error names the user, the file and the command, and what to do.
func (e *PluginError) Error() string {
	const do = "give --token, or --client-certificate and --client-key"
	if e.Kind == "exec" {
		return fmt.Sprintf("user %s in %s takes its credentials from the command %s, which this version does not run; %s",
			quote(e.User), e.File, quote(e.Command), do)
	}
	return fmt.Sprintf("user %s in %s takes its credentials from the auth-provider %s, which is not supported; %s",
		quote(e.User), e.File, quote(e.Command), do)
}
