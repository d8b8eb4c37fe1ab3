package webhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// requestTimeout limits each request.
const requestTimeout = 10 * time.Second

// The resources that name webhooks.
var (
	mutatingConfigurations   = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "mutatingwebhookconfigurations", Kind: "MutatingWebhookConfiguration"}
	validatingConfigurations = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"}
)

// target is an object in which API servers find the CAs: a webhook configuration or a
// definition.
type target struct {
	resource kube.Resource
	key      kube.Key
	hooks    []*hook         // of a configuration; empty = a former program may have had some
	dropped  map[string]bool // webhooks of a former program, by name: at first, they led to this server, or it had applied them; nil = not read yet

	// As last read:

	exists   bool
	revision string
	has      map[string]bundle // by the name of a webhook; "" for a definition
	missing  []string          // webhooks that the configuration does not have
	former   []string          // the dropped webhooks that it has
	others   []json.RawMessage // all webhooks but those
}

// targets returns the objects that name the webhooks, or may name those of a former program.
func (s *Server) targets() []*target {
	var all []*target
	for _, c := range []struct {
		kind     kind
		resource kube.Resource
	}{{mutate, mutatingConfigurations}, {validate, validatingConfigurations}} {
		if hooks := s.list(c.kind); len(hooks) > 0 || s.options.Install {
			all = append(all, &target{resource: c.resource, key: kube.Key{Name: s.options.Name}, hooks: hooks})
		}
	}
	for _, h := range s.list(convert) {
		all = append(all, &target{resource: kube.CustomResourceDefinitions, key: kube.Key{Name: h.name}})
	}
	return all
}

// emptied reports whether t is a configuration that the program has no webhooks for.
func (t *target) emptied() bool { return t.hooks != nil && len(t.hooks) == 0 }

// read reads the target.
func (t *target) read(ctx context.Context, s *Server) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	t.exists, t.revision, t.has, t.missing, t.former, t.others = false, "", make(map[string]bundle), nil, nil, nil
	raw, err := client.Of[codec.RawFull](s.client, t.resource).Get(ctx, t.key)
	if err != nil && !errors.Is(err, kube.ErrNotFound) {
		if t.emptied() { // the permissions may be those of a former program
			return nil
		}
		return err
	}
	first := t.dropped == nil
	if first {
		t.dropped = make(map[string]bool)
	}
	if err != nil {
		return nil
	}
	t.exists, t.revision = true, raw.GetResourceVersion()
	if t.hooks == nil {
		return t.readDefinition(raw.Raw)
	}
	var o configuration
	if err := raw.Decode(&o); err != nil {
		return fmt.Errorf("read %s: %w", t, err)
	}
	for _, b := range o.Webhooks {
		w, err := codec.Decode[struct {
			Name         string       `json:"name"`
			ClientConfig clientConfig `json:"clientConfig"`
		}](b)
		if err != nil {
			return fmt.Errorf("read %s: %w", t, err)
		}
		switch ours := slices.ContainsFunc(t.hooks, func(h *hook) bool { return h.name == w.Name }); {
		case ours:
			t.has[w.Name] = parseBundle(w.ClientConfig.CABundle)
		case first && (w.ClientConfig.leadsTo(&s.options) || o.appliedBy(s.options.Name, w.Name)) || t.dropped[w.Name]: // those that come later are of a newer program
			t.dropped[w.Name] = true
			t.former = append(t.former, w.Name)
			continue
		}
		t.others = append(t.others, b)
	}
	for _, h := range t.hooks {
		if _, ok := t.has[h.name]; !ok {
			t.missing = append(t.missing, h.name)
		}
	}
	return nil
}

// configuration is a webhook configuration.
type configuration struct {
	Metadata struct {
		ManagedFields []struct {
			Manager   string `json:"manager"`
			Operation string `json:"operation"`
			Fields    struct {
				Webhooks map[string]json.RawMessage `json:"f:webhooks"`
			} `json:"fieldsV1"`
		} `json:"managedFields"`
	} `json:"metadata"`
	Webhooks []json.RawMessage `json:"webhooks"`
}

// appliedBy reports whether manager has applied a webhook, wherever it leads to.
func (c *configuration) appliedBy(manager, name string) bool {
	for _, m := range c.Metadata.ManagedFields {
		if _, ok := m.Fields.Webhooks[`k:{"name":"`+name+`"}`]; ok && m.Manager == manager && m.Operation == "Apply" {
			return true
		}
	}
	return false
}

