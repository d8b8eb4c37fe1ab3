// Package review asks the cluster whose a token is, and what that person may do, by
// TokenReview and SubjectAccessReview.
package review

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/reviews"
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

	within = 10 * time.Second // of a review
)

// Person is whom the server named. It is safe for concurrent use.
type Person struct {
	o     Options
	token string

	mu      sync.Mutex
	user    reviews.User
	answers map[Access]answered
	review  time.Time // of the token, when it was last confirmed
}

// Options say whom to ask.
type Options struct {
	Client    *client.Client // may create both reviews
	Audiences []string       // a token must have one of them; default: the server's
}

// Access is a question of a SubjectAccessReview.
type Access = reviews.Resource

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
func (p *Person) Name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.user.Name
}

// confirm asks whether the token is valid still.
func (p *Person) confirm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	user, ok, err := reviews.Token(ctx, p.o.Client, p.token, p.o.Audiences)
	if err != nil {
		return rights(reviews.Tokens, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok || p.user.Name != "" && p.user.Name != user.Name {
		return ErrToken
	}
	p.user, p.review = user, time.Now()
	return nil
}

// rights returns why r cannot be created: the server's answer is about the Client, and not
// about the visitor.
func rights(r kube.Resource, err error) error {
	if errors.As(err, new(*kube.Status)) {
		return &RightsError{r}
	}
	return err
}

// May asks whether the person may do something, unless it is known.
func (p *Person) May(ctx context.Context, a Access) (bool, error) {
	p.mu.Lock()
	known, ok := p.answers[a]
	user, review := p.user, p.review
	p.mu.Unlock()
	if ok && known.valid() {
		return known.ok, nil
	}
	if time.Since(review) >= time.Minute {
		if err := p.confirm(ctx); err != nil {
			return false, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	allowed, err := reviews.Access(ctx, p.o.Client, user, a)
	if err != nil {
		return false, rights(reviews.Accesses, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) >= maxAnswers {
		maps.DeleteFunc(p.answers, func(_ Access, a answered) bool { return !a.valid() })
	}
	if len(p.answers) >= maxAnswers {
		clear(p.answers)
	}
	p.answers[a] = answered{allowed, time.Now()}
	return allowed, nil
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
