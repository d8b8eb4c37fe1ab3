package ui

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/review"
)

// maxPlaces is for how many namespaces the server is asked about a type that may not be seen
// in all of them. Among them are the last that the person named, half of it at most.
const maxPlaces = 100

// login asks the server whose a token is.
func (u *UI) login(ctx context.Context, token string) (*review.Person, error) {
	select {
	case u.logins <- struct{}{}:
	case <-ctx.Done():
		return nil, errBusy
	}
	defer func() { <-u.logins }()
	return review.Login(ctx, review.Options{Client: u.client, Audiences: u.o.Audiences}, token)
}

// name notes a namespace that the person asks for: there may be too many to ask about all.
func (s *session) name(ns string) {
	s.mu.Lock()
	if ns != "" && !slices.Contains(s.named, ns) {
		s.named = append(slices.Clip(s.named[max(0, len(s.named)-maxPlaces/2+1):]), ns)
	}
	s.mu.Unlock()
}

// places are the namespaces that the server is asked about.
func (s *session) places(u *UI) []string {
	s.mu.Lock()
	named := s.named
	s.mu.Unlock()
	names, emptied := u.namespaces(&sight{all: true})
	all := slices.Concat(named, names, emptied)
	return all[:min(len(all), maxPlaces)]
}

// sees returns what a session may see of a type in some places: a function of the namespace,
// or nil for all of it. The error is errForbidden where it may see nothing.
func (s *session) sees(ctx context.Context, k *kind, places []string) (func(namespace string) bool, error) {
	if s.person == nil {
		return nil, nil
	}
	k.mu.Lock()
	r := k.res.Resource
	k.mu.Unlock()
	ok, err := s.person.MaySee(ctx, r, "")
	if ok || err != nil {
		return nil, err
	}
	allowed := map[string]bool{}
	if r.Namespaced {
		for _, ns := range places {
			if ok, err = s.person.MaySee(ctx, r, ns); err != nil {
				return nil, err
			}
			if ok {
				allowed[ns] = true
			}
		}
	}
	if len(allowed) == 0 {
		return nil, errForbidden
	}
	return func(namespace string) bool { return allowed[namespace] }, nil
}

// reads returns errForbidden where a session may not get a subresource.
func (s *session) reads(ctx context.Context, r kube.Resource, namespace, subresource string) error {
	if s.person == nil {
		return nil
	}
	ok, err := s.person.May(ctx, review.Access{Verb: "get", Group: r.Group, Resource: r.Plural, Subresource: subresource, Namespace: namespace})
	if err == nil && !ok {
		err = errForbidden
	}
	return err
}

const (
	maxTurns  = 32 // requests of one person at a time, logs among them
	maxLogs   = 16 // and how many there may be where another log begins
	maxLogins = 8  // TokenReviews at a time; further ones wait
)

// turn is a request of a person, where there are several, of which each has so many at most.
func (u *UI) turn(s *session, most int) (done func(), err error) {
	if s.person == nil {
		return func() {}, nil
	}
	name := s.person.Name()
	u.mu.Lock()
	n := u.working[name]
	u.working[name]++
	u.mu.Unlock()
	done = func() {
		u.mu.Lock()
		if u.working[name]--; u.working[name] == 0 {
			delete(u.working, name)
		}
		u.mu.Unlock()
	}
	if n >= most {
		done()
		return nil, errBusy
	}
	return done, nil
}

// sight is what a session may see of all types, as of a moment.
type sight struct {
	all   bool
	types map[string]func(namespace string) bool // nil = all of the type
	print [sha256.Size]byte
}

// sight asks about all types that are watched.
func (s *session) sight(ctx context.Context, u *UI) (*sight, error) {
	if s.person == nil {
		return &sight{all: true}, nil
	}
	out := &sight{types: map[string]func(string) bool{}}
	sum := sha256.New()
	everything, err := s.person.MaySee(ctx, kube.Resource{Group: "*", Plural: "*"}, "")
	if err != nil {
		return nil, err
	}
	if out.all = everything; everything {
		return out, nil
	}
	places := s.places(u)
	for _, k := range u.types() {
		k.mu.Lock()
		watched := k.watched() || k.starting || len(k.views) > 0
		k.mu.Unlock()
		if !watched {
			continue
		}
		sees, err := s.sees(ctx, k, places)
		if errors.Is(err, errForbidden) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.types[k.id] = sees
		sum.Write([]byte(k.id + "\n"))
		if sees != nil {
			for _, ns := range places {
				if sees(ns) {
					sum.Write([]byte(" " + ns + "\n"))
				}
			}
		}
	}
	sum.Sum(out.print[:0])
	return out, nil
}

// sees reports whether a change may be shown.
func (v *sight) sees(c *change) bool {
	if v.all {
		return true
	}
	sees, ok := v.types[c.kind.id]
	return ok && (sees == nil || c.life != nil && sees(c.life.key.Namespace))
}

// mask leaves out of a type what may not be seen of it. Holds k.mu.
func (v *sight) mask(k *kind, t wireType) wireType {
	if v.whole(k) {
		return t
	}
	out := wireType{Type: t.Type, Group: t.Group, Version: t.Version, Kind: t.Kind, Plural: t.Plural, Namespaced: t.Namespaced, ShortNames: t.ShortNames,
		Section: t.Section, Count: -1, State: stateForbidden, Reason: errForbidden.Text, Rate: []int64{}}
	switch sees := v.types[k.id]; {
	case sees != nil:
		out.State, out.Reason, out.Heard, out.Since, out.Count = t.State, t.Reason, t.Heard, t.Since, 0
		for ns, n := range k.byNamespace {
			if sees(ns) {
				out.Count += int64(n)
			}
		}
	case !k.watched():
		out.State, out.Reason = stateIdle, "open it to see whether you may"
	}
	return out
}

// whole reports whether all of a type may be seen.
func (v *sight) whole(k *kind) bool {
	sees, ok := v.types[k.id]
	return v.all || ok && sees == nil
}

// some reports whether anything of a type may be seen.
func (v *sight) some(k *kind) bool {
	_, ok := v.types[k.id]
	return v.all || ok
}
