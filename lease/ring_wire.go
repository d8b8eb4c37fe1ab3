package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

const (
	ringLabel       = "listwatch.dev/ring"  // on all Leases of a ring: the ring's name
	ringAnnotation  = "listwatch.dev/slots" // on the Lease of the ring's key: the table
	tableAnnotation = "listwatch.dev/table" // on the Lease of a member: the UID of the table that it reads
)

// ringTable is the Lease of the ring's key, with the table that it holds.
type ringTable struct {
	object object // uid "" = it does not exist
	owners table
}

// found is the result of a list of the ring's Leases.
type found struct {
	table   ringTable
	members map[string]object
}

// ringWire sends the requests of one member for the Leases of a ring.
type ringWire struct {
	ring   *Ring
	client *client.Client
	name   string
}

func newRingWire(r *Ring, name string) *ringWire {
	return &ringWire{ring: r, client: r.client.Isolated(), name: name}
}

func (w *ringWire) close() { w.client.CloseIdleConnections() }

func (w *ringWire) leases() client.Collection[codec.Raw] {
	return client.Of[codec.Raw](w.client, kube.Leases).In(w.ring.key.Namespace)
}

// labels returns the labels of all Leases of the ring.
func (w *ringWire) labels() map[string]string {
	labels := maps.Clone(w.ring.options.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	labels[ringLabel] = w.ring.key.Name
	return labels
}

// list reads the table and the Leases of all members, as of one revision.
func (w *ringWire) list(ctx context.Context) (found, error) {
	f := found{members: make(map[string]object)}
	members := kube.LabelsSelector(map[string]string{ringLabel: w.ring.key.Name})
	l := list.New(w.leases().Where(members, kube.FieldSelector{}), list.Options{Limit: -1})
	for raw, err := range l.All(ctx) {
		if err != nil {
			return found{}, w.failed(err)
		}
		o, err := parseObject(raw)
		if err != nil {
			return found{}, err
		}
		if raw.GetName() != w.ring.key.Name {
			f.members[raw.GetName()] = o
			continue
		}
		if f.table.owners, err = parseTable(o.annotation(ringAnnotation)); err != nil {
			return found{}, fmt.Errorf("the Lease %s %w: %w", w.ring.key, errForeign, err)
		}
		f.table.object = o
	}
	return f, nil
}

// write replaces the table by owners if it is still t, otherwise it returns errOutrun.
func (w *ringWire) write(ctx context.Context, t ringTable, owners table) (ringTable, error) {
	r := t.object.record
	r.Seconds, r.Transitions = max(1, r.Seconds), after(r.Transitions)
	raw, err := t.object.annotated(ringAnnotation, owners.String()).with(r, w.labels())
	if err != nil {
		return ringTable{}, err
	}
	if t.object.uid == "" {
		raw, err = w.leases().Create(ctx, raw)
	} else {
		raw, err = w.leases().Update(ctx, raw)
	}
	switch {
	case err != nil && outrun(err, w.ring.key):
		return ringTable{}, errOutrun
	case err != nil:
		return ringTable{}, w.failed(err)
	}
	o, err := parseObject(raw)
	return ringTable{o, owners}, err
}

// failed closes idle connections if the server cannot respond over them, and returns err.
func (w *ringWire) failed(err error) error {
	if errors.Is(err, kube.ErrUnavailable) {
		w.close()
	}
	return err
}

// delete deletes o if it has not changed. It makes one attempt and only reports a failure.
func (w *ringWire) delete(ctx context.Context, o object) {
	name, _ := o.tree["metadata"].(map[string]any)["name"].(string)
	err := w.leases().Delete(ctx, kube.Key{Namespace: w.ring.key.Namespace, Name: name}, client.DeleteOptions{UID: o.uid, ResourceVersion: o.revision})
	if f := w.ring.options.Trace.Failed; err != nil && f != nil && !errors.Is(err, kube.ErrConflict) && !errors.Is(err, kube.ErrNotFound) {
		f(fmt.Errorf("delete a Lease of the ring: %w", err))
	}
}

// renew renews the member's Lease, or creates it. It names the table in which the member has slots,
// or else the one that it has just read, before it claims any in it: see look.
func (m *ringMember) renew(ctx context.Context, read ringTable) error {
	if m.share != (Share{}) {
		read = m.table
	}
	now := stamp(time.Now())
	r := record{Holder: m.options.Identity, Seconds: int(m.options.Duration / time.Second), Acquired: now, Renewed: now}
	o, send := m.own, m.wire.leases().Update
	if o.uid == "" {
		o, send = newObject(kube.Key{Namespace: m.key.Namespace, Name: m.name}), m.wire.leases().Create
	} else {
		r.Acquired = o.record.Acquired
	}
	raw, err := o.annotated(tableAnnotation, read.object.uid).with(r, m.wire.labels())
	if err != nil {
		return err
	}
	sent := time.Now()
	raw, err = send(ctx, raw)
	switch {
	case errors.Is(err, kube.ErrExists), err != nil && outrun(err, kube.Key{Namespace: m.key.Namespace, Name: m.name}):
		return m.reread(ctx)
	case err != nil:
		return m.wire.failed(err)
	}
	if f := m.options.Trace.Renewed; f != nil {
		f(time.Since(sent))
	}
	m.own, err = parseObject(raw)
	return err
}

// reread reads the member's Lease after an own earlier request, whose response was lost, has
// changed it. It returns errOutrun, so that the next turn renews the Lease, or ErrLost if the
// Lease was deleted.
func (m *ringMember) reread(ctx context.Context) error {
	k := kube.Key{Namespace: m.key.Namespace, Name: m.name}
	raw, err := m.wire.leases().Get(ctx, k)
	if absent(err, k) && m.own.uid != "" {
		return fmt.Errorf("%w: the Lease of this member was deleted", ErrLost)
	}
	if err != nil {
		return m.wire.failed(err)
	}
	o, err := parseObject(raw)
	if err == nil && m.own.uid != "" && o.uid != m.own.uid {
		return fmt.Errorf("%w: the Lease of this member was replaced", ErrLost)
	}
	if err != nil {
		return err
	}
	m.own = o
	return errOutrun
}

// create creates the table when it has been missing for so long that no member can still own
// a slot by a deleted table.
func (m *ringMember) create(ctx context.Context, asked time.Time) error {
	if m.missing.IsZero() {
		m.missing = time.Now()
	}
	lasts := m.options.Duration
	for _, s := range m.seen {
		lasts = max(lasts, s.lasts)
	}
	if (!m.options.TakeMissing || m.met) && asked.Sub(m.missing) < lasts {
		return nil
	}
	_, err := m.wire.write(ctx, ringTable{object: newObject(m.key)}, table{})
	if errors.Is(err, kube.ErrExists) {
		return m.wire.inspect(ctx)
	}
	return err
}

// errForeign means that the Lease of the ring's key is used for something else, or cannot be read.
var errForeign = errors.New("is not the table of a ring")

// inspect returns errForeign unless the Lease of the ring's key is the table of the ring.
func (w *ringWire) inspect(ctx context.Context) error {
	raw, err := w.leases().Get(ctx, w.ring.key)
	if err != nil {
		return w.failed(err)
	}
	if name, _ := raw.Label(ringLabel); name != w.ring.key.Name {
		return fmt.Errorf("the Lease %s exists and %w: delete it, or give the ring another key", w.ring.key, errForeign)
	}
	return nil
}

// bury deletes the Leases of dead members that own no slot. One that names another table than the
// current one stays until the other members have seen too that its member is dead: see look.
func (m *ringMember) bury(ctx context.Context, dead map[string]bool, f found) {
	for name, o := range f.members {
		s := m.seen[name]
		known := s.table == m.table.object.uid || time.Since(s.since) >= 2*s.lasts
		if dead[name] && known && !slices.Contains(m.table.owners[:], name) {
			m.wire.delete(ctx, o)
		}
	}
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == name })
}
