// Package node plays the scheduler and the kubelets for a cluster of package
// cluster, in miniature: it binds Pods to Nodes, says that they run and are
// ready, and ends those that are being deleted. With kube-controller-manager
// beside the apiserver, rolling updates, drains and Jobs then go their way.
//
// Nothing runs: no container, no image, no probe. Everything is told through the
// API, by an engine of this repository, as a kubelet does: a Pod that is deleted
// is told to have ended before its object goes. Of scheduling there is only that
// a Node that is cordoned gets no new Pods, and that they are spread by number;
// taints, affinities and resources count for nothing.
package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Options choose which Nodes there are. The zero value makes none.
type Options struct {
	// Names of the Nodes that Run makes, ready, unless they exist. It plays the
	// kubelets of all others too.
	Names []string
	// Trouble, if set, is told every write that failed; it is tried again.
	Trouble func(error)
}

// Run plays until ctx is done, and returns its cause once everything it started
// has ended, or an error if it cannot begin.
func Run(ctx context.Context, c *client.Client, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for n, name := range o.Names {
		if err := post(ctx, c, kube.Nodes.Path(""), newNode(name, n)); err != nil && !errors.Is(err, kube.ErrExists) {
			return fmt.Errorf("make node %s: %w", name, err)
		}
	}
	// A restarted apiserver should be found soon.
	quick := watch.Options{Backoff: 100 * time.Millisecond, BackoffMax: time.Second}
	p := &player{
		client: c, trouble: o.Trouble, changed: make(chan struct{}, 1),
		pods:  cache.New(client.Of[pod](c, kube.Pods), cache.Options[pod]{Watch: quick}),
		nodes: cache.New(client.Of[node](c, kube.Nodes), cache.Options[node]{Watch: quick}),
		life:  map[string]life{},
	}
	p.pods.Handle(func(cache.Delta[pod]) { p.wake() })
	p.nodes.Handle(func(cache.Delta[node]) { p.wake() })
	var informers sync.WaitGroup
	informers.Go(func() { cancel(p.pods.Run(ctx)) })
	informers.Go(func() { cancel(p.nodes.Run(ctx)) })
	p.play(ctx)
	informers.Wait()
	return context.Cause(ctx)
}

// player goes through all Pods whenever something has changed.
type player struct {
	client  *client.Client
	trouble func(error)
	pods    *cache.Informer[pod]
	nodes   *cache.Informer[node]
	changed chan struct{} // of size 1

	// These belong to play.
	life map[string]life // by UID: what was written, which the store may not show yet
	ips  int
}

// life is how far a Pod is.
type life struct {
	stage stage
	node  string
}

type stage int

// The stages of a Pod, in order; each is written once.
const (
	pending stage = iota
	bound
	running
	succeeded // only where it is not to be restarted
	terminated
	deleted
)

func (p *player) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// retry is how long a write that failed waits, or a Pod that has no Node.
const retry = 200 * time.Millisecond

func (p *player) play(ctx context.Context) {
	if p.pods.WaitSynced(ctx) != nil || p.nodes.WaitSynced(ctx) != nil {
		return // ctx says why
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-p.changed:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if !p.round(ctx) {
			timer.Reset(retry)
		}
	}
}

// round takes every Pod as far as it goes, and reports whether all went well.
func (p *player) round(ctx context.Context) bool {
	var all []pod
	alive := map[string]bool{}
	for _, o := range p.pods.Store().All() {
		all, alive[o.UID] = append(all, o), true
	}
	slices.SortFunc(all, func(a, b pod) int { return kube.KeyOf(a).Compare(kube.KeyOf(b)) })
	for uid := range p.life {
		if !alive[uid] {
			delete(p.life, uid)
		}
	}
	well := true
	for _, o := range all {
		for {
			now := p.lifeOf(o)
			next, err := p.step(ctx, o, &now)
			if err != nil {
				well = false
				if p.trouble != nil && ctx.Err() == nil {
					p.trouble(fmt.Errorf("pod %s: %w", kube.KeyOf(o), err))
				}
				break
			}
			if next == now.stage {
				break
			}
			now.stage = next
			p.life[o.UID] = now
		}
	}
	return well
}

// lifeOf returns how far a Pod is, by what was written and by what it says.
func (p *player) lifeOf(o pod) life {
	l := p.life[o.UID]
	if o.Spec.NodeName != "" {
		l.node, l.stage = o.Spec.NodeName, max(l.stage, bound)
	}
	if o.ready() {
		l.stage = max(l.stage, running)
	}
	if o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed" {
		l.stage = max(l.stage, succeeded)
	}
	return l
}

// errNoNode: its Pod waits.
var errNoNode = errors.New("no node takes pods")

// step writes the next stage of a Pod, and returns it.
func (p *player) step(ctx context.Context, o pod, l *life) (stage, error) {
	ending := o.DeletionTimestamp != nil
	switch {
	case l.stage == deleted:
		return l.stage, nil
	case ending && l.stage == terminated, ending && l.stage == pending:
		return deleted, ignore(p.remove(ctx, o), kube.ErrNotFound, kube.ErrConflict)
	case ending:
		return terminated, ignore(p.status(ctx, o, terminatedStatus(o)), kube.ErrNotFound, kube.ErrConflict)
	case l.stage == pending:
		if l.node = p.choose(); l.node == "" {
			return pending, errNoNode
		}
		return bound, ignore(p.bind(ctx, o, l.node), kube.ErrNotFound)
	case l.stage == bound:
		p.ips++
		return running, ignore(p.status(ctx, o, runningStatus(o, p.ips)), kube.ErrNotFound, kube.ErrConflict)
	case l.stage == running && o.Spec.RestartPolicy != "Always":
		return succeeded, ignore(p.status(ctx, o, succeededStatus(o)), kube.ErrNotFound, kube.ErrConflict)
	}
	return l.stage, nil
}

// ignore drops an error that says that somebody else was quicker.
func ignore(err error, kinds ...error) error {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return nil
		}
	}
	return err
}

// choose returns the Node with the fewest Pods, the first by name among equals;
// empty if none takes any.
func (p *player) choose() string {
	count := map[string]int{}
	for _, o := range p.pods.Store().All() {
		if l := p.lifeOf(o); l.stage < terminated {
			count[l.node]++
		}
	}
	best := ""
	for _, n := range p.nodes.Store().All() {
		name := n.GetName()
		if n.Spec.Unschedulable || n.DeletionTimestamp != nil {
			continue
		}
		if best == "" || count[name] < count[best] || count[name] == count[best] && name < best {
			best = name
		}
	}
	return best
}
