package faults

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/apitest"
)

// RandomOptions set which faults are applied at random, and how often. The zero value
// is the recommended setting.
type RandomOptions struct {
	Match apitest.Match // requests that faults may be applied to; Nth and AfterEvent must not be set

	Requests float64 // share of requests with a fault before the response; 0 = 0.1, negative = none
	Streams  float64 // share of the other watches with a fault within the stream; 0 = 0.3, negative = none
	Events   int     // such a fault is applied after 1 to Events events; default 10
	Strikes  int     // total number of faults; 0 = no limit

	// Actions are drawn by weight. Default: a table of faults that a client must
	// survive without missing a change.
	Actions []WeightedAction
}

// WeightedAction is an action of [Parse], such as "cut 60", and how often it is drawn,
// relative to the others.
type WeightedAction struct {
	Weight int
	Action string
}

// Random applies faults at random. The fault for the n-th request depends only on the
// seed and n, so that the same order of requests gets the same faults.
type Random struct {
	Seed uint64

	options                RandomOptions
	lists, watches, midway []WeightedAction // by what they apply to

	mu            sync.Mutex
	seen, watched int // requests, and watches among them
	strikes       []Rule
}

// NewRandom returns random faults, to be set by [Randomize].
func NewRandom(seed uint64, o RandomOptions) (*Random, error) {
	share := func(v *float64, standard float64) {
		*v = min(max(cmp.Or(*v, standard), 0), 1)
	}
	share(&o.Requests, 0.1)
	share(&o.Streams, 0.3)
	o.Events = max(1, cmp.Or(o.Events, 10))
	if len(o.Actions) == 0 {
		o.Actions = randomActions()
	}
	r := &Random{Seed: seed, options: o}
	if o.Match.Nth != 0 || o.Match.AfterEvent != 0 {
		return nil, errors.New("random faults: which request and which event is what chance decides")
	}
	for _, a := range o.Actions {
		if a.Weight <= 0 {
			return nil, fmt.Errorf("random faults: %q has the weight %d, want 1 or more", a.Action, a.Weight)
		}
		var problem *Error
		fits := false
		for _, at := range []struct {
			match apitest.Match
			list  *[]WeightedAction
		}{{apitest.Match{Verb: "list"}, &r.lists}, {apitest.Match{Verb: "watch"}, &r.watches}, {apitest.Match{Verb: "watch", AfterEvent: 1}, &r.midway}} {
			line, _, err := parseLine(Rule{Match: at.match, Action: a.Action}.String())
			if err != nil {
				problem = err
				continue
			}
			*at.list = append(*at.list, WeightedAction{a.Weight, line.Action})
			fits = true
		}
		if !fits {
			return nil, fmt.Errorf("random faults: %q: %s", a.Action, problem.Problem)
		}
	}
	return r, nil
}

// randomActions are faults that only delay a correct client.
func randomActions() []WeightedAction {
	return []WeightedAction{
		{10, "reset"}, {10, "close"}, {2, "hang"}, {2, "half-open"}, {5, "delay 3s"}, {5, "trickle 7"}, {3, "go-away"}, {2, "crash"}, {2, "refuse 5s"}, {2, "forget"},
		{1, "stall 5s"}, {1, "reset-all 5s"}, {1, "untrusted 5s"}, {1, "outdated 5s"}, {2, "http1 30s"}, {2, "rotate"}, {1, "too-large"},
		{5, "throttle 2"}, {3, "throttle"}, {3, "html 502"}, {5, "html 503"}, {3, "status 500"}, {2, "status 401"}, {2, "status 403"}, {2, "no-last-chunk"},
		{3, "truncate 200"}, {2, "truncated-gzip"}, {2, "metadata-last"}, {2, "empty-page"}, {2, "no-mark"}, {2, "reject-initial"},
		{5, "end"}, {5, "error 410"}, {3, "error 500"}, {10, "cut 60"}, {5, "cut 1"}, {3, "chop 1"}, {2, "split-runes"}, {2, "coalesce 3"}, {2, "crlf"}, {2, "no-newline"},
		{2, "pretty"}, {3, "duplicate"}, {2, "invalid-json"}, {2, "unknown-type"}, {2, "null-object"},
	}
}

// Randomize sets r and returns it as a fault, to remove it or to count its hits; every
// matching request is a hit.
func Randomize(s *apitest.Server, r *Random) *apitest.Fault { return s.On(r.options.Match, r.strike) }

// Strikes returns the faults applied so far, as rules that repeat them for the same
// requests in the same order.
func (r *Random) Strikes() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.strikes)
}

// String returns the seed, and the faults applied so far.
func (r *Random) String() string {
	text := fmt.Sprintf("# seed %d", r.Seed)
	for _, rule := range r.Strikes() {
		text += "\n" + rule.String()
	}
	return text
}

// draw chooses the fault for the next request.
func (r *Random) draw(watch bool) (rule Rule, struck bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen++
	if watch {
		r.watched++
	}
	if r.options.Strikes > 0 && len(r.strikes) >= r.options.Strikes {
		return rule, false
	}
	rnd := rand.New(rand.NewPCG(r.Seed, uint64(r.seen)))
	rule = Rule{Match: r.options.Match, Times: 1}
	rule.Match.Nth = r.seen
	actions := r.lists
	if watch {
		actions = r.watches
	}
	switch {
	case rnd.Float64() < r.options.Requests:
	case watch && rnd.Float64() < r.options.Streams:
		rule.Match.Nth = r.watched // after= restricts a match to watches
		rule.Match.AfterEvent = 1 + rnd.IntN(r.options.Events)
		actions = r.midway
	default:
		return rule, false
	}
	sum := 0
	for _, a := range actions {
		sum += a.Weight
	}
	if sum == 0 {
		return rule, false
	}
	at := rnd.IntN(sum)
	for _, a := range actions {
		if at -= a.Weight; at < 0 {
			rule.Action = a.Action
			break
		}
	}
	r.strikes = append(r.strikes, rule)
	return rule, true
}

func (r *Random) strike(w http.ResponseWriter, req *http.Request) {
	x := apitest.ExchangeOf(req)
	rule, struck := r.draw(x.Verb() == "watch")
	switch {
	case !struck:
		apitest.Continue(w, req)
	case rule.Match.AfterEvent == 0:
		handlerOf(rule.Action)(w, req)
	default:
		defer x.StrikeAfter(rule.Match.AfterEvent, handlerOf(rule.Action))()
		apitest.Continue(w, req)
	}
}
