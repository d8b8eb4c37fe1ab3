// Package past reads what a folder of listwatch ui --history, or a recording, has of a
// moment, and serves it as a cluster: what lists a cluster lists the moment too.
package past

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// Flags say which moment.
type Flags struct {
	source Source
	at     string
	moment *moment // as Clusters found it; nil = there is a cluster
}

// Register adds the flags.
func (o *Flags) Register(f *pflag.FlagSet) {
	o.source.Register(f)
	f.StringVar(&o.at, "at", "", "show this moment: a time such as 2026-11-22T14:03:00Z, 14:03 of today, or 10m for that long ago")
}

// Clusters returns those that connection says, or the moment as one. The caller calls done.
func (o *Flags) Clusters(ctx context.Context, p *cli.Program, connection *connect.Flags, t *messages.Writer) (_ []connect.Cluster, done func(), err error) {
	if o.source == (Source{}) && o.at == "" {
		all, err := connection.LoadAll(p, t)
		return all, func() {}, err
	}
	if o.at == "" {
		return nil, nil, exit.Usage("--history and --recording need --at: give the moment too")
	}
	at, err := Parse(o.at, time.Now())
	if err != nil {
		return nil, nil, exit.Usage("--at: %w", err)
	}
	m, err := o.source.read(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	o.moment = m
	for _, n := range m.notes {
		t.Note("warning: " + n)
	}
	c, done, err := m.cluster(p, connection, m.objects(), m.columns())
	return []connect.Cluster{c}, done, err
}

// cluster returns one that has the objects, which are those of m, in these columns. The caller
// calls done.
func (m *moment) cluster(p *cli.Program, connection *connect.Flags, objects []Object, columns Columns) (_ connect.Cluster, done func(), err error) {
	srv, left, err := Serve(objects, columns, time.UnixMilli(m.at), true)
	if err != nil {
		return connect.Cluster{}, nil, exit.Failed(err)
	}
	m.left = left
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial, Warn: func(string) {}}) // nobody asked this server
	if err != nil {
		srv.Close()
		return connect.Cluster{}, nil, exit.Failed(err)
	}
	cfg, err := connection.Read(p) // for its namespace alone
	if err != nil {
		cfg = &config.Config{Namespace: cmp.Or(connection.Opts.Namespace, "default")}
	}
	return connect.Cluster{Client: c, Config: cfg, Types: served.New(c, client.Config{}, "")}, func() { c.CloseIdleConnections(); srv.Close() }, nil
}

// Check reports which of the targets are of a time before the moment, of which only a part was
// recorded, and which of their objects are left out. It returns an error for a type of which the
// moment has no states: nobody knows whether it had objects.
func (o *Flags) Check(targets []target.Target, t *messages.Writer) error {
	if o.moment == nil {
		return nil
	}
	return check([]*moment{o.moment}, targets, t)
}

// check is Flags.Check for several moments.
func check(moments []*moment, targets []target.Target, t *messages.Writer) error {
	noted := map[string]bool{}
	for _, ta := range targets {
		for _, m := range moments {
			notes, err := m.notesOf(ta)
			if err != nil {
				return exit.Failed(err)
			}
			for _, n := range notes {
				if !noted[n] {
					noted[n] = true
					t.Note("warning: " + n)
				}
			}
			for _, l := range m.left {
				if n := "warning: " + l.String(); l.of(ta) && !noted[n] {
					noted[n] = true
					t.EachNote(n, "objects that no server has")
				}
			}
		}
	}
	return nil
}

// notesOf returns what is not known of a target.
func (m *moment) notesOf(ta target.Target) (notes []string, err error) {
	id := ta.Resource.GroupResource()
	k := m.types[id]
	if k == nil {
		switch {
		case ta.Typed == target.Everything:
			return nil, nil
		case m.recorded:
			return nil, fmt.Errorf("--recording: there are no states of %s at this time: it was not recorded, or its first list was not complete", id)
		}
		return nil, fmt.Errorf("--history: there are no states of %s at this time; listwatch ui keeps those of types that it watches always, and never Secrets", id)
	}
	part, none := k.narrow(ta.Namespace)
	if none && ta.Typed != target.Everything {
		return nil, fmt.Errorf("--recording: there are no states of %s in namespace %s: it was not recorded", id, ta.Namespace)
	}
	if part != "" {
		notes = append(notes, fmt.Sprintf("%s: recorded were those in %s, no others", id, part))
	}
	if k.why != "" {
		notes = append(notes, k.note(id))
	}
	return notes, nil
}

// Now returns the moment, or the time where there is a cluster.
func (o *Flags) Now() time.Time {
	if o.moment == nil {
		return time.Now()
	}
	return time.UnixMilli(o.moment.at)
}

