package replay_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// follower is an informer that writes down what happens.
type follower struct {
	informer *cache.Informer[codec.Raw]
	lines    []string
}

// observed is a source that is looked at on the way.
type observed struct {
	source cache.Source[codec.Raw]
	see    func(watch.Event[codec.Raw])
}

func (o observed) Events(ctx context.Context) iter.Seq2[watch.Event[codec.Raw], error] {
	return func(yield func(watch.Event[codec.Raw], error) bool) {
		for ev, err := range o.source.Events(ctx) {
			o.see(ev)
			if !yield(ev, err) {
				return
			}
		}
	}
}

// newFollower makes the lines of a golden file: deltas, the beginnings of
// listings with why they were necessary, and their ends.
func newFollower(src cache.Source[codec.Raw]) *follower {
	f := &follower{}
	f.informer = cache.From(cache.Options[codec.Raw]{}, observed{src, func(ev watch.Event[codec.Raw]) {
		line := string(ev.Type)
		var status *kube.Status
		switch {
		case ev.Type == watch.Synced:
			line += " " + string(ev.Revision)
		case ev.Type != watch.Restart:
			return
		case errors.As(ev.Cause, &status):
			line += fmt.Sprintf(" because of %d %s", status.Code, status.Reason)
		case ev.Cause != nil:
			line += " because of an error"
		}
		f.lines = append(f.lines, line)
	}})
	f.informer.Handle(func(d cache.Delta[codec.Raw]) {
		line := fmt.Sprintf("%s %s %s", d.Type, d.Key, d.Revision)
		if d.Initial {
			line += " initial"
		}
		if d.Inferred {
			line += " inferred"
		}
		f.lines = append(f.lines, line)
	})
	return f
}

// following runs followers, each from the time at which its stream began, until
// the test says stop. It must be called in a bubble.
func following(ctx context.Context, rec *replay.Recording, source func(n int) cache.Source[codec.Raw]) (followers []*follower, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for n, start := range starts(rec) {
		f := newFollower(source(n))
		followers = append(followers, f)
		running.Go(func() {
			select {
			case <-time.After(start):
				_ = f.informer.Run(ctx) // it ends with ctx
			case <-ctx.Done():
			}
		})
	}
	return followers, func() {
		cancel()
		running.Wait()
	}
}

// starts returns how long after the first one each stream began.
func starts(rec *replay.Recording) (at []time.Duration) {
	for _, e := range rec.Entries {
		if e.Kind == replay.KindStream {
			at = append(at, e.At)
		}
	}
	for n := len(at) - 1; n >= 0; n-- {
		at[n] -= at[0]
	}
	return at
}

// last returns when the last entry was written.
func last(rec *replay.Recording) (at time.Duration) {
	for _, e := range rec.Entries {
		at = max(at, e.At)
	}
	return at
}

// wording puts together a golden file.
func wording(rec *replay.Recording, followers []*follower) string {
	var b strings.Builder
	for n, target := range rec.Streams() {
		fmt.Fprintf(&b, "# %s%s\n", target.Resource, map[bool]string{true: " in namespace " + target.Namespace}[target.Namespace != ""])
		for _, line := range followers[n].lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// stored returns what the informers have, as ObjectsAt does.
func stored(targets []replay.Target, followers []*follower) []string {
	type object struct {
		resource string
		key      kube.Key
		json     string
	}
	var all []object
	for n, f := range followers {
		for key, o := range f.informer.Store().All() {
			all = append(all, object{targets[n].Resource.String(), key, o.JSON()})
		}
	}
	slices.SortFunc(all, func(a, b object) int { return cmp.Or(cmp.Compare(a.resource, b.resource), a.key.Compare(b.key)) })
	var out []string
	for _, o := range all {
		out = append(out, o.json)
	}
	return out
}
