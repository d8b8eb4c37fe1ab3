// Package review asks the cluster whose a token is, and what that person may do, by
// TokenReview and SubjectAccessReview.
package review

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

const (
	// For is how long a permission is believed, and refusedFor a refusal: most questions
	// are about namespaces that somebody may not see.
	For        = 10 * time.Second
	refusedFor = time.Minute

	// maxAnswers is how many answers are kept for a person: three verbs of a hundred
	// namespaces, for many types.
	maxAnswers = 20_000

	// maxAnswer is how many bytes an answer has.
	maxAnswer = 1 << 20
)

// Person is whom the server named. It is safe for concurrent use.
type Person struct {
	o      Options
	token  string
	name   string
	uid    string
	groups []string
	extra  map[string][]string

	mu      sync.Mutex
	answers map[Access]answered
	review  time.Time // of the token, when it was last confirmed
}

// Options say whom to ask.
type Options struct {
	Client    *client.Client // may create both reviews
	Audiences []string       // a token must have one of them; default: the server's
}

// Access is a question of a SubjectAccessReview.
type Access struct {
	Verb, Group, Resource, Subresource, Namespace string
}

type answered struct {
	ok bool
	at time.Time
}

func (a answered) valid() bool {
	if a.ok {
		return time.Since(a.at) < For
	}
	return time.Since(a.at) < refusedFor
}

// TokenReviews and AccessReviews are what is created.
var (
	TokenReviews  = kube.Resource{Group: "authentication.k8s.io", Version: "v1", Plural: "tokenreviews", Kind: "TokenReview"}
	AccessReviews = kube.Resource{Group: "authorization.k8s.io", Version: "v1", Plural: "subjectaccessreviews", Kind: "SubjectAccessReview"}
)

// ErrToken means that the server does not accept a token.
var ErrToken = errors.New("the server does not accept this token: give one of your own account, such as of kubectl create token")

// RightsError means that the Client may not create reviews.
type RightsError struct {
	Resource kube.Resource
}

func (e *RightsError) Error() string {
	return "this page's service account may not create " + e.Resource.Plural + ": see packaging/manifests/ui"
}

// Login asks the server whose a token is.
func Login(ctx context.Context, o Options, token string) (*Person, error) {
	p := &Person{o: o, token: token, answers: map[Access]answered{}}
	return p, p.confirm(ctx)
}

// Name is that of the account.
func (p *Person) Name() string { return p.name }

// confirm asks whether the token is valid still.
func (p *Person) confirm(ctx context.Context) error {
	var out struct {
		Status struct {
			Authenticated bool
			Audiences     []string
			User          struct {
				Username string
				UID      string
				Groups   []string
				Extra    map[string][]string
			}
		}
	}
	spec := map[string]any{"token": p.token}
	if len(p.o.Audiences) > 0 {
		spec["audiences"] = p.o.Audiences
	}
	if err := p.o.ask(ctx, TokenReviews, spec, &out); err != nil {
		return err
	}
	user := out.Status.User
	if len(p.o.Audiences) > 0 && !slices.ContainsFunc(out.Status.Audiences, func(a string) bool { return slices.Contains(p.o.Audiences, a) }) {
		return ErrToken // a server that says none has compared none
	}
	if !out.Status.Authenticated || user.Username == "" {
		return ErrToken
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.name != "" && p.name != user.Username {
		return ErrToken
	}
	p.name, p.uid, p.groups, p.extra, p.review = user.Username, user.UID, user.Groups, user.Extra, time.Now()
	return nil
}

// ask posts a review.
func (o *Options) ask(ctx context.Context, r kube.Resource, spec map[string]any, into any) error {
	b, err := codec.Encode(map[string]any{"apiVersion": r.APIVersion(), "kind": r.Kind, "spec": spec})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	resp, err := o.Client.Do(ctx, &client.Request{Method: http.MethodPost, Path: r.Path(""), Body: b})
	if err != nil {
		var st *kube.Status
		if errors.As(err, &st) { // about our own rights, and none of the visitor's
			return &RightsError{r}
		}
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into)
}

// May asks whether the person may do something, unless it is known.
func (p *Person) May(ctx context.Context, a Access) (bool, error) {
	p.mu.Lock()
	known, ok := p.answers[a]
	review := p.review
	spec := map[string]any{"user": p.name, "uid": p.uid, "groups": p.groups, "extra": p.extra,
		"resourceAttributes": map[string]any{"verb": a.Verb, "group": a.Group, "resource": a.Resource, "subresource": a.Subresource, "namespace": a.Namespace}}
	p.mu.Unlock()
	if ok && known.valid() {
		return known.ok, nil
	}
	if time.Since(review) >= time.Minute {
		if err := p.confirm(ctx); err != nil {
			return false, err
		}
	}
	var out struct{ Status struct{ Allowed bool } }
	if err := p.o.ask(ctx, AccessReviews, spec, &out); err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) >= maxAnswers {
		maps.DeleteFunc(p.answers, func(_ Access, a answered) bool { return !a.valid() })
	}
	if len(p.answers) >= maxAnswers {
		clear(p.answers)
	}
	p.answers[a] = answered{out.Status.Allowed, time.Now()}
	return out.Status.Allowed, nil
}

// verbs are those that a type needs that is shown.
var verbs = []string{"list", "watch", "get"}

// MaySee asks whether the person may read a type in a namespace; "" = in all.
func (p *Person) MaySee(ctx context.Context, r kube.Resource, namespace string) (bool, error) {
	for _, verb := range verbs {
		if ok, err := p.May(ctx, Access{Verb: verb, Group: r.Group, Resource: r.Plural, Namespace: namespace}); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
