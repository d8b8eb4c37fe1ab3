package simulate

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// Options of a Cluster. The zero value is the recommended setting.
type Options struct {
	// Nodes is the number of initial nodes; default 3, negative = none. Nodes that
	// clients create become ready too.
	Nodes int

	// Seed of delays, choices and names; 0 is a valid seed. In virtual time the same seed makes
	// the same cluster; in real time, jitter changes the order of some steps, so that a few names
	// and UIDs differ.
	Seed uint64

	// Speed is a factor for the speed at which pods start and stop; 0 = 1, with which a
	// pod is ready after one to four seconds. Above 1 the server is read more often, too.
	Speed float64

	// Churn is how many pods per second get a new status: see [Cluster.Churn].
	Churn float64
}

// Cluster simulates one cluster on one server.
type Cluster struct {
	srv     *apitest.Server
	options Options
	random  *rand.Rand

	nodes        *view[*node]
	pods         *view[*pod]
	deployments  *view[*deployment]
	replicaSets  *view[*replicaSet]
	statefulSets *view[*statefulSet]
	daemonSets   *view[*daemonSet]
	jobs         *view[*job]
	services     *view[*service]
	slices       *view[*endpointSlice]
	revisions    *view[*controllerRevision]
	endpoints    *view[*object]

	owned     map[string]map[kube.Key]*pod              // by the UID of the controller
	sets      map[string]map[kube.Key]*replicaSet       // by the UID of the Deployment
	crowd     map[string]int                            // pods by node
	placed    map[string]int                            // pods by node, assigned since the last look
	waiting   map[kube.Key]bool                         // pods without a suitable node
	deleted   map[string]bool                           // nodes whose deletion the last look has seen
	plans     map[string]plan                           // by the UID of the pod
	serving   map[string]*slicing                       // by the UID of the Service
	unchecked map[*slicing]bool                         // to compare with the next look
	history   map[string]map[string]*controllerRevision // by the UID of the owner, and by name
	runs      map[string]run                            // by the UID of the Job
	dirty     map[task]bool                             // to sync in this step
	timers    timers
	alarms    map[task]time.Time // next timer of each task
	synced    map[task]time.Time // when each was synced last
	seq       int
	starting  bool      // the last look was the first: nodes that are absent went before it
	orphaned  bool      // an owner was deleted, or may be
	seen      string    // revision at the last look
	looked    time.Time // time of the last look
	resynced  time.Time // time of the last resync
	now       time.Time // of this step
	events    []kube.Key
	noted     int       // number of events so far
	address   int       // number of pod IPs so far
	due       float64   // restarts of the churn rate that have not happened yet
	churned   time.Time // time of the last churn

	mu    sync.Mutex
	churn float64
}

// task is an object to sync.
type task struct {
	kind string // the plural
	key  kube.Key
}

// New returns a cluster that is not running yet. The server should collect garbage
// (apitest.Options.CollectGarbage), and must have the built-in resources.
func New(srv *apitest.Server, o Options) *Cluster {
	o.Nodes = cmp.Or(o.Nodes, 3)
	if !(o.Speed > 0) {
		o.Speed = 1
	}
	return &Cluster{
		srv: srv, options: o, churn: rate(o.Churn), random: rand.New(rand.NewPCG(o.Seed, 0x5eed)),
		nodes:        newView[*node](kube.Nodes, func() thing { return new(node) }),
		pods:         newView[*pod](kube.Pods, func() thing { return new(pod) }),
		deployments:  newView[*deployment](kube.Deployments, func() thing { return new(deployment) }),
		replicaSets:  newView[*replicaSet](kube.ReplicaSets, func() thing { return new(replicaSet) }),
		statefulSets: newView[*statefulSet](kube.StatefulSets, func() thing { return new(statefulSet) }),
		daemonSets:   newView[*daemonSet](kube.DaemonSets, func() thing { return new(daemonSet) }),
		jobs:         newView[*job](kube.Jobs, func() thing { return new(job) }),
		services:     newView[*service](kube.Services, func() thing { return new(service) }),
		slices:       newView[*endpointSlice](kube.EndpointSlices, func() thing { return new(endpointSlice) }),
		revisions:    newView[*controllerRevision](controllerRevisions, func() thing { return new(controllerRevision) }),
		endpoints:    newView[*object](kube.Endpoints, func() thing { return new(object) }),
		owned:        map[string]map[kube.Key]*pod{}, sets: map[string]map[kube.Key]*replicaSet{},
		crowd: map[string]int{}, placed: map[string]int{}, waiting: map[kube.Key]bool{}, deleted: map[string]bool{}, plans: map[string]plan{}, serving: map[string]*slicing{}, runs: map[string]run{},
		unchecked: map[*slicing]bool{}, history: map[string]map[string]*controllerRevision{},
		dirty: map[task]bool{}, alarms: map[task]time.Time{}, synced: map[task]time.Time{},
	}
}

