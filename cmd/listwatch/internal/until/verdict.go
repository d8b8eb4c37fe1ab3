package until

import (
	"errors"
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/jq"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/rollout"
	"github.com/listwatch/listwatch/internal/secret"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

type objectKey struct {
	cluster string
	kube.Resource
	kube.Key
}

// Verdict follows the objects and decides when the conditions hold. It is for one
// goroutine.
type Verdict struct {
	conditions     []condition
	all, any, fail []int // of conditions
	objects        map[objectKey]*state
	holding        []int              // by condition: number of objects for which it holds
	rolls          int                // number of objects that have a rollout
	failing        []int              // by condition: number of objects for which its expression fails
	named          map[objectKey]bool // objects that were requested by name
	absent         int                // of named
	unsynced       int                // streams that have not reported all
	synced         bool               // the first list is complete

	Ended <-chan struct{} // closed when expressions end without a result; see jq.Ended. nil = never
}

// state is what is known of an object.
type state struct {
	holds   []bool // by condition
	failed  []int  // the conditions whose expressions fail, of those that are strict
	err     error  // of the first
	rolls   bool   // it has a rollout
	rollout string // how far that is
}

// Expect sets what is followed. It returns an error for a condition that applies to none of
// the types.
func (v *Verdict) Expect(ts []target.Target, streams int) error {
	v.unsynced = streams
	rolls := slices.ContainsFunc(v.conditions, func(c condition) bool { return c.rollout })
	if rolls && len(ts) > 0 && !slices.ContainsFunc(ts, func(t target.Target) bool { return rollout.Judged(t.Resource) }) {
		return exit.Usage("--until rollout: %s have none: it is for deployments, statefulsets, daemonsets and jobs", ts[0].Resource.GroupResource())
	}
	for _, t := range ts {
		if t.Namespace == "" && t.Resource.Namespaced {
			continue // a name in all namespaces may be of any number of objects
		}
		for _, n := range t.Wanted() {
			v.named[objectKey{t.Cluster, target.Family(t.Resource), kube.Key{Namespace: t.Namespace, Name: n}}] = true
		}
	}
	v.absent = len(v.named)
	return nil
}

// See updates the verdict with a record. It returns why the watch ends, nil if it does not.
func (v *Verdict) See(r *record.Record) error {
	switch {
	case r.Type == string(watch.Synced):
		if v.unsynced--; v.unsynced == 0 {
			v.synced = true
		}
	case r.IsObject():
		key := objectKey{r.Cluster, target.Family(r.Resource), r.Key()}
		var s *state
		if r.Type != string(watch.Deleted) {
			m, err := record.MapOf(r, false)
			if err != nil {
				return nil // no condition holds for an object that cannot be read
			}
			if s, err = v.judge(r, m); err != nil {
				return err
			}
		}
		v.put(key, s)
		for _, i := range v.fail {
			if c := &v.conditions[i]; c.whole == nil && c.count == "" && v.fails(i, key, r) {
				return &exit.Error{Code: exit.CodeMatched, Err: fmt.Errorf("--fail-on %s: %s", v.conditions[i].text, record.KubectlName(r.Resource, r.ID.Name))}
			}
		}
	default:
		return nil
	}
	if !v.synced {
		return nil
	}
	for _, i := range v.fail {
		c := &v.conditions[i]
		switch {
		case c.whole != nil && v.true(c.whole):
			return &exit.Error{Code: exit.CodeMatched, Err: fmt.Errorf("--fail-on %s", c.text)}
		case c.count != "" && c.counts(len(v.objects)):
			why := "there are " + printable.Thousands(len(v.objects))
			if r.IsObject() {
				why = record.KubectlName(r.Resource, r.ID.Name)
			}
			return &exit.Error{Code: exit.CodeMatched, Err: fmt.Errorf("--fail-on %s: %s", c.text, why)}
		}
	}
	if v.met() {
		return v.Decided(exit.ErrAskedFor)
	}
	return nil
}

// judge returns which conditions hold for the object of r, which is m. The error ends the
// watch: a rollout has failed.
func (v *Verdict) judge(r *record.Record, m map[string]any) (*state, error) {
	s := &state{holds: make([]bool, len(v.conditions)), rolls: rollout.Judged(r.Resource)}
	for i := range v.conditions {
		c := &v.conditions[i]
		switch {
		case c.rollout && !s.rolls: // not asked
		case c.rollout:
			status, err := rollout.Judge(r.Resource, m)
			if err != nil {
				return nil, exit.Failed(err)
			}
			s.holds[i], s.rollout = status.Done, status.Text
		case c.code == nil:
			s.holds[i] = c.holds(m)
		}
	}
	value := jq.JQValue(m) // other numbers
	for i := range v.conditions {
		if c := &v.conditions[i]; c.code != nil {
			var err error
			if s.holds[i], err = jq.True(v.Ended, c.code, value); err == nil || !c.strict {
				continue
			}
			if s.failed = append(s.failed, i); s.err == nil {
				s.err = err
				if secret.Is(r.Resource) {
					s.err = errors.New("it cannot be evaluated") // the error may quote a value
				}
			}
		}
	}
	return s, nil
}

// put replaces what is known of an object; nil is an object that does not exist.
func (v *Verdict) put(key objectKey, now *state) {
	before := v.objects[key]
	for _, change := range []struct {
		*state
		by int
	}{{before, -1}, {now, 1}} {
		if change.state == nil {
			continue
		}
		for i, holds := range change.holds {
			if holds {
				v.holding[i] += change.by
			}
		}
		if change.rolls {
			v.rolls += change.by
		}
		for _, i := range change.failed {
			v.failing[i] += change.by
		}
		if v.named[key] {
			v.absent -= change.by
		}
	}
	if now == nil {
		delete(v.objects, key)
	} else {
		v.objects[key] = now
	}
}

// complete reports whether all objects that were requested by name exist.
func (v *Verdict) complete() bool { return v.absent == 0 }

// fails reports whether condition i holds because of the object of r.
func (v *Verdict) fails(i int, key objectKey, r *record.Record) bool {
	c := &v.conditions[i]
	switch {
	case c.delete:
		return r.Type == string(watch.Deleted)
	}
	s, ok := v.objects[key]
	return ok && s.holds[i]
}

// met reports whether one of the ends that the flags ask for is reached.
func (v *Verdict) met() bool {
	if len(v.all) > 0 && !slices.ContainsFunc(v.all, func(i int) bool { return !v.holds(i) }) {
		return true
	}
	return slices.ContainsFunc(v.any, v.holds)
}

// holds reports whether condition i holds for every object, of which there must be at
// least one, and for each that was requested by name.
func (v *Verdict) holds(i int) bool {
	c := &v.conditions[i]
	switch {
	case c.whole != nil:
		return v.true(c.whole)
	case c.count != "":
		return c.counts(len(v.objects))
	case c.delete:
		return len(v.objects) == 0
	case c.rollout:
		return v.complete() && v.rolls > 0 && v.holding[i] == v.rolls
	case len(v.objects) == 0:
		return false
	}
	return v.complete() && v.holding[i] == len(v.objects)
}

func (c *condition) counts(n int) bool {
	switch c.count {
	case ">=":
		return n >= c.n
	case "<=":
		return n <= c.n
	case ">":
		return n > c.n
	case "<":
		return n < c.n
	case "!=":
		return n != c.n
	}
	return n == c.n
}

// Synced reports whether the first list is complete.
func (v *Verdict) Synced() bool { return v.synced }

// Decided returns err, with which a run would end in success, or a failure if an
// expression fails for an object, so that it is not known whether it holds.
func (v *Verdict) Decided(err error) error {
	if v == nil || err != nil && !errors.Is(err, exit.ErrAskedFor) {
		return err
	}
	for key, s := range v.objects {
		if s.err != nil {
			return exit.Failed(fmt.Errorf("%s: the expression %s fails: %s; let it hold for every object, as by .a[]? and (.a // \"\")",
				record.KubectlName(key.Resource, printable.Line(key.Name)), v.conditions[s.failed[0]].text, printable.Clip(printable.Line(s.err.Error()))))
		}
	}
	return err
}
