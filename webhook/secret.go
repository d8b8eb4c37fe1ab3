package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// The members of the Secret's data. Others are kept.
const (
	newCert = "tls.crt" // the newest pair, with its CA
	newKey  = "tls.key"
	oldCert = "old.crt" // the pair before it
	oldKey  = "old.key"
	caCerts = "ca.crt"  // every CA that configurations must hold
	settled = "settled" // mark of the newest CA, once a replica has seen it settle
)

// vault is the state in the Secret. Pairs are nil if they are missing or damaged.
type vault struct {
	tree     map[string]any // the Secret; nil = it does not exist
	newest   *pair
	old      *pair
	trusted  bundle
	settled  string
	damaged  error // why a pair is nil though there are bytes
	stranger bool  // there was no pair: the Secret is missing, empty or damaged
}

// readVault reads the Secret.
func (s *Server) readVault(ctx context.Context) (*vault, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := client.Of[codec.Raw](s.client, kube.Secrets).Get(ctx, s.options.Secret)
	if errors.Is(err, kube.ErrNotFound) {
		return &vault{trusted: bundle{}, stranger: true}, nil
	}
	if err != nil {
		return nil, err
	}
	var o struct {
		Data map[string][]byte `json:"data"`
	}
	v := &vault{}
	if err := errors.Join(raw.Decode(&o), raw.Decode(&v.tree)); err != nil {
		return nil, fmt.Errorf("read the Secret %s: %w", s.options.Secret, err)
	}
	v.trusted, v.settled = parseBundle(o.Data[caCerts]), string(o.Data[settled])
	var errNew, errOld error
	v.newest, errNew = pairIn(o.Data, newCert, newKey)
	v.old, errOld = pairIn(o.Data, oldCert, oldKey)
	v.damaged, v.stranger = errors.Join(errNew, errOld), v.newest == nil
	return v, nil
}

func pairIn(data map[string][]byte, cert, key string) (*pair, error) {
	if len(data[cert]) == 0 && len(data[key]) == 0 {
		return nil, nil
	}
	p, err := parsePair(data[cert], data[key])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", cert, key, err)
	}
	return p, nil
}

// revise returns what the Secret should hold, and why; "" = what it holds. The caller
// serves the pair serving, which may be nil; now is its clock.
func (s *Server) revise(v *vault, serving *pair, seen bundle, now time.Time) (next vault, why string, err error) {
	next = *v
	if serving != nil && serving.ca == nil {
		serving = nil
	}
	if !s.fit(v.newest, now) && s.fit(serving, now) {
		next.newest, next.settled, why = serving, "", "the Secret has no valid certificate: the served one is stored"
		if s.isReady() {
			next.settled = mark(serving.ca)
		}
	} else if s.isReady() && s.fit(serving, now) && !serving.same(v.newest) && !serving.same(v.old) && !s.fit(v.old, now) {
		next.old, why = serving, "the Secret has a new certificate only: the served one is added"
	}
	if reason := s.outdated(&next, now); reason != "" {
		hosts := s.options.hosts()
		if s.fit(next.newest, now) && !next.newest.serves(hosts) { // replicas with another Service may still run
			hosts = append(hosts, next.newest.hosts()...)
		}
		fresh, err := issue(hosts[:min(len(hosts), maxHosts)], now, s.options.Lifetime)
		if err != nil {
			return next, "", err
		}
		if s.fit(next.newest, now) && next.settled == mark(next.newest.ca) {
			next.old = next.newest
		}
		next.newest, next.settled, why = fresh, "", reason
	}
	all := bundle{mark(next.newest.ca): next.newest.ca}
	for _, p := range []*pair{next.old, serving} {
		if s.fit(p, now) {
			all[mark(p.ca)] = p.ca
		}
	}
	next.trusted = all.with(v.trusted, now).with(seen, now)
	if why == "" && !v.trusted.has(all) {
		why = "a served CA is missing in the bundle"
	}
	return next, why, nil
}

// fit reports whether p is valid by every clock, also one that is wrong by a twelfth of
// the lifetime. p may be nil.
func (s *Server) fit(p *pair, now time.Time) bool {
	return p.valid(now) && p.valid(now.Add(min(skew, s.options.Lifetime/12)))
}

// outdated returns why a new certificate is needed; "" = it is not.
func (s *Server) outdated(v *vault, now time.Time) string {
	switch {
	case v.newest == nil:
		return "there is no certificate"
	case !s.fit(v.newest, now):
		return "the certificate has expired, or is not valid yet"
	case !v.newest.serves(s.options.hosts()):
		return "the certificate is for other names"
	case v.newest.leaf.NotAfter.Sub(now) < s.options.Lifetime/3 && v.settled == mark(v.newest.ca):
		return "the certificate ends soon"
	}
	return ""
}

// writeVault stores next, provided that the Secret is still the one that was read.
func (s *Server) writeVault(ctx context.Context, next *vault) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	tree, fresh := next.tree, next.tree == nil
	if fresh {
		tree = map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
			"metadata": map[string]any{"namespace": s.options.Secret.Namespace, "name": s.options.Secret.Name}}
	}
	data, _ := tree["data"].(map[string]any)
	if data == nil {
		data = make(map[string]any)
		tree["data"] = data
	}
	put := func(name string, b []byte) {
		if delete(data, name); len(b) > 0 {
			data[name] = base64.StdEncoding.EncodeToString(b)
		}
	}
	put(newCert, next.newest.certPEM)
	put(newKey, next.newest.keyPEM)
	put(oldCert, nil)
	put(oldKey, nil)
	if next.old != nil {
		put(oldCert, next.old.certPEM)
		put(oldKey, next.old.keyPEM)
	}
	put(caCerts, next.trusted.pem())
	put(settled, []byte(next.settled))
	b, err := codec.Encode(tree)
	if err != nil {
		return fmt.Errorf("encode the Secret %s: %w", s.options.Secret, err)
	}
	raw, err := codec.ParseRawFull(b)
	if err != nil {
		return fmt.Errorf("encode the Secret %s: %w", s.options.Secret, err)
	}
	secrets := client.Of[codec.RawFull](s.client, kube.Secrets).With(client.WriteOptions{FieldManager: s.options.Name})
	if fresh {
		_, err = secrets.Create(ctx, raw)
		return err
	}
	_, err = secrets.Update(ctx, raw)
	return err
}