type clientConfig struct {
	CABundle []byte `json:"caBundle"`
	URL      string `json:"url"`
	Service  struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"service"`
}

// leadsTo reports whether API servers reach the server of o by c.
func (c *clientConfig) leadsTo(o *Options) bool {
	if o.URL != "" {
		return strings.HasPrefix(c.URL, o.URL+"/")
	}
	return c.Service.Namespace == o.Service.Namespace && c.Service.Name == o.Service.Name
}

func (t *target) readDefinition(raw codec.Raw) error {
	var o struct {
		Spec struct {
			Conversion struct {
				Strategy string `json:"strategy"`
				Webhook  struct {
					ClientConfig clientConfig `json:"clientConfig"`
				} `json:"webhook"`
			} `json:"conversion"`
		} `json:"spec"`
	}
	if err := raw.Decode(&o); err != nil {
		return fmt.Errorf("read %s: %w", t, err)
	}
	if o.Spec.Conversion.Strategy != "Webhook" {
		t.missing = []string{"conversion"}
		return nil
	}
	t.has[""] = parseBundle(o.Spec.Conversion.Webhook.ClientConfig.CABundle)
	return nil
}

// holds reports whether API servers that read t trust p. They call nothing that does not
// exist.
func (t *target) holds(p *pair) bool {
	for _, b := range t.has {
		if !b.holds(p) {
			return false
		}
	}
	return true
}

// lacks reports whether a part of t lacks a CA of want.
func (t *target) lacks(want bundle) bool {
	for _, b := range t.has {
		if !b.has(want) {
			return true
		}
	}
	return false
}

// all returns the CAs of all parts.
func (t *target) all(now time.Time) bundle {
	out := bundle{}
	for _, b := range t.has {
		out = out.with(b, now)
	}
	return out
}

// apply writes the CAs of want to t, as it was read, and keeps those that it has. With
// install it applies the whole configuration.
func (s *Server) apply(ctx context.Context, t *target, want bundle, install bool) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ca := "" // none, where somebody else writes it
	if want != nil {
		ca = base64.StdEncoding.EncodeToString(want.with(t.all(s.clock()), s.clock()).pem())
	}
	meta := map[string]any{"name": t.key.Name}
	if t.exists {
		meta["resourceVersion"] = t.revision
	}
	body, manager := map[string]any{"metadata": meta}, s.options.Name+"-ca"
	switch {
	case install:
		manager = s.options.Name
		body["webhooks"] = s.entries(t.hooks, ca)
	case t.hooks == nil:
		body["spec"] = map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{"caBundle": ca}}}}
	default:
		list := []any{}
		for _, h := range t.hooks {
			if _, ok := t.has[h.name]; ok {
				list = append(list, map[string]any{"name": h.name, "clientConfig": map[string]any{"caBundle": ca}})
			}
		}
		body["webhooks"] = list
	}
	_, err := client.Of[kube.Partial](s.client, t.resource).With(client.WriteOptions{FieldManager: manager}).Apply(ctx, t.key, body, client.ApplyOptions{Force: true})
	return err
}

// removeFormer removes the webhooks from t that this server does not have any more: API
// servers would get no answer, and refuse requests. No apply removes them once the CA in them
// has an owner of its own.
func (s *Server) removeFormer(ctx context.Context, t *target) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body := map[string]any{"metadata": map[string]any{"resourceVersion": t.revision}, "webhooks": t.others}
	_, err := client.Of[kube.Partial](s.client, t.resource).With(client.WriteOptions{FieldManager: s.options.Name}).Patch(ctx, t.key, client.MergePatch, body)
	if err == nil {
		s.log.Info("removed webhooks that the program does not have any more", "configuration", t.String(), "webhooks", strings.Join(t.former, ", "))
	}
	return err
}

// entries returns the webhooks of a configuration; without a CA if ca is empty.
func (s *Server) entries(hooks []*hook, ca string) []any {
	var list []any
	for _, h := range hooks {
		config := s.options.clientConfig(h.path)
		if ca != "" {
			config["caBundle"] = ca
		}
		list = append(list, h.entry(config))
	}
	return list
}

// entry returns a webhook of a configuration. What the rule leaves out is set too, so
// that a change of the program takes it back.
func (h *hook) entry(config map[string]any) map[string]any {
	r := h.rule
	var resources []string
	for _, sub := range r.Subresources {
		name := h.resource.Plural
		if sub != "" {
			name += "/" + sub
		}
		resources = append(resources, name)
	}
	policy, effects := "Fail", "None"
	if r.Ignore {
		policy = "Ignore"
	}
	if r.SideEffects {
		effects = "NoneOnDryRun"
	}
	scope := "Cluster"
	if h.resource.Namespaced {
		scope = "Namespaced"
	}
	e := map[string]any{
		"name": h.name, "clientConfig": config, "admissionReviewVersions": []string{"v1"},
		"failurePolicy": policy, "sideEffects": effects, "matchPolicy": "Equivalent", "timeoutSeconds": int(r.Timeout / time.Second),
		"namespaceSelector": r.Namespaces, "objectSelector": r.Objects,
		"rules": []any{map[string]any{"operations": r.Operations, "apiGroups": []string{h.resource.Group}, "apiVersions": []string{h.resource.Version},
			"resources": resources, "scope": scope}},
	}
	if len(r.Conditions) > 0 {
		e["matchConditions"] = r.Conditions
	}
	if h.kind == mutate {
		e["reinvocationPolicy"] = "Never"
		if r.Reinvoke {
			e["reinvocationPolicy"] = "IfNeeded"
		}
	}
	return e
}

func (t *target) String() string { return t.resource.Kind + " " + t.key.Name }
