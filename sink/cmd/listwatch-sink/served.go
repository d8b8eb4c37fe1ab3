package main

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// onlyNamed are resources that '*' leaves out, by group and plural.
var onlyNamed = map[string]bool{
	"secrets": true, "events": true, "events.events.k8s.io": true, "leases.coordination.k8s.io": true,
}

// types yields each type once, in the version in which it is moved: the first one, in the
// server's order of preference, that can be listed and watched. This need not be the version
// that the group prefers, because a group may serve a type in other versions only.
func types(api *discovery.API) iter.Seq[kube.Resource] {
	return func(yield func(kube.Resource) bool) {
		seen := map[string]bool{}
		for r := range api.All() {
			id := r.GroupResource()
			if seen[id] || r.Watchable() != nil {
				continue
			}
			if seen[id] = true; !yield(r.Resource) {
				return
			}
		}
	}
}

// moved returns the one of types of this group and plural, if there is one.
func moved(api *discovery.API, id string) (kube.Resource, bool) {
	for r := range types(api) {
		if r.GroupResource() == id {
			return r, true
		}
	}
	return kube.Resource{}, false
}

// versioned reports whether the name that selects r, as people type it, includes its version.
func versioned(name string, r kube.Resource) bool {
	_, rest, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), ".")
	return rest == r.Version+"."+r.Group || r.Group == "" && rest == r.Version
}

// every returns the resources of '*'.
func every(api *discovery.API) (all []kube.Resource) {
	for r := range types(api) {
		if !onlyNamed[r.GroupResource()] {
			all = append(all, r)
		}
	}
	return all
}

// definitions notes which CustomResourceDefinitions there are, and has the server asked for
// its types when one changes.
func (f *fleet) definitions(ctx context.Context) {
	synced, refused := false, false
	w := watch.New(client.Of[kube.Partial](f.source.client, kube.CustomResourceDefinitions), watch.Options{})
	for ev, err := range w.Events(ctx) {
		switch {
		case errors.Is(err, kube.ErrForbidden) && !refused:
			refused = true
			f.p.log.Warn("CustomResourceDefinitions cannot be watched: new types are noticed within a minute, and rows of types that are gone stay", "err", err)
		case err != nil:
		case ev.Type == watch.Synced:
			synced = true
		case ev.Type == watch.Added || ev.Type == watch.Modified || ev.Type == watch.Deleted:
			f.mu.Lock()
			f.defined[strings.Clone(ev.Key.Name)] = true // and not the whole definition
			f.mu.Unlock()
			if synced {
				f.poke()
			}
		}
	}
}

// offer is what the server serves, as far as it is known.
type offer struct {
	types  map[string]bool // by group and plural
	broken map[string]bool // groups of which a version may serve more
}

func servedBy(api *discovery.API) offer {
	o := offer{map[string]bool{}, map[string]bool{}}
	for r := range api.All() {
		o.types[r.GroupResource()] = true
	}
	for name := range api.Broken() {
		group, _, named := strings.Cut(name, "/")
		if !named {
			group = "" // "v1" is of the core group
		}
		o.broken[group] = true
	}
	return o
}

// ceased reports whether a resource is not served in any version, as far as the server says it.
func (o offer) ceased(r kube.Resource) bool { return !o.types[r.GroupResource()] && !o.broken[r.Group] }

// current returns a resource as it is to be moved: in its own version while that is served, or
// while nobody knows, and otherwise in the one of types. The scope is what is served.
func current(api *discovery.API, r kube.Resource) kube.Resource {
	for s := range api.All() {
		if s.Version == r.Version && s.GroupResource() == r.GroupResource() && s.Watchable() == nil {
			return s.Resource
		}
	}
	if api.Broken()[r.APIVersion()] != nil {
		return r
	}
	if s, ok := moved(api, r.GroupResource()); ok {
		return s
	}
	return r
}

// gone reports whether it is certain that a resource is not served any more. That
// discovery leaves it out proves nothing: of several replicas of the server, one may know
// less. So what defines it must have been deleted.
func (f *fleet) gone(ctx context.Context, served offer, r kube.Resource) bool {
	if !served.ceased(r) {
		return false
	}
	f.mu.Lock()
	defined := f.defined[r.GroupResource()]
	f.mu.Unlock()
	if !defined && (!strings.Contains(r.Group, ".") || strings.HasSuffix(r.Group, ".k8s.io")) {
		return false // the server's own: it may be served again after an upgrade
	}
	_, err := client.Of[kube.Partial](f.source.client, kube.CustomResourceDefinitions).Get(ctx, kube.Key{Name: r.GroupResource()})
	if !errors.Is(err, kube.ErrNotFound) {
		return false // it exists, or nobody knows
	}
	routed, err := f.routed(ctx, r.Group)
	if errors.Is(err, kube.ErrForbidden) {
		f.refused.Do(func() {
			f.p.log.Warn("APIServices cannot be listed: rows of types that are gone stay", "err", err)
		})
	}
	return err == nil && !routed
}

// routed reports whether another server serves a group, in any version: that server need not
// answer at the moment, and may be there instead of one that served another version.
func (f *fleet) routed(ctx context.Context, group string) (bool, error) {
	for s, err := range list.New(client.Of[apiService](f.source.client, apiServices), list.Options{}).All(ctx) {
		switch {
		case errors.Is(err, kube.ErrNotFound):
			return false, nil // the server does not know APIServices
		case err != nil:
			return false, err
		case s.Spec.Group == group && s.Spec.Service != nil:
			return true, nil
		}
	}
	return false, nil
}

var apiServices = kube.Resource{Group: "apiregistration.k8s.io", Version: "v1", Plural: "apiservices", Kind: "APIService"}

// apiService says who serves a version of a group.
type apiService struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Group   string    `json:"group"`
		Service *struct{} `json:"service"` // nil = the server itself
	} `json:"spec"`
}