// lookEvery is how often the cluster reads the server if its revision has changed; scanEvery, how
// often otherwise; resyncEvery, how often it does not rely on changes. By odd, steps are not at
// round times, at which users write: one in a million is at a whole millisecond.
const (
	lookEvery   = 50 * time.Millisecond
	scanEvery   = 2 * time.Second
	resyncEvery = 10 * time.Second
	odd         = 123 * time.Nanosecond
)

// Run simulates the cluster until ctx is done, and returns its cause. It can be called
// once.
func (c *Cluster) Run(ctx context.Context) error {
	every := max(2*time.Millisecond, time.Duration(float64(lookEvery)/max(1, c.options.Speed))) + odd
	select { // what is written at the start comes first
	case <-time.After(every / 3):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.now = time.Now()
	c.churned, c.resynced = c.now, c.now
	for i := range max(0, c.options.Nodes) {
		c.addNode(fmt.Sprintf("node-%d", i+1))
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		c.step(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Churn makes that many running pods per second, chosen at random, restart a container,
// which changes their status once, each at most once in a look; 0 = none. It is safe for
// concurrent use.
func (c *Cluster) Churn(perSecond float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.churn = rate(perSecond)
}

// Limits of the cost of a large cluster: the pause between two looks for each pod, and
// between two syncs of one owner for each of its pods. 10,000 pods are read ten times
// per second, and synced twice.
const (
	lookPerPod = 10 * time.Microsecond
	syncPerPod = 50 * time.Microsecond
)

// step reads the changes and does everything that is due. With an outdated view
// something might be done twice.
func (c *Cluster) step(ctx context.Context) {
	c.now = time.Now()
	if rev := string(c.srv.Revision()); rev != c.seen || c.now.Sub(c.looked) >= scanEvery {
		if c.now.Sub(c.looked) < time.Duration(len(c.pods.rows))*lookPerPod {
			return
		}
		c.seen, c.looked = rev, c.now
		c.look()
		if c.now.Sub(c.resynced) >= resyncEvery {
			c.resynced = c.now
			c.resync()
		}
	}
	for len(c.timers) > 0 && !c.timers[0].at.After(c.now) {
		t := heap.Pop(&c.timers).(timer)
		if t.uid == "" {
			if c.alarms[t.task].Equal(t.at) {
				delete(c.alarms, t.task)
			}
			c.mark(t.task)
		} else {
			c.advance(ctx, t)
		}
	}
	tasks := make([]*task, 0, len(c.dirty))
	for t := range c.dirty {
		tasks = append(tasks, &t)
	}
	clear(c.dirty)
	slices.SortFunc(tasks, func(a, b *task) int {
		return cmp.Or(cmp.Compare(rank(a.kind), rank(b.kind)), a.key.Compare(b.key))
	})
	for _, dirty := range tasks {
		t := *dirty
		if next := c.synced[t].Add(time.Duration(c.size(t)) * syncPerPod); next.After(c.now) {
			c.later(next, t)
			continue
		}
		c.synced[t] = c.now
		c.sync(ctx, t)
	}
	if c.orphaned {
		c.orphaned = false
		c.srv.CollectGarbage()
	}
	c.restart()
}

// look updates the views; each change becomes a task.
func (c *Cluster) look() {
	clear(c.placed)
	clear(c.deleted)
	c.starting = c.nodes.rows == nil
	c.nodes.refresh(c.srv, c.sawNode)
	c.deployments.refresh(c.srv, func(old, d *deployment) { c.saw(kube.Deployments, old.base(), d.base()) })
	c.replicaSets.refresh(c.srv, c.sawSet)
	c.statefulSets.refresh(c.srv, func(old, s *statefulSet) { c.saw(kube.StatefulSets, old.base(), s.base()) })
	c.daemonSets.refresh(c.srv, func(old, d *daemonSet) { c.saw(kube.DaemonSets, old.base(), d.base()) })
	c.revisions.refresh(c.srv, c.sawRevision)
	c.jobs.refresh(c.srv, c.sawJob)
	c.services.refresh(c.srv, c.sawService)
	c.slices.refresh(c.srv, c.sawSlice)
	c.endpoints.refresh(c.srv, c.sawEndpoints)
	c.check()
	c.pods.refresh(c.srv, c.sawPod)
}

// resync plans and syncs everything again. What the cluster has written since its last look may
// be gone without a trace, if the server was restored to what that look has seen.
func (c *Cluster) resync() {
	for p := range c.pods.all() {
		uid := p.Metadata.UID
		if due, planned := c.plans[uid]; planned && c.now.Sub(due.at) > resyncEvery {
			delete(c.plans, uid) // it was done, and p is as before
		}
		c.plan(p)
	}
	for _, l := range []*listing{&c.deployments.listing, &c.replicaSets.listing, &c.statefulSets.listing, &c.daemonSets.listing, &c.jobs.listing, &c.services.listing} {
		for key := range l.known {
			c.mark(task{l.resource.Plural, key})
		}
	}
	for e := range c.endpoints.all() {
		c.markServiceOf(e)
	}
	c.orphaned = true
}

// saw notes that an object is new (old is nil), changed, or deleted (o is nil).
func (c *Cluster) saw(r kube.Resource, old, o *object) {
	if o == nil {
		c.orphaned = true
		o = old
		delete(c.synced, task{r.Plural, o.key()})
	}
	c.mark(task{r.Plural, o.key()})
}

func (c *Cluster) mark(t task) { c.dirty[t] = true }

// size returns how many pods t has to read.
func (c *Cluster) size(t task) int {
	switch t.kind {
	case "deployments":
		n := 0
		if d, ok := c.deployments.get(t.key); ok {
			for _, s := range c.sets[d.Metadata.UID] {
				n += len(c.owned[s.Metadata.UID])
			}
		}
		return n
	case "replicasets":
		return owns(c, c.replicaSets, t.key)
	case "statefulsets":
		return owns(c, c.statefulSets, t.key)
	case "daemonsets":
		return owns(c, c.daemonSets, t.key)
	case "jobs":
		return owns(c, c.jobs, t.key)
	}
	return 0 // services have a pause of their own
}

func owns[T thing](c *Cluster, v *view[T], key kube.Key) int {
	if o, ok := v.get(key); ok {
		return len(c.owned[o.base().Metadata.UID])
	}
	return 0
}

// later schedules a task. A task that is synced earlier schedules itself again.
func (c *Cluster) later(at time.Time, t task) {
	if due, ok := c.alarms[t]; ok && !due.After(at) {
		return
	}
	c.alarms[t] = at
	c.wake(timer{at: at, task: t})
}

func (c *Cluster) wake(t timer) {
	c.seq++
	t.seq = c.seq
	heap.Push(&c.timers, t)
}

// ranks is the order of syncing: owners before dependents.
var ranks = [...]string{"deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "services"}

func rank(kind string) int { return slices.Index(ranks[:], kind) }

func (c *Cluster) sync(ctx context.Context, t task) {
	switch t.kind {
	case "deployments":
		if d, ok := c.deployments.get(t.key); ok && c.stays(d.base()) {
			c.syncDeployment(ctx, d)
		}
	case "replicasets":
		if s, ok := c.replicaSets.get(t.key); ok && c.stays(s.base()) {
			c.syncSet(s)
		}
	case "statefulsets":
		if s, ok := c.statefulSets.get(t.key); ok && c.stays(s.base()) {
			c.syncStatefulSet(ctx, s)
		}
	case "daemonsets":
		if d, ok := c.daemonSets.get(t.key); ok && c.stays(d.base()) {
			c.syncDaemonSet(ctx, d)
		}
	case "jobs":
		if j, ok := c.jobs.get(t.key); ok && c.stays(j.base()) {
			c.syncJob(ctx, j)
		}
	case "services":
		c.syncService(ctx, t.key)
	}
}

// stays reports whether a controller may work on o, which is not being deleted. If it
// is, it may have waited for a dependent that was just deleted.
func (c *Cluster) stays(o *object) bool {
	if o.Metadata.DeletionTimestamp == "" {
		return true
	}
	c.orphaned = true
	return false
}

// between returns a random delay at the current speed.
func (c *Cluster) between(least, most time.Duration) time.Duration {
	d := least + time.Duration(c.random.Float64()*float64(most-least))
	return c.slow(d)
}

// slow returns how long d is at the current speed, at most a century.
func (c *Cluster) slow(d time.Duration) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	return time.Duration(min(float64(d)/c.options.Speed, float64(century)))
}

// timer is a scheduled action: the next step of a pod if uid is set, else a task.
type timer struct {
	at  time.Time
	seq int // for the order of timers at the same time
	uid string
	task
}

// timers is a heap.
type timers []timer

func (h timers) Len() int { return len(h) }
func (h timers) Less(i, j int) bool {
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].seq, h[j].seq)) < 0
}
func (h timers) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timers) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timers) Pop() any {
	t := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return t
}
