package ui

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/ui/internal/gaps"
	"github.com/listwatch/listwatch/ui/internal/section"
	"github.com/listwatch/listwatch/watch"
)

// errGone is why a watch is ended of a type that is not served any more.
var errGone = errors.New("the type is not served any more")

const (
	rediscover = 5 * time.Minute // after which types are asked for again
	countEvery = time.Minute     // the age of the count of an idle type
	idleAfter  = 5 * time.Minute // a watch ends so long after the last viewer left
)

// usual are the types that are watched always; settings are while half of the memory is free.
var (
	usual    = []string{"pods", "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch", "nodes", "events"}
	settings = []string{"services", "configmaps", "persistentvolumeclaims", "resourcequotas", "limitranges", "poddisruptionbudgets.policy", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io", "ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io", "horizontalpodautoscalers.autoscaling"}
)

// discover keeps the types up to date until ctx ends.
func (u *UI) discover(ctx context.Context) {
	for {
		pause := rediscover
		api, err := discovery.Fetch(ctx, u.client)
		if err != nil {
			u.setFailure(printable.Line(err.Error()))
			pause = 5 * time.Second
		} else {
			u.setFailure("")
			u.setTypes(api)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-u.changed:
			if wait.For(ctx, time.Second) != nil { // until the definition is established
				return
			}
		}
	}
}

// definitions asks for the types again when a CustomResourceDefinition changes.
func (u *UI) definitions(ctx context.Context) {
	w := watch.New(client.Of[kube.Partial](u.client, kube.CustomResourceDefinitions), watch.Options{})
	synced := false
	for ev, err := range w.Events(ctx) {
		if err != nil {
			continue
		}
		synced = synced || ev.Type == watch.Synced
		if synced && ev.Type != watch.Bookmark && ev.Type != watch.Restart {
			select {
			case u.changed <- struct{}{}:
			default:
			}
		}
	}
}

// setTypes takes what a server serves. Types that it does not serve any more stay, as gone.
func (u *UI) setTypes(api *discovery.API) {
	broken := api.Broken()
	served := map[string]discovery.Resource{}
	for r := range api.All() {
		id := r.GroupResource()
		if _, ok := served[id]; ok || r.Watchable() != nil || r.Group == "events.k8s.io" || len(served) >= maxTypes {
			continue
		}
		served[id] = r
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, r := range served {
		k := u.kinds[id]
		if k == nil {
			k = newKind(u, r)
			u.kinds[id] = k
		}
		k.serve(r)
	}
	for id, k := range u.kinds {
		if _, ok := served[id]; !ok && broken[k.res.APIVersion()] == nil {
			k.vanish()
		}
	}
}

// maxTypes is how many types are shown.
const maxTypes = 2000

func newKind(u *UI, r discovery.Resource) *kind {
	k := &kind{u: u, id: r.GroupResource(), section: section.Of(r), res: r, state: stateIdle, count: -1}
	k.always = u.always[k.id]
	k.yields = slices.Contains(settings, k.id) && !slices.Contains(u.o.Keep, k.id)
	k.forget()
	return k
}

// serve says that the server has the type.
func (k *kind) serve(r discovery.Resource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == stateGone {
		k.change(stateIdle, "")
		k.forget()
	}
	k.res = r
	if k.always || len(k.views) > 0 {
		k.start()
	}
}

func (k *kind) vanish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stop != nil {
		k.stop(errGone)
	} else if k.state != stateGone {
		k.change(stateGone, errGone.Error())
	}
}

// start has the type watched, unless it is. Holds k.mu.
func (k *kind) start() {
	k.idleSince = 0
	if k.stop != nil || k.starting || k.state == stateGone || k.u.recorded {
		return
	}
	select {
	case k.u.starts <- k:
		k.starting, k.failing = true, false
		if k.state != stateBudget {
			k.change(stateLoading, "")
		}
	default: // a page asks again
	}
}

// limit is how much memory all types may use before this one is not watched any more.
func (k *kind) limit() int64 {
	if k.yields && len(k.views) == 0 {
		return k.u.limits.Objects / 2
	}
	return k.u.limits.Objects
}

// stoodFor is how long a process does nothing at least where that is said.
const stoodFor = 5 * time.Second

// stand notes when the process did nothing: it was stopped, or its machine slept.
func (u *UI) stand(ctx context.Context) {
	for from := now(); wait.For(ctx, time.Second) == nil; from = now() {
		if to := now(); to-from > stoodFor.Milliseconds() {
			u.stood(from, to)
		}
	}
}

// stood notes that what changed between two times was taken later. Some of it may have been taken
// before that was noticed.
func (u *UI) stood(from, to int64) {
	for c := range u.log.all().Backward() {
		if c.at <= from+time.Second.Milliseconds() {
			break
		}
		to = min(to, c.at-1)
	}
	for _, k := range u.types() {
		k.mu.Lock()
		if k.state == stateLive {
			k.addGap(gaps.Gap{Type: k.id, From: from, To: to, Idle: true, Reason: "the process of this page stood still, or the clock was set: what changed then has the time at which it went on"})
		}
		k.mu.Unlock()
	}
}

// maintain stops watches that nobody looks at, and drops what only they needed.
func (u *UI) maintain() {
	tight := u.tight.Swap(false)
	for _, k := range u.types() {
		k.mu.Lock()
		if !k.always && len(k.views) == 0 {
			if k.idleSince == 0 {
				k.idleSince = now()
			}
			if k.stop != nil && now()-k.idleSince > idleAfter.Milliseconds() {
				k.stop(errNotWatched)
			}
			if k.stop == nil && !k.starting && tight && k.bytes > 0 {
				k.forget()
			}
		}
		k.purge()
		k.keepAll()
		k.mark()
		k.mu.Unlock()
	}
}

// purge forgets objects that are gone and of which no state is kept, and namespaces without
// any object.
func (k *kind) purge() {
	past := map[string]bool{}
	for key, newest := range k.lives {
		for at := &newest; *at != nil; {
			if l := *at; l.gone > 0 && k.u.history.Empty(&l.past) {
				*at = l.before
			} else {
				at = &l.before
			}
		}
		if newest == nil {
			delete(k.lives, key)
		} else {
			k.lives[key] = newest
			if newest.gone > 0 {
				past[key.Namespace] = true
			}
		}
	}
	maps.DeleteFunc(k.byNamespace, func(ns string, n int) bool { return n == 0 && !past[ns] })
}

// count asks for the numbers of objects of idle types, one at a time.
func (u *UI) count(ctx context.Context) {
	for wait.For(ctx, 200*time.Millisecond) == nil {
		if now()-u.asked.Load() > 2*countEvery.Milliseconds() {
			continue // nobody looks
		}
		var oldest *kind
		for _, k := range u.types() {
			k.mu.Lock()
			due := k.stop == nil && !k.starting && k.state != stateGone && k.state != stateBudget && !k.failing && now()-k.counted >= countEvery.Milliseconds()
			if due && (oldest == nil || k.counted < oldest.counted) {
				oldest = k
			}
			k.mu.Unlock()
		}
		if oldest != nil {
			oldest.ask(ctx)
		}
	}
}

// ask asks for the number of objects by a list of one.
func (k *kind) ask(ctx context.Context) {
	k.mu.Lock()
	res := k.res.Resource
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var meta codec.ListMeta
	var err error
	n := int64(0)
	col := client.Of[kube.Partial](k.u.client, res)
	for _, err = range list.Page(ctx, col, &list.Cursor{}, list.Options{Limit: 1}, col.Decoder(), &meta) {
		if err != nil {
			break
		}
		n++
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counted = now()
	if k.stop != nil || k.starting || k.state == stateGone || k.failing {
		return
	}
	switch {
	case errors.Is(err, kube.ErrForbidden) || errors.Is(err, kube.ErrUnauthorized):
		k.change(stateForbidden, printable.Line(err.Error()))
	case err != nil:
		k.change(stateError, printable.Line(err.Error()))
	case meta.Continue != "" && meta.Remaining < 0:
		k.count = -1
		k.change(stateIdle, "the server does not say how many there are")
	default:
		k.count = n + max(0, meta.Remaining)
		k.change(stateIdle, "")
	}
}

// types returns all types, sorted by section and name.
func (u *UI) types() []*kind {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]*kind, 0, len(u.kinds))
	for _, k := range u.kinds {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *kind) int {
		return cmp.Or(slices.Index(section.All, a.section)-slices.Index(section.All, b.section), strings.Compare(a.id, b.id))
	})
	return all
}

func (u *UI) kind(id string) *kind {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.kinds[id]
}