// Parse reads a moment: a time, a time of today or yesterday, or how long ago it was.
func Parse(s string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			y, m, d := now.Date()
			if t = time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, now.Location()); t.After(now) {
				t = time.Date(y, m, d-1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			}
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: want 2026-11-22T14:03:00Z, 14:03 or 10m", printable.Clip(s))
}

// moment is the state of a cluster at a time.
type moment struct {
	at       int64
	types    map[string]*known
	first    int64    // entry of all
	notes    []string // of files that are damaged
	recorded bool     // it is that of a recording
	replaced bool     // the recording has no values of Secrets

	left    []Left          // what its cluster lacks
	unknown []kube.Resource // recorded types whose first list was not complete
}

// known is what is known of a type at the moment.
type known struct {
	resource kube.Resource
	states   map[string]compressed.Raw // by name
	pack     compressed.Compressor
	until    int64  // the last entry that is not later
	why      string // the time behind it is not known
	past     bool   // there is a later entry

	streams []replay.Target // of a recording: what was followed; nil = all
}

// unheard is how long an object may be without news before that is said, in milliseconds.
const unheard = 2 * 60 * 1000

func read(ctx context.Context, path string, at time.Time) (*moment, error) {
	m := &moment{at: at.UnixMilli(), types: map[string]*known{}}
	for e, err := range archive.Read(path) {
		var bad *archive.DamagedError
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &bad):
			m.notes = append(m.notes, printable.Line(bad.Error()))
			continue
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: name a folder of listwatch ui --history", err)
		case err != nil:
			return nil, err
		}
		if m.first == 0 {
			m.first = e.At
		}
		if err := m.take(e); err != nil {
			return nil, err
		}
	}
	if m.first == 0 {
		return nil, fmt.Errorf("%s has no states", path)
	}
	if m.at < m.first {
		return nil, fmt.Errorf("%s begins at %s, after %s", path, clock(m.first), clock(m.at))
	}
	for _, k := range m.types {
		if k.why == "" && !k.past && m.at-k.until > unheard {
			k.why = "nothing was written since"
		}
	}
	return m, nil
}

// note says of a type with why which time its states are of.
func (k *known) note(id string) string {
	return fmt.Sprintf("%s: this is the state of %s; what was later is not known: %s", id, clock(k.until), printable.Line(k.why))
}

// take takes an entry. Those that are later than the moment say what is known of it.
func (m *moment) take(e archive.Entry) error {
	id := e.Resource.GroupResource()
	k := m.types[id]
	if e.At > m.at {
		if k == nil {
			return nil
		}
		switch {
		case e.Begin != nil && !k.past:
			k.why = e.Begin.Reason
		case e.Gap != nil && e.Gap.From <= m.at: // the states that a list found precede it
			k.why = e.Gap.Reason
		}
		k.past = true
		return nil
	}
	if k == nil {
		k = &known{states: map[string]compressed.Raw{}}
		m.types[id] = k
	}
	k.resource, k.until = e.Resource, e.At
	switch {
	case e.Begin != nil:
		clear(k.states)
	case e.State != nil && e.State.Op == archive.Deleted:
		delete(k.states, e.State.Key.String())
	case e.State != nil:
		packed, err := k.pack.Compress(e.State.Object)
		if err != nil {
			return err
		}
		k.states[e.State.Key.String()] = packed
	}
	return nil
}

// objects returns all, those without a namespace first. The types of others are served
// too, without objects.
func (m *moment) objects(others ...*moment) []Object {
	var list []Object
	for _, o := range others {
		for _, id := range slices.Sorted(maps.Keys(o.types)) {
			if m.types[id] == nil {
				list = append(list, Object{o.types[id].resource, nil})
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.types)) {
		k := m.types[id]
		list = append(list, Object{k.resource, nil})
		for _, name := range slices.Sorted(maps.Keys(k.states)) {
			if raw, err := k.states[name].Raw(); err == nil { // it was compressed here
				list = append(list, Object{k.resource, []byte(raw.JSON())})
			}
		}
	}
	for _, r := range m.unknown {
		list = append(list, Object{r, nil})
	}
	var all []Object
	for _, namespaced := range []bool{false, true} {
		for _, o := range list {
			if o.Resource.Namespaced == namespaced {
				all = append(all, o)
			}
		}
	}
	return all
}

// columns returns those of the recorded custom resources.
func (m *moment) columns() Columns {
	all := Columns{}
	for _, k := range m.types {
		for _, s := range k.streams {
			all[s.Resource] = s.Columns
		}
	}
	return all
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
