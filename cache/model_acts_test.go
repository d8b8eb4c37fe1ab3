package cache_test

import (
	"fmt"
	"strconv"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// act does one thing.
func (m *model) act() {
	acts := []struct {
		weight int
		name   string
		f      func()
	}{
		{560, "", m.write},
		{160, "", func() { m.pass(20 * time.Second) }},
		{30, "settle", synctest.Wait},
		{50, "close watches", m.srv.CloseWatches},
		{15, "cut watches", m.srv.CutWatches},
		{15, "drop watches", m.srv.DropWatches},
		{15, "cut", m.srv.Cut},
		{15, "bookmark", m.srv.Bookmark},
		{5, "tick", func() { m.srv.Tick() }},
		{15, "expire", m.expire},
		{15, "compact", m.compact},
		{10, "restart", m.srv.Restart},
		{10, "outage", m.outage},
		{25, "fault", m.fault},
		{15, "guest", m.guest},
		{25, "hold", m.hold},
		{20, "mortal", m.mortal.fate},
		{3, "definition", m.definition},
		{3, "restore", m.restored},
	}
	sum := 0
	for _, a := range acts {
		sum += a.weight
	}
	n := m.rnd.IntN(sum)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			if a.name != "" {
				m.note("%s", a.name)
			}
			a.f()
			return
		}
	}
}

func (m *model) note(format string, args ...any) {
	m.log = append(m.log[max(0, len(m.log)-60):], time.Now().Format("02T15:04:05.000 ")+string(m.srv.Revision())+" "+fmt.Sprintf(format, args...))
}

// pass lets some time go by.
func (m *model) pass(longest time.Duration) {
	d := time.Duration(m.rnd.Int64N(int64(longest)))
	m.note("pass %v", d)
	<-time.After(d)
	synctest.Wait()
}

// write creates, changes, spoils, deletes or replaces an object.
func (m *model) write() {
	key := kube.Key{Namespace: string(rune('a' + m.rnd.IntN(3))), Name: fmt.Sprint("x", m.rnd.IntN(8))}
	switch n := m.rnd.IntN(20); {
	case n < 13:
		m.put(key)
	case n < 17:
		m.note("delete %s", key)
		m.srv.Delete(modelThings, key)
	default: // a namesake
		m.note("delete %s", key)
		m.srv.Delete(modelThings, key)
		m.put(key)
	}
}

