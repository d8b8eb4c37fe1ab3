package ui

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

const (
	// accessFor is how long an answer of the server about a permission is believed.
	accessFor = 10 * time.Second

	// maxAccess is how many answers are kept for a session, and maxPlaces for how many
	// namespaces it is asked about a type that may not be seen in all of them.
	maxAccess = 2000
	maxPlaces = 100
)

// person is whom a session is for, where TokenReview said so. It is safe for concurrent
// use.
type person struct {
	u      *UI
	token  string
	name   string
	uid    string
	groups []string
	extra  map[string][]string

	mu      sync.Mutex
	answers map[access]answered
	review  int64 // of the token, when it was last confirmed
}

// access is a question of a SubjectAccessReview.
type access struct {
	verb, group, resource, subresource, namespace string
}

type answered struct {
	ok bool
	at int64
}

var (
	tokenReviews  = kube.Resource{Group: "authentication.k8s.io", Version: "v1", Plural: "tokenreviews", Kind: "TokenReview"}
	accessReviews = kube.Resource{Group: "authorization.k8s.io", Version: "v1", Plural: "subjectaccessreviews", Kind: "SubjectAccessReview"}

	errToken = &refusal{http.StatusUnauthorized, "unauthorized", "this link was used before, or is of another run: ask the program for another one"}
	errLogin = &refusal{http.StatusUnauthorized, "unauthorized", "the server does not accept this token: give one of your own account, such as of kubectl create token"}
)

// login asks the server whose a token is.
func (u *UI) login(ctx context.Context, token string) (*person, error) {
	p := &person{u: u, token: token, answers: map[access]answered{}}
	return p, p.confirm(ctx)
}

// confirm asks whether the token is valid still.
func (p *person) confirm(ctx context.Context) error {
	var out struct {
		Status struct {
			Authenticated bool
			User          struct {
				Username string
				UID      string
				Groups   []string
				Extra    map[string][]string
			}
		}
	}
	spec := map[string]any{"token": p.token}
	if len(p.u.o.Audiences) > 0 {
		spec["audiences"] = p.u.o.Audiences
	}
	if err := p.u.ask(ctx, tokenReviews, spec, &out); err != nil {
		return err
	}
	user := out.Status.User
	if !out.Status.Authenticated || user.Username == "" {
		return errLogin
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.name != "" && p.name != user.Username {
		return errLogin
	}
	p.name, p.uid, p.groups, p.extra, p.review = user.Username, user.UID, user.Groups, user.Extra, now()
	return nil
}

// ask posts a review.
func (u *UI) ask(ctx context.Context, r kube.Resource, spec map[string]any, into any) error {
	b, err := codec.Encode(map[string]any{"apiVersion": r.APIVersion(), "kind": r.Kind, "spec": spec})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	resp, err := u.client.Do(ctx, &client.Request{Method: http.MethodPost, Path: r.Path(""), Body: b})
	if err != nil {
		var st *kube.Status
		if errors.As(err, &st) { // about our own rights, and none of the visitor's
			return &refusal{http.StatusServiceUnavailable, "unavailable", "this page's service account may not create " + r.Plural + ": see the manifest of listwatch ui"}
		}
		return err
	}
	defer resp.Body.Close()
	return body(&http.Request{Body: http.MaxBytesReader(nil, resp.Body, 1<<20)}, into)
}

// may asks whether the person may do something, unless it is known.
func (p *person) may(ctx context.Context, a access) (bool, error) {
	p.mu.Lock()
	known, ok := p.answers[a]
	review := p.review
	spec := map[string]any{"user": p.name, "uid": p.uid, "groups": p.groups, "extra": p.extra,
		"resourceAttributes": map[string]any{"verb": a.verb, "group": a.group, "resource": a.resource, "subresource": a.subresource, "namespace": a.namespace}}
	p.mu.Unlock()
	if ok && now()-known.at < accessFor.Milliseconds() {
		return known.ok, nil
	}
	if now()-review >= time.Minute.Milliseconds() {
		if err := p.confirm(ctx); err != nil {
			return false, err
		}
	}
	var out struct{ Status struct{ Allowed bool } }
	if err := p.u.ask(ctx, accessReviews, spec, &out); err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) >= maxAccess {
		clear(p.answers)
	}
	p.answers[a] = answered{out.Status.Allowed, now()}
	return out.Status.Allowed, nil
}

// verbs are those that a type needs that is shown.
var verbs = []string{"list", "watch", "get"}

func (p *person) mayAll(ctx context.Context, r kube.Resource, namespace string) (bool, error) {
	for _, verb := range verbs {
		if ok, err := p.may(ctx, access{verb: verb, group: r.Group, resource: r.Plural, namespace: namespace}); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// sees returns what a session may see of a type: a function of the namespace, or nil for
// all of it. The error is errForbidden where it may see nothing.
func (s *session) sees(ctx context.Context, k *kind) (func(namespace string) bool, error) {
	if s.person == nil {
		return nil, nil
	}
	k.mu.Lock()
	r := k.res.Resource
	k.mu.Unlock()
	ok, err := s.person.mayAll(ctx, r, "")
	if ok || err != nil {
		return nil, err
	}
	allowed := map[string]bool{}
	if r.Namespaced {
		places := k.u.namespaces()
		for _, ns := range places[:min(len(places), maxPlaces)] {
			if ok, err = s.person.mayAll(ctx, r, ns); err != nil {
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
	ok, err := s.person.may(ctx, access{verb: "get", group: r.Group, resource: r.Plural, subresource: subresource, namespace: namespace})
	if err == nil && !ok {
		err = errForbidden
	}
	return err
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
	everything, err := s.person.mayAll(ctx, kube.Resource{Group: "*", Plural: "*"}, "")
	if err != nil {
		return nil, err
	}
	if out.all = everything; everything {
		return out, nil
	}
	for _, k := range u.types() {
		k.mu.Lock()
		watched := k.watched() || k.starting || len(k.views) > 0
		k.mu.Unlock()
		if !watched {
			continue
		}
		sees, err := s.sees(ctx, k)
		if errors.Is(err, errForbidden) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.types[k.id] = sees
		sum.Write([]byte(k.id + "\n"))
		if sees != nil {
			for _, ns := range u.namespaces() {
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

// place reports whether anything in a namespace may be seen.
func (v *sight) place(ns string) bool {
	if v.all {
		return true
	}
	for _, sees := range v.types {
		if sees == nil || sees(ns) {
			return true
		}
	}
	return false
}

// mask leaves out of a type what may not be seen of it. Holds k.mu.
func (v *sight) mask(k *kind, t wireType) wireType {
	if v.whole(k) {
		return t
	}
	out := wireType{Type: t.Type, Group: t.Group, Version: t.Version, Kind: t.Kind, Plural: t.Plural, Namespaced: t.Namespaced, ShortNames: t.ShortNames,
		Section: t.Section, Count: -1, State: stateForbidden, Reason: errForbidden.text, Rate: []int64{}}
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