func (m *model) put(key kube.Key) kube.Revision {
	labels := []string{`{}`, `{"app":"web"}`, `{"app":"db"}`, `{"app":"web","tier":"1"}`}[m.rnd.IntN(4)]
	data := fmt.Sprintf(`{"n":%d}`, m.rnd.IntN(1000))
	if m.rnd.IntN(15) == 0 {
		data = `{"n":"not a number"}`
	}
	object := fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"labels":%s,"ownerReferences":[{"apiVersion":"v1","kind":"Foo","name":"f","uid":"o%d"}]},"data":%s}`,
		key.Namespace, key.Name, labels, m.rnd.IntN(3), data)
	m.note("put %s %s %s", key, labels, data)
	return m.srv.Put(modelThings, object)
}

func number(r kube.Revision) uint64 {
	n, err := strconv.ParseUint(string(r), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// expire loses the history, in one of the three shapes.
func (m *model) expire() {
	m.srv.SetGone([]apitest.Gone{apitest.GoneEvent, apitest.GoneStatus, apitest.GoneSilent}[m.rnd.IntN(3)])
	m.srv.Expire()
	m.floor = number(m.srv.Revision())
}

func (m *model) past() uint64 {
	return m.floor + m.rnd.Uint64N(number(m.srv.Revision())-m.floor+1)
}

func (m *model) compact() {
	m.floor = m.past()
	m.srv.Compact(kube.Revision(strconv.FormatUint(m.floor, 10)))
}

func (m *model) door(d apitest.Door) {
	if err := m.srv.SetDoor(d); err != nil {
		m.t.Fatal(err)
	}
}

// outage: things happen while nobody can reach the server.
func (m *model) outage() {
	m.door([]apitest.Door{apitest.Refusing, apitest.Hanging, apitest.Resetting}[m.rnd.IntN(3)])
	m.srv.Cut()
	for range m.rnd.IntN(12) {
		m.write()
	}
	if m.rnd.IntN(2) == 0 {
		m.expire()
	}
	m.pass(2 * time.Minute)
	m.write()
	m.door(apitest.Open)
}

// fault sets one that strikes once or twice.
func (m *model) fault() {
	verbs := apitest.Match{Verb: []string{"list", "watch"}[m.rnd.IntN(2)]}
	stream := apitest.Match{Verb: "watch", AfterEvent: 1 + m.rnd.IntN(6)}
	initial := apitest.Match{Verb: "watch", Query: "sendInitialEvents"}
	next := apitest.Match{Verb: "list", Query: "continue="}
	kinds := []func() *apitest.Fault{
		func() *apitest.Fault { return m.srv.On(verbs, faults.HTML(503)) },
		func() *apitest.Fault { return m.srv.On(verbs, faults.Throttle("2")) },
		func() *apitest.Fault { return m.srv.On(verbs, faults.Reset()) },
		func() *apitest.Fault { return m.srv.On(verbs, faults.HalfOpen()) },
		func() *apitest.Fault { return m.srv.On(verbs, faults.Delay(5*time.Second)) },
		func() *apitest.Fault { return m.srv.On(stream, faults.CutEvent(m.rnd.IntN(200))) },
		func() *apitest.Fault { return m.srv.On(stream, faults.Duplicate()) },
		func() *apitest.Fault { return m.srv.On(stream, faults.HalfOpen()) },
		func() *apitest.Fault { return m.srv.On(stream, faults.InvalidJSON()) },
		func() *apitest.Fault { return m.srv.On(stream, faults.Delay(time.Second)) },
		func() *apitest.Fault { return m.srv.On(stream, faults.ErrorEvent(apitest.StatusExpired(1, 2))) },
		func() *apitest.Fault { return m.srv.On(stream, faults.ErrorEvent(apitest.StatusInternal("tired"))) },
		func() *apitest.Fault {
			return m.srv.On(stream, faults.ErrorEvent(&kube.Status{Code: 500, Reason: "StorageReadError", Message: "unsafe"}))
		},
		func() *apitest.Fault { return m.srv.On(initial, faults.IgnoreInitialEvents()) },
		func() *apitest.Fault { return m.srv.On(initial, faults.NoInitialEventsEnd()) },
		func() *apitest.Fault { return m.srv.On(next, faults.ExpireContinue()) },
		func() *apitest.Fault { return m.srv.On(next, faults.ExpireContinueForGood()) },
		func() *apitest.Fault { return m.srv.On(apitest.Match{Verb: "list"}, faults.Truncate(100)) },
	}
	n := m.rnd.IntN(len(kinds))
	m.note("fault %d", n)
	m.faults = append(m.faults, kinds[n]().Times(1+m.rnd.IntN(2)))
}

// guest is a handler of the main informer that comes, or goes.
func (m *model) guest() {
	const residents = 5
	if len(m.main.believers) > residents+m.rnd.IntN(4) {
		m.main.believers[residents].leave()
		m.main.believers = append(m.main.believers[:residents:residents], m.main.believers[residents+1:]...)
		return
	}
	b, h := handle(m, m.main, "guest")
	b.leave = func() {
		h.Remove()
		b.removed.Store(1)
	}
	if m.rnd.IntN(2) == 0 {
		b.resync.Store(true)
		h.ResyncEvery(time.Duration(1+m.rnd.IntN(300)) * time.Second)
	}
}

// hold is a hold of an informer of the group that comes, or goes.
func (m *model) hold() {
	if n := len(m.holds); n > 0 && n > m.rnd.IntN(5) {
		n = m.rnd.IntN(n)
		m.holds[n].release()
		m.holds = append(m.holds[:n:n], m.holds[n+1:]...)
		return
	}
	ns := []string{"", "a"}[m.rnd.IntN(2)]
	var sel kube.Selector
	if m.rnd.IntN(2) == 0 {
		sel = kube.LabelsSelector(map[string]string{"app": "web"})
	}
	covers := func(k kube.Key, f fact) bool {
		return (ns == "" || ns == k.Namespace) && (sel.Empty() || f.labels["app"] == "web")
	}
	if m.rnd.IntN(2) == 0 {
		take(m, m.things.In(ns), sel, covers, false)
	} else {
		take(m, client.Of[kube.Partial](m.client, modelThings).In(ns), sel, covers, true)
	}
}

func take[T known](m *model, c client.Collection[T], sel kube.Selector, covers func(kube.Key, fact) bool, lazy bool) {
	shared := cache.Shared(&m.group, c.Where(sel, kube.FieldSelector{}), cache.Options[T]{})
	s := &subject[T]{name: "shared", i: shared.Informer, covers: covers, lazy: lazy}
	_, h := handle(m, s, c.String()+" "+sel.String())
	m.holds = append(m.holds, hold{s, func() {
		h.Remove()
		shared.Release()
	}})
}

// definition is deleted, with all things, and made again.
func (m *model) definition() {
	m.heal()
	<-time.After(10 * time.Second)
	synctest.Wait() // no request is under way, which the server would answer from what it removed
	m.srv.RemoveResource(modelThings)
	m.pass(3 * time.Minute)
	m.srv.AddResource(apitest.ResourceInfo{Resource: modelThings})
	m.floor = number(m.srv.Revision())
}

// restored: the server goes back to an earlier state. Nobody can find out about
// it once the server has passed where it was, so it is quiet until all have.
func (m *model) restored() {
	if !m.restore {
		return
	}
	m.check()
	for range m.rnd.IntN(10) {
		m.write()
	}
	to := m.past()
	m.note("restore to %d", to)
	m.lax.Store(true)
	m.srv.RestoreTo(kube.Revision(strconv.FormatUint(to, 10)))
	if m.mortal.stop == nil {
		m.mortal.live()
	}
	<-time.After(20 * time.Minute)
	m.check()
	m.mortal.die() // its file is of now
	m.mortal.live()
}
